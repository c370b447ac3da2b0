package conf

import (
	"io"
	"os"
	"time"

	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
)

// System gives a command access to the machine: arguments, standard streams, environment, clock and the
// user's folders. Tests replace each of them.
type System struct {
	Args           []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Getenv returns "" for a variable that is not set.
	Getenv func(string) string
	// Environ lists the environment as "NAME=value".
	Environ func() []string
	// Now is the clock.
	Now func() time.Time
	// ConfigDir returns the user's folder for settings.
	ConfigDir func() (string, error)
	// DataDir returns the user's folder for data.
	DataDir func() (string, error)
}

// Print writes to standard output.
func (sys *System) Print(text string) error {
	_, err := io.WriteString(sys.Stdout, text)
	return term.OutputError(err)
}

// NewScreen describes w, which is one of the standard streams. colour is the value of --color.
func (sys *System) NewScreen(w any, colour string) term.Screen {
	return term.NewScreen(w, colour, sys.Getenv)
}

// ReadInput reads a file of at most 4 MiB, or standard input for "-". Errors name the flag.
func (sys *System) ReadInput(flag, name string) ([]byte, error) {
	const most = 4 << 20
	from := sys.Stdin
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
