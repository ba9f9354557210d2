package shown

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

func TestCommandLinesAreFoundAndHeldAgainstTheProgram(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "docs"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "docs", "old.md"), []byte("`boat sink`"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(root, "README.md"), []byte(`Take a boat. Then

    echo x | ./bin/boat row --oars 2 north > log   # a remark
    boat row \
      -f; boat rest

or `+"`boat row --sail`, or `boat swim NOW`, or `boats row`"+`.
`), 0o644))
	lines, err := Commands(root, "boat", "old.md")
	require.NoError(t, err)
	require.Equal(t, []Line{
		{"README.md", "boat row --oars 2 north", []string{"row", "--oars", "2", "north"}},
		{"README.md", "boat rest", []string{"rest"}},
		{"README.md", "boat row --sail", []string{"row", "--sail"}},
		{"README.md", "boat swim NOW", []string{"swim", "NOW"}},
	}, lines)

	program, row := &cobra.Command{Use: "boat"}, &cobra.Command{Use: "row", Run: func(*cobra.Command, []string) {}}
	row.Flags().Int("oars", 0, "")
	program.AddCommand(row, &cobra.Command{Use: "rest", Run: func(*cobra.Command, []string) {}})
	require.NoError(t, lines[0].Check(program))
	require.NoError(t, lines[1].Check(program))
	require.EqualError(t, lines[2].Check(program), "README.md shows `boat row --sail`: boat row has no flag --sail")
	require.ErrorContains(t, lines[3].Check(program), `README.md shows `+"`boat swim NOW`"+`: unknown command "swim"`)
}
