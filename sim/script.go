package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/storage/vfs/simdisk"
	"github.com/tamarack-mq/tamarack/transport/simnet"
)

// Script decides, one by one, what chance decides in other plans: what becomes
// of a message, how a process dies, what a power cut leaves on a disk, which
// flush takes long. Entries are keyed by what they mean and not by how many
// numbers were drawn, so that a script still plays after the code has changed;
// Result.Unreached says which of them nothing came of.
//
// All that is not named takes its plain course: messages arrive once, in order
// and after the link's latency; a crash spares what was not flushed and comes
// between two file operations; a power loss takes all that was not flushed; a
// flush takes its usual time. What a script does not speak of is drawn from the
// seed as ever: jitter as far as the plan has any, what cores and clients draw
// for themselves, and where damage hits.
type Script struct {
	Decisions []Decision `json:"decisions"`
}

// Decision is one entry of a script.
//
//	when                                                then
//	ReplicaFetchReply 14 from node 2 to node 1          lost, reset, twice, overtaken, late, outlives its connection
//	crash 2 of node 3                                   loses power, tells nobody, inside file operation 7 (or several of these)
//	power cut 1 of node 3                               leaves
//	flush 17 of node 2                                  late
type Decision struct {
	When string `json:"when"`
	// After is the time from which on messages or flushes are counted: with it, When is
	// about the same moment even if less has happened before. 0: from the start.
	After Span   `json:"after,omitempty"`
	Then  string `json:"then"`
	// By is how much later: of twice, overtaken, late and outlives.
	By Span `json:"by,omitempty"`
	// Left is what a power cut leaves of what was not flushed; the rest is gone.
	Left []simdisk.Left `json:"left,omitempty"`

	at Span // when it came about in the run that noted it
}

// Timed is the same decision as one about the first such moment from its time on; ok
// is false for what is not counted by time, or was not noted in a run.
func (d Decision) Timed() (timed Decision, ok bool) {
	h, err := parseWhen(d.When)
	if err != nil || d.at == 0 || d.After > 0 || h.what != "" && h.what != flushes {
		return d, false
	}
	d.When = strings.Replace(d.When, " "+strconv.Itoa(int(h.count()))+" ", " 1 ", 1)
	d.After = d.at
	return d, true
}

// count is the number of a moment among its like.
func (h *happening) count() uint32 {
	if h.what != "" {
		return h.nth
	}
	return h.about.Nth
}

// like is the moment without its number.
func (h happening) like() happening {
	h.nth, h.about.Nth = 0, 0
	return h
}

// String tells a decision in a line.
func (d *Decision) String() string {
	s := d.When + ": " + d.Then
	if d.After > 0 {
		s = d.When + " after " + d.After.String() + ": " + d.Then
	}
	if d.By > 0 {
		s += " by " + d.By.String()
	}
	for i := range d.Left {
		l := &d.Left[i]
		s += " " + l.Path + " " + l.Names + l.Pages
	}
	return s
}

// mishaps are the words for what becomes of messages.
var mishaps = [...]string{
	simnet.Lost: "lost", simnet.Reset: "reset", simnet.Twice: "twice",
	simnet.Overtaken: "overtaken", simnet.Late: "late", simnet.Outlives: "outlives its connection",
	simnet.HalfOpened: "half open",
}

// happening is the moment of a decision: the message that it is about, or the
// words for what happens on a node and how often it has happened there.
type happening struct {
	about simnet.About
	what  string
	node  int32
	nth   uint32
}

const (
	crashes   = "crash"
	powerCuts = "power cut"
	flushes   = "flush"
)

// decider plays a script, or notes what it would have to say.
type decider struct {
	world   *World
	noting  bool
	given   map[happening][]*Decision     // nil: chance decides
	timed   map[happening][]timedDecision // those that count from a time on, by what is counted
	reached map[*Decision]bool
	noted   []Decision
	last    map[happening]int // where in noted
	counts  map[happening]uint32
}

// newDecider returns nil when chance decides and nobody wants to know.
func newDecider(w *World) *decider {
	s := w.plan.Script
	if s == nil && !w.options.Record {
		return nil
	}
	d := &decider{world: w, noting: w.options.Record, counts: map[happening]uint32{}, last: map[happening]int{}}
	if s != nil {
		d.given, d.reached = map[happening][]*Decision{}, map[*Decision]bool{}
		for i := range s.Decisions {
			e := &s.Decisions[i]
			switch h, err := w.parseWhen(e.When); {
			case err != nil:
			case e.After > 0:
				if d.timed == nil {
					d.timed = map[happening][]timedDecision{}
				}
				d.timed[h.like()] = append(d.timed[h.like()], timedDecision{e, h.count(), 0})
			default:
				d.given[h] = append(d.given[h], e)
			}
		}
	}
	w.net.LetDecide(d)
	return d
}

// unreached are the entries of the script of which nothing came.
func (d *decider) unreached() (list []string) {
	if d == nil || d.given == nil {
		return nil
	}
	for i := range d.world.plan.Script.Decisions {
		if e := &d.world.plan.Script.Decisions[i]; !d.reached[e] {
			list = append(list, e.String())
		}
	}
	return list
}

// says finds what the script says at a moment; with a word, what it says with
// that word.
func (d *decider) says(h happening, word string) *Decision {
	for _, e := range d.given[h] {
		if word == "" || e.Then == word {
			d.reached[e] = true
			return e
		}
	}
	if d.timed == nil {
		return nil
	}
	for _, t := range d.timed[h.like()] {
		if t.seen == t.nth && (word == "" || t.Then == word) {
			d.reached[t.Decision] = true
			return t.Decision
		}
	}
	return nil
}

// timedDecision is one that counts from a time on.
type timedDecision struct {
	*Decision
	nth, seen uint32
}

// pass counts a moment for those that count from a time on.
func (d *decider) pass(h happening) {
	if d.timed == nil {
		return
	}
	list := d.timed[h]
	for i := range list {
		if d.world.now >= list[i].After {
			list[i].seen++
		}
	}
}

// note keeps a decision for a script to be.
func (d *decider) note(h happening, e Decision) {
	if d.noting {
		e.When, e.at = d.world.tellWhen(h), d.world.now
		d.last[h] = len(d.noted)
		d.noted = append(d.noted, e)
	}
}

// count counts how often something happens on a node.
func (d *decider) count(what string, node int32) happening {
	h := happening{what: what, node: node}
	d.counts[h]++
	d.pass(h)
	h.nth = d.counts[h]
	return h
}

// Sent counts a message.
func (d *decider) Sent(from, to simnet.Endpoint, kind message.Kind) uint32 {
	h := happening{about: simnet.About{From: from, To: to, Kind: kind}}
	d.counts[h]++
	d.pass(h)
	return d.counts[h]
}

// Happens decides whether a mishap comes over a message.
func (d *decider) Happens(a simnet.About, what simnet.Mishap, drawn bool) bool {
	h := happening{about: a}
	if d.given != nil {
		drawn = len(d.given)+len(d.timed) > 0 && d.says(h, mishaps[what]) != nil
	}
	if drawn {
		d.note(h, Decision{Then: mishaps[what]})
	}
	return drawn
}

// By decides how much later a message arrives.
func (d *decider) By(a simnet.About, what simnet.Mishap, drawn message.Duration) message.Duration {
	h := happening{about: a}
	if d.given != nil {
		if e := d.says(h, mishaps[what]); e != nil && e.By > 0 {
			drawn = message.Duration(e.By)
		}
	}
	if i, ok := d.last[h]; ok && d.noting && d.noted[i].Then == mishaps[what] {
		d.noted[i].By = Span(drawn)
	}
	return drawn
}

// death decides how a process dies by a fault: as drawn, or as the script says.
// inside is the file operation, counted from here on, in which it dies; 0: at
// once.
func (d *decider) death(n *Node, kind FaultKind, drawn death, inside int64) (death, int64) {
	h := d.count(crashes, n.id)
	plain := death{lossy: kind == PowerLoss, told: kind != PowerLoss}
	if d.given != nil {
		drawn, inside = plain, 0
		if e := d.says(h, ""); e != nil {
			drawn, inside, _ = deathIn(e.Then, plain)
		}
	}
	var words []string
	if drawn.lossy && !plain.lossy {
		words = append(words, losesPower)
	}
	if plain.told && !drawn.told {
		words = append(words, tellsNobody)
	}
	if inside > 0 {
		words = append(words, insideOperation+strconv.FormatInt(inside, 10))
	}
	if words != nil {
		d.note(h, Decision{Then: strings.Join(words, ", ")})
	}
	return drawn, inside
}

// powerCut cuts the power of a disk: as drawn, or as the script says. What is drawn
// is drawn in either case, so that what comes after it is drawn as ever; and where the
// script says the same, it is left as it was drawn, to the bytes of torn pages, which no
// script tells.
func (d *decider) powerCut(n *Node) {
	h := d.count(powerCuts, n.id)
	if d.given == nil {
		if left := n.drive.disk.CrashTold(n.drive.chaos); len(left) > 0 {
			d.note(h, Decision{Then: "leaves", Left: left})
		}
		return
	}
	var left []simdisk.Left
	if e := d.says(h, "leaves"); e != nil {
		left = e.Left
		d.note(h, Decision{Then: "leaves", Left: left})
	}
	again := chance.New(n.drive.chaos.State())
	if slices.Equal(left, n.drive.disk.Clone().CrashTold(n.drive.chaos)) {
		n.drive.disk.CrashTold(again)
		return
	}
	if misfits := n.drive.disk.CrashTo(left); misfits > 0 && d.world.tracing {
		d.world.tell("node %d: %d entries of what the script leaves on its disk fit nothing that was unsynced", n.id, misfits)
	}
}

// flush decides how much longer than usual a flush takes.
func (d *decider) flush(n *Node, drawn Span) Span {
	h := d.count(flushes, n.id)
	if d.given != nil {
		drawn = 0
		if e := d.says(h, "late"); e != nil {
			drawn = e.By
		}
	}
	if drawn > 0 {
		d.note(h, Decision{Then: "late", By: drawn})
	}
	return drawn
}

// tellWhen puts a moment into words, parseWhen reads them.
func (w *World) tellWhen(h happening) string {
	if h.what != "" {
		return fmt.Sprintf("%s %d of node %d", h.what, h.nth, h.node)
	}
	a := h.about
	return fmt.Sprintf("%s %d from %s to %s", a.Kind, a.Nth, w.tellEnd(a.From), w.tellEnd(a.To))
}

func (w *World) tellEnd(e simnet.Endpoint) string {
	if int(e) < len(w.nodes) {
		return "node " + itoa(int(e))
	}
	return "client " + itoa(w.clientID(e))
}

func (w *World) parseWhen(text string) (happening, error) {
	h, err := parseWhen(text)
	end := func(e simnet.Endpoint) simnet.Endpoint {
		for _, u := range w.clients {
			if e < 0 && u.plan.ID == -int(e) {
				return u.endpoint
			}
		}
		return e
	}
	h.about.From, h.about.To = end(h.about.From), end(h.about.To)
	return h, err
}

// parseWhen reads a moment; the ends of a message that are clients have the
// client's id below zero.
func parseWhen(text string) (h happening, err error) {
	bad := fmt.Errorf("%q is no moment of a script: say it as \"ReplicaFetchReply 14 from node 2 to node 1\", \"crash 2 of node 3\", \"power cut 1 of node 3\" or \"flush 17 of node 2\"", text)
	for _, what := range []string{crashes, powerCuts, flushes} {
		if rest, ok := strings.CutPrefix(text, what+" "); ok {
			h.what = what
			if n, err := fmt.Sscanf(rest, "%d of node %d", &h.nth, &h.node); n != 2 || err != nil {
				return h, bad
			}
			return h, nil
		}
	}
	var kind, from, to string
	var a, b int
	if n, err := fmt.Sscanf(text, "%s %d from %s %d to %s %d", &kind, &h.about.Nth, &from, &a, &to, &b); n != 6 || err != nil {
		return h, bad
	}
	for _, k := range message.Kinds() {
		if k.String() == kind {
			h.about.Kind = k
		}
	}
	end := func(what string, id int) simnet.Endpoint {
		if what == "client" {
			id = -id
		}
		return simnet.Endpoint(id)
	}
	h.about.From, h.about.To = end(from, a), end(to, b)
	if h.about.Kind == message.KindInvalid {
		return h, bad
	}
	return h, nil
}

// Words for how a process dies, besides what its fault says.
const (
	losesPower      = "loses power"
	tellsNobody     = "tells nobody"
	insideOperation = "inside file operation "
)

// deathIn reads how a process dies that would die otherwise by its fault alone, and
// inside which file operation; 0: at once. ok is false where a word is not known: it
// would pass for the plain course, and for having come about.
func deathIn(then string, plain death) (d death, inside int64, ok bool) {
	d = plain
	for _, word := range strings.Split(then, ", ") {
		number, within := strings.CutPrefix(word, insideOperation)
		switch {
		case word == losesPower:
			d.lossy = true
		case word == tellsNobody:
			d.told = false
		case within:
			n, err := strconv.ParseInt(number, 10, 64)
			if err != nil || n < 1 {
				return plain, 0, false
			}
			inside = n
		default:
			return plain, 0, false
		}
	}
	return d, inside, true
}

func (s *Script) validate() error {
	for i := range s.Decisions {
		d := &s.Decisions[i]
		h, err := parseWhen(d.When)
		if err != nil {
			return err
		}
		if d.After != 0 && (d.After < 0 || h.what != "" && h.what != flushes) {
			return fmt.Errorf("script: %s cannot count from %v on: only messages and flushes can, and from a time above 0", d.When, d.After)
		}
		ok := d.Then == "leaves" && h.what == powerCuts || d.Then == "late" && h.what == flushes
		if h.what == crashes {
			_, _, ok = deathIn(d.Then, death{})
		}
		for _, word := range mishaps {
			ok = ok || h.what == "" && d.Then == word
		}
		if !ok {
			return fmt.Errorf("script: %s cannot be %q", d.When, d.Then)
		}
	}
	return nil
}
