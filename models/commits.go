package models

import (
	"fmt"
	"slices"

	"github.com/tamarack-mq/tamarack/history"
)

// commits is INV-24: a fetch of a committed position gives one that somebody
// committed, and never one that an acknowledged later commit had replaced
// before the fetch began.
func commits(d *dossier) []Violation {
	var found []Violation
	for _, group := range d.groups {
		for _, at := range d.places {
			h := d.offset[group][at]
			if h == nil || d.shaken(group, at, h) {
				continue
			}
			for _, f := range h.fetches {
				if d.exact(group) {
					found = append(found, h.told(group, at, f)...)
				} else {
					found = append(found, d.checkFetch(group, at, h, f)...)
				}
			}
		}
	}
	return found
}

// checkFetch judges one fetch. Clients also commit by themselves (before they
// give a partition up, or before they hand records over), so a position that
// no history entry names may be right, as long as the group was given all
// below it; but it can only lie ahead of what was acknowledged before. Where
// members commit before they hand over (early), records that the group was
// never given may be among them: at most once is what it asked for.
func (d *dossier) checkFetch(group string, at Place, h *offsetHistory, f positioned) []Violation {
	how := d.manner(group)
	newest := int64(-1) // the last moment at which the fetched position may have been committed
	named := f.offset == history.None
	for _, c := range h.commits {
		if c.offset == f.offset && c.outcome != history.Failed && c.from <= f.op.Return {
			named = true
			newest = max(newest, c.known(f.op))
		}
	}
	if !named && f.offset > h.given && !how.early && !d.passed(at, h, f.offset, how.committed) {
		return []Violation{{"INV-24", "phantom", fmt.Sprintf(
			"group %s was told %d for %s, which nobody committed and which lies beyond what it was given", group, f.offset, at), []int64{f.op.ID}, ofGroup(group, at, f.offset)}}
	}
	for _, c := range h.commits {
		if c.outcome == history.OK && c.offset > f.offset && c.known(f.op) < f.op.Invoke && c.from > newest && !h.turned(c.op, f) {
			return []Violation{{"INV-24", "lost commit", fmt.Sprintf(
				"group %s was told %d for %s after %d had been committed and acknowledged", group, f.offset, at, c.offset),
				[]int64{c.op.ID, f.op.ID}, ofGroup(group, at, c.offset)}}
		}
	}
	return nil
}

// passed says that a position lies beyond what a group was given by nothing but what
// is not for it. Who was given nothing, or went elsewhere, may have begun anywhere.
func (d *dossier) passed(at Place, h *offsetHistory, position int64, readsCommitted bool) bool {
	from := d.behind(d.at[at], position, h.given, readsCommitted)
	return from <= h.given || from < position && (h.given == 0 || h.sought)
}

// turned says whether a member that had gone elsewhere was given records since a
// commit from where, or up to where, a fetch says that the group is: it may have
// committed that by itself.
func (h *offsetHistory) turned(since *history.Operation, f positioned) bool {
	return slices.ContainsFunc(h.turns, func(t positioned) bool {
		return t.offset == f.offset && t.op.Return >= since.Invoke && t.op.Return <= f.op.Return
	})
}

// owners is INV-21 as clients can see it: between two accepted commits of one
// member in one epoch no commit of another member is accepted for the same
// partition. (A partition that went away and came back has another epoch.)
func owners(d *dossier) []Violation {
	var found []Violation
	for _, group := range d.groups {
		for _, at := range d.places {
			if h := d.offset[group][at]; h != nil {
				found = append(found, interleaved(group, at, h)...)
			}
		}
	}
	return found
}

func interleaved(group string, at Place, h *offsetHistory) []Violation {
	type span struct {
		first, last *history.Operation // by Return, by Invoke
	}
	spans := map[owner]*span{}
	var order []owner
	for _, c := range h.commits {
		if c.op.Outcome != history.OK || c.op.Member == "" {
			continue
		}
		o := owner{c.op.Member, c.op.Epoch}
		s := spans[o]
		if s == nil {
			s = &span{c.op, c.op}
			spans[o] = s
			order = append(order, o)
		}
		if c.op.Return < s.first.Return {
			s.first = c.op
		}
		if c.op.Invoke > s.last.Invoke {
			s.last = c.op
		}
	}
	for _, c := range h.commits {
		if c.op.Outcome != history.OK || c.op.Member == "" {
			continue
		}
		i := slices.IndexFunc(order, func(o owner) bool {
			s := spans[o]
			return o.member != c.op.Member && s.first.Return < c.op.Invoke && c.op.Return < s.last.Invoke
		})
		if i >= 0 {
			s := spans[order[i]]
			return []Violation{{"INV-21", "two owners", fmt.Sprintf(
				"group %s accepted a commit for %s from %s between two of %s in one epoch", group, at, c.op.Member, order[i].member),
				[]int64{s.first.ID, c.op.ID, s.last.ID},
				About{Place: at, Offset: history.None, Group: group, Member: order[i].member}}}
		}
	}
	return nil
}
