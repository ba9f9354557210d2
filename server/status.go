package server

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tamarack-mq/tamarack/core"
	"github.com/tamarack-mq/tamarack/core/message"
)

func nothing(*core.Node) {}

// statusCollector counts what the node knows of the cluster when it is asked
// for it, and nothing in between: idle partitions cost nothing.
type statusCollector struct{ node *Node }

var (
	statusLeads   = prometheus.NewDesc("tamarack_partitions_led", "Partitions that this node leads.", []string{"node"}, nil)
	statusHosts   = prometheus.NewDesc("tamarack_partitions_hosted", "Partitions that this node has a replica of.", []string{"node"}, nil)
	statusThin    = prometheus.NewDesc("tamarack_partitions_under_replicated", "Partitions led by this node whose in-sync set is not complete.", []string{"node"}, nil)
	statusOffline = prometheus.NewDesc("tamarack_partitions_offline", "Partitions of the cluster without a leader.", []string{"node"}, nil)
	statusBrokers = prometheus.NewDesc("tamarack_brokers_live", "Brokers that are registered and not fenced.", []string{"node"}, nil)
	statusSilent  = prometheus.NewDesc("tamarack_controller_silent_seconds", "Time since a controller last answered this node.", []string{"node"}, nil)
	statusVersion = prometheus.NewDesc("tamarack_metadata_version", "Version of this node's image of the cluster.", []string{"node"}, nil)
)

// Describe lists the gauges.
func (s *statusCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{statusLeads, statusHosts, statusThin, statusOffline, statusBrokers, statusSilent, statusVersion} {
		ch <- d
	}
}

// Collect reads the core's image.
func (s *statusCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	var leads, hosts, thin, offline, brokers, version int
	var silent message.Duration
	id := s.node.cfg.Node
	err := s.node.ask(ctx, func(c *core.Node) {
		now := s.node.driver.clock.now().Mono
		silent = now.Sub(c.Status(now).ControllerHeard)
		image := c.Image()
		leads, hosts, version = image.Leads(id), image.Hosts(id), int(image.Version())
		for p := range image.Partitions() {
			switch {
			case p.Leader == message.NoNode:
				offline++
			case p.Leader == id && len(p.ISR) < len(p.Replicas):
				thin++
			}
		}
		for _, b := range image.Brokers() {
			if !b.Fenced {
				brokers++
			}
		}
	})
	if err != nil {
		return
	}
	ch <- prometheus.MustNewConstMetric(statusSilent, prometheus.GaugeValue, time.Duration(silent).Seconds(), id.String())
	for desc, v := range map[*prometheus.Desc]int{statusLeads: leads, statusHosts: hosts, statusThin: thin,
		statusOffline: offline, statusBrokers: brokers, statusVersion: version} {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(v), id.String())
	}
}
