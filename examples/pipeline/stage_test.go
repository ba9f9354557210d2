//go:build unix

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// stage is a cluster of node dev, and the processes of the example.
type stage struct {
	t         *testing.T
	dir       string // programs, data and logs
	addresses []string
	nodes     []*node
	seats     [seats]*process

	mu      sync.Mutex
	figures figures
}

type figures struct {
	kills, ends, zombies, fenced, nodeKills int
}

// node is one node of the cluster. node dev starts it the first time.
type node struct {
	number  int
	pid     int
	started *process // by us; nil: by node dev
}

// process is a child of the test.
type process struct {
	cmd   *exec.Cmd
	leash io.Closer
	gone  chan struct{}
}

// newStage builds the programs and starts the cluster.
func newStage(t *testing.T) *stage {
	s := &stage{t: t, dir: t.TempDir()}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", s.dir, "../../cmd/node", ".")
	said, err := build.CombinedOutput()
	require.NoError(t, err, "%s", said)
	t.Cleanup(s.tellLogs)

	cmd := exec.Command(filepath.Join(s.dir, "node"), "dev", "--data", filepath.Join(s.dir, "data"), "--port", "0", "--http-port", "0",
		"--set", "heartbeat-interval=200ms", "--set", "session-timeout=1500ms", "--set", "replica-lag=1500ms",
		"--set", "election-timeout=500ms", "--set", "quorum-heartbeat=100ms", "--set", "reserve-bytes=-1")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		for _, n := range s.nodes {
			n.kill()
		}
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // with an error: its nodes have ended
	})
	says := regexp.MustCompile(`^node (\d+) ready +pid (\d+) +address (\S+)`)
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "ready;") {
		if m := says.FindStringSubmatch(lines.Text()); m != nil {
			number, _ := strconv.Atoi(m[1])
			pid, _ := strconv.Atoi(m[2])
			s.nodes = append(s.nodes, &node{number: number, pid: pid})
			s.addresses = append(s.addresses, m[3])
		}
	}
	require.Len(t, s.nodes, 3, "node dev does not start")
	go func() {
		for lines.Scan() { // it tells of nodes that end
		}
	}()
	return s
}

// tellLogs shows what a test that failed has left.
func (s *stage) tellLogs() {
	if !s.t.Failed() {
		return
	}
	logs, _ := filepath.Glob(filepath.Join(s.dir, "*.log"))
	more, _ := filepath.Glob(filepath.Join(s.dir, "data", "*.log"))
	for _, file := range append(logs, more...) {
		text, _ := os.ReadFile(file)
		if keep := 8000; len(text) > keep {
			text = text[len(text)-keep:]
		}
		s.t.Logf("the end of %s:\n%s", filepath.Base(file), text)
	}
}

// start runs a program that ends with the test, and appends what it says to a log. It
// is called from any goroutine, so it does not end the test itself.
func (s *stage) start(log, program string, args ...string) (*process, error) {
	f, err := os.OpenFile(filepath.Join(s.dir, log), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p := &process{cmd: exec.Command(filepath.Join(s.dir, program), args...), gone: make(chan struct{})}
	p.cmd.Stderr, p.cmd.SysProcAttr = f, dieWithUs()
	if p.leash, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	s.t.Cleanup(p.kill)
	go func() {
		_ = p.cmd.Wait() // how it ended is in its log
		close(p.gone)
	}()
	return p, nil
}

// seat has a new process take a seat. What sat there has ended.
func (s *stage) seat(i int) (err error) {
	s.seats[i], err = s.startExample(i)
	return err
}

func (s *stage) startExample(seat int) (*process, error) {
	return s.start(fmt.Sprintf("billing-%d.log", seat+1), "pipeline", "--nodes", strings.Join(s.addresses, ","),
		"--from", "orders", "--to", "invoices", "--id", fmt.Sprintf("billing-%d", seat+1), "--session", "1s")
}

// tellsWhatItWaitsFor starts the example before there are topics.
func (s *stage) tellsWhatItWaitsFor() {
	p, err := s.startExample(0)
	require.NoError(s.t, err)
	defer p.kill()
	require.Eventually(s.t, func() bool {
		log, err := os.ReadFile(filepath.Join(s.dir, "billing-1.log"))
		return err == nil && strings.Contains(string(log), "waiting for the topic orders and the topic invoices: there is none")
	}, 20*time.Second, 50*time.Millisecond)
}

// startNode does what node dev says about a node that ended.
func (s *stage) startNode(n *node) error {
	p, err := s.start(fmt.Sprintf("node%d.log", n.number), "node", "serve", "--leash",
		"--config", filepath.Join(s.dir, "data", fmt.Sprintf("node%d.yaml", n.number)))
	if err == nil {
		n.started = p
	}
	return err
}

func (n *node) kill() {
	if n.started == nil {
		_ = syscall.Kill(n.pid, syscall.SIGKILL)
		return
	}
	n.started.kill()
}

func (p *process) running() bool {
	select {
	case <-p.gone:
		return false
	default:
		return true
	}
}

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) } // it may have ended

func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.gone
}

// endsWithin waits for a process to end, and kills it when that takes too long.
func (p *process) endsWithin(d time.Duration) bool {
	select {
	case <-p.gone:
		return true
	case <-time.After(d):
		p.kill()
		return false
	}
}

// sleep waits; it is false when ctx ended first.
func (s *stage) sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
