package tape

import (
	"fmt"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/pack"
)

// Effects as they are numbered on a tape. New ones are added at the end.
const (
	outSend = iota + 1
	outReply
	outCreateLog
	outDeleteLog
	outAppend
	outFlush
	outTruncate
	outReset
	outTrimPrefix
	outCheckpoint
	outRead
	outFindTime
	outSaveQuorum
	outReplaceQuorum
	outHalt
	outConfigureLog
)

// Effect is an effect as a tape keeps it.
type Effect struct {
	Value effect.Effect // without its long bytes
	Bytes []Sum         // what these were, in the order of the fields
}

// effect appends an effect: its kind, its fields, sums of its long bytes.
func (p *packer) effect(to []byte, e effect.Effect) ([]byte, error) {
	switch e := e.(type) {
	case effect.Send:
		return p.message(pack.Int(append(to, outSend), int64(e.To)), e.Msg, false)
	case effect.Reply:
		return p.message(pack.Uint(append(to, outReply), uint64(e.Token)), e.Msg, false)
	case effect.CreateLog:
		return p.value(append(to, outCreateLog), &e)
	case effect.DeleteLog:
		return p.value(append(to, outDeleteLog), &e)
	case effect.Append:
		to, b := append(to, outAppend), e.Batches
		e.Batches = nil
		return p.summed(to, &e, b)
	case effect.Flush:
		return p.value(append(to, outFlush), &e)
	case effect.Truncate:
		return p.value(append(to, outTruncate), &e)
	case effect.Reset:
		return p.value(append(to, outReset), &e)
	case effect.TrimPrefix:
		return p.value(append(to, outTrimPrefix), &e)
	case effect.Checkpoint:
		to, b := append(to, outCheckpoint), e.State
		e.State = nil
		return p.summed(to, &e, b)
	case effect.Read:
		return p.value(append(to, outRead), &e)
	case effect.FindTime:
		return p.value(append(to, outFindTime), &e)
	case effect.SaveQuorum:
		to, b := append(to, outSaveQuorum), e.Frame
		e.Frame = nil
		return p.summed(to, &e, b)
	case effect.ReplaceQuorum:
		to, b := append(to, outReplaceQuorum), e.Frames
		e.Frames = nil
		return p.summed(to, &e, b...)
	case effect.Halt:
		return p.value(append(to, outHalt), &e)
	case effect.ConfigureLog:
		return p.value(append(to, outConfigureLog), &e)
	}
	return to, fmt.Errorf("no form is known for the effect %T", e)
}

func (p *packer) summed(to []byte, v any, long ...[]byte) ([]byte, error) {
	to, err := p.value(to, v)
	to = pack.Uint(to, uint64(len(long)))
	for _, b := range long {
		to = appendSum(to, b)
	}
	return to, err
}

// readEffect reads what effect wrote.
func readEffect(r *pack.Reader) (Effect, error) {
	switch kind := r.Byte(); kind {
	case outSend:
		to := r.Int32()
		m, sums, err := readMessage(r, false)
		return Effect{effect.Send{To: message.NodeID(to), Msg: m}, sums}, err
	case outReply:
		token := r.Uint()
		m, sums, err := readMessage(r, false)
		if err != nil {
			return Effect{}, err
		}
		reply, ok := m.(message.Reply)
		if !ok {
			return Effect{}, malformed("%s is no reply", m.Kind())
		}
		return Effect{effect.Reply{Token: message.Token(token), Msg: reply}, sums}, nil
	case outCreateLog:
		return plainEffect[effect.CreateLog](r)
	case outDeleteLog:
		return plainEffect[effect.DeleteLog](r)
	case outAppend:
		return summedEffect[effect.Append](r)
	case outFlush:
		return plainEffect[effect.Flush](r)
	case outTruncate:
		return plainEffect[effect.Truncate](r)
	case outReset:
		return plainEffect[effect.Reset](r)
	case outTrimPrefix:
		return plainEffect[effect.TrimPrefix](r)
	case outCheckpoint:
		return summedEffect[effect.Checkpoint](r)
	case outRead:
		return plainEffect[effect.Read](r)
	case outFindTime:
		return plainEffect[effect.FindTime](r)
	case outSaveQuorum:
		return summedEffect[effect.SaveQuorum](r)
	case outReplaceQuorum:
		return summedEffect[effect.ReplaceQuorum](r)
	case outHalt:
		return plainEffect[effect.Halt](r)
	case outConfigureLog:
		return plainEffect[effect.ConfigureLog](r)
	default:
		return Effect{}, malformed("an effect of kind %d, which this code does not know", kind)
	}
}

func plainEffect[T effect.Effect](r *pack.Reader) (Effect, error) {
	var v T
	err := unpack(r, &v)
	return Effect{Value: v}, err
}

func summedEffect[T effect.Effect](r *pack.Reader) (Effect, error) {
	e, err := plainEffect[T](r)
	for range r.Count(5) {
		e.Bytes = append(e.Bytes, readSum(r))
	}
	if err == nil {
		err = r.Err()
	}
	return e, err
}
