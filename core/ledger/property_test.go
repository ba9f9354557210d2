package ledger

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tamarack-mq/tamarack/core/message"
)

// Whatever fails and whenever, memory is what a replay gives (INV-23), what was
// acknowledged stays, a read that is answered is no older than what was
// acknowledged when it came, and in the end all are answered, once.
func TestWhateverFailsNothingAcknowledgedIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBench(t, Config{SnapshotMinimum: 30, SnapshotFactor: 2, MaxBatchBytes: 120})
		floor := map[string]int{} // the highest number of a name that was acknowledged
		writes, reads := map[message.Token]string{}, map[message.Token][2]any{}
		number := 0
		look := func() {
			b.sound()
			for token, name := range writes {
				if n, err := fmt.Sscan(b.told(token), new(int)); n == 1 && err == nil {
					var got int
					fmt.Sscan(b.told(token), &got)
					floor[name] = max(floor[name], got)
				}
			}
			for token, asked := range reads {
				if text := b.told(token); text != "" && text[0] != 'N' && text[0] != 'R' {
					var got int
					fmt.Sscan(text, &got)
					require.GreaterOrEqual(t, got, asked[1], "a read of %v told an old state", asked[0])
				}
			}
		}
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			name := fmt.Sprint("note-", rapid.IntRange(0, 5).Draw(t, "name"))
			serving := b.board().Phase() == Serving
			switch what := rapid.IntRange(0, 11).Draw(t, "what"); {
			case what <= 3 && serving:
				number++
				writes[b.write(name, fmt.Sprint(number))] = name
			case what <= 5 && serving && b.board().notes[name] != "":
				at := floor[name]
				reads[b.read(name)] = [2]any{name, at}
			case what == 6:
				b.hold = true
			case what == 7:
				b.release()
			case what == 8:
				b.commit(rapid.IntRange(0, len(b.log)).Draw(t, "committed"))
				b.settle()
			case what == 9:
				b.refuse(message.NotEnoughReplicas, rapid.Bool().Draw(t, "lost"))
			case what == 10:
				b.set.Resign(0, b.epoch, &b.out)
				b.settle()
				look()
				if rapid.Bool().Draw(t, "lost with the leader") {
					b.failover()
				} else {
					b.takeOver()
				}
			default:
				b.trim()
				b.pass(message.Duration(rapid.IntRange(0, 3).Draw(t, "seconds")) * message.Second)
			}
			look()
		}
		b.release()
		b.pass(10 * message.Second)
		look()
		require.Len(t, b.answers, int(b.token), "each is answered")
		for name, least := range floor {
			var got int
			fmt.Sscan(b.folded()[name], &got)
			require.GreaterOrEqual(t, got, least, "what was acknowledged of %s is gone", name)
		}
	})
}
