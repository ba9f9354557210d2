package tape

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/pack"
)

// Encoder makes the bytes of a tape. It is used from one place: Begin before a
// step of the core, which may write to what came in, and End after it.
type Encoder struct {
	packer *packer
	last   message.Now
	open   int // where the frame begins that is being made
}

// NewEncoder appends the beginning of a tape to to.
func NewEncoder(to []byte, h *Header, found *effect.Recovered) (*Encoder, []byte, error) {
	e := &Encoder{packer: newPacker(), last: h.Now}
	text, err := json.Marshal(h)
	if err != nil {
		return nil, to, fmt.Errorf("tape: %w", err)
	}
	to = append(append(to, magic...), Format)
	to = e.closeFrame(append(e.openFrame(to, frameHeader), text...))
	to, err = e.packer.value(e.openFrame(to, frameRecovered), found)
	if err != nil {
		return nil, to, fmt.Errorf("tape: %w", err)
	}
	return e, e.closeFrame(to), nil
}

func (e *Encoder) openFrame(to []byte, kind byte) []byte {
	e.open = len(to)
	return append(append(to, make([]byte, frameHead)...), kind)
}

func (e *Encoder) closeFrame(to []byte) []byte {
	body := to[e.open+frameHead:]
	binary.BigEndian.PutUint32(to[e.open:], uint32(len(body)))
	binary.BigEndian.PutUint32(to[e.open+4:], crc32.Checksum(body, castagnoli))
	return to
}

// Begin appends the time and the input of a step.
func (e *Encoder) Begin(to []byte, now message.Now, in effect.Input) ([]byte, error) {
	to = e.openFrame(to, frameStep)
	to = pack.Int(to, int64(now.Mono-e.last.Mono))
	to = pack.Int(to, int64(now.Wall-e.last.Wall))
	e.last = now
	to, err := e.packer.input(to, in)
	if err != nil {
		return to[:e.open], fmt.Errorf("tape: %w", err)
	}
	return to, nil
}

// End appends the effects of the step that Begin began.
func (e *Encoder) End(to []byte, effects []effect.Effect) ([]byte, error) {
	to, err := e.packer.effects(to, effects)
	if err != nil {
		return to[:e.open], fmt.Errorf("tape: %w", err)
	}
	return e.closeFrame(to), nil
}

func (p *packer) effects(to []byte, effects []effect.Effect) ([]byte, error) {
	to = pack.Uint(to, uint64(len(effects)))
	var err error
	for _, one := range effects {
		if to, err = p.effect(to, one); err != nil {
			return to, err
		}
	}
	return to, nil
}

// Finish appends the end of a tape, and why it ends.
func (e *Encoder) Finish(to []byte, why string) []byte {
	return e.closeFrame(pack.String(e.openFrame(to, frameEnd), why))
}
