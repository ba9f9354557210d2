package hunt

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Fate is what became of a mutant.
type Fate struct {
	Mutant
	Hunted    bool          `json:"hunted"` // false: its turn has not come yet
	Killed    bool          `json:"killed"`
	Invariant string        `json:"invariant,omitempty"` // that broke; "hang" and "died" for runs that did not end by themselves
	Sentence  string        `json:"sentence,omitempty"`
	Seed      uint64        `json:"seed,omitempty"` // that failed
	Seeds     int           `json:"seeds"`          // tried
	CPU       time.Duration `json:"cpu"`
	Reaching  int           `json:"reaching"`         // seeds of the sample that come to the place of the edit
	Differing int           `json:"differing"`        // of those tried, that took another course with the edit
	Detail    string        `json:"detail,omitempty"` // of what went wrong with the hunt itself
}

// Pack is a list of mutants in one binary, with what the code does without them.
type Pack struct {
	mutants []Mutant
	binary  string
	runner  SeriesRunner
	plain   map[uint64]uint64 // hashes of the seeds that pass without an edit
	order   [][]uint64        // of those, by mutant, the ones that reach it, the most promising first

	// What making it took.
	Build  time.Duration // on the wall
	CPU    time.Duration // of the seeds, without an edit
	Failed []uint64      // seeds that the code fails as it is: they say nothing about any edit
}

// NewPack compiles all mutants of a list into one binary, in a folder for what is
// built, and runs the seeds with none of them switched on, in so many processes
// side by side. From that it knows which seeds come to which edit: others cannot
// tell it from the code as it is.
func NewPack(ctx context.Context, c *Checker, work string, runner SeriesRunner, jobs int, mutants []Mutant, seeds []uint64) (*Pack, error) {
	p := &Pack{mutants: mutants, runner: runner, plain: map[uint64]uint64{}, order: make([][]uint64, len(mutants))}
	if len(mutants) == 0 {
		return p, nil
	}
	begun := time.Now()
	texts, err := c.weave(mutants)
	if err != nil {
		return nil, err
	}
	if p.binary, err = Build(ctx, c.root, work, "mutants", texts); err != nil {
		return nil, err
	}
	p.Build = time.Since(begun)
	return p, p.look(ctx, jobs, seeds)
}

// look runs the seeds without an edit.
func (p *Pack) look(ctx context.Context, jobs int, seeds []uint64) error {
	lines := map[uint64]Line{}
	var lock sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	for part := range slices.Chunk(seeds, max(1, (len(seeds)+jobs-1)/max(1, jobs))) {
		group.Go(func() error {
			return p.runner.Series(ctx, p.binary, 0, part, func(l Line) bool {
				lock.Lock()
				defer lock.Unlock()
				p.CPU += l.CPU
				if l.Failure != nil {
					p.Failed = append(p.Failed, l.Seed)
					return true
				}
				p.plain[l.Seed], lines[l.Seed] = l.Hash, l
				return true
			})
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	slices.Sort(p.Failed)
	for i := range p.order {
		p.order[i] = promising(i+1, seeds, lines)
	}
	return nil
}

// promising lists the seeds that reach an edit: first those that come there most
// often for what they cost. Among alike ones it keeps their order.
func promising(edit int, seeds []uint64, lines map[uint64]Line) []uint64 {
	var out []uint64
	for _, seed := range seeds {
		if l, ok := lines[seed]; ok && l.Reached[edit] > 0 {
			out = append(out, seed)
		}
	}
	worth := func(seed uint64) float64 {
		l := lines[seed]
		return float64(l.Reached[edit]) / float64(max(1, l.Events))
	}
	slices.SortStableFunc(out, func(a, b uint64) int { return cmp.Compare(worth(b), worth(a)) })
	return out
}

// indifferent is how many seeds may reach an edit and all take the same course
// with it, before the others are spared.
const indifferent = 100

// Hunt switches one mutant on, by its index, and runs the seeds that reach it,
// until one fails, so much processor time was used, or the edit is seen to be
// indifferent. A kill is a seed that fails with it and passes without. One that no
// seed reaches is not hunted at all.
func (p *Pack) Hunt(ctx context.Context, i int, limit time.Duration) Fate {
	f := Fate{Mutant: p.mutants[i], Reaching: len(p.order[i])}
	err := p.runner.Series(ctx, p.binary, i+1, p.order[i], func(l Line) bool {
		f.Seeds++
		f.CPU += l.CPU
		if l.Failure != nil {
			f.Killed, f.Seed, f.Invariant, f.Sentence = true, l.Seed, l.Failure.Invariant, l.Failure.Sentence
			return false
		}
		if l.Hash != p.plain[l.Seed] {
			f.Differing++
		}
		return (limit == 0 || f.CPU < limit) && (f.Differing > 0 || f.Seeds < indifferent)
	})
	if err != nil && ctx.Err() == nil {
		f.Detail = err.Error()
	}
	f.Hunted = ctx.Err() == nil
	return f
}

// Seeds draws the first of the seeds that a sample is hunted with, and counts on
// from there.
func Seeds(sample uint64, count int) []uint64 {
	first := 1 + rand.New(rand.NewPCG(sample, 1)).Uint64N(1e9)
	out := make([]uint64, count)
	for i := range out {
		out[i] = first + uint64(i)
	}
	return out
}

// Score sums fates up.
type Score struct {
	Killed, Survived, Unfit, Equivalent int
	Unreached                           int // of the survivors
	Open                                int // not hunted yet
}

// Sum counts fates, and those survivors that somebody has found to be
// equivalent to the code as it is.
func Sum(fates []Fate, judged []Judged) Score {
	var s Score
	for i := range fates {
		f := &fates[i]
		switch {
		case !f.Hunted:
			s.Open++
		case f.Killed:
			s.Killed++
		case f.Detail != "":
			s.Unfit++
		default:
			s.Survived++
			if f.Reaching == 0 {
				s.Unreached++
			}
			if j := verdictOn(judged, &f.Mutation); j != nil && j.Verdict == Equivalent {
				s.Equivalent++
			}
		}
	}
	return s
}

func (s Score) String() string {
	be := func(n int, was, were string) string {
		if n == 1 {
			return was
		}
		return were
	}
	out := fmt.Sprintf("%d killed, %d survived", s.Killed, s.Survived)
	if n := s.Killed + s.Survived; n > 0 {
		out += fmt.Sprintf(": %.1f%%", 100*float64(s.Killed)/float64(n))
	}
	if s.Unreached > 0 {
		out += fmt.Sprintf("; %d of the survivors %s never reached", s.Unreached, be(s.Unreached, "was", "were"))
	}
	if n := s.Killed + s.Survived - s.Equivalent; s.Equivalent > 0 && n > 0 {
		out += fmt.Sprintf("; %d of the survivors %s equivalent, %.1f%% of the others killed", s.Equivalent, be(s.Equivalent, "is", "are"), 100*float64(s.Killed)/float64(n))
	}
	if s.Unfit > 0 {
		out += fmt.Sprintf("; %d could not be hunted", s.Unfit)
	}
	if s.Open > 0 {
		out += fmt.Sprintf("; %d %s still to be hunted", s.Open, be(s.Open, "is", "are"))
	}
	return out
}

// Sample is a file of fates.
type Sample struct {
	Seed   uint64   `json:"seed"`
	Dirs   []string `json:"dirs"`
	Budget int      `json:"budget"` // seeds for each mutant
	Fates  []Fate   `json:"fates"`
}

// Open finds in the present source those mutants that were not hunted yet, and
// returns their indices. Where the code has changed it says so in the fate.
func (s *Sample) Open(c *Checker) (open []int, err error) {
	for i := range s.Fates {
		f := &s.Fates[i]
		if f.Hunted {
			continue
		}
		mutant, ok, err := c.Find(&f.Mutation)
		if err != nil {
			return nil, err
		}
		if !ok {
			f.Hunted, f.Detail = true, "the code has changed there"
			continue
		}
		f.Mutant, open = mutant, append(open, i)
	}
	return open, nil
}

// Reopen has the survivors hunted again.
func (s *Sample) Reopen() {
	for i := range s.Fates {
		if f := &s.Fates[i]; !f.Killed {
			*f = Fate{Mutant: f.Mutant}
		}
	}
}

// ReadSample reads a file that an earlier hunt has written.
func ReadSample(file string) (*Sample, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	s := &Sample{}
	if err := json.Unmarshal(raw, s); err != nil {
		return nil, fmt.Errorf("%s holds no sample of mutants: %w", file, err)
	}
	return s, nil
}

// Write saves the sample. An interruption leaves the old file or the new one.
func (s *Sample) Write(file string) error {
	raw, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(append(raw, '\n'))
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
