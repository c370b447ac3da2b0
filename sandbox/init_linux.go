//go:build amd64 || arm64

package sandbox

import (
	"encoding/json"
	"os"

	"golang.org/x/sys/unix"
)

// Init makes this process a stage of a sandbox if [Run] has started it as one, and does not return then. Otherwise it
// returns at once. Call it first in main, and in TestMain of tests that run sandboxes.
func Init() {
	if len(os.Args) == 1 {
		switch os.Args[0] {
		case keeperName:
			leave(keeper())
		case commandName:
			leave(command())
		}
	}
	ready.Store(true)
}

// leave reports why a stage has failed and ends it. It runs no function that other packages have registered for the exit.
func leave(err error) {
	if err != nil {
		tell(failure(err))
	}
	_, _, _ = unix.RawSyscall(unix.SYS_EXIT_GROUP, 1, 0, 0) //nolint:dogsled // it does not return
}

// tell writes a report. Nobody reads it if the program that called Run has gone.
func tell(r report) {
	line, err := json.Marshal(r)
	if err == nil {
		_, _ = unix.Write(reportFile, append(line, '\n'))
	}
}
