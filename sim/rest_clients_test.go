package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/transport/simnet"
)

// Records that nobody waits for may come seconds later, over a connection that their
// producer has ended: as long as they may, there is no rest. Who only reads is under way
// all the time.
func TestRecordsThatOutliveTheirConnectionKeepFromRest(t *testing.T) {
	p := smallPlan()
	p.Network.Stale = 100
	s := &stage{newWorld(p, Options{}), t}
	says := func() (list []string) {
		s.wayUnrest(func(what, _ string, _ ...any) { list = append(list, what) })
		return list
	}
	from, to := s.clients[0].endpoint, simnet.Endpoint(1)
	s.net.Call(0, from, to, 1, &message.Fetch{}, 0)
	require.Empty(t, says())
	s.net.Call(0, from, to, 2, &message.Produce{}, 0)
	require.Equal(t, []string{"records are under way"}, says())
	s.net.Hangup(from, to)
	for came := 0; came < 2; {
		require.Equal(t, []string{"records are under way"}, says())
		at, e, ok := s.agenda.next()
		require.True(t, ok)
		if _, records := e.packet.Msg.(*message.Produce); records {
			require.Equal(t, came == 1, e.packet.Late)
			came++
		}
		s.net.Arrive(message.Time(at), e.packet)
	}
	require.Empty(t, says())
}
