package live

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/tape"
)

// writer sends a run's log to the test.
type writer struct{ t *testing.T }

func (w writer) Write(b []byte) (int, error) { w.t.Logf("%s", b); return len(b), nil }

func TestRealNodesKeepWhatTheyAcknowledged(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes")
	}
	binary := filepath.Join(t.TempDir(), "node")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../cmd/node")
	said, err := build.CombinedOutput()
	require.NoError(t, err, "%s", said)
	tapes := t.TempDir()
	r, err := Run(t.Context(), Config{
		Binary: binary, Dir: t.TempDir(), Record: tapes, Seed: 5, For: 12 * time.Second,
		Nodes: 3, Partitions: 4, Producers: 3, Members: 2, Workers: 1, Transactors: 1, Log: writer{t},
	})
	require.NoError(t, err, "again: go run ./cmd/simrun live --for 12s --seed 5 --partitions 4 --producers 3 --members 2 --workers 1 --transactors 1")
	require.Empty(t, r.Violations)
	require.False(t, r.Thin(), "%d acknowledged, %d polled", r.Acked, r.Polled)
	require.Positive(t, r.Kills)
	require.Positive(t, r.Transactions.Committed)
	require.Positive(t, r.Transactions.Crashes+r.Transactions.Pauses+r.Transactions.Zombies)
	require.GreaterOrEqual(t, r.Records, r.Acked)
	conform(t, tapes, 3+r.Kills)
}

// conform demands that the cores of all processes do again what they did.
func conform(t *testing.T, tapes string, processes int) {
	files, err := filepath.Glob(filepath.Join(tapes, "*"+tape.Suffix))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), processes, "a recording for each process")
	killed := 0
	for _, file := range files {
		f, err := os.Open(file)
		require.NoError(t, err)
		r, err := tape.Conform(f, "")
		f.Close()
		require.NoError(t, err, file)
		require.Nil(t, r.Difference, file)
		if strings.Contains(r.End, "killed") {
			killed++
		}
	}
	require.GreaterOrEqual(t, killed, processes-3)
}

func TestAScheduleFollowsFromItsSeed(t *testing.T) {
	schedule := func(seed uint64) []fault {
		r := &run{cfg: Config{For: time.Minute, Nodes: 3}, random: chance.New(seed)}
		return r.schedule()
	}
	require.Equal(t, schedule(3), schedule(3))
	require.NotEqual(t, schedule(3), schedule(4))
	for seed := range uint64(50) {
		kills, end := 0, time.Duration(0)
		for _, f := range schedule(seed) {
			require.GreaterOrEqual(t, f.at, end, "two faults at once (seed %d)", seed)
			end = f.at + f.lasts
			if f.kind == killed {
				kills++
			}
		}
		require.GreaterOrEqual(t, kills, 10, "a minute has at least ten kills (seed %d)", seed)
	}
}

func TestACutProxyEndsConnectionsUntilItIsMended(t *testing.T) {
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer echo.Close()
	go func() {
		for {
			c, err := echo.Accept()
			if err != nil {
				return
			}
			go func() {
				b := make([]byte, 1)
				for {
					if _, err := c.Read(b); err != nil {
						return
					}
					if _, err := c.Write(b); err != nil {
						return
					}
				}
			}()
		}
	}()
	p, err := newProxy(echo.Addr().String())
	require.NoError(t, err)
	defer p.close()
	answers := func(c net.Conn) bool {
		_ = c.SetDeadline(time.Now().Add(5 * time.Second))
		if _, err := c.Write([]byte{1}); err != nil {
			return false
		}
		_, err := c.Read(make([]byte, 1))
		return err == nil
	}
	dial := func() net.Conn {
		c, err := net.Dial("tcp", p.address())
		require.NoError(t, err)
		return c
	}
	first := dial()
	require.True(t, answers(first))
	p.cut()
	require.False(t, answers(first))
	require.False(t, answers(dial()))
	p.mend()
	require.True(t, answers(dial()))
}

func TestAShutGateHoldsAClientUntilItOpens(t *testing.T) {
	var g gate
	in := make(chan string, 2)
	ear := &inlet{&g, listener(in)}
	ear.Replied(1, nil)
	require.Equal(t, "reply", <-in)
	g.shut()
	passed := make(chan struct{})
	go func() {
		ear.Closed(nil)
		close(passed)
	}()
	select {
	case <-passed:
		t.Fatal("it came through a gate that is shut")
	case <-time.After(50 * time.Millisecond):
	}
	g.open()
	<-passed
	require.Equal(t, "end", <-in)
}

// listener tells what a client would hear.
type listener chan string

func (l listener) Replied(uint64, message.Reply) { l <- "reply" }
func (l listener) Closed(error)                  { l <- "end" }
