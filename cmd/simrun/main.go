// Command simrun runs the simulator: campaigns over many seeds, one seed or
// plan again, named scenarios.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/tamarack-mq/tamarack/sim"
)

// exitCodes tell a script what kind of failure a campaign met.
var exitCodes = map[sim.Class]int{
	sim.Passed: 0, sim.Safety: 10, sim.Liveness: 11, sim.Nondeterminism: 12, sim.Void: 13, sim.Broken: 14,
}

// verdict is an error that is a class of failure and was printed already.
type verdict struct{ class sim.Class }

func (v verdict) Error() string { return string(v.class) }

// ended turns a class into what a command returns.
func ended(c sim.Class) error {
	if c == sim.Passed {
		return nil
	}
	return verdict{c}
}

func main() {
	sim.TuneCollector()
	err := rootCommand().Execute()
	var v verdict
	var planted exitCode
	switch {
	case err == nil:
	case errors.As(err, &planted):
		os.Exit(int(planted))
	case errors.As(err, &v):
		os.Exit(exitCodes[v.class])
	case errors.Is(err, errBugsLeft):
		os.Exit(15)
	case errors.Is(err, errMarksLeft):
		os.Exit(16)
	case errors.Is(err, errInterrupted):
		os.Exit(130)
	default:
		fmt.Fprintln(os.Stderr, "simrun:", err)
		os.Exit(2)
	}
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "simrun",
		Short: "Runs clusters through simulated disasters and judges what they do.",
		Long: `Runs clusters through simulated disasters and judges what they do.

Exit codes: 0 all is well; 10 safety, 11 liveness, 12 nondeterminism, 13 too
little got done, 14 a fault of the simulator itself, 15 a planted bug was not
found, 16 a mark was never reached that must be, 130 interrupted before the
end, 2 wrong usage.`,
		SilenceUsage: true, SilenceErrors: true,
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w: see %s --help", err, c.CommandPath())
	})
	root.AddCommand(runCommand(), replayCommand(), shrinkCommand(), planCommand(), determinismCommand(), hashCommand(),
		scenarioCommand(), crashCommand(), bugsCommand(), mutateCommand(), seriesCommand(), liveCommand(), conformCommand(), mergeCommand(), listCommand())
	root.AddCommand(seeCommands()...)
	plantable(root)
	return root
}
