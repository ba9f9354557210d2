package replica

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
)

// reading is what waits for the answer to a Read.
type reading interface {
	done(m *Manager, now message.Now, results []effect.ReadResult, out *Out)
}

// read asks the disk for slices on behalf of who.
func (m *Manager) read(who reading, slices []effect.Slice, out *Out) {
	token := m.token()
	m.reads[token] = who
	out.Add(effect.Read{Token: token, Slices: slices})
}

// Appended takes that completion: acks=1 has waited for it.
func (m *Manager) Appended(now message.Now, in effect.Appended, out *Out) {
	r := m.replicas[in.Log]
	if m.halted || r == nil || in.Cut != r.cut || in.End <= r.appended {
		return
	}
	if in.End > r.log.End() {
		m.halt(r, "the disk has appended more than it was given", out)
		return
	}
	r.appended = in.End
	if r.lead != nil {
		r.lead.releaseWritten(m, out)
	}
	m.touch(r)
	m.finish(now, out)
}

// Flushed takes that completion. It is the only thing by which this broker's
// own log counts towards the high watermark, here or at its leader.
func (m *Manager) Flushed(now message.Now, in effect.Flushed, out *Out) {
	r := m.replicas[in.Log]
	if m.halted || r == nil || in.Cut != r.cut || in.End <= r.flushed {
		return
	}
	if in.End > r.log.End() {
		m.halt(r, "the disk has flushed more than it was given", out)
		return
	}
	r.flushed = in.End
	r.appended = max(r.appended, in.End)
	m.drained(r.unflushed.flushed(in.End))
	m.touch(r)
	begun := r.beginsAnew()
	r.trimmed = max(r.trimmed, r.emptiedAt)
	switch {
	case r.lead != nil:
		if begun {
			r.lead.begun(m, now, out)
		}
		r.lead.releaseWritten(m, out)
		r.lead.advance(m, now, out)
		r.lead.agreeOnStart(m, now, out)
	case r.follow != nil:
		r.follow.flushed(m)
		r.follow.trim(m, out)
	}
	r.checkpointIfDue(m, out)
	m.finish(now, out)
}

// ReadDone takes that completion.
func (m *Manager) ReadDone(now message.Now, in effect.ReadDone, out *Out) {
	who := m.reads[in.Token]
	if m.halted || who == nil {
		return
	}
	delete(m.reads, in.Token)
	who.done(m, now, in.Results, out)
	m.finish(now, out)
}

// DiskSpace takes that room has run low or is back. While it is low, produces
// are refused with DiskFull and followers fetch no records; they go on to learn
// log starts, by which retention makes room.
func (m *Manager) DiskSpace(now message.Now, in effect.DiskSpace, out *Out) {
	if m.halted || m.diskLow == in.Low {
		return
	}
	m.diskLow = in.Low
	if !in.Low {
		for _, p := range m.pullers {
			p.urge(m)
		}
	}
	m.finish(now, out)
}

// drained lets followers fetch again once the disk has caught up.
func (m *Manager) drained(bytes int64) {
	before := m.congested()
	m.unflushed -= bytes
	if before && !m.congested() {
		for _, p := range m.pullers {
			p.heat(m)
		}
	}
}

// congested says whether too much has been appended and is not durable.
func (m *Manager) congested() bool { return m.unflushed >= m.cfg.UnflushedBytes }
