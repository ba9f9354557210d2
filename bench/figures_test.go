package bench

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// milliseconds are times as they are measured.
func milliseconds(times ...int64) (list []int64) {
	for _, t := range times {
		list = append(list, t*int64(time.Millisecond))
	}
	return list
}

func TestAQuantileIsOneOfTheTimes(t *testing.T) {
	times := milliseconds(1, 2, 3, 4, 50)
	for q, want := range map[float64]float64{0: 1000, 0.49: 2000, 0.5: 3000, 0.99: 4000, 1: 50000} {
		require.Equal(t, want, quantile(times, q), "%v", q)
	}
	require.Equal(t, 1000.0, quantile(times[:1], 0.99))
	require.Zero(t, quantile(nil, 0.5))
}

func TestTheFiguresOfALoad(t *testing.T) {
	r := Result{Size: 500}
	r.fill(milliseconds(9, 1, 5), 3, 2*time.Second, spent{flushes: 6, cpu: 0.003, diskBytes: 4500, client: 0.0006})
	require.Equal(t, []float64{5000, 5000, 5000, 9000}, []float64{r.P50, r.P99, r.P999, r.Max})
	require.Equal(t, []float64{2, 1.5, 0.00075}, []float64{r.Seconds, r.Rate, r.Megabytes})
	require.InDeltaSlice(t, []float64{2, 3, 1000, 200}, []float64{r.Flushes, r.Disk, r.NodeCPU, r.ClientCPU}, 1e-9)
}

// The loads before the plain ones are set against them as well; and a stream is not
// measured by whole rounds, of which a slice has few when they are large.
func TestAllLoadsAreSetAgainstThePlainOnes(t *testing.T) {
	load := func(each, published int, latencies ...int64) *StyleResult {
		return &StyleResult{
			Records: each, published: published, latencies: milliseconds(latencies...), elapsed: time.Second,
			spent: spent{flushes: 60, cpu: 0.012},
		}
	}
	one, stream, plain := load(1, 100, 2, 2, 3), load(100, 1250), load(100, 1000, 10, 11, 12)
	transaction := load(100, 500, 15, 16, 19)
	compare([]*StyleResult{one, stream, plain, transaction})
	of := func(figure func(*StyleResult) float64) []float64 {
		return []float64{figure(one), figure(stream), figure(plain), figure(transaction)}
	}
	require.Equal(t, []float64{100, 1250, 1000, 500}, of(func(r *StyleResult) float64 { return r.Rate }))
	require.Equal(t, []float64{0.08, 1, 0.8, 0.4}, of(func(r *StyleResult) float64 { return r.OfPlain }))
	require.Equal(t, []float64{0.1, 1.25, 1, 0.5}, of(func(r *StyleResult) float64 { return r.OfRecords }))
	require.Equal(t, []float64{0, 0, 0, 2.5}, of(func(r *StyleResult) float64 { return r.Over }))
	require.Equal(t, []float64{100, 12, 10, 5}, of(func(r *StyleResult) float64 { return float64(r.Rounds) }))
	require.Equal(t, []float64{0.6, 4.8, 6, 12}, of(func(r *StyleResult) float64 { return r.Flushes }))
	require.InDeltaSlice(t, []float64{120, 9.6, 12, 24}, of(func(r *StyleResult) float64 { return r.NodeCPU }), 1e-9)
	require.Equal(t, []float64{15000, 16000, 16000, 16000, 19000}, []float64{transaction.P10, transaction.P50, transaction.P99, transaction.P999, transaction.Max})
}

// node is a server that tells metrics as a node does.
func node(t *testing.T, flushes, seconds float64) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, "/metrics", r.URL.Path)
		fmt.Fprintf(w, "# TYPE tamarack_log_flushes_total counter\ntamarack_log_flushes_total{node=\"1\"} %v\nother{node=\"1\"} 99\nprocess_cpu_seconds_total{node=\"1\"} %v\n", flushes, seconds)
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

func TestAMeterAddsUpWhatAllNodesHaveSpent(t *testing.T) {
	s, err := Meter{HTTP: []string{node(t, 30, 1.5), node(t, 12, 0.25)}}.read(t.Context())
	require.NoError(t, err)
	require.Equal(t, []float64{42, 1.75, 0}, []float64{s.flushes, s.cpu, s.diskBytes})
	require.Greater(t, s.client, 0.0, "this process has done something")
	before := spent{flushes: 40, cpu: 1, diskBytes: -5, client: s.client}
	require.Equal(t, spent{flushes: 2, cpu: 0.75, diskBytes: 5}, s.sub(before))
	require.Equal(t, s, s.sub(before).add(before))

	none, err := Meter{}.read(t.Context())
	require.NoError(t, err)
	require.Zero(t, none.flushes)
}

func TestWhatIsNoNodeIsNotTakenForACheapOne(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "hello{} 1")
	}))
	defer other.Close()
	_, err := Meter{HTTP: []string{strings.TrimPrefix(other.URL, "http://")}}.read(t.Context())
	require.ErrorContains(t, err, "there are none of a node")
	missing := httptest.NewServer(http.NotFoundHandler())
	defer missing.Close()
	_, err = Meter{HTTP: []string{strings.TrimPrefix(missing.URL, "http://")}}.read(t.Context())
	require.ErrorContains(t, err, "it answers 404")
}
