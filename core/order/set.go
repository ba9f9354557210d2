package order

import "slices"

// Sets are sorted slices without repeats. They are never changed in place, so that
// state, records and messages can share them.

// Ordered is what has an order of its own, in which no two are equal but the same.
type Ordered[T any] interface{ Compare(other T) int }

// Set returns list as a set. It copies unless list is one already.
func Set[T Ordered[T]](list []T) []T {
	if IsSet(list) {
		return list
	}
	set := slices.Clone(list)
	slices.SortFunc(set, T.Compare)
	return slices.CompactFunc(set, func(a, b T) bool { return a.Compare(b) == 0 })
}

// IsSet says whether list is a set.
func IsSet[T Ordered[T]](list []T) bool {
	for i := 1; i < len(list); i++ {
		if list[i-1].Compare(list[i]) >= 0 {
			return false
		}
	}
	return true
}

// Contains says whether v is in a set.
func Contains[T Ordered[T]](set []T, v T) bool {
	_, found := slices.BinarySearchFunc(set, v, T.Compare)
	return found
}

// Common returns what is in both sets, nil for nothing.
func Common[T Ordered[T]](a, b []T) []T {
	var set []T
	for _, v := range a {
		if Contains(b, v) {
			set = append(set, v)
		}
	}
	return set
}

// Without returns what is in a list and not in a set, nil for nothing.
func Without[T Ordered[T]](list, set []T) []T {
	var rest []T
	for _, v := range list {
		if !Contains(set, v) {
			rest = append(rest, v)
		}
	}
	return rest
}

// Union returns the set of what is in a set or in a list.
func Union[T Ordered[T]](set, list []T) []T {
	switch {
	case len(set) == 0:
		return Set(list)
	case len(list) == 0:
		return set
	}
	return Set(slices.Concat(set, list))
}
