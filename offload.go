package braid

import (
	"cmp"
	"context"

	"github.com/braidrun/braid/internal/drive"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool"
)

// Offload keeps large results of tools out of what the model is shown: it sees the beginning and
// the end of the text, and reads or searches the rest with the tool read_result, which the
// agent gets with this part. The log, clients and hooks have the whole result. Pictures, and files
// that are no text, stay as they are. Whether a result is off-loaded is decided once, when it is
// written ([event.StepEnded].Shown).
func Offload(o Offloading) Part {
	return partFunc(func(a *Agent) error {
		if o.Over < 0 || o.Preview < 0 {
			return &event.Error{
				Op: "agent " + a.set.Name, Kind: event.ErrInvalid, Message: "a size below zero says nothing of what is off-loaded",
				Hint: "leave it 0 for the default",
			}
		}
		made := &drive.Offloading{Over: cmp.Or(o.Over, defaultOver), Preview: cmp.Or(o.Preview, defaultPreview)}
		if a.set.Offload != nil {
			made.Reader, a.set.Offload = a.set.Offload.Reader, made
			return nil
		}
		most := max(made.Over, 1000)
		reader := Func("read_result", "Reads a part of a tool's result that was too long to be shown whole. "+
			"With find it lists where a text occurs in it, with what stands around it.",
			func(ctx context.Context, in drive.ReadArgs) (string, error) { return drive.ReadResult(ctx, in, most) }, tool.Pure())
		made.Reader, a.set.Offload = reader, made
		return reader.attach(a)
	})
}

// Offloading says which results are off-loaded. Its zero value is a good start.
type Offloading struct {
	// Over is the size in bytes from which on a result is off-loaded; 0 means 10,000, which are
	// about 2,500 tokens (Strands' figure).
	Over int
	// Preview is how much of it the model sees, in bytes as JSON has them; 0 means 3,000.
	Preview int
}

const (
	defaultOver    = 10_000
	defaultPreview = 3_000
)
