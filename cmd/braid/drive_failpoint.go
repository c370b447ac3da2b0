//go:build failpoint

package main

import (
	"os"

	"github.com/braidrun/braid/test/kill/worker"
)

// A build that can be killed at a named instant can also be driven from outside,
// by a command that help does not list.
func init() { //nolint:gochecknoinits // so that nothing of it stands in the command that people get
	if len(os.Args) > 1 && os.Args[1] == worker.Command {
		os.Exit(worker.Main(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
}
