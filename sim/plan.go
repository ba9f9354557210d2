package sim

// Plan is everything that a run does not find out by itself: the shape of the
// cluster, its settings, the workload and the faults with their times. A plan
// is data: it can be saved, edited, shrunk and played again. A scenario is a
// plan that a person wrote.
type Plan struct {
	Name  string `json:"name,omitempty"`
	Prose string `json:"prose,omitempty"` // one line: what is shown here
	// Seed feeds all draws that are made while the plan plays: latencies,
	// what a crash leaves on a disk, retry jitter.
	Seed uint64 `json:"seed"`
	// Beyond lifts the fault budget: damage may destroy committed records.
	Beyond bool `json:"beyond,omitempty"`
	// Strict lets judges look each time where they look now and then: dear, and
	// it shows the first moment at which something is wrong.
	Strict bool `json:"strict,omitempty"`

	Cluster ClusterPlan  `json:"cluster"`
	Timing  TimingPlan   `json:"timing"`
	Phases  PhasePlan    `json:"phases"`
	Network NetworkPlan  `json:"network"`
	Disk    DiskPlan     `json:"disk"`
	Topics  []TopicPlan  `json:"topics"`
	Clients []ClientPlan `json:"clients"`
	Faults  []Fault      `json:"faults,omitempty"`
	Exact   []ExactCrash `json:"exact,omitempty"`
	Script  *Script      `json:"script,omitempty"` // decides in place of chance; null: chance does
	Expect  Expect       `json:"expect,omitzero"`
	Saved   *Saved       `json:"saved,omitempty"` // how it failed when it was saved
}

// ClusterPlan is the shape of the cluster. Nodes have the ids 1 to Nodes, and
// the first Voters of them form the controller quorum.
type ClusterPlan struct {
	Nodes  int `json:"nodes"`
	Voters int `json:"voters"`
	Racks  int `json:"racks,omitempty"` // 0: no racks
	// Absent is how many nodes, the last ones, are not there at first: they are
	// started by add-broker, or when faults are over.
	Absent int `json:"absent,omitempty"`
	// Shards is the number of partitions of the internal offsets topic.
	Shards int `json:"shards,omitempty"`
	// TransactionShards is the number of partitions of the internal topic in which
	// coordinators keep transactions; 0: 2.
	TransactionShards int `json:"transactionShards,omitempty"`
	// Epochs is how many producer epochs a transactional id goes through with one
	// producer id; 0: the core's default, which no run reaches.
	Epochs int `json:"epochs,omitempty"`
	// SwapVoters lets disks of voters be swapped too, fewer than half of them.
	SwapVoters bool `json:"swapVoters,omitempty"`
	// Codec passes every message through the wire codec, both ways.
	Codec bool `json:"codec,omitempty"`
	// Tidy is how many batches, log entries or records pile up before they are
	// summed up in a checkpoint or a snapshot; 0: the core's defaults, which no
	// short run reaches.
	Tidy int `json:"tidy,omitempty"`
	// Parcel is how many bytes of entries controllers pack into one message, at
	// least one entry; 0: the core's default, into which all goes at once.
	Parcel int `json:"parcel,omitempty"`
	// QuorumBytes is how many bytes of entries pile up before controllers take a
	// snapshot; 0: the core's default, which no run reaches.
	QuorumBytes int `json:"quorumBytes,omitempty"`
	// GroupBatch is how many bytes of records a coordinator appends in one batch: a
	// decision that needs more can be cut by a crash. 0: the core's default.
	GroupBatch int `json:"groupBatch,omitempty"`
	// ReplayBytes is how many bytes of its log a coordinator reads at a time as it
	// takes a shard over, at least one batch; 0: the core's default, into which all
	// goes at once.
	ReplayBytes int `json:"replayBytes,omitempty"`
	// Unflushed is how many bytes a broker appends ahead of its flushes before it
	// holds producers back; 0: the core's default, which no run reaches.
	Unflushed int `json:"unflushed,omitempty"`
}

// TimingPlan are the timeouts of the cluster. Zero means the core's default.
type TimingPlan struct {
	Election        Span `json:"election,omitempty"`
	QuorumHeartbeat Span `json:"quorumHeartbeat,omitempty"`
	BrokerSession   Span `json:"brokerSession,omitempty"`
	BrokerHeartbeat Span `json:"brokerHeartbeat,omitempty"`
	ReplicaLag      Span `json:"replicaLag,omitempty"`
	FetchWait       Span `json:"fetchWait,omitempty"`
	Request         Span `json:"request,omitempty"` // what a node asks on a client's behalf
	GroupSession    Span `json:"groupSession,omitempty"`
	GroupHeartbeat  Span `json:"groupHeartbeat,omitempty"`
	ClientRequest   Span `json:"clientRequest,omitempty"`
	ClientDelivery  Span `json:"clientDelivery,omitempty"`
	ClientMetadata  Span `json:"clientMetadata,omitempty"` // how old a client's picture may get
	// OffsetRetention is the life of the positions of a group without members; 0:
	// longer than any run.
	OffsetRetention Span `json:"offsetRetention,omitempty"`
	// ProducerIdle is how long brokers know a silent producer; 0: longer than any
	// run.
	ProducerIdle Span `json:"producerIdle,omitempty"`
	// TransactionIdle is how long a transactional id that does nothing is known; 0:
	// longer than any run.
	TransactionIdle Span `json:"transactionIdle,omitempty"`
}

// PhasePlan divides a run: warm up without faults; faults; a heal after which
// no new fault comes and the workload ends; then rest, within which the cluster
// must have come to a stand (INV-34).
type PhasePlan struct {
	Warm   Span `json:"warm"`
	Faults Span `json:"faults"`
	Drain  Span `json:"drain"` // after the heal producers go on this long
	Rest   Span `json:"rest"`  // the bound of the liveness check
	// CutOff are nodes that nobody reaches any more from the heal on, although
	// they run, if what is left suffices then.
	CutOff []int `json:"cutOff,omitempty"`
	// Broken are nodes that die at the heal and stay dead, if what is left
	// suffices then.
	Broken []int `json:"broken,omitempty"`
	// End stops the run, whatever is going on, and nothing is judged any more: for
	// plans whose failure comes before; 0: the run goes on to its rest.
	End Span `json:"end,omitempty"`
}

// NetworkPlan is the weather: what every link does all the time.
type NetworkPlan struct {
	Latency   Span `json:"latency"`             // median one-way delay between nodes
	Spread    Span `json:"spread,omitempty"`    // even jitter on top
	Tail      int  `json:"tail,omitempty"`      // per mille of messages with a heavy tail
	TailScale Span `json:"tailScale,omitempty"` // scale of that tail
	Reset     int  `json:"reset,omitempty"`     // per million of sends that break their connection
	Stale     int  `json:"stale,omitempty"`     // percent of the bytes cut off by a reset that arrive late
	Lose      int  `json:"lose,omitempty"`      // per million of messages lost alone
	Duplicate int  `json:"duplicate,omitempty"` // per million of messages that arrive twice
	Reorder   int  `json:"reorder,omitempty"`   // per million of messages that overtake others
	Queue     int  `json:"queue,omitempty"`     // messages in flight on one link before it overflows; 0: 10000
	Spoil     int  `json:"spoil,omitempty"`     // one in so many answers with records that reach a client spoilt; 0: none
	// SpoilCopies is one in so many answers with records that reach a follower
	// spoilt; 0: none. Stray is behind one in so many messages of controllers comes
	// one that is not for its receiver, or that nobody can read, and behind one in so
	// many of followers to their leaders one of before; 0: behind none.
	SpoilCopies int `json:"spoilCopies,omitempty"`
	Stray       int `json:"stray,omitempty"`
}

// DiskPlan is how the disks of the cluster behave all the time.
type DiskPlan struct {
	Append     Span `json:"append"`               // one write to the page cache
	Flush      Span `json:"flush"`                // median of one flush
	FlushTail  int  `json:"flushTail,omitempty"`  // per mille of flushes that take long
	TailScale  Span `json:"tailScale,omitempty"`  // how long those take
	Read       Span `json:"read"`                 // one read
	ReadTail   int  `json:"readTail,omitempty"`   // per mille of reads that take TailScale longer
	Segment    int  `json:"segment,omitempty"`    // bytes of a segment, of logs that name no size; 0: the default of storage
	OpenFiles  int  `json:"openFiles,omitempty"`  // files that are kept open, about; 0: the default of storage
	Cache      int  `json:"cache,omitempty"`      // bytes of the newest batches kept in memory; 0: 256 KiB; below 0: none
	TornShare  int  `json:"tornShare,omitempty"`  // percent of crashes that come inside a file operation
	LossyShare int  `json:"lossyShare,omitempty"` // percent of crashes that lose unflushed pages
	// Steady lets each operation take its median time, or the long one.
	Steady bool `json:"steady,omitempty"`
}

// TopicPlan is a topic that is made before the clients start.
type TopicPlan struct {
	Name           string `json:"name"`
	Partitions     int    `json:"partitions"`
	Replication    int    `json:"replication"`
	MinInsync      int    `json:"minInsync,omitempty"`
	SegmentBytes   int    `json:"segmentBytes,omitempty"`
	RetentionBytes int64  `json:"retentionBytes,omitempty"`
	RetentionTime  Span   `json:"retentionTime,omitempty"`
}

// Expect is what a scenario promises: which invariants it is about and which
// marks must have been seen. A scenario that promises nothing is refused.
type Expect struct {
	Holds []string `json:"holds,omitempty"` // invariants by name: "INV-1"
	Seen  []string `json:"seen,omitempty"`  // marks, each at least once
	// Loss says that records acknowledged with acks 0 or 1 must have been lost:
	// the scenario shows that the weaker promise is weaker.
	Loss bool `json:"loss,omitempty"`
	// NoLoss says that every acknowledged record, whatever its acks, was found.
	NoLoss bool `json:"noLoss,omitempty"`
	// Owned are moments at which the members of a group must have owned so many
	// partitions each.
	Owned []OwnedExpect `json:"owned,omitempty"`
	// Groups is what must have become of the records that groups read.
	Groups []GroupExpect `json:"groups,omitempty"`
	// Outputs is what must have become of the records that a group works on.
	Outputs []OutputExpect `json:"outputs,omitempty"`
	// KeysInOrder: whoever read got the records of each key in the order sent,
	// as long as the topic had as many partitions.
	KeysInOrder bool `json:"keysInOrder,omitempty"`
	// KeysMoved: some key has records in two partitions.
	KeysMoved bool `json:"keysMoved,omitempty"`
	// Reread: some record was read by two clients, and twice by one.
	Reread bool `json:"reread,omitempty"`
}

// OwnedExpect is who owns how much at one moment: the numbers of partitions
// that the members of a group own, in falling order.
type OwnedExpect struct {
	Group  string `json:"group"`
	At     Span   `json:"at"`
	Counts []int  `json:"counts"`
}

// OutputExpect is what must be there at rest of what a group of workers or
// processors made: of each record that they read once, or not. Repeated and Skipped
// are "some", "none" or "" (either).
type OutputExpect struct {
	Group    string `json:"group"`
	Repeated string `json:"repeated,omitempty"` // inputs with more than one output
	Skipped  string `json:"skipped,omitempty"`  // inputs without an output
}

// GroupExpect is what a group must have got. Repeated and Skipped are "some",
// "none" or "" (either).
type GroupExpect struct {
	Group    string `json:"group"`
	All      bool   `json:"all,omitempty"`      // every acknowledged record that is still there
	Repeated string `json:"repeated,omitempty"` // records that it was given twice
	Skipped  string `json:"skipped,omitempty"`  // records that it has passed over
	Behind   int    `json:"behind,omitempty"`   // it was at some time this many records behind
	Resumed  bool   `json:"resumed,omitempty"`  // a restarted member went on where it had committed
}
