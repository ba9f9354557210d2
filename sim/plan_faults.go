package sim

// FaultKind names one kind of trouble.
type FaultKind string

// The kinds of trouble.
const (
	// Processes.
	Crash     FaultKind = "crash"      // the process dies and comes back after For
	PowerLoss FaultKind = "power-loss" // and what was not flushed may be gone
	CrashLoop FaultKind = "crash-loop" // dies again and again, also while it recovers
	Pause     FaultKind = "pause"      // runs nothing for a while
	Restart   FaultKind = "restart"    // shuts down in good order and comes back
	// Network.
	Isolate   FaultKind = "isolate"   // one node alone
	Halves    FaultKind = "halves"    // Groups cannot reach one another
	OneWay    FaultKind = "one-way"   // nothing from Node reaches Peer
	Bridge    FaultKind = "bridge"    // two halves that share one node
	Ring      FaultKind = "ring"      // each node reaches its two neighbours only
	Clog      FaultKind = "clog"      // what is sent waits until the end
	SlowLink  FaultKind = "slow-link" // Strength times slower
	Lossy     FaultKind = "lossy"     // Strength percent of messages are lost
	Resets    FaultKind = "resets"    // Strength percent of sends break their connection
	Duplicate FaultKind = "duplicate" // Strength percent of messages arrive twice
	Reorder   FaultKind = "reorder"   // Strength percent of messages overtake others
	// Disks.
	SlowDisk  FaultKind = "slow-disk"  // Strength times slower
	StallDisk FaultKind = "stall-disk" // nothing completes until the end
	FullDisk  FaultKind = "full-disk"  // Strength bytes of room until the end
	FailFlush FaultKind = "fail-flush" // the next flush fails
	FlipBits  FaultKind = "flip-bits"  // flushed data is damaged, or cannot be read any more
	LoseFile  FaultKind = "lose-file"  // a flushed file is gone
	Misdirect FaultKind = "misdirect"  // a write lands elsewhere
	SwapDisk  FaultKind = "swap-disk"  // the process dies and comes back with an empty disk
	// Clocks.
	ClockRate FaultKind = "clock-rate" // runs Strength per mille fast (or slow)
	ClockJump FaultKind = "clock-jump" // the wall clock jumps by Strength milliseconds
	// Clients.
	ClientCrash FaultKind = "client-crash" // dies and comes back knowing nothing
	ClientPause FaultKind = "client-pause" // runs nothing; longer than a session: a zombie
	// Operators.
	Elect         FaultKind = "elect"          // preferred leaders are elected
	UncleanElect  FaultKind = "unclean-elect"  // an operator gives data up
	DeleteTopic   FaultKind = "delete-topic"   //
	CreateTopic   FaultKind = "create-topic"   // also one deleted before: another topic
	AddPartitions FaultKind = "add-partitions" // Strength more
	DeleteRecords FaultKind = "delete-records" // up to the high watermark; with a Strength, into a batch
	// Operators, about replicas and brokers.
	Reassign       FaultKind = "reassign"        // a partition of Topic goes to other replicas
	CancelReassign FaultKind = "cancel-reassign" // such a move is called off; without Topic, all are
	Throttle       FaultKind = "throttle"        // replicas being added copy Strength KiB a second; 0: no limit
	MoveLeader     FaultKind = "move-leader"     // a replica of a partition of Topic is to lead, the Strength-th of its list; 0: any
	Drain          FaultKind = "drain"           // a broker gives its replicas away, until the end
	Retire         FaultKind = "retire"          // a broker is drained, stopped and removed, and comes back new
	RemoveBroker   FaultKind = "remove-broker"   // refused, as long as the broker runs or holds replicas
	AddBroker      FaultKind = "add-broker"      // a node that was absent so far is started
	// Operators, about settings and controllers.
	AlterTopic   FaultKind = "alter-topic"   // Topic gets the settings in Set
	AlterNodes   FaultKind = "alter-nodes"   // Node gets the settings in Set; without one, all nodes
	AddVoter     FaultKind = "add-voter"     // a node becomes a controller
	RemoveVoter  FaultKind = "remove-voter"  // a node is a controller no more
	RestartOther FaultKind = "restart-other" // a restart with the settings in Set, and today's voters, in the file
	// At rare moments, or for an operator to mend.
	CrashInside   FaultKind = "crash-inside"   // loses power inside the next file operation of kind Strength: see simdisk.Op
	Retune        FaultKind = "retune"         // shuts down in good order and comes back with Settings
	HalfOpen      FaultKind = "half-open"      // Strength percent of sends leave a connection dead without a word
	NarrowLink    FaultKind = "narrow-link"    // a link holds Strength messages, what is more overflows
	FailWrite     FaultKind = "fail-write"     // one of the next writes is taken in part, and fails
	DamageFile    FaultKind = "damage-file"    // flushed data beside the records is damaged: index, epochs, checkpoint; with a Strength, a checkpoint of Topic is gone
	DamageJournal FaultKind = "damage-journal" // a voter's journal is damaged; at the end an operator replaces the disk
	SlowReads     FaultKind = "slow-reads"     // each read of a node takes up to Strength milliseconds longer
	Usurp         FaultKind = "usurp"          // whoever is elected to lead the controllers is cut off within Strength milliseconds, until the next one is
	SlowClient    FaultKind = "slow-client"    // a member takes Strength milliseconds more for each poll
	// Of disks, where others seldom strike.
	FailOp       FaultKind = "fail-op"       // one of the next file operations of kind Strength fails: see simdisk.Op
	FailRecovery FaultKind = "fail-recovery" // the process dies, and the Strength-th file operation of its next start fails; 305: the fifth of kind 3
	DamageRoot   FaultKind = "damage-root"   // what a node keeps of itself is damaged: 1 both copies of a mark, 2 one, 3 all marks, 4 one copy of the identity, 5 the mark of a clean end, 6 one copy of a mark and the end of its log
	LoseFolder   FaultKind = "lose-folder"   // the folder of a log is gone
	CutFile      FaultKind = "cut-file"      // a segment has lost its end
)

// everyNode as a Node strikes all of them.
const everyNode = -1

// Fault is one piece of trouble. Where it strikes is a node by number, or a
// role that is looked up when the time comes: "leader orders/0",
// "controller", "coordinator billing", "decider pay" (who coordinates a transactional id).
type Fault struct {
	At       Span      `json:"at"`
	For      Span      `json:"for,omitempty"`
	Kind     FaultKind `json:"kind"`
	Node     int       `json:"node,omitempty"`
	Peer     int       `json:"peer,omitempty"`
	Target   string    `json:"target,omitempty"` // a role in place of Node
	Groups   [][]int   `json:"groups,omitempty"`
	Client   int       `json:"client,omitempty"`
	Topic    string    `json:"topic,omitempty"`
	Strength int       `json:"strength,omitempty"`
	Set      []string  `json:"set,omitempty"` // settings: "key=value", or "key" for the default
	Settings *Settings `json:"settings,omitempty"`
}
