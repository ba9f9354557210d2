package sim

import "testing"

// BenchmarkSeeds plays the plans of some seeds, one after the other on one
// core. The figures that count are virtual time per wall time and core steps
// per second.
func BenchmarkSeeds(b *testing.B) {
	var steps, virtual float64
	b.ReportAllocs()
	for i := range b.N {
		r := Run(NewPlan(uint64(i%20)+1), Options{})
		steps += float64(r.Stats.Steps)
		virtual += float64(r.Stats.Virtual) / float64(Second)
	}
	seconds := b.Elapsed().Seconds()
	b.ReportMetric(steps/seconds, "steps/s")
	b.ReportMetric(virtual/seconds, "x-realtime")
	b.ReportMetric(float64(b.N)/seconds, "seeds/s")
}
