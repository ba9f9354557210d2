package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAComplaintCountsInWords(t *testing.T) {
	require.Equal(t, "1 node is fenced, 0 partitions are offline, 2 are short of replicas", clusterSummary{fenced: 1, thin: 2}.complaint())
	require.Equal(t, "2 nodes are fenced, 1 partition is offline, 1 is short of replicas", clusterSummary{fenced: 2, offline: 1, thin: 1}.complaint())
}
