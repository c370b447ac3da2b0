// Command killed is the program that `make test` kills: the part of the instrumented command
// braid that runs agents. It compiles in a tenth of the time. `make test-long` kills the whole
// command.
package main

import (
	"os"

	"github.com/braidrun/braid/test/kill/worker"
)

func main() {
	if len(os.Args) < 2 || os.Args[1] != worker.Command {
		_, _ = os.Stderr.WriteString("killed: the tests of test/kill start this program\n")
		os.Exit(2) //nolint:forbidigo // it is a command
	}
	os.Exit(worker.Main(os.Args[2:], os.Stdin, os.Stdout, os.Stderr)) //nolint:forbidigo // it is a command
}
