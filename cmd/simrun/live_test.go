package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/live"
)

func TestTheHistoryOfALiveRunIsKeptWhereItIsToBe(t *testing.T) {
	keep := t.TempDir()
	path, err := saveHistory(&live.Report{}, keep)
	require.NoError(t, err)
	require.Equal(t, keep, filepath.Dir(path))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "null\n", string(text))
	_, err = saveHistory(&live.Report{}, filepath.Join(keep, "none"))
	require.Error(t, err)
}
