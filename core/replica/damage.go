package replica

import (
	"errors"
	"slices"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// damage is why a log cannot be vouched for; the zero value says that it can.
//
// What recovery found is reported with the registration of this run, and so
// before any role is taken: the replica is in no in-sync or eligible set, and
// as a follower it cuts what cannot be read and fetches again.
//
// What a read finds later, on a leader, is another matter: the controller still
// takes this replica for one that has every committed record. It gives up
// nothing of its log before a new registration has told the truth (reported),
// and before the metadata here shows that it has left the ISR: an older change,
// not applied yet, may still make it the leader of all its records. Until then
// it answers reads and writes with StorageError, counts itself out of the high
// watermark, and does not follow.
type damage struct {
	what     string
	whole    bool // no part of the log is to be trusted
	guessed  bool // nor its start: there may have been records below it
	byRead   bool // found by a read in this run, not by recovery
	told     bool // the caller was told, for a registration
	reported bool // that registration is committed
}

// repairAsFollower makes a log ready to be filled from a leader. It says no
// while others may still count on the log as it is.
func (r *replica) repairAsFollower(m *Manager, out *Out) bool {
	switch {
	case r.damage.what == "":
		return true
	case !r.damage.reported, r.damage.byRead && slices.Contains(r.state.ISR, m.cfg.ID):
		return false
	case r.damage.guessed:
		// A start that a follower states is taken for one that a leader has decided on
		// (agreeOnStart), and all others would give up what only this disk has lost.
		r.reset(m, 0, out)
	case r.damage.whole:
		r.inherit(m, r.log.Start(), r.log.CarryOver(), out) // what is known of older records is not damaged
	default:
		r.truncate(m, r.log.End(), out) // what lies behind the end on disk
	}
	r.damage = damage{}
	return true
}

// repairAsLeader does the same for a replica that the controller has elected
// although recovery found it damaged: that was an operator's choice. With
// damage that a read has found it stays as it is, and serves nothing.
func (r *replica) repairAsLeader(m *Manager, out *Out) {
	if !r.damage.byRead {
		r.damage.guessed = false // there is nothing else to begin with
		r.repairAsFollower(m, out)
	}
	r.admit(out)
}

// admit ends the search for somebody who can tell what producers did below the
// log start: nobody knows more. The disk must not look for it any more, either.
func (r *replica) admit(out *Out) {
	if r.forgetful {
		r.forgetful = false
		r.checkpoint(out)
	}
}

// waitsForRepair says whether a replica would follow, were it not for damage
// that it must not repair yet.
func (r *replica) waitsForRepair(m *Manager) bool {
	return r.damage.what != "" && r.lead == nil && r.follow == nil && r.state.Leader != m.cfg.ID
}

// foundDamage notes that a read of this replica, as a leader, has failed.
func (r *replica) foundDamage(m *Manager, err error, out *Out) {
	if r.damage.what != "" {
		return
	}
	r.damage = damage{what: err.Error(), whole: true, byRead: true}
	out.Damaged = append(out.Damaged, r.id)
	m.touch(r)
}

// readFailed says how to answer a read from an offset that the disk could not
// carry out. That retention has overtaken it is no damage.
func (r *replica) readFailed(m *Manager, from record.Offset, err error, out *Out) message.Code {
	if errors.Is(err, effect.ErrGone) && from < r.log.Start() {
		return message.OffsetOutOfRange
	}
	r.foundDamage(m, err, out)
	return message.StorageError
}

var errNothingRead = errors.New("the disk gave no batch where there must be one")
