package sim

import (
	"github.com/tamarack-mq/tamarack/core"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
)

// taper notes what goes into a core and what comes out. Tests put the tape of real
// nodes here, to find what a core shares with its inputs and effects.
type taper interface {
	Begin(now message.Now, in effect.Input)
	End(effects []effect.Effect)
}

// taping begins a tape for a core that is about to be made of this.
type taping func(cfg core.Config, seed uint64, now message.Now, found *effect.Recovered) taper
