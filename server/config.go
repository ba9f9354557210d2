package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/tamarack-mq/tamarack/core"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/transport/tcp"
)

// Config is all that a node needs to be told. Zero values mean the default.
type Config struct {
	Node      message.NodeID // 1 or above, different for each node
	ClusterID string         // the same on all nodes
	DataDir   string         // made when it does not exist
	Listen    string         // address to listen on, host:port
	Advertise string         // address that others reach this node at; default: where it listens
	Rack      string         // failure domain; replicas are spread over racks
	// Voters are the nodes that hold the metadata log of a new cluster, with their
	// addresses: one, three or five, the same on all nodes. Later they are whom to
	// ask first; who votes is in the log.
	Voters []Voter

	HTTP  string // address of metrics and health checks; empty: none
	Pprof bool   // serve profiles below /debug/pprof/ there too

	SegmentBytes  int32         // of a log file before the next one; default 256 MiB
	TailBytes     int           // of the newest batches kept in memory; default 64 MiB
	ReserveBytes  int64         // free disk space below which no new records are taken; default 256 MiB; -1: none
	ShutdownLimit time.Duration // of a controlled shutdown; default 30 s
	Limits        tcp.Limits
	Timing        core.Timing
	Groups        core.Groups
	Transactions  core.Transactions

	// Record is a folder to which this run's tape is written (see package tape);
	// empty: none. RecordLimit bounds it in bytes; default tape.DefaultLimit.
	Record      string
	RecordLimit int64

	Software string // name and version, for logs
	Logger   *slog.Logger
}

// Voter is one member of the metadata quorum.
type Voter struct {
	Node    message.NodeID
	Address string
}

func (c Config) withDefaults() Config {
	if c.TailBytes == 0 {
		c.TailBytes = 64 << 20
	}
	if c.ReserveBytes == 0 {
		c.ReserveBytes = 256 << 20
	}
	if c.ShutdownLimit == 0 {
		c.ShutdownLimit = 30 * time.Second
	}
	if c.Software == "" {
		c.Software = "tamarack"
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Validate says what is wrong with a configuration and what to do about it.
func (c Config) Validate() error {
	switch {
	case c.DataDir == "":
		return errors.New("no data folder: name one that belongs to this node alone")
	case c.Listen == "":
		return errors.New("no address to listen on: give one as host:port, for instance 0.0.0.0:9092")
	}
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		return fmt.Errorf("the address to listen on is %q: give it as host:port (%w)", c.Listen, err)
	}
	for _, v := range c.Voters {
		if _, _, err := net.SplitHostPort(v.Address); err != nil {
			return fmt.Errorf("voter %d has the address %q: give it as host:port (%w)", v.Node, v.Address, err)
		}
	}
	for _, check := range []func() error{c.checkReachable, c.checkVoters, c.core(1).Validate, c.checkTexts, c.checkRanges} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkReachable says whether others can use the address that they are told.
func (c Config) checkReachable() error {
	address, what := c.Advertise, "the advertised address is"
	if address == "" {
		address, what = c.Listen, "no address is advertised, and this node listens on"
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%s %q: give it as host:port (%w)", what, address, err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		return fmt.Errorf("%s %q, which nobody can connect to: advertise the host and port at which others reach this node", what, address)
	}
	return nil
}

// core is what the protocol needs to know.
func (c Config) core(incarnation uint64) core.Config {
	voters := make([]message.NodeID, len(c.Voters))
	for i, v := range c.Voters {
		voters[i] = v.Node
	}
	return core.Config{
		ID: c.Node, ClusterID: c.ClusterID, Address: c.Advertise, Rack: c.Rack, Voters: voters,
		Incarnation: incarnation, Timing: c.Timing, Groups: c.Groups, Transactions: c.Transactions,
	}
}
