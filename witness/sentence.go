package witness

import (
	"fmt"
	"strings"
)

// Say tells a row in one plain sentence.
func (r *Run) Say(i int) string {
	row := &r.Rows[i]
	who := row.Place.Words()
	switch row.What {
	case Tick:
		return who + " acts because its time has come"
	case Recv:
		return fmt.Sprintf("%s receives %s from %s%s", who, row.kind(), row.Peer.Words(), r.parts(row))
	case Request:
		return fmt.Sprintf("%s is asked by %s: %s%s", who, row.Peer.Words(), row.Name, r.parts(row))
	case Appended:
		return fmt.Sprintf("%s has written%s", who, r.parts(row))
	case Flushed:
		return fmt.Sprintf("%s has flushed%s", who, r.parts(row))
	case Saved:
		return who + " has saved its quorum journal " + row.Text
	case DiskFailed:
		return fmt.Sprintf("the disk of %s fails: %s: %s", who, row.Name, row.Text)
	case Send:
		return fmt.Sprintf("%s sends %s to %s%s", who, row.kind(), row.Peer.Words(), r.parts(row))
	case Reply:
		return fmt.Sprintf("%s answers %s: %s%s", who, row.Peer.Words(), row.Name, r.parts(row))
	case Append:
		return fmt.Sprintf("%s appends%s", who, r.parts(row))
	case Truncate:
		return fmt.Sprintf("%s cuts its log of %s at %d; it ended at %d", who, row.Parts[0].ID, row.Parts[0].From, row.Parts[0].To)
	case Reset, Create, Trim:
		return fmt.Sprintf("%s: %s of the log of %s at %d", who, row.What, row.Parts[0].ID, row.Parts[0].From)
	case Delete:
		return fmt.Sprintf("%s deletes its log of %s", who, row.Parts[0].ID)
	case State:
		p := &row.Parts[0]
		return fmt.Sprintf("%s is %s in %s, epoch %d: log [%d, %d), flushed %d, high watermark %d", who, row.Name, p.ID, p.Epoch, p.Start, p.End, p.Flushed, p.High)
	case Meta:
		return fmt.Sprintf("the controller on %s commits for %s: %s", who, row.Parts[0].ID, row.Text)
	case Start:
		return who + " starts: " + row.Text
	case Found:
		p := &row.Parts[0]
		return fmt.Sprintf("%s finds its log of %s: [%d, %d)%s", who, p.ID, p.Start, p.End, damaged(row))
	case Down:
		return who + " goes down: " + row.Name
	case Halt:
		return who + " halts: " + row.Text
	case Broken:
		return "broken: " + row.Name + " " + row.Text
	}
	return r.sayMore(row)
}

// kind is the kind of a message; of one between controllers, which all have one
// kind, what is in it.
func (r *Row) kind() string {
	if r.Name == "Quorum" && r.Text != "" {
		return r.Text
	}
	return r.Name
}

// sayMore tells the rows of the network, of clients and of the run.
func (r *Run) sayMore(row *Row) string {
	who := row.Place.Words()
	switch row.What {
	case Pause, ClientPause:
		return who + " is paused"
	case Wake, ClientWake:
		return who + " goes on"
	case Lost:
		text := fmt.Sprintf("%s from %s to %s is lost", row.Name, row.Peer.Words(), who)
		if row.Text != "" {
			text += ": " + row.Text
		}
		return text
	case Held:
		return fmt.Sprintf("%s from %s to %s is held up", row.Name, row.Peer.Words(), who)
	case Late:
		return fmt.Sprintf("%s from %s to %s will come late", row.Name, row.Peer.Words(), who)
	case Cut:
		return fmt.Sprintf("%s hears that its connection to %s is %s", who, row.Peer.Words(), row.Name)
	case ClientStart:
		return who + " starts as " + row.Name
	case ClientDown:
		return who + " dies"
	case Ask:
		return strings.TrimRight(fmt.Sprintf("%s begins: %s %s", who, row.Name, row.Text), " ")
	case Done, Told:
		return who + ": " + row.Text
	case Call:
		return fmt.Sprintf("%s asks %s: %s%s", who, row.Peer.Words(), row.Name, r.parts(row))
	case Answer:
		return fmt.Sprintf("%s is answered by %s: %s%s", who, row.Peer.Words(), row.Name, r.parts(row))
	case Phase:
		return "phase: " + row.Name
	case Fault:
		return "fault: " + row.Text
	case FaultEnd:
		return "fault ends: " + row.Text
	case Mark:
		return "mark: " + row.Name
	}
	text := who + ": " + row.What.String()
	if row.Text != "" {
		text += " " + row.Text
	}
	return text + r.parts(row)
}

// parts tells the first partitions of a row in a few words.
func (r *Run) parts(row *Row) string {
	var b strings.Builder
	for i := range row.Parts {
		if i == 3 {
			fmt.Fprintf(&b, ", and %d more", len(row.Parts)-i)
			break
		}
		p := &row.Parts[i]
		b.WriteString([]string{" ", ", "}[min(i, 1)] + p.ID.String())
		switch {
		case p.From >= 0 && p.To >= 0:
			fmt.Fprintf(&b, " [%d, %d)", p.From, p.To)
		case p.From >= 0:
			fmt.Fprintf(&b, " at %d", p.From)
		case p.To >= 0:
			fmt.Fprintf(&b, " up to %d", p.To)
		}
		if p.Flushed >= 0 && row.What != Flushed {
			fmt.Fprintf(&b, " flushed %d", p.Flushed)
		}
		if p.High >= 0 {
			fmt.Fprintf(&b, " hw %d", p.High)
		}
		if p.Code != "" {
			b.WriteString(" " + p.Code)
		}
	}
	if row.Code != "" {
		b.WriteString(" " + row.Code)
	}
	return b.String()
}
