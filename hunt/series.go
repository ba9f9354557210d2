package hunt

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// Line is what a simulator says of one seed: a line of `simrun series`.
type Line struct {
	Seed    uint64         `json:"seed"`
	Hash    uint64         `json:"hash"`
	Events  uint64         `json:"events"`
	CPU     time.Duration  `json:"cpu"`
	Reached map[int]uint64 `json:"reached,omitempty"` // how often it came to the place of each edit
	Failure *struct {
		Invariant string `json:"invariant"`
		Sentence  string `json:"sentence"`
	} `json:"failure,omitempty"` // nil: it passed
}

// fail makes a line of a seed that did not end by itself.
func (l *Line) fail(invariant, sentence string) {
	l.Failure = &struct {
		Invariant string `json:"invariant"`
		Sentence  string `json:"sentence"`
	}{invariant, sentence}
}

// SeriesRunner runs seeds, one by one in the order given, with one edit of a
// binary switched on (0: none). It tells each of them as it ends, until each
// returns false. It is an interface so that the hunt can be tested without a
// simulator.
type SeriesRunner interface {
	Series(ctx context.Context, binary string, edit int, seeds []uint64, each func(Line) bool) error
}

// Processes runs series by starting `simrun series`: an edit may make it panic,
// loop or use up memory, and must not take the hunter with it.
type Processes struct{}

// seedCPU is the most processor time that one seed of a series may take. One
// takes a tenth of a second.
const seedCPU = 5 * time.Second

// atOnce is how many seeds one process is given.
const atOnce = 1000

// Series implements SeriesRunner. A seed that hangs, explodes or takes its
// process down fails; the rest is run by another process.
func (p Processes) Series(ctx context.Context, binary string, edit int, seeds []uint64, each func(Line) bool) error {
	for len(seeds) > 0 {
		told, stopped, err := p.some(ctx, binary, edit, seeds[:min(len(seeds), atOnce)], each)
		if err != nil || stopped {
			return err
		}
		seeds = seeds[told:]
	}
	return nil
}

// some runs seeds in one process, and returns how many it has told of: all, or
// those up to one that the process did not survive.
func (p Processes) some(ctx context.Context, binary string, edit int, seeds []uint64, each func(Line) bool) (told int, stopped bool, err error) {
	args := []string{"series", "--seed-limit", seedCPU.String(), "--memory-limit", strconv.Itoa(memoryLimit)}
	for _, seed := range seeds {
		args = append(args, strconv.FormatUint(seed, 10))
	}
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = append(os.Environ(), "SIMRUN_EDIT="+strconv.Itoa(edit))
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, false, err
	}
	if err := cmd.Start(); err != nil {
		return 0, false, err
	}
	for s := bufio.NewScanner(out); s.Scan(); {
		var line Line
		if err := json.Unmarshal(s.Bytes(), &line); err != nil {
			break // cut in the middle
		}
		told++
		if !each(line) {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			return told, true, nil
		}
	}
	ended := cmd.Wait()
	if err := ctx.Err(); err != nil {
		return told, true, fmt.Errorf("the seeds from %d on did not end in time: %w", seeds[0], err)
	}
	if told == len(seeds) || ended == nil && told > 0 {
		return told, false, nil
	}
	if !killed(cmd.ProcessState, said.Bytes()) {
		return told, true, fmt.Errorf("the simulator ended before its seeds did: %w\n%s", ended, tail(said.Bytes()))
	}
	line := Line{Seed: seeds[told], CPU: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	line.fail("died", string(tail(said.Bytes())))
	return told + 1, !each(line), nil
}
