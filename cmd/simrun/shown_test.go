package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/internal/shown"
)

// What the documentation tells people to type is there.
func TestTheDocumentationShowsCommandsThatThereAre(t *testing.T) {
	lines, err := shown.Commands("../..", "simrun", "bugs-found.md")
	require.NoError(t, err)
	require.Greater(t, len(lines), 30)
	for i := range lines {
		require.NoError(t, lines[i].Check(rootCommand()))
	}
}
