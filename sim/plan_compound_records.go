package sim

import "github.com/tamarack-mq/tamarack/core/chance"

// drawLongKeys gives some of those who publish with keys such as are of many lengths.
func drawLongKeys(r *chance.Stream, p *Plan) {
	for i := range p.Clients {
		if c := &p.Clients[i]; c.Keys > 0 {
			c.LongKeys = r.OneIn(3)
		}
	}
}

// drawWithinBatches has every other deletion of records end inside a batch: a log that
// starts there holds records that nobody may be given any more.
func drawWithinBatches(r *chance.Stream, faults []Fault) {
	for i := range faults {
		if faults[i].Kind == DeleteRecords {
			faults[i].Strength = int(r.Below(2))
		}
	}
}

// drawNoRoomAtAll leaves some full disks not a byte: what is small goes in otherwise.
func drawNoRoomAtAll(r *chance.Stream, faults []Fault) {
	for i := range faults {
		if faults[i].Kind == FullDisk && r.OneIn(3) {
			faults[i].Strength = 0
		}
	}
}
