package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/tamarack-mq/tamarack/sim"
)

// Where nobody watches a bar, a log gets a line so often.
const logEvery = 30 * time.Second

// progress shows how far a campaign is: a bar on a terminal, lines elsewhere.
type progress struct {
	campaign *sim.Campaign
	total    float64 // seeds of this campaign
	bar      *progressbar.ProgressBar
	watched  bool
	began    time.Time
	said     time.Time

	report *sim.Report     // so far
	told   map[string]bool // fingerprints of failures that were told
}

// farOff is when a campaign ends that has no end.
const farOff = 1000 * time.Hour

// barParts is the resolution of the bar: what is full differs.
const barParts = 1000

func newProgress(c *sim.Campaign) *progress {
	p := &progress{campaign: c, total: float64(c.To-c.From) + 1, watched: isTerminal(os.Stderr), began: time.Now(), said: time.Now()}
	if c.Shards > 1 {
		p.total = max(1, p.total/float64(c.Shards))
	}
	p.bar = progressbar.NewOptions64(barParts,
		progressbar.OptionSetWriter(os.Stderr), progressbar.OptionThrottle(200*time.Millisecond),
		progressbar.OptionSetPredictTime(false), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetWidth(20), progressbar.OptionSetVisibility(p.watched))
	return p
}

// add takes one more run in.
func (p *progress) add(r *sim.Result, soFar *sim.Report) {
	p.report = soFar
	if s := p.failed(r); s != "" {
		_ = p.bar.Clear()
		fmt.Fprintln(os.Stderr, s)
	}
	now := time.Now()
	done, left := p.left(now.Sub(p.began))
	if p.watched {
		p.bar.Describe(p.line(now.Sub(p.began), left))
		_ = p.bar.Set64(int64(done * barParts))
		return
	}
	if now.Sub(p.said) >= logEvery {
		p.said = now
		fmt.Fprintf(os.Stderr, "%3.0f%%  %s\n", 100*done, p.line(now.Sub(p.began), left))
	}
}

// failed tells of the first failure of each cause: whoever watches need not wait for
// the end. Empty: there is nothing new.
func (p *progress) failed(r *sim.Result) string {
	f := r.Failure
	if f == nil || p.told[f.Fingerprint()] {
		return ""
	}
	if p.told == nil {
		p.told = map[string]bool{}
	}
	p.told[f.Fingerprint()] = true
	return fmt.Sprintf("seed %d failed: %s: %s", r.Seed, f.Invariant, f.Sentence)
}

// left is what share is done, and how much longer it takes at most: until the last
// seed, or the end of the budget.
func (p *progress) left(elapsed time.Duration) (done float64, left time.Duration) {
	done = min(1, float64(p.report.Runs)/p.total)
	left = time.Duration(min(float64(elapsed)*(1-done)/max(done, 1e-9), float64(farOff)))
	if b := p.campaign.Budget; b > 0 && b-elapsed < left {
		done, left = min(1, float64(elapsed)/float64(b)), max(0, b-elapsed)
	}
	return done, left
}

func (p *progress) line(elapsed, left time.Duration) string {
	wall := max(elapsed.Seconds(), 1e-9)
	r := p.report
	s := fmt.Sprintf("%d seeds, %.1f/s, %.0f times real time, %d failed", r.Runs, float64(r.Runs)/wall, time.Duration(r.Stats.Virtual).Seconds()/wall, r.Failed())
	if r.Void > 0 {
		s += fmt.Sprintf(", %d void", r.Void)
	}
	if n := p.campaign.Plateau; n > 0 {
		s += fmt.Sprintf(", %d points of ground, none new for %d of %d", r.Ground.Points, r.Ground.Since, n)
	}
	if left < farOff {
		s += fmt.Sprintf(", %s left", left.Round(time.Second))
	}
	return s
}

// runWithProgress runs a campaign and shows how far it is on standard error.
func runWithProgress(c *sim.Campaign) *sim.Report {
	p := newProgress(c)
	c.Each = p.add
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	c.Interrupt = ctx.Done()
	report := c.Run()
	report.Peak = peakMemory()
	_ = p.bar.Finish()
	return report
}

// isTerminal says whether somebody watches: a log is no place for a bar that
// redraws itself.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
