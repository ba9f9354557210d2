package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
)

func TestAnOddNumberOfNodesVotes(t *testing.T) {
	var voters []int
	for n := 1; n <= 9; n++ {
		voters = append(voters, votersOf(n))
	}
	require.Equal(t, []int{1, 1, 3, 3, 5, 5, 5, 5, 5}, voters)
}

func TestNegativeRetentionMeansForEver(t *testing.T) {
	for given, want := range map[time.Duration]message.Duration{
		0: 0, time.Hour: message.Duration(time.Hour), -1: -1, -time.Second: -1, -time.Hour: -1,
	} {
		require.Equal(t, want, forEver(given))
	}
}
