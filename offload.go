package braid

import (
	"cmp"
	"context"

	"github.com/braidrun/braid/internal/drive"
	"github.com/braidrun/braid/internal/offload"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool"
)

// Offload shortens large tool results for the model. It sees the beginning and the end of the text, and reads or
// searches the rest with the tool read_result, which this part adds. The log, clients and hooks have the whole result.
// Images, and files that are no text, stay as they are. Whether a result is off-loaded is decided once, when it is
// written ([event.StepEnded].Shown).
func Offload(o Offloading) Part {
	return partFunc(func(a *Agent) error {
		if o.Over < 0 || o.Preview < 0 {
			return &event.Error{
				Op: "agent " + a.set.Name, Kind: event.ErrInvalid, Message: "a size below zero says nothing of what is off-loaded",
				Hint: "leave it 0 for the default",
			}
		}
		made := &drive.Offloading{Sizes: offload.Sizes{Over: cmp.Or(o.Over, defaultOver), Preview: cmp.Or(o.Preview, defaultPreview)}}
		if a.set.Offload != nil {
			made.Reader, a.set.Offload = a.set.Offload.Reader, made
			return nil
		}
		most := max(made.Over, 1000)
		reader := Func(offload.ToolName, "Reads a part of a tool's result that was too long to be shown whole. "+
			"With find it lists where a text occurs in it, with what stands around it.",
			func(ctx context.Context, in offload.Args) (string, error) { return drive.ReadResult(ctx, in, most) }, tool.Pure())
		made.Reader, a.set.Offload = reader, made
		return reader.attach(a)
	})
}

// Offloading says which results are off-loaded. The zero value has useful defaults.
type Offloading struct {
	// Over is the size in bytes above which a result is off-loaded; 0 means 10,000, about 2,500 tokens (Strands'
	// figure).
	Over int
	// Preview is how many bytes of it the model sees, measured as JSON; 0 means 3,000.
	Preview int
}

const (
	defaultOver    = 10_000
	defaultPreview = 3_000
)
