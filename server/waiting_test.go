package server

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What a node waits for is said at once, again after a minute, and then more and more
// rarely; and when it is over.
func TestALongWaitIsToldMoreAndMoreRarely(t *testing.T) {
	log := &journalOf{}
	w := &waiting{log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))}
	now := time.Unix(1000, 0)
	for range 300 { // ten minutes
		w.look(now, "a controller")
		now = now.Add(waitLook)
	}
	w.look(now, "its turn")
	w.look(now, "")
	w.look(now, "")
	require.Equal(t, `level=WARN msg=waiting for="a controller"
level=WARN msg="still waiting" for="a controller"
level=WARN msg="still waiting" for="a controller"
level=WARN msg="still waiting" for="a controller"
level=WARN msg=waiting for="its turn"
level=INFO msg="ready: the cluster knows this run and lets it serve"
`, log.all())
}

// A second process under a number waits for ever. Its log says which run has the
// number, although all answers of other nodes go to that one.
func TestWhoHasTheNumberIsTold(t *testing.T) {
	c := newCluster(t, 3)
	c.ready(t)
	second, log := c.configs[0], &journalOf{}
	second.Listen, second.DataDir, second.Record = freeAddress(t), filepath.Join(t.TempDir(), "another"), ""
	second.Logger = slog.New(slog.NewTextHandler(log, nil))
	n, err := Start(second)
	require.NoError(t, err)
	defer func() {
		n.Stop()
		_ = n.Wait()
	}()
	log.awaits(t, "node 1 is registered by another run, at "+c.nodes[0].Address())
	require.Equal(t, 1, strings.Count(log.all(), "level=WARN"), log.all())
}

// A voter that has lost its disk needs the answers of all others: its log names those
// that it lacks.
func TestAVoterThatIsNotAdmittedNamesWhomItLacks(t *testing.T) {
	c := newCluster(t, 3)
	c.ready(t)
	for _, i := range []int{1, 2} {
		c.nodes[i].Stop()
		_ = c.nodes[i].Wait()
	}
	require.NoError(t, os.RemoveAll(c.configs[1].DataDir))
	log := &journalOf{}
	c.configs[1].Logger = slog.New(slog.NewTextHandler(log, nil))
	c.start(t, 1)
	log.awaits(t, "It votes once it has an answer of node 3 as well")
	c.start(t, 2)
	log.awaits(t, "ready: the cluster knows this run and lets it serve")
}
