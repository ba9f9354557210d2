package witness

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// docs/debugging.md explains each column of a trace, in their order, and names each
// kind of row: programs are written by it.
func TestThePageOnTracesTellsAllColumnsAndRows(t *testing.T) {
	text, err := os.ReadFile("../docs/debugging.md")
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(text), "\n## Reading a trace\n")
	section, _, _ = strings.Cut(section, "\n## ")
	table, rest, _ := strings.Cut(section, "\n`what` is, ")
	rest, _, _ = strings.Cut(rest, "\n\n")

	var columns []string
	for _, row := range regexp.MustCompile(`(?m)^\| \d[^|]*`).FindAllString(table, -1) {
		for _, name := range regexp.MustCompile("`[a-z]+`").FindAllString(row, -1) {
			columns = append(columns, strings.Trim(name, "`"))
		}
	}
	require.Equal(t, strings.Fields(strings.TrimLeft(TraceHeader, " #")), columns)

	var kinds []string
	for _, name := range regexp.MustCompile("`[a-z-]+`").FindAllString(rest, -1) {
		kinds = append(kinds, strings.Trim(name, "`"))
	}
	require.ElementsMatch(t, Whats(), kinds)
}
