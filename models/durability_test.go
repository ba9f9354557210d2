package models

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestALogFindsItsRecordsBetweenHoles(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		var l Log
		there := map[int64]bool{}
		for o, n := random.Int64N(5), random.IntN(40); n > 0; n-- {
			l.Records = append(l.Records, record(o, "x"))
			there[o] = true
			o += 1 + random.Int64N(4)*random.Int64N(2)
		}
		for o := range int64(130) {
			r := l.at(o - 2)
			require.Equal(t, there[o-2], r != nil, "%d of %v", o-2, l.Records)
			require.True(t, r == nil || r.Offset == o-2)
		}
	}
}
