package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// ciFiles are the examples that docs/campaigns.md tells people to copy.
var ciFiles = []string{"../../docs/ci/github-actions.yml", "../../docs/ci/kubernetes.yaml"}

// documents reads the documents of a YAML file.
func documents(t *testing.T, file string) (docs []map[string]any) {
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	d := yaml.NewDecoder(bytes.NewReader(b))
	for {
		doc := map[string]any{}
		if err := d.Decode(&doc); err != nil {
			require.EqualError(t, err, "EOF", file)
			return docs
		}
		docs = append(docs, doc)
	}
}

// scripts are all texts of a document that are run by a shell.
func scripts(v any) (list []string) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if s, ok := value.(string); ok && key == "run" {
				list = append(list, s)
			}
			if items, ok := value.([]any); ok && key == "args" {
				for _, item := range items {
					list = append(list, item.(string))
				}
			}
			list = append(list, scripts(value)...)
		}
	case []any:
		for _, value := range v {
			list = append(list, scripts(value)...)
		}
	}
	return list
}

var flagInScript = regexp.MustCompile(`--([a-z-]+)`)

func TestExamplesForCIAreSoundAndCallCommandsThatExist(t *testing.T) {
	commands := map[string]*cobra.Command{"run": runCommand(), "merge": mergeCommand()}
	for _, file := range ciFiles {
		called := map[string]int{}
		for _, doc := range documents(t, file) {
			for _, script := range scripts(doc) {
				checkShell(t, file, script)
				for line := range strings.Lines(strings.ReplaceAll(script, "\\\n", " ")) {
					_, call, ok := strings.Cut(line, "simrun ")
					if !ok || !strings.Contains(line, "--") || strings.Contains(line, "go build") {
						continue
					}
					name, rest, _ := strings.Cut(call, " ")
					require.Contains(t, commands, name, "%s: %s", file, line)
					called[name]++
					for _, flag := range flagInScript.FindAllStringSubmatch(rest, -1) {
						require.NotNil(t, commands[name].Flags().Lookup(flag[1]), "%s: simrun %s has no flag --%s", file, name, flag[1])
					}
				}
			}
		}
		require.Equal(t, map[string]int{"run": 1, "merge": 1}, called, "%s plays shards and merges them", file)
	}
}

// checkShell has bash read a script without running it. What GitHub puts in its
// place is no concern of the shell.
func checkShell(t *testing.T, file, script string) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Log("there is no bash to check scripts with")
		return
	}
	cmd := exec.Command(bash, "-n")
	cmd.Stdin = strings.NewReader(regexp.MustCompile(`\$\{\{.*?\}\}`).ReplaceAllString(script, "X"))
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s: %s\n%s", file, said, script)
}

func TestTheShardsOfTheExamplesAreAllOfThem(t *testing.T) {
	actions := documents(t, ciFiles[0])[0]
	require.Contains(t, actions, "on")
	jobs := actions["jobs"].(map[string]any)
	matrix := jobs["shard"].(map[string]any)["strategy"].(map[string]any)["matrix"].(map[string]any)["shard"].([]any)
	require.EqualValues(t, len(matrix), actions["env"].(map[string]any)["SHARDS"])
	for i, shard := range matrix {
		require.EqualValues(t, i+1, shard)
	}
	require.Equal(t, "shard", jobs["merge"].(map[string]any)["needs"])

	var kinds []string
	for _, doc := range documents(t, ciFiles[1]) {
		kinds = append(kinds, doc["kind"].(string))
		require.NotEmpty(t, doc["apiVersion"])
		if doc["metadata"].(map[string]any)["name"] != "simrun" {
			continue
		}
		spec := doc["spec"].(map[string]any)
		require.Equal(t, "Indexed", spec["completionMode"])
		require.Equal(t, spec["completions"], spec["parallelism"])
		container := spec["template"].(map[string]any)["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)
		shards := slices.IndexFunc(container["env"].([]any), func(v any) bool { return v.(map[string]any)["name"] == "SHARDS" })
		require.Equal(t, "32", container["env"].([]any)[shards].(map[string]any)["value"])
		require.EqualValues(t, 32, spec["completions"])
	}
	require.Equal(t, []string{"PersistentVolumeClaim", "Job", "Job"}, kinds)
	require.FileExists(t, filepath.Join("..", "..", "docs", "campaigns.md"))
}
