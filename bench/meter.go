package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Meter reads what nodes have spent: from their metrics, and from /proc. What it is not
// told of counts as 0.
type Meter struct {
	HTTP []string // addresses of the nodes' metrics, as host:port: for flushes and processor time
	PIDs []int    // of nodes on this machine: for bytes sent to disks
}

// spent is a reading of all nodes together.
type spent struct {
	flushes   float64
	cpu       float64 // seconds
	diskBytes float64 // sent to the block layer
	client    float64 // seconds of this process
}

func (s spent) sub(o spent) spent {
	return spent{s.flushes - o.flushes, s.cpu - o.cpu, s.diskBytes - o.diskBytes, s.client - o.client}
}

func (s spent) add(o spent) spent {
	return spent{s.flushes + o.flushes, s.cpu + o.cpu, s.diskBytes + o.diskBytes, s.client + o.client}
}

// read adds up what all nodes have spent since they were started.
func (m Meter) read(ctx context.Context) (s spent, err error) {
	for _, address := range m.HTTP {
		values, err := scrape(ctx, address, "tamarack_log_flushes_total", "process_cpu_seconds_total")
		if err != nil {
			return s, fmt.Errorf("cannot read the metrics of %s: %w", address, err)
		}
		s.flushes += values[0]
		s.cpu += values[1]
	}
	for _, pid := range m.PIDs {
		s.diskBytes += writtenBytes(pid)
	}
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) == nil {
		s.client = time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
	}
	return s, nil
}

// scrape reads some values from a node's metrics; 0 for what the node does not know, but
// an error where nothing of them is: what costs nothing would be taken for cheap.
func scrape(ctx context.Context, address string, names ...string) ([]float64, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, errors.New("it answers " + answer.Status)
	}
	values := make([]float64, len(names))
	found := false
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		name, rest, _ := strings.Cut(lines.Text(), "{")
		if i := slices.Index(names, name); i >= 0 {
			_, number, _ := strings.Cut(rest, "} ")
			values[i], _ = strconv.ParseFloat(number, 64)
			found = true
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if !found {
		return nil, errors.New("there are none of a node")
	}
	return values, nil
}

// writtenBytes is what a process has sent to the block layer; 0 where the
// system does not tell.
func writtenBytes(pid int) float64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(raw) {
		if number, ok := bytes.CutPrefix(line, []byte("write_bytes: ")); ok {
			n, _ := strconv.ParseFloat(string(bytes.TrimSpace(number)), 64)
			return n
		}
	}
	return 0
}
