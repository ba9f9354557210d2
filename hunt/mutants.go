package hunt

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Fate is what became of a mutant.
type Fate struct {
	Mutant
	Killed    bool          `json:"killed"`
	Invariant string        `json:"invariant,omitempty"` // that broke; "hang" and "died" for runs that did not end by themselves
	Sentence  string        `json:"sentence,omitempty"`
	Seed      uint64        `json:"seed,omitempty"` // that failed
	Seeds     int           `json:"seeds"`          // tried
	CPU       time.Duration `json:"cpu"`
	// Of a survivor: Reached says that the line is executed at all, Differs that
	// some run takes another course with the edit.
	Reached bool   `json:"reached,omitempty"`
	Differs bool   `json:"differs,omitempty"`
	Detail  string `json:"detail,omitempty"` // of what went wrong with the hunt itself
}

// effectSeeds is how many seeds are run to see whether a survivor makes any
// difference; effectFirst is the first of them.
const (
	effectSeeds = 20
	effectFirst = 1
)

// HuntMutant compiles one mutant and hunts it by whatever invariant breaks, from
// the first start on, with a budget of seeds. A kill is a seed that fails and
// that the unedited code passes. A survivor's course is compared with that of
// the unedited code.
func (h *Hunter) HuntMutant(ctx context.Context, m Mutant, name string, first uint64, budget int) Fate {
	f := Fate{Mutant: m}
	defer os.RemoveAll(filepath.Join(h.Work, name))
	binary, err := Build(ctx, h.Root, h.Work, name, map[string]string{m.File: m.Text})
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	t := h.search(ctx, binary, first, budget, nil)
	f.Killed = t.Verdict == Found
	f.Invariant, f.Sentence, f.Seed, f.Seeds, f.CPU = t.Invariant, t.Sentence, t.Seed, t.Seeds, t.CPU
	if t.Verdict == Unfit {
		f.Detail = t.Detail
	} else if !f.Killed && ctx.Err() == nil {
		if f.Differs, err = h.differs(ctx, binary); err != nil {
			f.Detail = err.Error()
		}
	}
	return f
}

// differs compares the hashes of some seeds with those of the unedited code.
func (h *Hunter) differs(ctx context.Context, binary string) (bool, error) {
	plain, err := h.plainHashes(ctx)
	if err != nil {
		return false, err
	}
	edited, err := hashes(ctx, binary)
	return plain != edited, err
}

// plainHashes are those of the unedited code.
func (h *Hunter) plainHashes(ctx context.Context) (string, error) {
	plain, err := h.unedited(ctx)
	if err != nil {
		return "", err
	}
	h.hashing.Lock()
	defer h.hashing.Unlock()
	if h.hashed == "" {
		h.hashed, err = hashes(ctx, plain)
	}
	return h.hashed, err
}

func hashes(ctx context.Context, binary string) (string, error) {
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, binary, "hash", "--seeds", fmt.Sprintf("%d..%d", effectFirst, effectFirst+effectSeeds-1))
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("the hashes of a survivor could not be had: %w\n%s", err, tail(said.Bytes()))
	}
	return string(out), nil
}

// Starts draws the first seed of each mutant of a sample.
func Starts(seed uint64, sample int) []uint64 {
	random := rand.New(rand.NewPCG(seed, 1))
	out := make([]uint64, sample)
	for i := range out {
		out[i] = 1 + random.Uint64N(1e9)
	}
	return out
}

// Score sums fates up.
type Score struct {
	Killed, Survived, Unfit, Equivalent int
}

// Sum counts fates, and those survivors that somebody has found to be
// equivalent to the code as it is.
func Sum(fates []Fate, judged []Judged) Score {
	var s Score
	for i := range fates {
		f := &fates[i]
		switch {
		case f.Killed:
			s.Killed++
		case f.Detail != "":
			s.Unfit++
		default:
			s.Survived++
			if j := verdictOn(judged, &f.Mutation); j != nil && j.Verdict == Equivalent {
				s.Equivalent++
			}
		}
	}
	return s
}

func (s Score) String() string {
	out := fmt.Sprintf("%d killed, %d survived", s.Killed, s.Survived)
	if n := s.Killed + s.Survived; n > 0 {
		out += fmt.Sprintf(": %.1f%%", 100*float64(s.Killed)/float64(n))
	}
	if n := s.Killed + s.Survived - s.Equivalent; s.Equivalent > 0 && n > 0 {
		out += fmt.Sprintf("; %d of the survivors are equivalent, %.1f%% of the others killed", s.Equivalent, 100*float64(s.Killed)/float64(n))
	}
	if s.Unfit > 0 {
		out += fmt.Sprintf("; %d could not be hunted", s.Unfit)
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

// Write saves the sample.
func (s *Sample) Write(file string) error {
	raw, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(raw, '\n'), 0o644)
}
