package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tamarack-mq/tamarack/hunt"
	"github.com/tamarack-mq/tamarack/sim"
)

// A binary with a planted bug in it is this program built from edited sources.
// It is told what it is, so that the commands that it prints can be played from
// an unedited tree.
const (
	bugVariable  = "SIMRUN_BUG" // the bug that is planted in this binary
	nameVariable = "SIMRUN_AS"  // how the user called the program
)

// exitCode is the end of a command that another process carried out.
type exitCode int

func (exitCode) Error() string { return "the planted program has failed" }

// plantable gives a command tree the flag --bug: with it the same command runs
// in a binary with that bug in it, which is built first if need be.
func plantable(root *cobra.Command) {
	var bug string
	root.PersistentFlags().StringVar(&bug, "bug", "", "run this in the code with a planted bug: a name of scenarios/bugs, or a file")
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		if bug == "" || os.Getenv(bugVariable) != "" {
			return nil
		}
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		tree, err := hunt.Root()
		if err != nil {
			return err
		}
		b, err := hunt.Find(filepath.Join(tree, filepath.FromSlash(plantedFolder)), bug)
		if err != nil {
			return err
		}
		binary, err := hunt.Planted(ctx, tree, b)
		if err != nil {
			return err
		}
		return runPlanted(ctx, binary, bug, os.Args[1:])
	}
}

// runPlanted runs a command line in a binary with a bug in it, and ends as it
// does.
func runPlanted(ctx context.Context, binary, bug string, args []string) error {
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Env = append(os.Environ(), bugVariable+"="+bug, nameVariable+"="+programName())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return exitCode(ended.ExitCode())
	}
	if err == nil {
		return exitCode(0)
	}
	return err
}

// otherBug says that a plan was saved as a failure of code with a planted bug which is
// not in this code, so that it plays otherwise; empty: it was not.
func otherBug(plan *sim.Plan) string {
	if s := plan.Saved; s != nil && s.Bug != "" && s.Bug != os.Getenv(bugVariable) {
		return fmt.Sprintf("; it was made with --bug %s: add that", s.Bug)
	}
	return ""
}

// programName is how the user calls this program.
func programName() string {
	name := os.Getenv(nameVariable)
	if name == "" {
		name = os.Args[0]
	}
	if strings.Contains(name, string(filepath.Separator)+"go-build") {
		return "go run ./cmd/simrun"
	}
	return name
}

// command is the command line that does something with a seed or a plan, as it
// can be played from an unedited tree.
func command(verb, what string, rest ...string) string {
	return plantedCommand(os.Getenv(bugVariable), verb, what, rest...)
}

// plantedCommand is command for the code with a bug in it.
func plantedCommand(bug, verb, what string, rest ...string) string {
	words := append([]string{programName(), verb, what}, rest...)
	if bug != "" {
		words = append(words, "--bug", bug)
	}
	return strings.Join(words, " ")
}
