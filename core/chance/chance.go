// Package chance is the only source of randomness that the pure core, the
// client and the simulator use: streams of numbers that follow from a seed and
// a name. Streams are split by purpose and by place, so that leaving out one
// event of a run does not shift the draws of another.
package chance

// Stream is a deterministic sequence of numbers (SplitMix64: Steele, Lea and
// Flood, OOPSLA 2014). The zero Stream is the one of seed 0. Not for secrets.
type Stream struct{ state, root uint64 }

// New returns the stream of a seed.
func New(seed uint64) *Stream { return &Stream{state: seed, root: seed} }

// Split returns the stream of a name below this one. It depends on the seed
// that this stream started from and on the name, never on how many numbers
// were drawn from it.
func (s *Stream) Split(name string) *Stream {
	h := uint64(14695981039346656037)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	return New(mix(s.root ^ mix(h)))
}

// State is where the stream stands: New(State()) draws the numbers that this
// one would draw next. What is split off the two differs.
func (s *Stream) State() uint64 { return s.state }

// Uint64 draws 64 evenly distributed bits.
func (s *Stream) Uint64() uint64 {
	s.state += 0x9e3779b97f4a7c15
	return mix(s.state)
}

// Below draws an integer of [0, n). It panics when n < 1.
func (s *Stream) Below(n int64) int64 {
	if n < 1 {
		panic("chance: Below needs a bound of at least 1")
	}
	return int64(s.Uint64() % uint64(n))
}

// Between draws an integer of [low, high].
func (s *Stream) Between(low, high int64) int64 { return low + s.Below(high-low+1) }

// OneIn is true once in n draws.
func (s *Stream) OneIn(n int64) bool { return s.Below(n) == 0 }

// Percent is true in p of a hundred draws.
func (s *Stream) Percent(p int64) bool { return s.Below(100) < p }

// Float draws a number of [0, 1).
func (s *Stream) Float() float64 { return float64(s.Uint64()>>11) / (1 << 53) }

func mix(z uint64) uint64 {
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}
