package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

// meter reads what nodes have spent: from their metrics, and from /proc.
type meter struct {
	http []string
	pids []int
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

func (m meter) read(ctx context.Context) (s spent, err error) {
	for _, address := range m.http {
		values, err := scrape(ctx, address, "tamarack_log_flushes_total", "process_cpu_seconds_total")
		if err != nil {
			return s, fmt.Errorf("cannot read the metrics of %s: %w", address, err)
		}
		s.flushes += values[0]
		s.cpu += values[1]
	}
	for _, pid := range m.pids {
		s.diskBytes += writtenBytes(pid)
	}
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) == nil {
		s.client = time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
	}
	return s, nil
}

// scrape reads some values from a node's metrics.
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
	values := make([]float64, len(names))
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		name, rest, _ := strings.Cut(lines.Text(), "{")
		if i := slices.Index(names, name); i >= 0 {
			_, number, _ := strings.Cut(rest, "} ")
			values[i], _ = strconv.ParseFloat(number, 64)
		}
	}
	return values, lines.Err()
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

// benchResult is one run. Times are in microseconds.
type benchResult struct {
	Load       string  `json:"load"`
	Size       int     `json:"record_size"`
	Window     int     `json:"window"`
	Partitions int32   `json:"partitions"`
	Acks       string  `json:"acks"`
	Records    int     `json:"records"`
	Seconds    float64 `json:"seconds"`
	Rate       float64 `json:"records_per_second"`
	Megabytes  float64 `json:"megabytes_per_second"`
	P50        float64 `json:"p50_us"`
	P99        float64 `json:"p99_us"`
	P999       float64 `json:"p999_us"`
	Max        float64 `json:"max_us"`
	Flushes    float64 `json:"flushes_per_record"`
	Disk       float64 `json:"disk_bytes_per_payload_byte"`
	NodeCPU    float64 `json:"node_cpu_us_per_record"`
	ClientCPU  float64 `json:"client_cpu_us_per_record"`
}

// fill computes the figures of a run.
func (r *benchResult) fill(latencies []int64, elapsed time.Duration, s spent) {
	slices.Sort(latencies)
	at := func(q float64) float64 {
		if len(latencies) == 0 {
			return 0
		}
		return float64(latencies[int(q*float64(len(latencies)-1))]) / 1e3
	}
	r.Records = len(latencies)
	r.P50, r.P99, r.P999, r.Max = at(0.5), at(0.99), at(0.999), at(1)
	r.rates(elapsed, s)
}

func (r *benchResult) rates(elapsed time.Duration, s spent) {
	n := float64(max(r.Records, 1))
	r.Seconds = elapsed.Seconds()
	r.Rate = float64(r.Records) / r.Seconds
	r.Megabytes = r.Rate * float64(r.Size) / 1e6
	r.Flushes, r.NodeCPU, r.ClientCPU = s.flushes/n, s.cpu*1e6/n, s.client*1e6/n
	r.Disk = s.diskBytes / (n * float64(r.Size))
}

// report prints results as they come.
type report struct {
	json  *json.Encoder
	table *tabwriter.Writer
}

func newReport(w io.Writer, asJSON bool) *report {
	if asJSON {
		return &report{json: json.NewEncoder(w)}
	}
	r := &report{table: tabwriter.NewWriter(w, 8, 8, 1, ' ', tabwriter.AlignRight)}
	fmt.Fprintln(r.table, "load\tbytes\twindow\trecords/s\tMB/s\tp50 us\tp99 us\tp999 us\tmax us\tflushes/rec\tdisk/payload\tnode us/rec\tclient us/rec\t")
	return r
}

func (r *report) add(b *benchResult) {
	if r.json != nil {
		_ = r.json.Encode(b)
		return
	}
	fmt.Fprintf(r.table, "%s\t%d\t%d\t%.0f\t%.2f\t%.0f\t%.0f\t%.0f\t%.0f\t%.3f\t%.2f\t%.2f\t%.2f\t\n", b.Load, b.Size, b.Window,
		b.Rate, b.Megabytes, b.P50, b.P99, b.P999, b.Max, b.Flushes, b.Disk, b.NodeCPU, b.ClientCPU)
}

func (r *report) end() {
	if r.table != nil {
		_ = r.table.Flush()
	}
}
