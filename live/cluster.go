package live

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/tamarack-mq/tamarack/internal/loopback"
)

// cluster is the node processes.
type cluster struct {
	nodes []*node
}

// node is one process with the proxy that stands before it.
type node struct {
	id     int
	binary string
	args   []string
	log    string
	proxy  *proxy
	cmd    *exec.Cmd
	gone   chan struct{}
}

func start(ctx context.Context, cfg Config) (*cluster, error) {
	c := &cluster{}
	listens, err := loopback.Addresses(cfg.Nodes)
	if err != nil {
		return nil, err
	}
	voters := make([]string, cfg.Nodes)
	for i := range cfg.Nodes {
		p, err := newProxy(listens[i])
		if err != nil {
			c.stop()
			return nil, err
		}
		voters[i] = fmt.Sprintf("%d@%s", i+1, p.address())
		c.nodes = append(c.nodes, &node{id: i + 1, binary: cfg.Binary, proxy: p})
	}
	for i, n := range c.nodes {
		data := filepath.Join(cfg.Dir, fmt.Sprintf("node%d", n.id))
		n.log = data + ".log"
		n.args = []string{
			"serve", "--node", fmt.Sprint(n.id), "--cluster", "live", "--data", data,
			"--listen", listens[i], "--advertise", n.proxy.address(), "--voters", strings.Join(voters, ","),
			"--reserve-bytes", "-1", "--segment-bytes", "1MiB",
			"--session-timeout", "2s", "--heartbeat-interval", "300ms", "--replica-lag", "2s",
			"--group-session-timeout", "4s", "--group-heartbeat-interval", "500ms",
		}
		if cfg.Record != "" {
			n.args = append(n.args, "--record", cfg.Record)
		}
		if err := n.launch(); err != nil {
			c.stop()
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		c.stop()
		return nil, err
	}
	return c, nil
}

// launch starts the process (again), on the data that it had.
func (n *node) launch() error {
	log, err := os.OpenFile(n.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(n.binary, n.args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = dieWithUs()
	if err := cmd.Start(); err != nil {
		return err
	}
	n.cmd, n.gone = cmd, make(chan struct{})
	go func(gone chan struct{}) {
		_ = cmd.Wait() // how it ended is in its log
		close(gone)
	}(n.gone)
	return nil
}

// running says whether the process is there.
func (n *node) running() bool {
	if n.cmd == nil {
		return false
	}
	select {
	case <-n.gone:
		return false
	default:
		return true
	}
}

func (n *node) signal(s syscall.Signal) {
	if n.running() {
		_ = n.cmd.Process.Signal(s) // it may have ended meanwhile
	}
}

func (n *node) kill() {
	if n.cmd != nil {
		n.signal(syscall.SIGKILL)
		<-n.gone
	}
}

func (n *node) pause() {
	n.signal(pauseSignal)
}

func (n *node) resume() {
	n.signal(resumeSignal)
}

// heal ends all trouble. A node that stopped by itself (halted, as after a
// failed flush) is started again too.
func (c *cluster) heal() {
	for _, n := range c.nodes {
		n.proxy.mend()
		n.resume()
		if !n.running() {
			_ = n.launch() // the final reading tells if it is missed
		}
	}
}

func (c *cluster) stop() {
	for _, n := range c.nodes {
		n.resume()
		n.signal(syscall.SIGTERM)
	}
	for _, n := range c.nodes {
		if n.cmd != nil {
			select {
			case <-n.gone:
			case <-time.After(5 * time.Second):
				n.kill()
			}
		}
		n.proxy.close()
	}
}

// addresses are where clients begin.
func (c *cluster) addresses() string {
	var list []string
	for _, n := range c.nodes {
		list = append(list, n.proxy.address())
	}
	return strings.Join(list, ",")
}
