package conf

import (
	"io"
	"os"
	"time"

	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
)

// System is what a command uses of the machine: its arguments, its standard streams, the environment,
// the clock and the user's folders. Tests replace each of them.
type System struct {
	Args           []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Getenv returns "" for a variable that is not set; environ lists "NAME=value".
	Getenv  func(string) string
	Environ func() []string
	Now     func() time.Time
	// ConfigDir is the user's folder for settings.
	ConfigDir func() (string, error)
	// DataDir is the user's folder for conversations.
	DataDir func() (string, error)
}

// Print writes text that the user asked for.
func (s *System) Print(text string) error {
	_, err := io.WriteString(s.Stdout, text)
	return term.OutputError(err)
}

// NewScreen looks at what w, one of the streams, can show.
func (s *System) NewScreen(w any, colour string) term.Screen {
	return term.NewScreen(w, colour, s.Getenv)
}

// ReadInput reads a file, or standard input for "-".
func (p *System) ReadInput(flag, name string) ([]byte, error) {
	const most = 4 << 20
	from := p.Stdin
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
