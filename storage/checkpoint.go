package storage

import (
	"encoding/binary"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
)

const checkpointKind = "TMCK"

// saveCheckpoint stores the core's derived state, durably. What it was derived
// from is made durable first: no mark may be ahead of the data.
func (p *partition) saveCheckpoint(e effect.Checkpoint) error {
	p.mu.Lock()
	behind := e.At > p.flushed || p.unborn
	end, damaged := p.end, p.damage != nil
	p.mu.Unlock()
	if e.At > end {
		return misuse("log %v ends at %d, a checkpoint is of %d", p.id, end, e.At)
	}
	if damaged {
		return nil // it would hide what is missing
	}
	if behind {
		if err := p.flush(); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := replaceFile(p.store.fs, p.dir, checkpointName, encodeCheckpoint(e)); err != nil {
		return err
	}
	p.checkpoint = e.At
	if err := p.markCheckpoint(e.HighWatermark); err != nil {
		return err
	}
	return p.saveIndex(p.last(), p.index)
}

// markCheckpoint notes what a checkpoint was told. That of a log which has lost
// its first records must be there from now on.
func (p *partition) markCheckpoint(hw record.Offset) error {
	if p.start == 0 || p.store.marks.get(p.slot).told {
		return p.store.marks.raiseHW(p.slot, hw)
	}
	return p.store.marks.set(p.slot, func(s *slot) { s.hw, s.told = max(s.hw, hw), true })
}

// copyCheckpoint writes the checkpoint into another folder, durably.
func (p *partition) copyCheckpoint(dir string) error {
	b, err := readFile(p.store.fs, join(p.dir, checkpointName))
	if err != nil {
		return err
	}
	return replaceFile(p.store.fs, dir, checkpointName, b)
}

func encodeCheckpoint(e effect.Checkpoint) []byte {
	b := make([]byte, 0, 16+len(e.State))
	b = binary.BigEndian.AppendUint64(b, uint64(e.At))
	b = binary.BigEndian.AppendUint64(b, uint64(e.HighWatermark))
	return seal(checkpointKind, append(b, e.State...))
}

func decodeCheckpoint(b []byte) (at, hw record.Offset, state []byte, ok bool) {
	p, ok := unseal(checkpointKind, b)
	if !ok || len(p) < 16 {
		return 0, 0, nil, false
	}
	at, hw = record.Offset(binary.BigEndian.Uint64(p)), record.Offset(binary.BigEndian.Uint64(p[8:]))
	return at, hw, p[16:], at >= 0 && hw >= 0
}
