package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/server"
)

// serveOptions are the settings of a node, as they are written by people.
type serveOptions struct {
	settings

	node      int32
	cluster   string
	data      string
	listen    string
	advertise string
	rack      string
	voters    []string
	http      string
	pprof     bool
	logLevel  string
	logFormat string

	record string

	segmentBytes, tailBytes, reserveBytes, maxFrame   bytesValue
	recordLimit                                       bytesValue
	maxConnections, maxInFlight                       int
	shutdownLimit                                     time.Duration
	heartbeat, session, lag, election, quorum, fetch  time.Duration
	offsetsPartitions, offsetsReplicas, offsetsInsync int32
	groupSession, groupHeartbeat, offsetsRetention    time.Duration

	transactionPartitions, transactionReplicas, transactionInsync int32
	transactionTimeout, transactionExpiration                     time.Duration
}

// declare lists the settings. This is their documentation, too: --help and
// --print-config show it.
func (o *serveOptions) declare(cmd *cobra.Command) {
	f := cmd.Flags()
	o.segmentBytes, o.tailBytes, o.reserveBytes, o.maxFrame = 256<<20, 64<<20, 256<<20, 32<<20
	o.recordLimit = 1 << 30
	o.flags = f
	f.SortFlags = false
	name := func(n string) string { o.names = append(o.names, n); return n }
	f.Int32Var(&o.node, name("node"), 0, "Number of this node, 1 or above; another one for each node, the same for ever")
	f.StringVar(&o.cluster, name("cluster"), "", "Name of the cluster; nodes and clients of another one are turned away")
	f.StringVar(&o.data, name("data"), "", "Folder for all that this node stores; its own, made when it is missing")
	f.StringVar(&o.listen, name("listen"), "0.0.0.0:9092", "Address on which clients and other nodes connect, as host:port")
	f.StringVar(&o.advertise, name("advertise"), "", "Address that others are told to reach this node at; the voters' entry for it, or else listen, if empty; needed where that names no host")
	f.StringVar(&o.rack, name("rack"), "", "Failure domain (a rack, a zone): the replicas of a partition are spread over racks")
	f.StringSliceVar(&o.voters, name("voters"), nil, "Nodes that hold the cluster's metadata, as number@host:port; of a new cluster the same list on all nodes, one, three or five; later those to ask first")
	f.StringVar(&o.http, name("http"), "", "Address for /metrics, /healthz and /readyz, as host:port; none if empty")
	f.BoolVar(&o.pprof, name("pprof"), false, "Serve Go profiles below /debug/pprof/ on the http address")
	f.StringVar(&o.record, name("record"), "", "Folder for recordings of all that goes into the core of this node, to be checked with simrun conform; none if empty")
	f.Var(&o.recordLimit, name("record-limit"), "Size at which the recording of a run ends; the node goes on")
	f.StringVar(&o.logLevel, name("log-level"), "info", "Least level that is logged: debug, info, warn or error")
	f.StringVar(&o.logFormat, name("log-format"), "text", "Form of the log on stderr: text or json")
	f.Var(&o.segmentBytes, name("segment-bytes"), "Size of a log file before the next one is begun, for topics that set none")
	f.Var(&o.tailBytes, name("tail-bytes"), "Memory for the newest records, from which live consumers and replicas are served")
	f.Var(&o.reserveBytes, name("reserve-bytes"), "Free disk space below which new records are refused, so that the node itself can go on; -1: none")
	f.Var(&o.maxFrame, name("max-frame"), "Largest message on the wire that is read")
	f.IntVar(&o.maxConnections, name("max-connections"), 10_000, "Connections that may be open at once")
	f.IntVar(&o.maxInFlight, name("max-in-flight"), 1024, "Unanswered requests of one client connection before no more are read from it")
	f.DurationVar(&o.shutdownLimit, name("shutdown-limit"), 30*time.Second, "Time for handing over leaderships on SIGTERM before the node ends without that")
	f.DurationVar(&o.heartbeat, name("heartbeat-interval"), 500*time.Millisecond, "Time between two heartbeats of a node to the controller")
	f.DurationVar(&o.session, name("session-timeout"), 3*time.Second, "Silence after which the controller moves a node's leaderships to others")
	f.DurationVar(&o.lag, name("replica-lag"), 3*time.Second, "Time that a replica may lag behind before it leaves the in-sync set")
	f.DurationVar(&o.election, name("election-timeout"), time.Second, "Silence of the metadata leader after which another is elected")
	f.DurationVar(&o.quorum, name("quorum-heartbeat"), 200*time.Millisecond, "Time between two heartbeats of the metadata leader")
	f.DurationVar(&o.fetch, name("fetch-wait"), 500*time.Millisecond, "Longest wait of a replica's fetch when there is nothing new")
	f.Int32Var(&o.offsetsPartitions, name("offsets-partitions"), 16, "Partitions of the internal topic that holds groups and offsets; fixed once it is made")
	f.Int32Var(&o.offsetsReplicas, name("offsets-replicas"), 0, "Replicas of the internal topic; 0: three, or the number of voters if that is less")
	f.Int32Var(&o.offsetsInsync, name("offsets-min-insync"), 2, "Replicas of the internal topic that must be in sync for a commit")
	f.DurationVar(&o.groupSession, name("group-session-timeout"), 10*time.Second, "Silence after which a group gives a member's partitions to others, for members that ask for none")
	f.DurationVar(&o.groupHeartbeat, name("group-heartbeat-interval"), time.Second, "Time between two heartbeats that group members are told")
	f.DurationVar(&o.offsetsRetention, name("offsets-retention"), 7*24*time.Hour, "Time that the offsets of a group without members are kept")
	f.Int32Var(&o.transactionPartitions, name("transactions-partitions"), 16, "Partitions of the internal topic that holds transactional ids; fixed once it is made")
	f.Int32Var(&o.transactionReplicas, name("transactions-replicas"), 0, "Replicas of that topic; 0: three, or the number of voters if that is less")
	f.Int32Var(&o.transactionInsync, name("transactions-min-insync"), 2, "Replicas of that topic that must be in sync for a transaction to go on")
	f.DurationVar(&o.transactionTimeout, name("transactions-max-timeout"), 15*time.Minute, "Longest time that a producer may ask for its transactions to stay open")
	f.DurationVar(&o.transactionExpiration, name("transactions-expiration"), 7*24*time.Hour, "Time after which a transactional id that nobody uses is forgotten")
}

// config makes a node's configuration of the settings.
func (o *serveOptions) config() (server.Config, error) {
	if int64(o.segmentBytes) > math.MaxInt32 || o.offsetsReplicas != int32(int16(o.offsetsReplicas)) ||
		o.transactionReplicas != int32(int16(o.transactionReplicas)) {
		return server.Config{}, usage("segment-bytes %s, offsets-replicas %d, transactions-replicas %d: that is too much",
			&o.segmentBytes, o.offsetsReplicas, o.transactionReplicas)
	}
	cfg := server.Config{
		Node: message.NodeID(o.node), ClusterID: o.cluster, DataDir: o.data, Listen: o.listen, Advertise: o.advertise, Rack: o.rack,
		HTTP: o.http, Pprof: o.pprof, SegmentBytes: int32(o.segmentBytes), TailBytes: int(o.tailBytes),
		ReserveBytes: int64(o.reserveBytes), ShutdownLimit: o.shutdownLimit, Software: software(),
		Record: o.record, RecordLimit: int64(o.recordLimit),
	}
	cfg.Limits.MaxFrame, cfg.Limits.MaxConnections, cfg.Limits.MaxInFlight = int(o.maxFrame), o.maxConnections, o.maxInFlight
	cfg.Timing.HeartbeatInterval, cfg.Timing.SessionTimeout = message.Duration(o.heartbeat), message.Duration(o.session)
	cfg.Timing.ReplicaLag, cfg.Timing.ElectionTimeout = message.Duration(o.lag), message.Duration(o.election)
	cfg.Timing.QuorumHeartbeat, cfg.Timing.FetchWait = message.Duration(o.quorum), message.Duration(o.fetch)
	cfg.Groups.Partitions, cfg.Groups.ReplicationFactor, cfg.Groups.MinInsync = o.offsetsPartitions, int16(o.offsetsReplicas), o.offsetsInsync
	cfg.Groups.SessionTimeout, cfg.Groups.HeartbeatInterval = message.Duration(o.groupSession), message.Duration(o.groupHeartbeat)
	cfg.Groups.OffsetsRetention = message.Duration(o.offsetsRetention)
	x := &cfg.Transactions
	x.Partitions, x.ReplicationFactor, x.MinInsync = o.transactionPartitions, int16(o.transactionReplicas), o.transactionInsync
	x.MaxTimeout, x.Expiration = message.Duration(o.transactionTimeout), message.Duration(o.transactionExpiration)
	for _, v := range o.voters {
		number, address, ok := strings.Cut(v, "@")
		id, err := strconv.ParseInt(number, 10, 32)
		if !ok || err != nil {
			return cfg, usage("voter %q: write it as number@host:port", v)
		}
		cfg.Voters = append(cfg.Voters, server.Voter{Node: message.NodeID(id), Address: address})
		if message.NodeID(id) == cfg.Node && cfg.Advertise == "" {
			cfg.Advertise = address
		}
	}
	logger, err := o.logger(os.Stderr)
	if err != nil {
		return cfg, err
	}
	cfg.Logger = logger
	if err := cfg.Validate(); err != nil {
		return cfg, &usageError{err}
	}
	return cfg, nil
}

func (o *serveOptions) logger(w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(o.logLevel)); err != nil {
		return nil, usage("log-level %q: it is debug, info, warn or error", o.logLevel)
	}
	options := &slog.HandlerOptions{Level: level}
	switch o.logFormat {
	case "text":
		return slog.New(slog.NewTextHandler(w, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, options)), nil
	}
	return nil, usage("log-format %q: it is text or json", o.logFormat)
}

func serveCommand() *cobra.Command {
	var o serveOptions
	var file string
	var show, leash bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run one node of a cluster",
		Long: `Run one node of a cluster until SIGTERM or SIGINT, on which its leaderships are
handed over first. A second signal ends it at once; nothing acknowledged is lost.

Each setting is a flag, a variable of the environment (--some-name is
TAMARACK_SOME_NAME) or a key of the YAML file (some-name), in this order of
precedence. --print-config shows all of them, explained.`,
		Example: `  node serve --node 1 --cluster oak --data /var/lib/tamarack \
    --voters 1@a.example:9092,2@b.example:9092,3@c.example:9092
  node serve --config /etc/tamarack.yaml
  node serve --config /etc/tamarack.yaml --print-config`,
		Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if file == "" {
				file, _ = os.LookupEnv(envName("config"))
			}
			if err := o.settle(file, os.LookupEnv); err != nil {
				return err
			}
			if show {
				o.print(cmd.OutOrStdout())
				return nil
			}
			cfg, err := o.config()
			if err != nil {
				return err
			}
			err = serve(cmd.Context(), cfg, leash)
			if errors.Is(err, server.ErrShutdownTimeout) {
				return nil // it has been logged, and nothing is lost
			}
			return err
		},
	}
	o.declare(cmd)
	cmd.Flags().StringVar(&file, "config", "", "YAML file with settings (variable "+envName("config")+")")
	cmd.Flags().BoolVar(&show, "print-config", false, "Print all settings with their values as a YAML file, and end")
	cmd.Flags().BoolVar(&leash, "leash", false, "Shut down when stdin ends, so that a node does not outlive its parent")
	_ = cmd.Flags().MarkHidden("leash")
	return cmd
}

// serve runs a node until it ends. On a leash it shuts down when stdin ends; if
// it does so already, it ends without handing anything over.
func serve(ctx context.Context, cfg server.Config, leash bool) error {
	n, err := server.Start(cfg)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, n.Shutdown)()
	if leash {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			if ctx.Err() != nil {
				n.GiveUpHandover()
			}
			n.Shutdown()
		}()
	}
	return n.Wait()
}
