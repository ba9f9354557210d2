package hunt

import (
	"errors"
	"math"
	"math/rand/v2"
	"path"
	"slices"
)

// Draw draws mutations from the packages at or below dirs and not at or below
// without, each of which compiles by itself. One seed gives the same draw for
// the same source.
//
// First a file is drawn, with a chance that grows as the square root of the
// number of edits that it offers, so that large files do not drown small ones;
// then one of the operators that have an edit there, all alike; then one of
// those edits, all alike. What was drawn before or does not compile is drawn
// anew.
func (c *Checker) Draw(dirs, without []string, sample int, seed uint64) ([]Mutant, error) {
	files, err := c.places(dirs, without)
	if err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(seed, 0))
	var out []Mutant
	drawn := map[*Mutation]bool{}
	for misses := 0; len(out) < sample; {
		f := pick(random, files)
		m := f.pick(random)
		if drawn[m] {
			if misses++; misses > 1000 {
				return nil, errors.New("there are fewer single edits than the sample asks for")
			}
			continue
		}
		drawn[m] = true
		text := m.apply(f.text)
		if c.Check(path.Dir(m.File), map[string]string{m.File: text}) != nil {
			continue
		}
		out, misses = append(out, Mutant{Mutation: *m, Text: text}), 0
	}
	return out, nil
}

// Mutant is a mutation and the text of its file with the edit.
type Mutant struct {
	Mutation
	Text string `json:"-"`
}

// Find returns the mutant that makes the same edit in the present source, of
// those that read alike in its function the same one; false: the source has
// changed there.
func (c *Checker) Find(m *Mutation) (Mutant, bool, error) {
	p, err := c.parse(path.Dir(m.File), nil)
	if err != nil {
		return Mutant{}, false, err
	}
	list := p.mutations()
	i := slices.IndexFunc(list, func(o Mutation) bool { return o.same(m) && (m.Operator == "" || o.Operator == m.Operator) })
	if i < 0 {
		return Mutant{}, false, nil
	}
	text := p.texts[slices.Index(p.names, m.File)]
	return Mutant{Mutation: list[i], Text: list[i].apply(text)}, true, nil
}

// place is one file with its edits, by operator.
type place struct {
	text      []byte
	operators []Operator // in order, each with at least one edit
	edits     map[Operator][]*Mutation
	weight    float64
}

func (p *place) pick(random *rand.Rand) *Mutation {
	edits := p.edits[p.operators[random.IntN(len(p.operators))]]
	return edits[random.IntN(len(edits))]
}

func pick(random *rand.Rand, files []*place) *place {
	total := 0.0
	for _, f := range files {
		total += f.weight
	}
	at := random.Float64() * total
	for _, f := range files {
		if at -= f.weight; at < 0 {
			return f
		}
	}
	return files[len(files)-1]
}

// places lists the files at or below dirs that offer edits, in order.
func (c *Checker) places(dirs, without []string) ([]*place, error) {
	folders, err := c.folders(dirs, without)
	if err != nil {
		return nil, err
	}
	var out []*place
	for _, folder := range folders {
		p, err := c.parse(folder, nil)
		if err != nil {
			return nil, err
		}
		out = append(out, p.places()...)
	}
	if len(out) == 0 {
		return nil, errors.New("there is nothing to edit")
	}
	return out, nil
}

func (p *parsed) places() []*place {
	list := p.mutations()
	var out []*place
	for i, name := range p.names {
		f := &place{text: p.texts[i], edits: map[Operator][]*Mutation{}}
		n := 0
		for j := range list {
			if m := &list[j]; m.File == name {
				f.edits[m.Operator] = append(f.edits[m.Operator], m)
				n++
			}
		}
		if n == 0 {
			continue
		}
		for op := range f.edits {
			f.operators = append(f.operators, op)
		}
		slices.Sort(f.operators)
		f.weight = math.Sqrt(float64(n))
		out = append(out, f)
	}
	return out
}
