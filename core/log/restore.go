package log

import (
	"errors"
	"fmt"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
)

// ErrRecovered is what every error of Restore and Rebuild wraps but those about
// a checkpoint.
var ErrRecovered = errors.New("log: what recovery found does not fit together")

// Restore builds the log that recovery found. It starts from the checkpoint,
// folds the headers behind it, and settles what lies below the high watermark
// that was stored. An error means that what was found does not fit together:
// the replica cannot vouch for this log and must fetch it anew.
//
// The log starts where recovery says, or above: of what lies below KnownFrom the
// epochs were forgotten because a log start had passed over it (see history.trim).
// A disk that has lost its marks has forgotten where that was, and may still have
// the file with those records.
func Restore(found effect.RecoveredLog) (*Log, error) {
	if found.Start < 0 || found.Start > found.End {
		return nil, fmt.Errorf("%w: start %d, end %d", ErrRecovered, found.Start, found.End)
	}
	l := New(found.Start)
	headers := found.Headers
	if len(found.Checkpoint) > 0 {
		s, err := decodeSnapshot(found.Checkpoint)
		if err != nil {
			return nil, err
		}
		if s.at != found.CheckpointAt || s.at > found.End {
			return nil, fmt.Errorf("%w: it holds for %d, not for %d in a log that ends at %d",
				ErrCheckpoint, s.at, found.CheckpointAt, found.End)
		}
		l.adopt(&s)
		l.settled = s.at
		for len(headers) > 0 && headers[0].End() <= s.at {
			headers = headers[1:]
		}
	}
	if err := l.joinHeaders(headers, found.Start, len(found.Checkpoint) > 0); err != nil {
		return nil, err
	}
	l.chunks.wait()
	if err := l.fold(headers); err != nil {
		return nil, err
	}
	if l.end != found.End {
		return nil, fmt.Errorf("%w: the headers end at %d, the log at %d", ErrRecovered, l.end, found.End)
	}
	l.Settle(found.HighWatermark)
	l.TrimPrefix(max(found.Start, l.KnownFrom()))
	return l, nil
}

// joinHeaders puts start, settled and end where the first header begins. Between
// the checkpoint and the first header there may be a gap only where the log
// start has passed over it since.
func (l *Log) joinHeaders(headers []record.Header, start record.Offset, checkpointed bool) error {
	first := max(start, l.settled)
	if len(headers) > 0 {
		first = headers[0].BaseOffset
	}
	switch {
	case first < 0 || checkpointed && first < l.settled:
		return fmt.Errorf("%w: a batch begins at %d, below what is settled (%d)", ErrRecovered, first, l.settled)
	case first > start && (!checkpointed || first > l.settled):
		return fmt.Errorf("%w: nothing is known of the records from %d to %d",
			ErrRecovered, max(start, l.settled), first)
	case checkpointed && first > l.settled:
		l.chunks.list, l.chunks.total = nil, 0
		l.producers.passedOver(first)
	}
	l.start, l.settled, l.end = 0, first, first // TrimPrefix follows
	return nil
}

func (l *Log) fold(headers []record.Header) error {
	for i := range headers {
		if err := l.Fits(&headers[i]); err != nil {
			return fmt.Errorf("%w: %w", ErrRecovered, err)
		}
		l.Append(&headers[i])
	}
	return nil
}

// Rebuild folds headers, which must follow one another, and then trims the
// result to start; with no headers it is an empty log at start. It is the slow
// and simple way to the state that a Log keeps up as it goes; see Differs.
func Rebuild(headers []record.Header, start record.Offset) (*Log, error) {
	l := New(start)
	if len(headers) > 0 {
		l.Reset(headers[0].BaseOffset)
	}
	if err := l.fold(headers); err != nil {
		return nil, err
	}
	if start > l.end {
		return nil, fmt.Errorf("%w: start %d, end %d", ErrRecovered, start, l.end)
	}
	l.TrimPrefix(start)
	return l, nil
}
