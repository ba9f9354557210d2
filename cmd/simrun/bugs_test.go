package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/hunt"
)

// TestBugsMayComeFromAnyFolder: from one outside of the source tree, by its
// absolute path, and each can be run again by the command that is printed.
func TestBugsMayComeFromAnyFolder(t *testing.T) {
	root, err := hunt.Root()
	require.NoError(t, err)
	dir := t.TempDir()
	text := `source: ours
area: storage
what: a flush does nothing
usersSee: records are lost
invariants: [INV-13]
edits:
  - file: storage
    find: 'err := u.data.file.Sync()'
    replace: 'err := error(nil)'
`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "no-flush.yaml"), []byte(text), 0o644))
	bugs, err := chooseBugs(root, dir, nil, 7)
	require.NoError(t, err)
	require.Len(t, bugs, 1)
	require.Equal(t, 7, bugs[0].Seeds)
	texts, err := bugs[0].Mutated(root)
	require.NoError(t, err)
	require.Contains(t, texts, "storage/flush.go")

	again, err := hunt.Find(filepath.Join(root, plantedFolder), nameOf(dir, &bugs[0]))
	require.NoError(t, err)
	require.Equal(t, "no-flush", again.Name)

	_, err = chooseBugs(root, dir, []string{"another"}, 0)
	require.ErrorContains(t, err, `there is no bug "another"`)
}
