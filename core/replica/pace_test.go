package replica

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
)

// However often it is looked at, a throttle gives what its rate gives. Parts of a
// byte, and of a microsecond, must not be given away at each look: a rate of 1 MiB
// a second would be none.
func TestAThrottleGivesWhatItsRateGives(t *testing.T) {
	const looks = 1000
	for _, rate := range []int64{1, 3, 999, 1 << 20, 1_500_000, 1 << 30, message.LargestThrottle} {
		for _, micros := range []int64{1, 7, 1001, 333_333, 1_000_000} {
			owed := 2 * looks * rate // more than can be earned, so that no burst bounds it
			p := pace{rate: rate, tokens: -owed}
			now := message.Time(0)
			for range looks {
				now = now.Add(message.Duration(micros) * message.Microsecond)
				p.refill(now)
			}
			whole, part := looks*micros/1_000_000, looks*micros%1_000_000
			require.Equal(t, rate*whole+rate*part/1_000_000, p.tokens+owed, "%d bytes a second, looked at each %d microseconds", rate, micros)
		}
	}
}
