package sim

import "github.com/tamarack-mq/tamarack/core/effect"

// foldEffect folds one effect of a core into the hash of the run. Messages are
// given by their digest, which the caller has at hand.
func foldEffect(r *rolling, e effect.Effect, messageDigest uint64) {
	switch e := e.(type) {
	case effect.Send:
		r.fold(1<<56 ^ uint64(e.To))
		r.fold(messageDigest)
	case effect.Reply:
		r.fold(2<<56 ^ uint64(e.Token))
		r.fold(messageDigest)
	case effect.Append:
		r.fold(3 << 56)
		r.id(e.Log)
		r.pair(int64(e.Base), int64(e.End))
		r.fold(uint64(e.Cut))
		r.bytes(e.Batches)
	case effect.Flush:
		r.fold(4<<56 ^ uint64(e.Cut))
		r.id(e.Log)
	case effect.Read:
		r.fold(5<<56 ^ e.Token)
		for i := range e.Slices {
			r.id(e.Slices[i].Log)
			r.pair(int64(e.Slices[i].From), int64(e.Slices[i].To))
			r.fold(uint64(e.Slices[i].MaxBytes))
		}
	case effect.SaveQuorum:
		r.fold(6<<56 ^ e.Seq)
		words(r, e.Frame)
	case effect.ReplaceQuorum:
		r.fold(7<<56 ^ e.Seq)
		for _, f := range e.Frames {
			words(r, f)
		}
	case effect.Halt:
		r.fold(8 << 56)
		r.flag(e.Clean)
		r.text(e.Reason)
	default:
		foldLogEffect(r, e)
	}
}

func foldLogEffect(r *rolling, e effect.Effect) {
	switch e := e.(type) {
	case effect.CreateLog:
		r.fold(9<<56 ^ uint64(e.Start))
		r.id(e.Log)
		r.pair(int64(e.Config.SegmentBytes), int64(e.Cut))
	case effect.ConfigureLog:
		r.fold(16<<56 ^ uint64(e.Config.SegmentBytes))
		r.id(e.Log)
	case effect.DeleteLog:
		r.fold(10 << 56)
		r.id(e.Log)
	case effect.Truncate:
		r.fold(11<<56 ^ uint64(e.Cut))
		r.id(e.Log)
		r.fold(uint64(e.To))
	case effect.Reset:
		r.fold(12<<56 ^ uint64(e.Cut))
		r.id(e.Log)
		r.fold(uint64(e.Start))
	case effect.TrimPrefix:
		r.fold(13<<56 ^ uint64(e.Start))
		r.id(e.Log)
	case effect.Checkpoint:
		r.fold(14<<56 ^ uint64(e.At))
		r.id(e.Log)
		r.fold(uint64(e.HighWatermark))
		r.bytes(e.State)
	case effect.FindTime:
		r.fold(15<<56 ^ e.Token)
		r.id(e.Log)
		r.pair(int64(e.At), int64(e.To))
	}
}
