package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/tamarack-mq/tamarack/bench"
)

// benchReport prints results of loads as they come.
type benchReport struct {
	json  *json.Encoder
	table *tabwriter.Writer
}

func newBenchReport(w io.Writer, asJSON bool) *benchReport {
	if asJSON {
		return &benchReport{json: json.NewEncoder(w)}
	}
	r := &benchReport{table: benchTable(w)}
	fmt.Fprintln(r.table, "load\tbytes\twindow\trecords/s\tMB/s\tp50 us\tp99 us\tp999 us\tmax us\tflushes/rec\tdisk/payload\tnode us/rec\tclient us/rec\t")
	return r
}

func benchTable(w io.Writer) *tabwriter.Writer {
	return tabwriter.NewWriter(w, 8, 8, 1, ' ', tabwriter.AlignRight)
}

func (r *benchReport) add(b *bench.Result) {
	if r.json != nil {
		_ = r.json.Encode(b)
		return
	}
	fmt.Fprintf(r.table, "%s\t%d\t%d\t%.0f\t%.2f\t%.0f\t%.0f\t%.0f\t%.0f\t%.3f\t%.2f\t%.2f\t%.2f\t\n", b.Load, b.Size, b.Window,
		b.Rate, b.Megabytes, b.P50, b.P99, b.P999, b.Max, b.Flushes, b.Disk, b.NodeCPU, b.ClientCPU)
}

func (r *benchReport) end() {
	if r.table != nil {
		_ = r.table.Flush()
	}
}

// printStyles prints what the ways to deliver records cost, and in a sentence what a
// transaction does.
func printStyles(out io.Writer, asJSON bool, results []*bench.StyleResult) {
	if asJSON {
		encoder := json.NewEncoder(out)
		for _, r := range results {
			_ = encoder.Encode(r)
		}
		return
	}
	table := benchTable(out)
	fmt.Fprintln(table, "load\trecords\tbytes\trounds\trecords/s\tof plain stream\tp10 us\tp50 us\tp99 us\tp999 us\tmax us\tover plain\tflushes/round\tnode us/rec\t")
	for _, r := range results {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%.0f\t%.0f %%\t", r.Load, r.Records, r.Size, r.Rounds, r.Rate, 100*r.OfPlain)
		if r.P50 > 0 {
			fmt.Fprintf(table, "%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.2f\t", r.P10, r.P50, r.P99, r.P999, r.Max, r.Over)
		} else {
			fmt.Fprint(table, "\t\t\t\t\t\t")
		}
		fmt.Fprintf(table, "%.1f\t%.2f\t\n", r.Flushes, r.NodeCPU)
	}
	_ = table.Flush()
	last := results[len(results)-1]
	fmt.Fprintf(out, "a transaction of %d records takes %.2f flush-and-round-trip latencies over the same records without one; its rate is %.0f %% of a plain stream's, and %.0f %% of theirs\n",
		last.Records, last.Over, 100*last.OfPlain, 100*last.OfRecords)
}
