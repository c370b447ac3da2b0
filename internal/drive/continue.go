package drive

import (
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// takesOver notes at a run's beginning which failed run it continues. Where another run came between, the run
// fails: it has no input of its own.
func (d *driver) takesOver(b *event.RunStarted) {
	failed := d.row.Metadata[journal.ContinuesLabel]
	if failed == "" || len(d.row.Input) > 0 {
		return
	}
	if v := d.view; v.Run != nil && v.Run.ID == failed && !d.row.NewSession {
		switch {
		case v.Continuable():
			b.Continues, b.From = failed, v.Run.First
			return
		case v.Limited():
			return
		}
	}
	d.failWith(&event.Error{
		Op: "resume", Kind: event.ErrConflict, Message: "the run that was to be continued is not the conversation's newest, or did not fail",
		Hint: "begin a run with new input",
	})
}
