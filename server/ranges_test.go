package server

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
)

func sound() Config {
	return Config{Node: 1, ClusterID: "oak", DataDir: "d", Listen: "127.0.0.1:0", Voters: []Voter{{1, "a:1"}, {2, "b:1"}, {3, "c:1"}}}
}

func TestSettingsThatCannotBeMeantAreRefused(t *testing.T) {
	require.NoError(t, sound().Validate())
	for _, c := range []struct {
		change func(*Config)
		says   string
	}{
		{func(c *Config) { c.Listen, c.Advertise = "nonsense", "a:1" }, `the address to listen on is "nonsense": give it as host:port`},
		{func(c *Config) { c.Timing.HeartbeatInterval = -message.Second }, "heartbeat interval: -1s is out of range: give 1ms to 24h0m0s, or 0 for the default"},
		{func(c *Config) { c.Timing.SessionTimeout = math.MaxInt64 }, "session timeout"},
		{func(c *Config) { c.Timing.ReplicaLag = 1 }, "replica lag: 1ns"},
		{func(c *Config) { c.Timing.QuorumHeartbeat = -1 }, "quorum heartbeat"},
		{func(c *Config) { c.Timing.FetchWait = math.MaxInt64 }, "fetch wait"},
		{func(c *Config) { c.ShutdownLimit = -time.Second }, "shutdown limit"},
		{func(c *Config) { c.Groups.SessionTimeout = message.Millisecond }, "group session timeout"},
		{func(c *Config) { c.Groups.HeartbeatInterval = -1 }, "group heartbeat interval"},
		{func(c *Config) { c.Groups.OffsetsRetention = -message.Hour }, "offsets retention"},
		{func(c *Config) { c.Groups.Partitions = 1_000_000_000 }, "offsets partitions"},
		{func(c *Config) { c.Groups.Partitions = -1 }, "offsets partitions"},
		{func(c *Config) { c.Groups.ReplicationFactor = 4 }, "offsets replicas: 4 is out of range: give 1 to 3"},
		{func(c *Config) { c.Groups.MinInsync = -1 }, "offsets min.insync"},
		{func(c *Config) { c.SegmentBytes = -5 }, "segment bytes"},
		{func(c *Config) { c.TailBytes = -1 }, "tail bytes"},
		{func(c *Config) { c.ReserveBytes = -7 }, "reserve bytes"},
		{func(c *Config) { c.Limits.MaxFrame = 10 }, "largest frame"},
		{func(c *Config) { c.Limits.MaxConnections = -1 }, "connections"},
		{func(c *Config) { c.Limits.MaxInFlight = -1 }, "requests in flight"},
		{func(c *Config) { c.ClusterID = strings.Repeat("c", 256) }, "the cluster name has 256 bytes: give at most 255"},
		{func(c *Config) { c.Rack = strings.Repeat("r", 256) }, "rack"},
		{func(c *Config) { c.Voters[1].Node = 0 }, "voter 0 at b:1"},
		{func(c *Config) { c.Voters[1].Address = "a:1" }, "voters 1 and 2 have the same address a:1"},
	} {
		cfg := sound()
		c.change(&cfg)
		require.ErrorContains(t, cfg.Validate(), c.says)
	}
}
