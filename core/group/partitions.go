package group

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/record"
)

// Sets of partitions are sorted slices without repeats. They are never changed
// in place, so that state, records and replies can share them.

// sorted returns list as a set. It copies unless list is one already.
func sorted(list []record.PartitionID) []record.PartitionID {
	if isSet(list) {
		return list
	}
	set := slices.Clone(list)
	slices.SortFunc(set, record.PartitionID.Compare)
	return slices.Compact(set)
}

func isSet(list []record.PartitionID) bool {
	for i := 1; i < len(list); i++ {
		if list[i-1].Compare(list[i]) >= 0 {
			return false
		}
	}
	return true
}

func contains(set []record.PartitionID, p record.PartitionID) bool {
	_, found := slices.BinarySearchFunc(set, p, record.PartitionID.Compare)
	return found
}

// common returns what is in both sets.
func common(a, b []record.PartitionID) []record.PartitionID {
	var set []record.PartitionID
	for _, p := range a {
		if contains(b, p) {
			set = append(set, p)
		}
	}
	return set
}

// without returns what is in a and not in b.
func without(a, b []record.PartitionID) []record.PartitionID {
	var set []record.PartitionID
	for _, p := range a {
		if !contains(b, p) {
			set = append(set, p)
		}
	}
	return set
}

// union returns what is in either set.
func union(a, b []record.PartitionID) []record.PartitionID {
	switch {
	case len(a) == 0:
		return b
	case len(b) == 0:
		return a
	}
	return sorted(append(slices.Clone(a), b...))
}
