package hunt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// Campaigns runs seeds by starting `simrun run` of a binary: a mutant may
// panic, hang or use up memory, and must not take the hunter with it.
type Campaigns struct {
	Workers int           // runs side by side; 0: one for each core
	Budget  time.Duration // for one search; 0: none
}

// A run that takes longer or eats more than this has been caught in a loop. A
// seed takes a tenth of a second and some megabytes.
const (
	seedLimit   = 30 * time.Second
	memoryLimit = 3 << 30
)

// FirstFailure runs seeds from first on, count at most, until one fails. Of the
// seeds that fail the lowest is returned, however many ran side by side. A run
// that hangs or explodes is cut and fails, and so does one that takes the whole
// process with it.
func (c Campaigns) FirstFailure(ctx context.Context, binary string, first uint64, count int) (Search, error) {
	file, err := os.CreateTemp("", "hunt-*.json")
	if err != nil {
		return Search{}, err
	}
	defer os.Remove(file.Name())
	if err := file.Close(); err != nil {
		return Search{}, err
	}
	cmd := exec.CommandContext(ctx, binary, "run", "--stop", "--json", file.Name(), "--workers", strconv.Itoa(c.Workers),
		"--seeds", fmt.Sprintf("%d..%d", first, first+uint64(count)-1), "--budget", c.Budget.String(),
		"--seed-limit", seedLimit.String(), "--memory-limit", strconv.Itoa(memoryLimit))
	var said bytes.Buffer
	cmd.Stderr = &said
	ended := cmd.Run()
	s := Search{}
	if p := cmd.ProcessState; p != nil {
		s.CPU = p.UserTime() + p.SystemTime()
	}
	if err := ctx.Err(); err != nil {
		return s, fmt.Errorf("the seeds from %d on did not end in time: %w", first, err)
	}
	raw, err := os.ReadFile(file.Name())
	if err != nil {
		return s, err
	}
	if len(raw) > 0 {
		err := s.read(raw, first)
		return s, err
	}
	if !killed(cmd.ProcessState, said.Bytes()) {
		return s, fmt.Errorf("the simulator ended without a report: %w\n%s", errors.Join(ended), tail(said.Bytes()))
	}
	// Which of the seeds did it is not known; the first stands for all.
	s.Tried, s.Failing = 1, &Failing{Seed: first, Invariant: "died", Sentence: string(tail(said.Bytes()))}
	return s, nil
}

// killed tells a process that the code under test has brought down (a stack
// overflow, no memory left) from one that was started wrongly.
func killed(p *os.ProcessState, said []byte) bool {
	return p != nil && (!p.Exited() || bytes.Contains(said, []byte("fatal error: ")))
}

// read takes the failed run with the lowest seed out of a report.
func (s *Search) read(raw []byte, first uint64) error {
	var report struct {
		Runs   int `json:"runs"`
		Lowest *struct {
			Seed    uint64 `json:"seed"`
			Class   string `json:"class"`
			Failure struct {
				Invariant string `json:"invariant"`
				Sentence  string `json:"sentence"`
				Event     uint64 `json:"event"`
			} `json:"failure"`
		} `json:"lowest"`
	}
	if err := json.Unmarshal(raw, &report); err != nil {
		return fmt.Errorf("the report of the simulator cannot be read: %w", err)
	}
	s.Tried = report.Runs
	if l := report.Lowest; l != nil {
		s.Tried = int(l.Seed-first) + 1
		s.Failing = &Failing{Seed: l.Seed, Invariant: l.Failure.Invariant, Sentence: l.Failure.Sentence, Event: l.Failure.Event}
	}
	return nil
}

// tail is the end of what a process has said.
func tail(b []byte) []byte { return b[max(0, len(b)-2000):] }
