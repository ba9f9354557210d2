package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/tamarack-mq/tamarack/sim"
)

func determinismCommand() *cobra.Command {
	var seeds string
	c := &cobra.Command{
		Use:   "determinism",
		Short: "Runs seeds in several processes with different GOMAXPROCS and compares.",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			if _, _, err := sim.ParseSeeds(seeds); err != nil {
				return err
			}
			self, err := os.Executable()
			if err != nil {
				return err
			}
			// Side by side, so that they disturb one another as much as they can.
			procs := []string{"1", "2", "7"}
			outs := make([][]byte, len(procs))
			var group errgroup.Group
			for i, p := range procs {
				group.Go(func() error {
					cmd := exec.Command(self, "hash", "--seeds", seeds)
					cmd.Env = append(os.Environ(), "GOMAXPROCS="+p, "GOGC="+[]string{"100", "20", "400"}[i])
					cmd.Stderr = os.Stderr
					var err error
					outs[i], err = cmd.Output()
					return err
				})
			}
			if err := group.Wait(); err != nil {
				return err
			}
			return compareHashes(procs, outs)
		},
	}
	c.Flags().StringVar(&seeds, "seeds", "1..20", "seeds to run")
	return c
}

// compareHashes holds the lines of several processes against one another.
func compareHashes(procs []string, outs [][]byte) error {
	first := lines(outs[0])
	differ := 0
	for i := 1; i < len(outs); i++ {
		all := lines(outs[i])
		if len(all) != len(first) { // else seeds that only one process has told of would pass
			return fmt.Errorf("the process with GOMAXPROCS=%s tells of %d seeds, and that with %s of %d", procs[0], len(first), procs[i], len(all))
		}
		for k, line := range all {
			if line == first[k] {
				continue
			}
			differ++
			a, b := strings.Fields(first[k]), strings.Fields(line)
			at := 3
			for at < min(len(a), len(b)) && a[at] == b[at] {
				at++
			}
			fmt.Printf("seed %s differs between GOMAXPROCS=%s and %s, within %d events after event %d\n",
				a[0], procs[0], procs[i], sim.CheckpointEvery, (at-3)*sim.CheckpointEvery)
			fmt.Printf("  see it with: simrun replay %s --trace --from %d\n", a[0], (at-3)*sim.CheckpointEvery)
		}
	}
	if differ > 0 {
		return ended(sim.Nondeterminism)
	}
	fmt.Printf("%d seeds give the same hashes in %d processes\n", len(first), len(outs))
	return nil
}

func lines(b []byte) (out []string) {
	s := bufio.NewScanner(bytes.NewReader(b))
	s.Buffer(nil, 1<<24)
	for s.Scan() {
		out = append(out, s.Text())
	}
	return out
}
