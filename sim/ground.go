package sim

import "math/bits"

// Ground is what a campaign has covered, in points: a mark that was reached in a
// run once, twice, at least four times, eight times and so on is a point each, and
// so are any two marks that were reached in the same run. A run that reaches no
// point for the first time has, as far as marks can tell, shown nothing new.
type Ground struct {
	Points int    `json:"points"` // covered so far
	Last   uint64 `json:"last"`   // seed of the last run that covered a new one; 0 after a merge
	Since  int    `json:"since"`  // runs since then; 0 after a merge
	// Covered has a bit for each point, by number: for a mark m, m*markDegrees and on
	// for how often, then pairs. Marks are numbered as in their table, so that only
	// reports of one state of the code can be merged.
	Covered []byte `json:"covered,omitempty"`
}

// markDegrees is how many degrees of "how often" are told apart.
const markDegrees = 8

// ground adds to a Ground.
type ground struct {
	to    *Ground
	index map[string]int
	here  []int // marks of the run at hand
}

func newGround(to *Ground) *ground {
	g := &ground{to: to, index: map[string]int{}}
	for i, name := range MarkNames() {
		g.index[name] = i
	}
	marks := len(g.index)
	to.Covered = make([]byte, (marks*markDegrees+marks*marks+7)/8)
	return g
}

// add takes a run's marks in.
func (g *ground) add(r *Result) {
	before := g.to.Points
	g.here = g.here[:0]
	for i := range r.Marks {
		m, ok := g.index[r.Marks[i].Name]
		if !ok || r.Marks[i].Count == 0 {
			continue
		}
		for degree := range min(bits.Len64(r.Marks[i].Count), markDegrees) {
			g.reach(m*markDegrees + degree)
		}
		for _, other := range g.here {
			g.reach(len(g.index)*markDegrees + other*len(g.index) + m)
		}
		g.here = append(g.here, m)
	}
	if g.to.Points > before {
		g.to.Last, g.to.Since = r.Seed, 0
		return
	}
	g.to.Since++
}

func (g *ground) reach(point int) {
	if g.to.Covered[point/8]&(1<<(point%8)) == 0 {
		g.to.Covered[point/8] |= 1 << (point % 8)
		g.to.Points++
	}
}

// merge adds what another campaign has covered.
func (g *ground) merge(o *Ground) {
	g.to.Points = 0
	for i := range g.to.Covered {
		if i < len(o.Covered) {
			g.to.Covered[i] |= o.Covered[i]
		}
		g.to.Points += bits.OnesCount8(g.to.Covered[i])
	}
}
