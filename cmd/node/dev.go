package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/tamarack-mq/tamarack/internal/loopback"
)

// devOptions describe a cluster on this machine.
type devOptions struct {
	nodes    int
	data     string
	port     int
	httpPort int
	logs     bool
	record   string   // folder; empty: nothing is recorded
	extra    []string // settings for every node, as name: value
}

func devCommand() *cobra.Command {
	o := devOptions{}
	var with withOptions
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run a cluster on this machine, with nothing to configure",
		Long: `Run a cluster of three nodes on this machine, each a process of its own, with all
data below one folder. Ctrl-C stops them all; the next start finds what they
stored. A node that ends (try kill -9) is not started again: the command that
does so is printed. The process number of node 1 is in node1.pid in that folder
for as long as the process that was started here runs.` + withHelp,
		Example: withExample,
		Args:    exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			plan, err := with.check(cmd, &o)
			if err != nil {
				return err
			}
			if plan != nil {
				return devWith(cmd.Context(), o, with, plan, cmd.OutOrStdout())
			}
			return dev(cmd.Context(), o, cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.IntVar(&o.nodes, "nodes", 3, "Number of nodes")
	f.StringVar(&o.data, "data", "./tamarack-data", "Folder for the data, settings and logs of all nodes")
	f.IntVar(&o.port, "port", 9092, "Port of the first node, the others have the next ones; 0: any that are free")
	f.IntVar(&o.httpPort, "http-port", 9192, "The same for metrics and health checks")
	f.BoolVar(&o.logs, "logs", false, "Show the nodes' logs here instead of writing them to files")
	f.StringVar(&o.record, "record", "", "Folder for recordings of all nodes, to be checked with simrun conform")
	f.StringArrayVar(&o.extra, "set", nil, "A setting for every node, as name=value (see serve --print-config)")
	with.flags(cmd)
	return cmd
}

// devNode is one child.
type devNode struct {
	number  int
	address string
	http    string
	data    string
	config  string
	logFile string
	pidFile string // there while the process that was started here runs
	share   int    // of the machine's processors
	cmd     *exec.Cmd
	leash   io.Closer
	ended   chan struct{}
	err     error
}

// devCluster are the children of one run.
type devCluster struct {
	nodes []*devNode
}

func dev(ctx context.Context, o devOptions, out io.Writer) error {
	c, err := startDev(o)
	if err != nil {
		return err
	}
	defer c.stop()
	if err := c.awaitReady(ctx, func(n *devNode) {
		fmt.Fprintf(out, "node %d ready  pid %d  address %s  http %s  data %s\n", n.number, n.cmd.Process.Pid, n.address, n.http, n.data)
	}); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	fmt.Fprintln(out, "ready; Ctrl-C stops all nodes")
	ends := make(chan *devNode)
	for _, n := range c.nodes {
		go func() { <-n.ended; ends <- n }()
	}
	for left := len(c.nodes); left > 0; left-- {
		select {
		case <-ctx.Done():
			fmt.Fprintln(out, "stopping")
			return nil
		case n := <-ends:
			if ctx.Err() != nil {
				return nil
			}
			fmt.Fprintf(out, "node %d ended (%s); to start it again: %s serve --config %s\n", n.number, n.outcome(), program(), n.config)
		}
	}
	if others := c.stillServing(ctx); others != "" {
		fmt.Fprintf(out, "all nodes that were started here have ended; those started again by hand go on: %s\n", others)
		return nil
	}
	return fmt.Errorf("all nodes have ended; their logs are in %s", o.data)
}

// program is how this program was called, for commands that are printed.
func program() string {
	if strings.Contains(os.Args[0], "go-build") { // go run builds into a folder of that name, and takes it away
		return "go run ./cmd/node"
	}
	return os.Args[0]
}

// stillServing names the nodes that answer, whoever started them.
func (c *devCluster) stillServing(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	var names []string
	for _, n := range c.nodes {
		if _, err := n.probe(ctx); err == nil {
			names = append(names, fmt.Sprintf("node %d at %s", n.number, n.address))
		}
	}
	return strings.Join(names, ", ")
}

// startDev writes the nodes' settings and starts them.
func startDev(o devOptions) (*devCluster, error) {
	if o.nodes < 1 || o.nodes > maxDevNodes {
		return nil, usage("%d nodes: it must be 1 to %d", o.nodes, maxDevNodes)
	}
	addresses, err := ports(o.nodes, o.port, "--port")
	if err != nil {
		return nil, err
	}
	https, err := ports(o.nodes, o.httpPort, "--http-port")
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.data, 0o755); err != nil {
		return nil, fmt.Errorf("cannot make the data folder: %w", err)
	}
	var voters []string
	for i := range votersOf(o.nodes) {
		voters = append(voters, fmt.Sprintf("%d@%s", i+1, addresses[i]))
	}
	if o.record != "" {
		o.extra = append(o.extra, "record="+o.record)
	}
	c := &devCluster{}
	for i := range o.nodes {
		n := &devNode{
			number: i + 1, address: addresses[i], http: https[i],
			data:    filepath.Join(o.data, fmt.Sprintf("node%d", i+1)),
			config:  filepath.Join(o.data, fmt.Sprintf("node%d.yaml", i+1)),
			logFile: filepath.Join(o.data, fmt.Sprintf("node%d.log", i+1)),
			pidFile: filepath.Join(o.data, fmt.Sprintf("node%d.pid", i+1)),
		}
		if err := n.write(voters, o.extra); err != nil {
			c.stop()
			return nil, err
		}
		n.share = max(1, runtime.NumCPU()/o.nodes)
		if err := n.start(o.logs); err != nil {
			c.stop()
			return nil, err
		}
		c.nodes = append(c.nodes, n)
	}
	return c, nil
}

// votersOf is how many of some nodes vote: an odd number, at most five. One more
// would make the cluster bear no more failures.
func votersOf(nodes int) int {
	n := min(nodes, 5)
	return n - 1 + n%2
}

// ports finds an address on loopback for each node.
func ports(count, first int, flag string) ([]string, error) {
	if first == 0 {
		return loopback.Addresses(count)
	}
	if first < 1 || first+count-1 > 65535 {
		return nil, usage("%s %d: the ports of %s must be 1 to 65535; 0: any that are free", flag, first, counted(count, "node"))
	}
	var addresses []string
	var held []net.Listener // so that none is given out twice
	defer func() {
		for _, l := range held {
			l.Close()
		}
	}()
	for i := range count {
		port := first + i
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return nil, fmt.Errorf("port %d is taken (%w): does another cluster run? Choose another port with %s, or %s 0 for any", port, err, flag, flag)
		}
		held = append(held, l)
		addresses = append(addresses, l.Addr().String())
	}
	return addresses, nil
}

// write makes the node's settings file.
func (n *devNode) write(voters, extra []string) error {
	own := []string{
		fmt.Sprintf("node=%d", n.number), "cluster=dev", "data=" + n.data, "listen=" + n.address, "http=" + n.http, "pprof=true",
		"voters=" + strings.Join(voters, ","), "reserve-bytes=64MiB", "shutdown-limit=3s",
	}
	values := yaml.MapSlice{}
	for _, s := range append(own, extra...) { // the last word counts
		name, value, ok := strings.Cut(s, "=")
		if !ok {
			return usage("--set %q: write it as name=value", s)
		}
		values = slices.DeleteFunc(values, func(i yaml.MapItem) bool { return i.Key == name })
		values = append(values, yaml.MapItem{Key: name, Value: plain(value)})
	}
	text, err := yaml.Marshal(values)
	if err != nil {
		return err
	}
	text = append([]byte("# Written by node dev at each start.\n"), text...)
	if err := os.WriteFile(n.config, text, 0o644); err != nil {
		return fmt.Errorf("cannot write the settings of node %d: %w", n.number, err)
	}
	return nil
}

// start runs the node in a process group of its own, so that Ctrl-C reaches it
// through us alone.
func (n *devNode) start(logs bool) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	n.cmd = exec.Command(self, "serve", "--leash", "--config", n.config)
	// The nodes share this machine. Each believing that it has all of it costs
	// up to a third of the throughput. What is set from outside counts.
	n.cmd.Env = append([]string{fmt.Sprintf("GOMAXPROCS=%d", n.share)}, os.Environ()...)
	n.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var done func()
	if logs {
		w := &prefixed{prefix: fmt.Sprintf("[%d] ", n.number), to: os.Stderr}
		n.cmd.Stderr, done = w, func() {}
	} else {
		f, err := os.Create(n.logFile)
		if err != nil {
			return fmt.Errorf("cannot write a log: %w", err)
		}
		n.cmd.Stderr, done = f, func() { f.Close() }
	}
	if n.leash, err = n.cmd.StdinPipe(); err != nil {
		return err
	}
	if err := n.cmd.Start(); err != nil {
		done()
		return fmt.Errorf("cannot start node %d: %w", n.number, err)
	}
	if err := os.WriteFile(n.pidFile, fmt.Appendln(nil, n.cmd.Process.Pid), 0o644); err != nil {
		fmt.Fprintf(os.Stderr, "warning: node %d runs, but its process number cannot be written: %v\n", n.number, err)
	}
	ended := make(chan struct{})
	n.ended = ended
	go func() {
		n.err = n.cmd.Wait()
		_ = os.Remove(n.pidFile) // the number may be another process's by and by
		done()
		close(ended)
	}()
	return nil
}

// outcome says how the node ended, with the last word of its log.
func (n *devNode) outcome() string {
	text := "exit status 0"
	if n.err != nil {
		text = n.err.Error()
	}
	if n.err == nil || strings.Contains(text, "killed") {
		return text
	}
	log, err := os.ReadFile(n.logFile)
	if err != nil {
		return text
	}
	last := ""
	for line := range strings.Lines(string(log)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "hint:") {
			last = line
		}
	}
	return text + ": " + last
}

// devPatience is how long the nodes may take to become ready.
const devPatience = time.Minute

// awaitReady waits until every node serves, and tells of each.
func (c *devCluster) awaitReady(ctx context.Context, tell func(*devNode)) error {
	ctx, cancel := context.WithTimeout(ctx, devPatience)
	defer cancel()
	for _, n := range c.nodes {
		for !n.ready(ctx) {
			select {
			case <-n.ended:
				return fmt.Errorf("node %d did not start: %s", n.number, n.outcome())
			case <-ctx.Done():
				return fmt.Errorf("node %d is not ready after %s; its log is %s", n.number, devPatience, n.logFile)
			case <-time.After(20 * time.Millisecond):
			}
		}
		tell(n)
	}
	return nil
}

func (n *devNode) ready(ctx context.Context) bool {
	code, err := n.probe(ctx)
	return err == nil && code == http.StatusOK
}

// probe asks the node's health check and returns the status code.
func (n *devNode) probe(ctx context.Context) (int, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.http+"/readyz", nil)
	if err != nil {
		return 0, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	answer.Body.Close()
	return answer.StatusCode, nil
}

// stop ends all nodes and waits for them.
func (c *devCluster) stop() {
	for _, n := range c.nodes {
		_ = n.cmd.Process.Signal(syscall.SIGTERM)
	}
	// Without a majority of the voters nobody is left to hand anything over to:
	// the end of the leash tells the last ones so.
	for c.votersAlive() > votersOf(len(c.nodes))/2 {
		c.awaitEnd()
	}
	for _, n := range c.nodes {
		n.leash.Close()
	}
	for _, n := range c.nodes {
		<-n.ended
	}
}

func (c *devCluster) votersAlive() (alive int) {
	for _, n := range c.nodes[:min(votersOf(len(c.nodes)), len(c.nodes))] {
		if !n.over() {
			alive++
		}
	}
	return alive
}

func (n *devNode) over() bool {
	select {
	case <-n.ended:
		return true
	default:
		return false
	}
}

// awaitEnd waits until one more node has ended.
func (c *devCluster) awaitEnd() {
	one := make(chan struct{}, len(c.nodes))
	for _, n := range c.nodes {
		if !n.over() {
			go func() { <-n.ended; one <- struct{}{} }()
		}
	}
	<-one
}

// addresses of the nodes, for clients.
func (c *devCluster) addresses() []string {
	var all []string
	for _, n := range c.nodes {
		all = append(all, n.address)
	}
	return all
}

// prefixed writes whole lines with a prefix.
type prefixed struct {
	mu      sync.Mutex
	prefix  string
	to      io.Writer
	partial []byte
}

// Write passes on the whole lines and keeps the rest.
func (p *prefixed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.partial = append(p.partial, b...)
	for {
		end := bytes.IndexByte(p.partial, '\n')
		if end < 0 {
			return len(b), nil
		}
		if _, err := fmt.Fprintf(p.to, "%s%s\n", p.prefix, p.partial[:end]); err != nil {
			return 0, err
		}
		p.partial = p.partial[end+1:]
	}
}
