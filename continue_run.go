package braid

import (
	"github.com/braidrun/braid/event"
)

// takesOver notes at a run's beginning which failed run it continues. Where another run came between, the run
// fails: it has no input of its own.
func (d *driver) takesOver(b *event.RunStarted) {
	failed := d.row.Metadata[ContinuesLabel]
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
	d.broke(&event.Error{
		Op: "resume", Kind: event.ErrConflict, Message: "the run that was to be continued is not the conversation's newest, or did not fail",
		Hint: "begin a run with new input",
	})
}

// ContinuesLabel is the label of a run's row that names the ended run that it continues. [Agent.Resume] sets it.
// An engine sets it on a run without input, where [Conversation.Retryable] names that run.
const ContinuesLabel = "braid.continues"

// LetterID is the id of a message that joined an open run under a key (see [Key]): what [event.UserMessage]
// has as its Mail once the message is in the log.
func LetterID(key string) string { return "message-" + key }
