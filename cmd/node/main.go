// Command node runs nodes of a Tamarack cluster and talks to clusters.
//
// Exit codes: 0 success; 1 what was asked for failed; 2 it was asked for in a
// wrong way; 3 a node halted since it could not trust its own state or disk.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/tamarack-mq/tamarack/server"
)

func main() { os.Exit(run(os.Args[1:])) }

// Exit codes.
const (
	exitFailed = 1
	exitUsage  = 2
	exitHalted = 3
)

func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The second signal ends the process at once, as it does by default.
	defer context.AfterFunc(ctx, stop)()
	root := rootCommand()
	root.SetArgs(args)
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "interrupted")
		return exitFailed
	}
	fmt.Fprintln(os.Stderr, "error:", strings.TrimPrefix(err.Error(), "error: "))
	var usage *usageError
	var halt *server.HaltError
	var hint *hintError
	if errors.As(err, &hint) {
		fmt.Fprintln(os.Stderr, "hint:", hint.hint)
	}
	switch {
	case errors.As(err, &halt):
		return exitHalted
	case errors.As(err, &usage), strings.HasPrefix(err.Error(), "unknown command"):
		fmt.Fprintf(os.Stderr, "hint: %s --help\n", command.CommandPath())
		return exitUsage
	}
	return exitFailed
}

// usageError is a command line that cannot be carried out.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usage(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "node",
		Short: "Run a Tamarack cluster, or talk to one",
		Long: `Tamarack is a distributed message queue with Kafka's semantics.

  node dev                          three nodes on this machine, nothing to configure
  node topic create orders          then, in another terminal
  echo hello | node publish orders
  node poll --group g --topic orders --max 1`,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	root.AddCommand(devCommand(), serveCommand(), topicCommand(), publishCommand(), pollCommand(), commitCommand(),
		groupCommand(), transactionCommand(), reassignCommand(), brokerCommand(), statusCommand(), configCommand(), controllerCommand(), benchCommand())
	for _, c := range root.Commands() {
		refuseUnknown(c)
	}
	return root
}

// refuseUnknown makes a group of commands refuse a word that is none of them. By
// itself it would print its help, and end as if all were well.
func refuseUnknown(c *cobra.Command) {
	for _, sub := range c.Commands() {
		refuseUnknown(sub)
	}
	if !c.HasSubCommands() || c.Runnable() {
		return
	}
	c.Args, c.DisableFlagsInUseLine = cobra.ArbitraryArgs, true
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		text := fmt.Sprintf("%q is no command of %s", args[0], c.CommandPath())
		if c.SuggestionsMinimumDistance <= 0 {
			c.SuggestionsMinimumDistance = 2
		}
		if like := c.SuggestionsFor(args[0]); len(like) > 0 {
			text += "; did you mean " + strings.Join(like, " or ") + "?"
		}
		return usage("%s", text)
	}
}

// counted is a number of things: 1 record, 2 records.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// version is what the build knows of the source it came from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value[:min(len(s.Value), 12)]
		case "vcs.modified":
			if s.Value == "true" {
				dirty = "+changes"
			}
		}
	}
	if revision == "" {
		return info.Main.Version
	}
	return revision + dirty
}

// software is how this program names itself to others.
func software() string { return "tamarack/" + version() }

// exactArgs is cobra.ExactArgs with an error that says what is missing.
func exactArgs(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return usage("missing %s", strings.Join(names[len(args):], " and "))
		}
		if len(args) > len(names) {
			return usage("%q is one argument too many", args[len(names)])
		}
		return nil
	}
}
