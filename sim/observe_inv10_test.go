package sim

import (
	"testing"

	"github.com/tamarack-mq/tamarack/core/message"
)

// TestWhoHearsOfNoControllerSaysSo: the session of a broker is over when that is longer.
func TestWhoHearsOfNoControllerSaysSo(t *testing.T) {
	s, o := newStage(t), &trueAnswers{}
	const session = 3 * message.Second
	o.described(s.World, s.nodes[1], &message.MetadataReply{}, 3*message.Second, session)
	o.described(s.World, s.nodes[1], &message.MetadataReply{ControllerSilent: true}, 4*message.Second, session)
	o.described(s.World, s.nodes[1], &message.MetadataReply{ControllerSilent: true}, message.Second, session) // it has heard of one since
	s.passed()
	o.described(s.World, s.nodes[1], &message.MetadataReply{}, 3001*message.Millisecond, session)
	s.refused("INV-10", "node 1 describes the cluster and does not say that no controller has answered it for 3.001s; a session is 3s")
}
