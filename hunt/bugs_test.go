package hunt

import (
	"os"
	"path"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// published loads the bugs of this repository.
func published(t *testing.T) (root string, bugs []Bug) {
	root, err := Root()
	require.NoError(t, err)
	bugs, err = Load(filepath.Join(root, "scenarios", "bugs"))
	require.NoError(t, err)
	return root, bugs
}

// TestEachBugStillFitsTheCode: a bug whose text has moved plants nothing, and
// would be missed for a reason that says nothing about the simulator.
func TestEachBugStillFitsTheCode(t *testing.T) {
	root, bugs := published(t)
	for _, b := range bugs {
		t.Run(b.Name, func(t *testing.T) {
			for _, e := range b.Edits {
				require.NotEqual(t, e.Find, e.Replace)
			}
			_, err := b.Mutated(root)
			require.NoError(t, err)
		})
	}
}

// TestEachBugNamesInvariantsThatThereAre: by one that nothing enforces no bug can be
// found, and the page of planted bugs would promise it.
func TestEachBugNamesInvariantsThatThereAre(t *testing.T) {
	root, bugs := published(t)
	page, err := os.ReadFile(filepath.Join(root, "docs", "invariants.md"))
	require.NoError(t, err)
	for _, b := range bugs {
		for _, name := range b.Invariants {
			require.Contains(t, string(page), "\n| "+name+" ", b.Name)
		}
	}
}

// TestTheBugsCoverEveryArea holds what the collection promises: at least two
// published faults of each area that can break a record or a position.
func TestTheBugsCoverEveryArea(t *testing.T) {
	_, bugs := published(t)
	have := map[string]int{}
	for _, b := range bugs {
		if b.Source != "ours" {
			have[b.Area]++
		}
	}
	for _, area := range []string{"replication", "election", "controller", "storage", "retention", "group", "offsets", "idempotence", "client"} {
		require.GreaterOrEqual(t, have[area], 2, area)
	}
}

// TestEachBugCompiles type-checks every edited package: quicker than the build
// that a hunt makes of each.
func TestEachBugCompiles(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the module")
	}
	root, bugs := published(t)
	built, err := NewChecker(root, "./core/...", "./storage/...", "./sim")
	require.NoError(t, err)
	for _, b := range bugs {
		t.Run(b.Name, func(t *testing.T) {
			texts, err := b.Mutated(root)
			require.NoError(t, err)
			folders := map[string]bool{}
			for file := range texts {
				folders[path.Dir(file)] = true
			}
			for folder := range folders {
				err := built.Check(folder, texts)
				if err != nil && len(folders) > 1 { // it may need what another folder has been given
					_, err = Build(t.Context(), root, t.TempDir(), b.Name, texts)
				}
				require.NoError(t, err)
			}
		})
	}
}
