package main

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// moment is everything that is known of a run at one time.
type moment struct {
	at      time.Duration // since producing began
	tally   tally
	cluster clusterState
}

// devView is what is shown of a run, to people or as one JSON object.
type devView struct {
	Kind       string       `json:"kind"` // "view"
	Seconds    float64      `json:"seconds"`
	Until      float64      `json:"until_seconds,omitempty"` // 0: no end
	Topic      string       `json:"topic"`
	Partitions int          `json:"partitions"`
	Replicas   int          `json:"replicas"`
	Age        float64      `json:"age_seconds"` // of what the cluster says of itself
	Produced   producedView `json:"produced"`
	Nodes      []nodeView   `json:"nodes"`
	Offline    []int32      `json:"offline"` // partitions without a leader
	Groups     []groupView  `json:"groups"`
}

type producedView struct {
	Rate         float64 `json:"records_per_second"`
	Acknowledged int     `json:"acknowledged"`
	Waiting      int     `json:"waiting"`
	Failed       int     `json:"failed"`
	Problem      string  `json:"problem,omitempty"`
}

type nodeView struct {
	Node       int     `json:"node"`
	Pid        int     `json:"pid,omitempty"`
	State      string  `json:"state"`
	Controller bool    `json:"controller"`
	Leads      []int32 `json:"leads"`
	Note       string  `json:"note,omitempty"`
}

type groupView struct {
	Group      string          `json:"group"`
	Delivery   string          `json:"delivery"`
	State      string          `json:"state"`
	Rate       float64         `json:"records_per_second"`
	Seen       int             `json:"seen"`
	Missing    int             `json:"missing"` // acknowledged and not seen
	Repeated   int             `json:"repeated"`
	Earlier    int             `json:"earlier"` // of earlier runs
	Members    []memberView    `json:"members"`
	Partitions []partitionView `json:"partitions"`
}

type memberView struct {
	Member   int     `json:"member"`
	Owns     []int32 `json:"owns"`
	Rate     float64 `json:"records_per_second"`
	Received int     `json:"received"`
	Repeated int     `json:"repeated"`
	Problem  string  `json:"problem,omitempty"`
}

type partitionView struct {
	Partition int32  `json:"partition"`
	Owner     int    `json:"owner"` // 0: nobody
	Committed *int64 `json:"committed"`
	End       *int64 `json:"end"`
	Lag       *int64 `json:"lag"`
}

// newView compares two moments of a run. The cluster's groups are those of the
// tally.
func newView(before, now moment) *devView {
	per := func(a, b int) float64 {
		if now.at <= before.at {
			return 0
		}
		return float64(b-a) / (now.at - before.at).Seconds()
	}
	t := &now.tally
	v := &devView{Kind: "view", Seconds: seconds(now.at), Partitions: len(now.cluster.ends), Age: seconds(now.at - now.cluster.asked), Offline: []int32{}, Nodes: []nodeView{}, Groups: []groupView{},
		Produced: producedView{per(before.tally.acknowledged, t.acknowledged), t.acknowledged, t.waiting, t.failed, t.problem}}
	for _, n := range now.cluster.nodes {
		if n.state == "up" && now.cluster.fenced[n.number] {
			n.state = "fenced"
		}
		v.Nodes = append(v.Nodes, nodeView{Node: n.number, Pid: n.pid, State: n.state, Note: n.note,
			Controller: int(now.cluster.controller) == n.number, Leads: []int32{}})
	}
	for p, leader := range now.cluster.leaders {
		if i := int(leader) - 1; i >= 0 && i < len(v.Nodes) {
			v.Nodes[i].Leads = append(v.Nodes[i].Leads, int32(p))
			continue
		}
		v.Offline = append(v.Offline, int32(p))
	}
	for i := range t.groups {
		g := &t.groups[i]
		state := now.cluster.groups[g.plan.Name]
		gv := groupView{Group: g.plan.Name, Delivery: string(g.plan.DeliverySemantics), State: state.state,
			Seen: g.seen, Missing: g.missing, Repeated: g.repeated, Earlier: g.earlier, Partitions: make([]partitionView, len(now.cluster.ends))}
		for p, end := range now.cluster.ends {
			gv.Partitions[p] = standing(int32(p), end, state.committed)
		}
		for j, m := range g.members {
			had := 0
			if i < len(before.tally.groups) {
				had = before.tally.groups[i].members[j].received
			}
			rate := per(had, m.received)
			gv.Rate += rate
			gv.Members = append(gv.Members, memberView{j + 1, m.owns, rate, m.received, m.repeated, m.problem})
			for _, p := range m.owns {
				if int(p) < len(gv.Partitions) {
					gv.Partitions[p].Owner = j + 1
				}
			}
		}
		v.Groups = append(v.Groups, gv)
	}
	return v
}

func seconds(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }

// text is the view for people.
func (v *devView) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d partitions, %d replicas each; ", v.Topic, v.Partitions, v.Replicas)
	switch {
	case v.Until == 0:
		b.WriteString(clock(v.Seconds))
	case v.Seconds < v.Until:
		fmt.Fprintf(&b, "%s of %s", clock(v.Seconds), clock(v.Until))
	default:
		fmt.Fprintf(&b, "%s are over, the groups catch up", clock(v.Until))
	}
	fmt.Fprintf(&b, "\nproduced: %.0f/s, %d acknowledged, %d waiting", v.Produced.Rate, v.Produced.Acknowledged, v.Produced.Waiting)
	if v.Produced.Failed > 0 {
		fmt.Fprintf(&b, ", %d FAILED (%s)", v.Produced.Failed, v.Produced.Problem)
	}
	b.WriteString("\n\n")
	v.nodeTable(&b)
	if len(v.Offline) > 0 {
		fmt.Fprintf(&b, "NO LEADER: partitions %s\n", numbers(v.Offline))
	}
	if v.Age > staleAfter.Seconds() {
		fmt.Fprintf(&b, "leaders, positions and ends are %s old: the cluster does not answer all questions\n", clock(v.Age))
	}
	for i := range v.Groups {
		b.WriteByte('\n')
		v.Groups[i].table(&b)
	}
	lines := strings.Split(b.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ") // tabwriter fills the last column as well
	}
	return strings.Join(lines, "\n")
}

// staleAfter is the age at which the view says how old it is.
const staleAfter = 5 * time.Second

func (v *devView) nodeTable(b *strings.Builder) {
	t := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "node\tpid\tstate\tleads\t")
	for _, n := range v.Nodes {
		pid, note := "-", n.Note
		if n.Pid != 0 {
			pid = strconv.Itoa(n.Pid)
		}
		if n.Controller {
			note = strings.TrimSuffix("controller; "+note, "; ")
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\n", n.Node, pid, n.State, numbers(n.Leads), note)
	}
	_ = t.Flush()
}

// table has a row for each partition, below the member that owns it.
func (g *groupView) table(b *strings.Builder) {
	fmt.Fprintf(b, "%s (%s, %s): %.0f/s, %d seen, %d repeated, %d behind", g.Group, g.Delivery, orDash(strings.ToLower(g.State)), g.Rate, g.Seen, g.Repeated, g.Missing)
	if g.Earlier > 0 {
		fmt.Fprintf(b, ", %d of earlier runs", g.Earlier)
	}
	b.WriteByte('\n')
	t := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "member\trate\treceived\trepeated\tpartition\tcommitted\tend\tlag\t")
	for _, m := range g.Members {
		first := fmt.Sprintf("%d\t%.0f/s\t%d\t%d\t", m.Member, m.Rate, m.Received, m.Repeated)
		if len(m.Owns) == 0 {
			fmt.Fprintf(t, "%s-\t\t\t\t%s\n", first, m.Problem)
		}
		for i, p := range m.Owns {
			if i > 0 {
				first = "\t\t\t\t"
			}
			problem := ""
			if i == 0 {
				problem = m.Problem
			}
			var at partitionView
			if int(p) < len(g.Partitions) {
				at = g.Partitions[p]
			}
			fmt.Fprintf(t, "%s%d\t%s\t%s\t%s\t%s\n", first, p, offsetText(at.Committed), offsetText(at.End), offsetText(at.Lag), problem)
		}
	}
	for _, p := range g.Partitions {
		if p.Owner == 0 {
			fmt.Fprintf(t, "nobody\t\t\t\t%d\t%s\t%s\t%s\t\n", p.Partition, offsetText(p.Committed), offsetText(p.End), offsetText(p.Lag))
		}
	}
	_ = t.Flush()
}

// standing is where a group stands in a partition that nobody owns (yet).
func standing(p int32, end int64, committed map[int32]int64) partitionView {
	v := partitionView{Partition: p}
	at, ok := committed[p]
	if ok {
		v.Committed = &at
	}
	if end >= 0 {
		v.End = &end
	}
	if ok && end >= 0 {
		// The end may be of a leader that has just begun and knows less.
		lag := max(0, end-at)
		v.Lag = &lag
	}
	return v
}

func offsetText(n *int64) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatInt(*n, 10)
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// numbers prints as 0,1,2.
func numbers(list []int32) string {
	parts := make([]string, len(list))
	for i, n := range list {
		parts[i] = strconv.Itoa(int(n))
	}
	return orDash(strings.Join(parts, ","))
}

// clock prints whole seconds.
func clock(s float64) string { return (time.Duration(s) * time.Second).String() }

// devSummary is how a run ended.
type devSummary struct {
	Kind     string         `json:"kind"` // "summary"
	OK       bool           `json:"ok"`
	Seconds  float64        `json:"seconds"` // of producing
	Produced producedView   `json:"produced"`
	Groups   []groupSummary `json:"groups"`
	Problems []string       `json:"problems"`
}

type groupSummary struct {
	Group    string `json:"group"`
	Delivery string `json:"delivery"`
	Seen     int    `json:"seen"`
	Missing  int    `json:"missing"`
	Repeated int    `json:"repeated"`
	Earlier  int    `json:"earlier"`
	Owned    []int  `json:"owned"` // how many partitions each member had
}

// summarizeRun judges a run that produced for some time.
func summarizeRun(final, shared tally, partitions int, produced time.Duration) *devSummary {
	s := &devSummary{Kind: "summary", Seconds: seconds(produced), Problems: append([]string{}, judge(final, shared, partitions)...),
		Produced: producedView{Acknowledged: final.acknowledged, Waiting: final.waiting, Failed: final.failed, Problem: final.problem}}
	if produced > 0 {
		s.Produced.Rate = float64(final.acknowledged) / produced.Seconds()
	}
	for i := range final.groups {
		g := &final.groups[i]
		gs := groupSummary{Group: g.plan.Name, Delivery: string(g.plan.DeliverySemantics), Seen: g.seen, Missing: g.missing, Repeated: g.repeated, Earlier: g.earlier}
		for _, m := range shared.groups[i].members {
			gs.Owned = append(gs.Owned, len(m.owns))
		}
		s.Groups = append(s.Groups, gs)
	}
	s.OK = len(s.Problems) == 0
	return s
}

// text is the summary for people.
func (s *devSummary) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "produced %d orders in %s (%.0f/s)", s.Produced.Acknowledged, clock(s.Seconds), s.Produced.Rate)
	if n := s.Produced.Failed + s.Produced.Waiting; n > 0 {
		fmt.Fprintf(&b, "; %d more were not acknowledged", n)
	}
	b.WriteByte('\n')
	for _, g := range s.Groups {
		missing := "missed"
		if g.Delivery == "at-most-once" {
			missing = "skipped"
		}
		fmt.Fprintf(&b, "%s (%s): %d seen, %d %s, %d repeated; partitions of each member:", g.Group, g.Delivery, g.Seen, g.Missing, missing, g.Repeated)
		for _, n := range g.Owned {
			fmt.Fprintf(&b, " %d", n)
		}
		b.WriteByte('\n')
	}
	for _, p := range s.Problems {
		fmt.Fprintf(&b, "PROBLEM: %s\n", p)
	}
	if s.OK {
		b.WriteString("every promise was kept\n")
	}
	return b.String()
}

// crop cuts a text to a screen; a width or height of 0 sets no limit.
func crop(text string, width, height int) []string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if height > 0 && len(lines) > height {
		hidden := len(lines) - height + 1
		lines = append(lines[:height-1:height-1], fmt.Sprintf("... %d more lines: enlarge the window", hidden))
	}
	for i, line := range lines {
		if runes := []rune(line); width > 0 && len(runes) > width {
			lines[i] = string(runes[:width])
		}
	}
	return lines
}
