package main

import (
	"io"
	"os"
	"time"

	"github.com/braidrun/braid/event"
)

// system is what a command uses of the machine: its arguments, its standard streams, the environment,
// the clock and the user's folders. Tests replace each of them.
type system struct {
	args           []string
	stdin          io.Reader
	stdout, stderr io.Writer
	// getenv returns "" for a variable that is not set; environ lists "NAME=value".
	getenv  func(string) string
	environ func() []string
	now     func() time.Time
	// configDir is the user's folder for settings.
	configDir func() (string, error)
	// dataDir is the user's folder for conversations.
	dataDir func() (string, error)
}

// print writes text that the user asked for.
func (s *system) print(text string) error {
	_, err := io.WriteString(s.stdout, text)
	return outputError(err)
}

// newScreen looks at what w, one of the streams, can show.
func (s *system) newScreen(w any, colour string) screen { return newScreen(w, colour, s.getenv) }

// readInput reads a file, or standard input for "-".
func (p *system) readInput(flag, name string) ([]byte, error) {
	const most = 4 << 20
	from := p.stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, &event.Error{
				Kind: event.ErrNotFound, Message: flag + ": the file cannot be opened", Hint: "check its name, and who may read it", Err: err,
			}
		}
		defer f.Close()
		from = f
	}
	raw, err := io.ReadAll(io.LimitReader(from, most+1))
	if err != nil || len(raw) > most {
		return nil, &event.Error{Kind: event.ErrInvalid, Message: flag + ": the file cannot be read, or is longer than 4 MiB", Err: err}
	}
	return raw, nil
}
