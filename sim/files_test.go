package sim

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whoever gives the wrong file, or misspells it, is told which one it was and what
// was expected.
func TestAFileThatIsNoPlanIsNamed(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"notes.md": "# Notes", "cut.json": `{"seed": 1,`, "empty.json": "", "odd.json": `{"meteors": 3}`,
		"twice.json": `{"seed": 1}{"seed": 2}`, "seed.json": `{"seed": 1}`, "topic.yaml": "topics: 3",
	} {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}
	require.NoError(t, os.Mkdir("folder", 0o755))
	const form = "not a plan, which is JSON as simrun plan SEED prints it: "
	for name, says := range map[string]string{
		"notes.md":    "notes.md: " + form + "invalid character '#' looking for beginning of value",
		"cut.json":    "cut.json: " + form + "unexpected EOF",
		"empty.json":  "empty.json: " + form + "EOF",
		"odd.json":    "odd.json: " + form + `json: unknown field "meteors"`,
		"twice.json":  "twice.json: not a plan: something follows behind its end",
		"seed.json":   "seed.json: cluster.nodes is 0: between 1 and 30",
		"none.json":   `"none.json" is no seed (a number, or a whole commit hash), and as the file of a plan it cannot be read: open none.json: no such file or directory`,
		"folder":      `"folder" is no seed (a number, or a whole commit hash), and as the file of a plan it cannot be read: read folder: is a directory`,
		"meteors:3":   `there are no plans called "meteors": it is beyond, transactions or five`,
		"none.yaml":   "open none.yaml: no such file or directory",
		"five:twelve": `"five:twelve" is no seed (a number, or a whole commit hash), and as the file of a plan it cannot be read: open five:twelve: no such file or directory`,
	} {
		_, err := LoadPlan(name)
		require.EqualError(t, err, says)
	}
	_, err := LoadPlan("topic.yaml")
	require.ErrorContains(t, err, `topic.yaml: [1:1] unknown field "topics"`)

	// A plan that was saved is read, by its path, too.
	file := filepath.Join("folder", "plan.json")
	require.NoError(t, NewPlan(3).Save(file))
	plan, err := LoadPlan(file)
	require.NoError(t, err)
	require.Equal(t, uint64(3), plan.Seed)
}
