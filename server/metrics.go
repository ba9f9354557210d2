package server

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/transport/tcp"
)

// metrics are the numbers of one node's driver. Counters that are touched for
// every message are looked up once.
type metrics struct {
	registry *prometheus.Registry

	requests, received, sent, dropped [256]prometheus.Counter // by kind

	inputs, batches, stepSeconds      prometheus.Counter
	appendedBytes, appends, appendSec prometheus.Counter
	flushes, saves                    prometheus.Counter
	flushSeconds, saveSeconds         prometheus.Histogram
	tailReads, tailBytes              prometheus.Counter
	diskReads, diskBytes              prometheus.Counter
	freeBytes, damaged                prometheus.Gauge
	damage                            *prometheus.CounterVec
	repairs                           prometheus.Counter
	netIn, netOut, netWrites          prometheus.Counter
	badFrames                         prometheus.Counter
	refused                           *prometheus.CounterVec
	clients, nodes                    prometheus.Gauge
}

// latencies are the buckets of disk latencies: 20 µs to 10 s.
var latencies = prometheus.ExponentialBuckets(20e-6, 2, 20)

func newMetrics(id message.NodeID) *metrics {
	m := &metrics{registry: prometheus.NewRegistry()}
	reg := prometheus.WrapRegistererWith(prometheus.Labels{"node": id.String()}, m.registry)
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Namespace: "tamarack", Name: name, Help: help})
		reg.MustRegister(c)
		return c
	}
	gauge := func(name, help string) prometheus.Gauge {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "tamarack", Name: name, Help: help})
		reg.MustRegister(g)
		return g
	}
	histogram := func(name, help string) prometheus.Histogram {
		h := prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "tamarack", Name: name, Help: help, Buckets: latencies})
		reg.MustRegister(h)
		return h
	}
	byKind := func(to *[256]prometheus.Counter, name, help string) {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "tamarack", Name: name, Help: help}, []string{"kind"})
		reg.MustRegister(v)
		for _, k := range message.Kinds() {
			to[k] = v.WithLabelValues(k.String())
		}
	}
	byKind(&m.requests, "requests_total", "Requests of clients, by kind.")
	byKind(&m.received, "messages_received_total", "Messages of other nodes, by kind.")
	byKind(&m.sent, "messages_sent_total", "Messages to other nodes, by kind.")
	byKind(&m.dropped, "messages_dropped_total", "Messages to other nodes that were dropped: a full queue, or a node out of reach.")
	m.inputs = counter("core_inputs_total", "Inputs that the core was stepped with.")
	m.batches = counter("core_batches_total", "Times that the core's goroutine woke up and took all that had come in.")
	m.stepSeconds = counter("core_busy_seconds_total", "Time that the core's goroutine was at work.")
	m.appendedBytes = counter("log_appended_bytes_total", "Bytes of record batches appended to logs.")
	m.appends = counter("log_appends_total", "Writes to logs; one may hold many appends.")
	m.appendSec = counter("log_append_seconds_total", "Time spent writing to logs.")
	m.flushes = counter("log_flushes_total", "Flushes of logs (fdatasync).")
	m.flushSeconds = histogram("log_flush_seconds", "How long flushes of logs took.")
	m.saves = counter("quorum_saves_total", "Durable writes of the quorum journal.")
	m.saveSeconds = histogram("quorum_save_seconds", "How long durable writes of the quorum journal took.")
	m.tailReads = counter("tail_reads_total", "Reads of logs answered from memory.")
	m.tailBytes = counter("tail_read_bytes_total", "Bytes of log read from memory.")
	m.diskReads = counter("disk_reads_total", "Reads of logs that went to storage.")
	m.diskBytes = counter("disk_read_bytes_total", "Bytes of log read from storage.")
	m.freeBytes = gauge("disk_free_bytes", "Bytes that can still be written to the data folder.")
	m.damaged = gauge("logs_damaged", "Logs of this node that are damaged and not yet repaired.")
	m.damage = prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "tamarack", Name: "log_damage_total",
		Help: "Logs that were found damaged, by what found it: the start of the node, or a read."}, []string{"found"})
	reg.MustRegister(m.damage)
	m.damage.WithLabelValues(foundAtStart)
	m.damage.WithLabelValues(foundByRead)
	m.repairs = counter("log_repairs_total", "Damaged logs that were given up, to be fetched again, or deleted.")
	m.netIn = counter("network_received_bytes_total", "Bytes of frames received.")
	m.netOut = counter("network_sent_bytes_total", "Bytes of frames sent.")
	m.netWrites = counter("network_writes_total", "Writes to connections; one may hold many frames.")
	m.badFrames = counter("network_bad_frames_total", "Frames that could not be used.")
	m.clients = gauge("client_connections", "Connections of clients.")
	m.nodes = gauge("node_connections", "Connections of other nodes.")
	m.refused = prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "tamarack", Name: "handshakes_refused_total", Help: "Connections refused, by code."}, []string{"code"})
	reg.MustRegister(m.refused)
	return m
}

// network gives the counters that the network is to feed.
func (m *metrics) network() tcp.Counters {
	return tcp.Counters{
		Received:  func(n int) { m.netIn.Add(float64(n)) },
		Sent:      func(n int) { m.netOut.Add(float64(n)); m.netWrites.Inc() },
		Dropped:   func(_ message.NodeID, msg message.Message) { m.dropped[msg.Kind()].Inc() },
		BadFrame:  m.badFrames.Inc,
		Refused:   func(code message.Code) { m.refused.WithLabelValues(code.String()).Inc() },
		Connected: func(clients, nodes int) { m.clients.Set(float64(clients)); m.nodes.Set(float64(nodes)) },
	}
}

func (m *metrics) wrote(bytes int, took time.Duration) {
	m.appends.Inc()
	m.appendedBytes.Add(float64(bytes))
	m.appendSec.Add(took.Seconds())
}

func (m *metrics) flushed(took time.Duration) {
	m.flushes.Inc()
	m.flushSeconds.Observe(took.Seconds())
}

func (m *metrics) saved(took time.Duration) {
	m.saves.Inc()
	m.saveSeconds.Observe(took.Seconds())
}

func (m *metrics) readTail(bytes int) {
	m.tailReads.Inc()
	m.tailBytes.Add(float64(bytes))
}

func (m *metrics) readDisk(bytes int) {
	m.diskReads.Inc()
	m.diskBytes.Add(float64(bytes))
}

func (m *metrics) free(bytes int64) { m.freeBytes.Set(float64(bytes)) }
