package models

import "fmt"

// committedReads is INV-8 and INV-9 at rest for readers of committed records: they
// find nothing that does not stand there, and everything that belongs to no
// transaction. What does belong to one is judged with it, by atomicity.
func committedReads(d *dossier) []Violation {
	var found []Violation
	for _, at := range d.places {
		p := d.at[at]
		if p.committed == nil || p.final == nil || d.unsure(at) {
			continue
		}
		found = append(found, d.notThere(p)...)
		found = append(found, d.keptBack(p)...)
	}
	return found
}

// notThere finds the first record that only readers of committed ones find.
func (d *dossier) notThere(p *partition) []Violation {
	for i := range p.committed.Records {
		r := &p.committed.Records[i]
		if r.Offset < p.final.Start {
			continue
		}
		if there := p.final.at(r.Offset); there == nil || text(there.Value) != text(r.Value) {
			return []Violation{{"INV-8", "uncommitted read", fmt.Sprintf(
				"readers of committed records find %s at %s@%d at rest, and others do not", name(r.Value), p.place, r.Offset), nil, ofRecord(p.place, r.Offset)}}
		}
	}
	return nil
}

// keptBack finds the first record of no transaction that they do not find.
func (d *dossier) keptBack(p *partition) []Violation {
	next := 0
	list := p.committed.Records
	for i := range p.final.Records {
		r := &p.final.Records[i]
		if r.Offset < p.committed.Start || r.Offset > p.stuck || p.made.at(r.Offset) != nil {
			continue
		}
		for next < len(list) && list[next].Offset < r.Offset {
			next++
		}
		if next == len(list) || list[next].Offset != r.Offset {
			return []Violation{{"INV-9", "kept back", fmt.Sprintf(
				"%s at %s@%d belongs to no transaction, but readers of committed records do not find it at rest", name(r.Value), p.place, r.Offset), nil, ofRecord(p.place, r.Offset)}}
		}
	}
	return nil
}
