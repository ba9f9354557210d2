package tape

import (
	"errors"
	"fmt"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/pack"
	"github.com/tamarack-mq/tamarack/core/record"
)

// Inputs as they are numbered on a tape. New ones are added at the end.
const (
	inTick = iota + 1
	inReceived
	inRequested
	inAppended
	inFlushed
	inReadDone
	inTimeFound
	inQuorumSaved
	inDiskFailed
	inDiskSpace
	inShutdown
)

// timeFound is its namesake with an error that can be kept.
type timeFound struct {
	Token     uint64
	Found     bool
	Offset    record.Offset
	Timestamp record.Timestamp
	Failed    failure
}

// failure is what the core can see of an error of the disk.
type failure struct {
	Any, Gone bool
	Text      string
}

func failureOf(err error) failure {
	if err == nil {
		return failure{}
	}
	return failure{Any: true, Gone: errors.Is(err, effect.ErrGone), Text: err.Error()}
}

func (f failure) error() error {
	if !f.Any {
		return nil
	}
	return &f
}

// Error is the text that the error had.
func (f *failure) Error() string { return f.Text }

// Is says whether the error was an effect.ErrGone.
func (f *failure) Is(target error) bool { return f.Gone && target == effect.ErrGone }

// input appends an input.
func (p *packer) input(to []byte, in effect.Input) ([]byte, error) {
	switch in := in.(type) {
	case effect.Tick:
		return append(to, inTick), nil
	case effect.Received:
		return p.message(pack.Int(append(to, inReceived), int64(in.From)), in.Msg, true)
	case effect.Requested:
		return p.message(pack.Uint(append(to, inRequested), uint64(in.Token)), in.Msg, true)
	case effect.Appended:
		return p.value(append(to, inAppended), &in)
	case effect.Flushed:
		return p.value(append(to, inFlushed), &in)
	case effect.ReadDone:
		to = pack.Uint(pack.Uint(append(to, inReadDone), in.Token), uint64(len(in.Results)))
		var err error
		for i := range in.Results {
			r := &in.Results[i]
			to = pack.Bytes(to, r.Batches)
			if to, err = p.value(to, failureOf(r.Err)); err != nil {
				return to, err
			}
		}
		return to, nil
	case effect.TimeFound:
		return p.value(append(to, inTimeFound), &timeFound{in.Token, in.Found, in.Offset, in.Timestamp, failureOf(in.Err)})
	case effect.QuorumSaved:
		return p.value(append(to, inQuorumSaved), &in)
	case effect.DiskFailed:
		return p.value(append(to, inDiskFailed), &in)
	case effect.DiskSpace:
		return p.value(append(to, inDiskSpace), &in)
	case effect.Shutdown:
		return append(to, inShutdown), nil
	}
	return to, fmt.Errorf("no form is known for the input %T", in)
}

// readInput reads what input wrote. Record bytes share memory with the reader's
// input.
func readInput(r *pack.Reader) (effect.Input, error) {
	switch kind := r.Byte(); kind {
	case inTick:
		return effect.Tick{}, r.Err()
	case inReceived:
		from := r.Int32()
		m, _, err := readMessage(r, true)
		return effect.Received{From: message.NodeID(from), Msg: m}, err
	case inRequested:
		token := r.Uint()
		m, _, err := readMessage(r, true)
		if err != nil {
			return nil, err
		}
		request, ok := m.(message.Request)
		if !ok {
			return nil, malformed("%s is no request", m.Kind())
		}
		return effect.Requested{Token: message.Token(token), Msg: request}, nil
	case inAppended:
		return plainInput[effect.Appended](r)
	case inFlushed:
		return plainInput[effect.Flushed](r)
	case inReadDone:
		return readDone(r)
	case inTimeFound:
		var t timeFound
		err := unpack(r, &t)
		return effect.TimeFound{Token: t.Token, Found: t.Found, Offset: t.Offset, Timestamp: t.Timestamp, Err: t.Failed.error()}, err
	case inQuorumSaved:
		return plainInput[effect.QuorumSaved](r)
	case inDiskFailed:
		return plainInput[effect.DiskFailed](r)
	case inDiskSpace:
		return plainInput[effect.DiskSpace](r)
	case inShutdown:
		return effect.Shutdown{}, r.Err()
	default:
		return nil, malformed("an input of kind %d, which this code does not know", kind)
	}
}

func plainInput[T effect.Input](r *pack.Reader) (effect.Input, error) {
	var v T
	err := unpack(r, &v)
	return v, err
}

func readDone(r *pack.Reader) (effect.Input, error) {
	done := effect.ReadDone{Token: r.Uint(), Results: make([]effect.ReadResult, r.Count(2))}
	for i := range done.Results {
		var f failure
		if b := r.Bytes(); len(b) > 0 {
			done.Results[i].Batches = b
		}
		if err := unpack(r, &f); err != nil {
			return nil, err
		}
		done.Results[i].Err = f.error()
	}
	return done, r.Err()
}
