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
