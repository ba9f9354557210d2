package sim

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAPanicIsTheCoresWhereItsFunctionIs has the source tree in a folder that is called
// like a room.
func TestAPanicIsTheCoresWhereItsFunctionIs(t *testing.T) {
	stack := func(function, file string) string {
		return "goroutine 1 [running]:\n" +
			"github.com/tamarack-mq/tamarack/sim.(*World).panicked(0x1, {0x2, 0x3})\n\t/src/core/tamarack/sim/world.go:170 +0x1d\n" +
			"panic({0x1, 0x2})\n\t/go/src/runtime/panic.go:785 +0x132\n" +
			"runtime.goPanicIndex(0x5, 0x5)\n\t/go/src/runtime/panic.go:115 +0x72\n" +
			function + "(0x1)\n\t" + file + " +0x2a\n" +
			"github.com/tamarack-mq/tamarack/sim.(*Node).step(0x1)\n\t/src/core/tamarack/sim/node.go:239 +0x2a\n"
	}
	for _, c := range []struct {
		function, file, place string
		judged                bool
	}{
		{"github.com/tamarack-mq/tamarack/core/replica.(*Manager).Step", "/src/core/tamarack/core/replica/manager.go:12", "/core/replica/manager.go:12", true},
		{"github.com/tamarack-mq/tamarack/core.(*Node).Step", "/src/core/tamarack/core/node.go:7", "/core/node.go:7", true},
		{"github.com/tamarack-mq/tamarack/storage/vfs.Open", "/src/core/tamarack/storage/vfs/os.go:3", "/storage/vfs/os.go:3", true},
		{"github.com/tamarack-mq/tamarack/sim.(*book).part", "/src/core/tamarack/sim/book.go:9", "/sim/book.go:9", false},
		{"github.com/tamarack-mq/tamarack/transport/simnet.(*Network).Send", "/src/core/tamarack/transport/simnet/send.go:4", "/transport/simnet/send.go:4", false},
	} {
		place, judged := panicPlace(stack(c.function, c.file))
		require.Equal(t, c.place, place)
		require.Equal(t, c.judged, judged, c.function)
	}
	place, judged := panicPlace("goroutine 1 [running]:\n")
	require.Equal(t, "an unknown place", place)
	require.False(t, judged)
}
