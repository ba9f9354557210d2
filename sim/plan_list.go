package sim

import "slices"

// faultProse tells of each kind of fault what it does. A plan may use no other
// kinds.
var faultProse = map[FaultKind]string{
	Crash:         "the process dies and comes back after For",
	PowerLoss:     "and what was not flushed may be gone",
	CrashLoop:     "dies again and again, also while it recovers",
	Pause:         "runs nothing for a while",
	Restart:       "shuts down in good order and comes back",
	Isolate:       "one node alone",
	Halves:        "Groups cannot reach one another",
	OneWay:        "nothing from Node reaches Peer",
	Bridge:        "two halves that share one node",
	Ring:          "each node reaches its two neighbours only",
	Clog:          "what is sent waits until the end",
	SlowLink:      "Strength times slower",
	Lossy:         "Strength percent of messages are lost",
	Resets:        "Strength percent of sends break their connection",
	Duplicate:     "Strength percent of messages arrive twice",
	Reorder:       "Strength percent of messages overtake others",
	SlowDisk:      "Strength times slower",
	StallDisk:     "nothing completes until the end",
	FullDisk:      "Strength bytes of room until the end",
	FailFlush:     "the next flush fails",
	FlipBits:      "flushed data is damaged",
	LoseFile:      "a flushed file is gone",
	Misdirect:     "a write lands elsewhere",
	SwapDisk:      "the process dies and comes back with an empty disk",
	ClockRate:     "runs Strength per mille fast (or slow)",
	ClockJump:     "the wall clock jumps by Strength milliseconds",
	ClientCrash:   "dies and comes back knowing nothing",
	ClientPause:   "runs nothing; longer than a session: a zombie",
	Elect:         "preferred leaders are elected",
	UncleanElect:  "an operator gives data up",
	DeleteTopic:   "a topic and all its records go",
	CreateTopic:   "also one deleted before: another topic",
	AddPartitions: "Strength more",
	DeleteRecords: "up to the high watermark; with a Strength, into a batch",

	Reassign:       "a partition of Topic goes to other replicas",
	CancelReassign: "a move of replicas is called off; without Topic, all are",
	Throttle:       "replicas being added copy Strength KiB a second; 0: no limit",
	MoveLeader:     "a replica of a partition of Topic is to lead, the Strength-th of its list; 0: any",
	Drain:          "a broker gives its replicas away, until the end",
	Retire:         "a broker is drained, stopped and removed, and comes back new",
	RemoveBroker:   "refused, as long as the broker runs or holds replicas",
	AddBroker:      "a node that was absent so far is started",

	AlterTopic:    "Topic gets the settings in Set",
	AlterNodes:    "Node gets the settings in Set; without one, all nodes",
	AddVoter:      "a node becomes a controller",
	RemoveVoter:   "a node is a controller no more",
	RestartOther:  "a restart with the settings in Set, and today's voters, in the file",
	CrashInside:   "loses power inside the next file operation of kind Strength",
	Retune:        "shuts down in good order and comes back with Settings",
	HalfOpen:      "Strength percent of sends leave a connection dead without a word",
	NarrowLink:    "a link holds Strength messages, what is more overflows",
	FailWrite:     "one of the next writes is taken in part, and fails",
	DamageFile:    "flushed data beside the records is damaged",
	DamageJournal: "a voter's journal is damaged; at the end an operator replaces the disk",
	SlowReads:     "each read takes up to Strength milliseconds longer",
	Usurp:         "who is elected to lead the controllers is cut off within Strength milliseconds, until the next one is",
	FailOp:        "one of the next file operations of kind Strength fails",
	FailRecovery:  "dies, and the Strength-th file operation of its next start fails",
	DamageRoot:    "marks, identity or clean mark of a node are damaged",
	LoseFolder:    "the folder of a log is gone",
	CutFile:       "a segment has lost its end",
	SlowClient:    "a member takes Strength milliseconds more for each poll",
}

// Faults lists all kinds of faults by name, with what each does.
func Faults() (names, prose []string) {
	for k := range faultProse {
		names = append(names, string(k))
	}
	slices.Sort(names)
	for _, n := range names {
		prose = append(prose, faultProse[FaultKind(n)])
	}
	return names, prose
}
