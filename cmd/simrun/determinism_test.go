package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/sim"
)

func TestHashesThatDifferOrAreMissingAreRefused(t *testing.T) {
	procs := []string{"1", "2"}
	const both = "1 aa 10 bb\n2 cc 20 dd\n"
	compare := func(second string) error { return compareHashes(procs, [][]byte{[]byte(both), []byte(second)}) }
	require.NoError(t, compare(both))
	require.Equal(t, ended(sim.Nondeterminism), compare("1 aa 10 bb\n2 cc 20 ee\n"))
	require.ErrorContains(t, compare("1 aa 10 bb\n"), "tells of 2 seeds, and that with 2 of 1")
	require.ErrorContains(t, compare(both+"3 ff 30\n"), "tells of 2 seeds, and that with 2 of 3")
	require.ErrorContains(t, compare(""), "tells of 2 seeds, and that with 2 of 0")
}
