// Package scenarios holds named plans for the simulator, one file each. It is
// data: a plan says what must hold and what must be seen to happen.
package scenarios

import (
	"embed"
	"strings"
)

//go:embed *.json
var files embed.FS

// Names lists all scenarios in rising order.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic("scenarios: " + err.Error()) // embedded files can always be listed
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".json"); ok {
			names = append(names, name)
		}
	}
	return names
}

// Read returns the file of one scenario.
func Read(name string) ([]byte, error) { return files.ReadFile(name + ".json") }
