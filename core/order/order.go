// Package order is the only way by which the core walks over a map: it
// collects the keys and sorts them, so that the order of Go's maps can never
// show in what the core decides. It has the sets of what is sorted, too.
package order

import (
	"cmp"
	"slices"
)

// Keys returns the keys of m in rising order.
func Keys[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// KeysBy returns the keys of m in the order that compare gives. compare must
// tell every two keys apart.
func KeysBy[K comparable, V any](m map[K]V, compare func(a, b K) int) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, compare)
	return keys
}
