package sim

import (
	"time"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/history"
	"github.com/tamarack-mq/tamarack/witness"
)

// Class is how a run ended.
type Class string

// The classes, from good to bad.
const (
	Passed         Class = "passed"
	Void           Class = "void"           // too little got done to judge by
	Liveness       Class = "liveness"       // INV-33 or INV-34: it does not come to rest
	Safety         Class = "safety"         // any other invariant
	Nondeterminism Class = "nondeterminism" // the same plan gave another hash
	Broken         Class = "broken"         // the harness itself is at fault
)

// Options say how to play a plan. They never change what happens in it.
type Options struct {
	// Until stops the run after so many events; 0: no limit.
	Until uint64
	// TraceFrom and TraceTo bound the events of which Result.Trace tells the
	// story, both included. TraceTo 0: none.
	TraceFrom, TraceTo uint64
	// Record notes in Result.Recorded what the run finds out by itself.
	Record bool

	// Witness, when it is not nil, is filled with all that happens. It costs
	// twice the time of the run itself, and some 600 bytes an event.
	Witness *witness.Run

	machine func(n *Node, found effect.Recovered) machine // a toy in tests
	// What a search looks at: every event before it is carried out, what an exact
	// crash may take, and what recoveries find.
	events    func(w *World, e *event)
	cut       func(w *World, d *drive, x *ExactCrash)
	recovered func(d *drive, digest uint64)
	taping    taping         // of tests; nil: no tapes
	checking  *time.Duration // with it, what book, observers and models take is added to it
}

// Failure is the first thing that broke.
type Failure struct {
	Invariant string `json:"invariant"` // "INV-5"
	Sentence  string `json:"sentence"`  // one plain sentence
	Cause     string `json:"cause"`     // short and without numbers: failures with one cause share it
	Event     uint64 `json:"event"`
	Time      Span   `json:"time"`
	Node      int    `json:"node,omitempty"`
	// Subject is what it is about: a partition, a record, a group.
	Subject Subject `json:"subject,omitzero"`
}

// Fingerprint tells two failures apart, or takes them for the same.
func (f *Failure) Fingerprint() string { return f.Invariant + ": " + f.Cause }

// Stats are the figures of one run.
type Stats struct {
	Events   uint64 `json:"events"`
	Steps    uint64 `json:"steps"` // of cores of nodes
	Messages uint64 `json:"messages"`
	Faults   uint64 `json:"faults"`
	Virtual  Span   `json:"virtual"`
	Acked    uint64 `json:"acked"` // publishes answered ok
	Polled   uint64 `json:"polled"`
	Commits  uint64 `json:"commits"`
	Unknown  uint64 `json:"unknown"`
	Failed   uint64 `json:"failed"`
}

// Mark counts how often a rare state was reached.
type Mark struct {
	Name  string `json:"name"`
	Count uint64 `json:"count"`
}

// Result is what came of a run.
type Result struct {
	Seed    uint64   `json:"seed"`
	Plan    string   `json:"plan,omitempty"` // its name; empty: what NewPlan makes of the seed
	Class   Class    `json:"class"`
	Hash    uint64   `json:"hash"`
	Failure *Failure `json:"failure,omitempty"`
	Stats   Stats    `json:"stats"`
	Marks   []Mark   `json:"marks,omitempty"` // by name
	// Checkpoints are the rolling hash after every CheckpointEvery events: two
	// runs differ first in the stretch before the first pair that differs.
	Checkpoints []uint64            `json:"-"`
	Trace       []string            `json:"-"`
	watched     Watched             // when it was run twice
	History     []history.Operation `json:"-"`
	Recorded    *Recording          `json:"-"` // with Options.Record
	// Unreached are the entries of the plan's script of which nothing came: the
	// code, or the plan, has changed since it was written.
	Unreached []string `json:"unreached,omitempty"`
}

// CheckpointEvery is the number of events between two checkpoints of the hash.
const CheckpointEvery = 4096
