package sim

import (
	"testing"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// What a read has found ends with a log that begins anew; what recovery has found may
// also be cut away.
func TestDamageEndsWithWhatWasDamaged(t *testing.T) {
	for name, c := range map[string]struct {
		recovered bool
		out       []effect.Effect
		kept      bool
	}{
		"found by a read, begun anew":                 {false, []effect.Effect{effect.Reset{Log: part, Cut: 1}}, false},
		"found by a read, deleted":                    {false, []effect.Effect{effect.DeleteLog{Log: part}}, false},
		"found by a read, cut at its end":             {false, []effect.Effect{effect.Truncate{Log: part, Cut: 1, To: 2}}, true},
		"found by a read, another one is begun anew":  {false, []effect.Effect{effect.Reset{Log: record.PartitionID{Topic: 6}, Cut: 1}}, true},
		"found by a read, and forgotten":              {false, nil, true},
		"found by recovery, begun anew":               {true, []effect.Effect{effect.Reset{Log: part, Cut: 1}}, false},
		"found by recovery, cut at its end":           {true, []effect.Effect{effect.Truncate{Log: part, Cut: 1, To: 2}}, false},
		"found by recovery, and forgotten":            {true, nil, true},
		"found by recovery, and another log was trim": {true, []effect.Effect{effect.TrimPrefix{Log: part, Start: 1}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s, state := mapped(t)
			state.ISR = []message.NodeID{1, 2}
			o := &damageSeen{}
			log := effect.RecoveredLog{ID: part}
			if c.recovered {
				log.Damage = "a bad checksum"
			}
			o.Started(s.World, s.nodes[3], &effect.Recovered{Logs: []effect.RecoveredLog{log}})
			r := s.book.replica(3, part)
			r.view.Damage = "a bad checksum"
			s.step(o, 3, effect.ReadDone{}, nil, r)
			s.passed()
			r.view.Damage = ""
			s.step(o, 3, effect.Tick{}, c.out, r)
			if c.kept {
				s.refused("INV-13", "node 3 takes its copy of partition 5/0 for sound again and has kept what was damaged")
			}
			s.passed()
			s.step(o, 3, effect.Tick{}, nil, r) // once
			s.passed()
		})
	}
}

// Before the controller knows, the copy may be the last that it counts on. An operator
// may have it give up what it likes.
func TestNothingIsGivenUpThatIsCountedOn(t *testing.T) {
	gives := func(t *testing.T, change func(*partBook, *message.PartitionChange)) *stage {
		s, state := mapped(t)
		change(s.book.part(part), state)
		o := &damageSeen{}
		o.Started(s.World, s.nodes[3], &effect.Recovered{Logs: []effect.RecoveredLog{{ID: part}}})
		r := s.book.replica(3, part)
		r.view.Damage = "a bad checksum"
		s.step(o, 3, effect.ReadDone{}, nil, r)
		r.view.Damage = ""
		s.step(o, 3, effect.Tick{}, []effect.Effect{effect.Reset{Log: part, Cut: 1}}, r)
		return s
	}
	const words = "node 3 gives up what it has of partition 5/0, which is damaged, but is among those in sync"
	gives(t, func(*partBook, *message.PartitionChange) {}).refused("INV-13", words)
	gives(t, func(_ *partBook, p *message.PartitionChange) {
		p.ISR, p.ELR = []message.NodeID{1}, []message.NodeID{3}
	}).refused("INV-13", words)
	gives(t, func(_ *partBook, p *message.PartitionChange) {
		p.ISR, p.ELR = []message.NodeID{1}, []message.NodeID{2}
	}).passed()
	gives(t, func(b *partBook, _ *message.PartitionChange) { b.unclean = true }).passed()
}
