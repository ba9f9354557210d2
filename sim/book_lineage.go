package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/record"
)

// ground is what a log stands on whose records above its start are none of those that
// are committed: how far what it has retired is committed all the same, and the batches
// from there up to its first one. After an unclean election a log may come back that
// parted below its start from what was committed since: by offsets alone it would seem
// to go on behind records that it never held. Each batch names the one that it was
// written behind, and what that was is in the account of what was given up. It is not
// known when the log holds no batch, or retired one that the account never had: a leader
// commits a while longer when it has not heard of the election.
func (p *partBook) ground(l *logFacts) (common record.Offset, below []record.Header, known bool) {
	held := l.from(l.start)
	if len(held) == 0 {
		return 0, nil, false
	}
	for at := linkOf(&held[0]); at.base > 0; {
		o := p.links.at(at)
		if o == nil || !o.linked {
			return 0, nil, false
		}
		at = o.previous
		if h := oneAt((&logFacts{batches: p.committed}).from(at.base), at); h != nil {
			common = h.End()
			break
		}
		h := p.formerly(at)
		if h == nil {
			h = oneAt(l.from(at.base), at)
		}
		if h == nil {
			return 0, nil, false
		}
		below = append(below, *h)
	}
	slices.Reverse(below)
	return common, below, true
}

// under is the batch that a log had right below an offset, where the others begin that it
// holds; nil: it is not known. Where it is not known what they were written behind, it is
// the one that is committed there, unless another one was and has been given up.
func (p *partBook) under(held []record.Header, first record.Offset) *record.Header {
	if len(held) > 0 && held[0].BaseOffset == first {
		if o := p.links.at(linkOf(&held[0])); o != nil && o.linked {
			if h := oneAt((&logFacts{batches: p.committed}).from(o.previous.base), o.previous); h != nil {
				return h
			}
			return p.formerly(o.previous)
		}
	}
	if slices.ContainsFunc(p.givenUp, func(h record.Header) bool { return h.End() >= first && h.BaseOffset < first }) {
		return nil
	}
	below := (&logFacts{batches: p.committed}).from(first - 1)
	if len(below) == 0 || below[0].End() != first {
		return nil
	}
	return &below[0]
}

// formerly is the batch at a link if it was committed and given up, or nil.
func (p *partBook) formerly(at link) *record.Header {
	for i := len(p.givenUp) - 1; i >= 0; i-- {
		if h := &p.givenUp[i]; linkOf(h) == at {
			return h
		}
	}
	return nil
}

// oneAt is the first one of some batches if it stands at a link, or nil.
func oneAt(batches []record.Header, at link) *record.Header {
	if len(batches) == 0 || linkOf(&batches[0]) != at {
		return nil
	}
	return &batches[0]
}

func linkOf(h *record.Header) link { return link{h.LeaderEpoch, h.BaseOffset} }

// parted says whether a batch is known not to have been written right behind another
// one, although it stands behind it in the account: something is missing between them,
// or what is before is of another log.
func (p *partBook) parted(before link, end record.Offset, h *record.Header) bool {
	if h.BaseOffset > end {
		return true
	}
	o := p.links.at(linkOf(h))
	return o != nil && o.linked && o.previous != before
}
