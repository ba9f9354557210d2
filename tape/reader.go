package tape

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/pack"
	"github.com/tamarack-mq/tamarack/core/record"
)

// What can be wrong with a tape as a file.
var (
	// ErrNoTape: it does not begin as a tape does.
	ErrNoTape = errors.New("this is no recording")
	// ErrFormat: another version of this program wrote it.
	ErrFormat = errors.New("this recording is of another format")
	// ErrCode: another commit recorded it, whose core may rightly do other things.
	ErrCode = errors.New("this recording was made by other code")
	// ErrDamaged: bytes have changed since they were written.
	ErrDamaged = errors.New("the recording is damaged")
)

// errTorn ends a tape in the middle of a frame.
var errTorn = errors.New("torn")

// Step is one step of a recorded core.
type Step struct {
	Number int64 // from 1
	Now    message.Now
	Input  effect.Input
	// effects are as encoded; see Effects.
	effects []byte
}

// Effects are the effects that were recorded.
func (s *Step) Effects() ([]Effect, error) { return readEffects(s.effects) }

func readEffects(b []byte) ([]Effect, error) {
	r := pack.Read(b)
	var list []Effect
	for range r.Count(1) {
		e, err := readEffect(&r)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	if r.Err() == nil && r.Left() > 0 {
		return nil, malformed("%d bytes behind the effects", r.Left())
	}
	return list, r.Err()
}

// Reader reads a tape from front to end.
type Reader struct {
	Header Header
	Found  effect.Recovered
	// End tells, when Next has given io.EOF, why the tape ends.
	End string

	in    *bufio.Reader
	at    int64 // of the next frame
	steps int64
	now   message.Now
}

// NewReader reads the beginning of a tape.
func NewReader(in io.Reader) (*Reader, error) {
	r := &Reader{in: bufio.NewReaderSize(in, 1<<20)}
	var start [len(magic) + 1]byte
	if _, err := io.ReadFull(r.in, start[:]); err != nil || string(start[:len(magic)]) != magic {
		return nil, ErrNoTape
	}
	if v := start[len(magic)]; v != Format {
		return nil, fmt.Errorf("%w: %d, and this program reads %d: use the simrun of the commit that recorded it", ErrFormat, v, Format)
	}
	r.at = int64(len(start))
	body, err := r.frame(frameHeader)
	if err != nil {
		return nil, r.beginning(err)
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&r.Header); err != nil {
		return nil, fmt.Errorf("%w: its header does not fit this code: %w", ErrFormat, err)
	}
	if err := r.Header.Config.Validate(); err != nil {
		return nil, fmt.Errorf("%w: the configuration in its header: %w", ErrFormat, err)
	}
	if body, err = r.frame(frameRecovered); err != nil {
		return nil, r.beginning(err)
	}
	p := pack.Read(body)
	if err := unpack(&p, &r.Found); err != nil {
		return nil, fmt.Errorf("%w: what storage had found does not fit this code: %w", ErrFormat, err)
	}
	r.now = r.Header.Now
	return r, nil
}

// beginning explains why a tape has no beginning.
func (r *Reader) beginning(err error) error {
	if errors.Is(err, errTorn) || errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: it ends at byte %d, before its first step", ErrDamaged, r.at)
	}
	return err
}

// frame reads the body of a frame, without its first byte, which must be kind.
func (r *Reader) frame(kind byte) ([]byte, error) {
	got, body, err := r.any()
	if err == nil && got != kind {
		return nil, fmt.Errorf("%w: at byte %d there is a frame %q where %q should be", ErrDamaged, r.at, got, kind)
	}
	return body, err
}

// any reads a frame of whatever kind.
func (r *Reader) any() (kind byte, body []byte, err error) {
	var head [frameHead]byte
	switch _, err := io.ReadFull(r.in, head[:]); {
	case errors.Is(err, io.EOF):
		return 0, nil, io.EOF
	case errors.Is(err, io.ErrUnexpectedEOF):
		return 0, nil, errTorn
	case err != nil:
		return 0, nil, err
	}
	size := int64(binary.BigEndian.Uint32(head[:]))
	body, err = readAtMost(r.in, size)
	if err != nil {
		return 0, nil, err
	}
	switch {
	case int64(len(body)) < size:
		return 0, nil, errTorn
	case size == 0 || crc32.Checksum(body, castagnoli) != binary.BigEndian.Uint32(head[4:]):
		return 0, nil, fmt.Errorf("%w: the frame at byte %d does not match its sum", ErrDamaged, r.at)
	}
	r.at += frameHead + size
	return body[0], body[1:], nil
}

// readAtMost reads size bytes, or as many as there are. It believes in a large
// size only as far as bytes come.
func readAtMost(in io.Reader, size int64) ([]byte, error) {
	const trusted = 1 << 20
	if size <= trusted {
		b := make([]byte, size)
		n, err := io.ReadFull(in, b)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = nil
		}
		return b[:n], err
	}
	return io.ReadAll(io.LimitReader(in, size))
}

// Next reads the next step. io.EOF says that there is none, and Reader.End why.
// The step's memory belongs to the caller.
func (r *Reader) Next() (*Step, error) {
	begin := r.at
	kind, body, err := r.any()
	switch {
	case errors.Is(err, io.EOF):
		r.End = "the process was killed"
		return nil, io.EOF
	case errors.Is(err, errTorn):
		r.End = fmt.Sprintf("the process was killed; the tail is torn at byte %d", r.at)
		return nil, io.EOF
	case err != nil:
		return nil, err
	case kind == frameEnd:
		return nil, r.finish(body)
	case kind != frameStep:
		return nil, fmt.Errorf("%w: at byte %d there is a frame %q where a step should be", ErrDamaged, begin, kind)
	}
	p := pack.Read(body)
	r.now.Mono += message.Time(p.Int())
	r.now.Wall += record.Timestamp(p.Int())
	in, err := readInput(&p)
	if err == nil {
		err = p.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: step %d at byte %d: %w", ErrFormat, r.steps+1, begin, err)
	}
	r.steps++
	return &Step{Number: r.steps, Now: r.now, Input: in, effects: body[len(body)-p.Left():]}, nil
}

// finish takes the last frame.
func (r *Reader) finish(body []byte) error {
	p := pack.Read(body)
	r.End = p.String()
	if p.Err() != nil || p.Left() > 0 {
		return fmt.Errorf("%w: its end is malformed", ErrDamaged)
	}
	if _, err := r.in.ReadByte(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: there are bytes behind its end, at byte %d", ErrDamaged, r.at)
	}
	return io.EOF
}
