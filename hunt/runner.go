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
)

// Campaigns runs seeds by starting `simrun run` of a binary: a mutant may
// panic, hang or use up memory, and must not take the hunter with it.
type Campaigns struct {
	Workers int // runs side by side; 0: one for each core
}

// FirstFailure runs seeds from first on, count at most, until one fails. Of the
// seeds that fail the lowest is returned, however many ran side by side.
func (c Campaigns) FirstFailure(ctx context.Context, binary string, first uint64, count int) (*Failing, error) {
	file, err := os.CreateTemp("", "hunt-*.json")
	if err != nil {
		return nil, err
	}
	defer os.Remove(file.Name())
	if err := file.Close(); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, binary, "run", "--stop", "--json", file.Name(), "--workers", strconv.Itoa(c.Workers),
		"--seeds", fmt.Sprintf("%d..%d", first, first+uint64(count)-1))
	var said bytes.Buffer
	cmd.Stderr = &said
	ended := cmd.Run()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("the seeds from %d on did not end in time: %w", first, err)
	}
	raw, err := os.ReadFile(file.Name())
	if err != nil {
		return nil, err
	}
	if len(raw) == 0 { // it died before it could report; ended is not nil then
		return nil, fmt.Errorf("the simulator died: %w\n%s", errors.Join(ended), tail(said.Bytes()))
	}
	return lowest(raw, first)
}

// lowest reads the failed run with the lowest seed out of a report.
func lowest(raw []byte, first uint64) (*Failing, error) {
	var report struct {
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
		return nil, fmt.Errorf("the report of the simulator cannot be read: %w", err)
	}
	l := report.Lowest
	if l == nil {
		return nil, nil
	}
	return &Failing{
		Seed: l.Seed, Tried: int(l.Seed-first) + 1, Invariant: l.Failure.Invariant, Sentence: l.Failure.Sentence,
		Event: l.Failure.Event,
	}, nil
}

// tail is the end of what a process has said.
func tail(b []byte) []byte { return b[max(0, len(b)-2000):] }
