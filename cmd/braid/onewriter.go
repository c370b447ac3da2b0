package main

import (
	"errors"
	"os"
	"time"

	"github.com/braidrun/braid/event"
)

// errTaken is the error of takeFile if another process has the file.
var errTaken = errors.New("another process has the file")

// oneWriter runs f while no other process runs its own f for the same file. The operating system releases
// the file of a process that ends, so a crash leaves no lock behind.
func oneWriter(path string, f func() error) error {
	const patience, pause = 10 * time.Second, 5 * time.Millisecond
	for until := time.Now().Add(patience); ; {
		file, err := takeFile(path)
		switch {
		case err == nil:
			return errors.Join(f(), leaveFile(file), file.Close())
		case !errors.Is(err, errTaken):
			return err
		case time.Now().After(until):
			return &event.Error{
				Kind: event.ErrLocked, Message: "another process is changing the same file in the data folder", Hint: "try again",
				Err: os.ErrDeadlineExceeded,
			}
		}
		time.Sleep(pause)
	}
}
