package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

func settle(t *testing.T, file string, env map[string]string, args ...string) (*serveOptions, error) {
	t.Helper()
	o := &serveOptions{}
	cmd := &cobra.Command{}
	o.declare(cmd)
	require.NoError(t, cmd.ParseFlags(args))
	path := ""
	if file != "" {
		path = filepath.Join(t.TempDir(), "node.yaml")
		require.NoError(t, os.WriteFile(path, []byte(file), 0o600))
	}
	return o, o.settle(path, func(name string) (string, bool) { v, ok := env[name]; return v, ok })
}

// A flag beats a variable, a variable beats the file, the file beats the default.
func TestSettingsHaveAnOrderOfPrecedence(t *testing.T) {
	file := "node: 1\ncluster: oak\nsession-timeout: 9s\nsegment-bytes: 16MiB\nvoters:\n- 1@a:1\n- 2@b:1\n"
	o, err := settle(t, file, map[string]string{"TAMARACK_NODE": "2", "TAMARACK_CLUSTER": "elm"}, "--node=3")
	require.NoError(t, err)
	require.Equal(t, int32(3), o.node)
	require.Equal(t, "elm", o.cluster)
	require.Equal(t, 9*time.Second, o.session)
	require.Equal(t, bytesValue(16<<20), o.segmentBytes)
	require.Equal(t, []string{"1@a:1", "2@b:1"}, o.voters)
	require.Equal(t, "0.0.0.0:9092", o.listen)
}

func TestWrongSettingsAreNamed(t *testing.T) {
	cases := []struct{ file, says string }{
		{"nods: 1", `there is no setting "nods"`},
		{"log_level: info", `did you mean "log-level"?`},
		{"node: one", `node is "one"`},
		{"tail-bytes: 3MB", "with KiB, MiB or GiB"},
		{"node: {a: 1}", "not a map"},
		{"a: b: c", "no YAML of settings"},
	}
	for _, c := range cases {
		_, err := settle(t, c.file, nil)
		require.ErrorContains(t, err, c.says)
	}
}

// What --print-config prints gives the same settings again.
func TestPrintedSettingsGiveTheSameAgain(t *testing.T) {
	first, err := settle(t, "node: 7\ncluster: \"12\"\nvoters: [7@a:1]\nlog-level: debug\nreserve-bytes: -1\n", nil, "--tail-bytes=5MiB", "--pprof")
	require.NoError(t, err)
	var printed, again bytes.Buffer
	first.print(&printed)
	second, err := settle(t, printed.String(), nil)
	require.NoError(t, err)
	for name := range second.origin {
		second.origin[name] = first.origin[name]
	}
	second.print(&again)
	require.Equal(t, printed.String(), again.String())
	require.Equal(t, "12", second.cluster)
}

func TestEverySettingIsExplained(t *testing.T) {
	o, err := settle(t, "", nil)
	require.NoError(t, err)
	for _, name := range o.names {
		require.NotEmpty(t, o.flags.Lookup(name).Usage, name)
	}
}

func TestSizesAreReadAndPrinted(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "-1": -1, "17": 17, "4KiB": 4 << 10, "3MiB": 3 << 20, "2GiB": 2 << 30, "1TiB": 1 << 40} {
		var b bytesValue
		require.NoError(t, b.Set(text))
		require.Equal(t, want, int64(b))
		require.Equal(t, text, b.String())
	}
	var b bytesValue
	require.Error(t, b.Set("99999999999GiB"))
}

// A few records are not "0.0 MB".
func TestAmountsArePrintedInTheUnitThatSuitsThem(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 bytes", 1: "1 byte", 999: "999 bytes", 1000: "1.0 kB", 43210: "43.2 kB", 1_000_000: "1.0 MB", 12_345_678_900: "12.3 GB",
	} {
		require.Equal(t, want, amount(n))
	}
}
