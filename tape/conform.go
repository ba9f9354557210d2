package tape

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	"github.com/tamarack-mq/tamarack/core"
	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/effect"
)

// Difference is the first point at which a core does not do what was recorded.
type Difference struct {
	Step   int64         // counted from 1
	At     time.Duration // since the core was made
	Input  string
	Effect int    // of this step, counted from 1
	Field  string // "Send.Msg.Partitions[0].HighWatermark"
	Was    string // as recorded
	Is     string // what the core gives now
}

// Error is the difference in one line.
func (d *Difference) Error() string {
	return fmt.Sprintf("step %d: effect %d: %s was %s and is %s", d.Step, d.Effect, d.Field, d.Was, d.Is)
}

// Report is what came of playing a tape.
type Report struct {
	Header     Header
	End        string // why the tape ends
	Steps      int64
	Effects    int64
	Virtual    time.Duration // from the core's making to the last step
	Bytes      int64
	Difference *Difference // nil: the core conforms
}

// Conform plays the inputs of a tape to a new core and compares what it does, step
// by step, up to the first difference. An error says that the file cannot be
// played; the report then tells how far it came. code is the commit of this
// program (see Code): tapes of another commit are refused with ErrCode. Empty, or
// unknown on either side: all are played.
func Conform(in io.Reader, code string) (*Report, error) {
	r, err := NewReader(in)
	if err != nil {
		return &Report{}, err
	}
	report := &Report{Header: r.Header}
	if known(code) && known(r.Header.Code) && code != r.Header.Code {
		return report, fmt.Errorf("%w: by commit %s, and this program is of commit %s: build simrun at that commit, or play it all the same with --any-code", ErrCode, r.Header.Code, code)
	}
	c := core.New(r.Header.Config, r.Found, chance.New(r.Header.Seed), r.Header.Now)
	packer := newPacker()
	var out effect.Out
	var again []byte
	for {
		step, err := r.Next()
		report.Bytes = r.at
		if errors.Is(err, io.EOF) {
			report.End = r.End
			return report, nil
		}
		if err != nil {
			return report, err
		}
		if panicked := stepCore(c, step, &out); panicked != "" {
			report.Difference = differs(r, step, describeInput(step.Input), 0, "the core", "no panic", panicked)
			return report, nil
		}
		if again, err = packer.effects(again[:0], out.List); err != nil {
			return report, err
		}
		report.Steps++
		report.Effects += int64(len(out.List))
		report.Virtual = time.Duration(step.Now.Mono - r.Header.Now.Mono)
		out.Empty()
		if bytes.Equal(again, step.effects) {
			continue
		}
		return report, report.compare(r, step, describeInput(step.Input), again)
	}
}

func known(code string) bool { return code != "" && !strings.HasPrefix(code, unknownCode) }

// stepCore steps the core and catches its panic.
func stepCore(c *core.Node, s *Step, out *effect.Out) (panicked string) {
	defer func() {
		if p := recover(); p != nil {
			panicked = fmt.Sprint("a panic: ", p)
		}
	}()
	c.Step(s.Now, s.Input, out)
	return ""
}

// compare finds the place at which the effects of a step differ.
func (report *Report) compare(r *Reader, s *Step, input string, again []byte) error {
	was, err := s.Effects()
	if err != nil {
		return fmt.Errorf("%w: the effects of step %d: %w", ErrFormat, s.Number, err)
	}
	is, err := readEffects(again)
	if err != nil {
		return err
	}
	at, field, x, y := part(was, is)
	if at == 0 {
		field, x, y = "the bytes of the effects", "another form", "the same values"
	}
	report.Difference = differs(r, s, input, at, field, x, y)
	return nil
}

func differs(r *Reader, s *Step, input string, at int, field, was, is string) *Difference {
	return &Difference{
		Step: s.Number, At: time.Duration(s.Now.Mono - r.Header.Now.Mono), Input: input,
		Effect: at, Field: field, Was: was, Is: is,
	}
}

// describeInput is an input in one line.
func describeInput(in effect.Input) string {
	return short(strings.TrimPrefix(reflect.TypeOf(in).String(), "effect.") + withMessages(in))
}
