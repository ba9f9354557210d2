package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
)

// journalOf is a log that a test can look into.
type journalOf struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journalOf) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journalOf) all() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// awaits waits for a line with some words.
func (j *journalOf) awaits(t *testing.T, words string) {
	t.Helper()
	eventually(t, func() string {
		if strings.Contains(j.all(), words) {
			return ""
		}
		return "nobody says " + words + " in\n" + j.all()
	})
}

// line is the first line that has a text in it, by its keys.
func (j *journalOf) line(text string) map[string]any {
	for l := range strings.Lines(j.all()) {
		var keys map[string]any
		if strings.Contains(l, text) && json.Unmarshal([]byte(l), &keys) == nil {
			return keys
		}
	}
	return nil
}

// Bytes of the leader's log rot while it runs: the node says so, by the name of
// the partition, gives its place up, and says when the log is filled again.
func TestDamageFoundByAReadIsTold(t *testing.T) {
	if testing.Short() {
		t.Skip("real sockets, files and timeouts")
	}
	c := newCluster(t, 3)
	c.ready(t)
	id := c.topic(t)
	leader := c.leader(t, 0, message.NoNode)
	want := []string{"one", "two", "three"}
	for _, v := range want {
		c.produce(t, leader, id, v)
	}
	for _, n := range c.nodes {
		n.Stop()
		_ = n.Wait()
	}
	journals := make([]journalOf, 3)
	for i := range c.nodes { // with nothing in memory
		c.configs[i].Logger = slog.New(slog.NewJSONHandler(&journals[i], nil))
		c.start(t, i)
	}
	c.ready(t)
	leader = c.leader(t, 0, message.NoNode)
	rot(t, filepath.Join(c.configs[leader].DataDir, fmt.Sprintf("%d-0", id.Topic)))

	bad := leader
	c.ask(t, bad, fetchFrom(id, 0))
	eventually(t, func() string {
		if journals[bad].line("a read found a log damaged") == nil {
			return "the damage is not told"
		}
		return ""
	})
	told := journals[bad].line("a read found a log damaged")
	require.Equal(t, []any{"ERROR", "orders/0", float64(0)}, []any{told["level"], told["partition"], told["offset"]})
	require.Contains(t, told["file"], ".log")
	require.Equal(t, want, c.values(t, c.leader(t, (bad+1)%3, c.configs[bad].Node), id, len(want)))
	eventually(t, func() string {
		if journals[bad].line("a damaged log is given up and filled again") == nil {
			return "the repair is not told"
		}
		return ""
	})
	_, body := get(t, "http://"+c.nodes[bad].HTTPAddress()+"/metrics")
	for _, line := range []string{`tamarack_log_damage_total{found="read",node="` + c.configs[bad].Node.String() + `"} 1`,
		`tamarack_log_repairs_total{node="` + c.configs[bad].Node.String() + `"} 1`, `tamarack_logs_damaged{node="` + c.configs[bad].Node.String() + `"} 0`} {
		require.Contains(t, body, line)
	}
}

// rot changes a byte in the middle of each segment in a folder.
func rot(t *testing.T, dir string) {
	t.Helper()
	segments, err := filepath.Glob(filepath.Join(dir, "*.log"))
	require.NoError(t, err)
	require.NotEmpty(t, segments)
	for _, name := range segments {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NotEmpty(t, b)
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = f.WriteAt([]byte{^b[40]}, 40)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
}
