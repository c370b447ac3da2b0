package workspace

import (
	"iter"

	"github.com/braidrun/braid/event"
)

// RunChanges returns what a run did to the files of its workspace, in the order of the paths and at most
// [event.MaxFileChanges], and how many changes the list lacks. A run that is still open has none. events are those of the
// run's conversation:
//
//	changes, more, err := workspace.RunChanges(result.Run, result.Conversation.Events(ctx, 0))
//
// It lists what tools report, such as those of package tool/filetool. What a user uploads meanwhile is not in it.
func RunChanges(run string, events iter.Seq2[*event.Event, error]) (changes []Change, more int, err error) {
	for e, err := range events {
		if err != nil {
			return nil, 0, err
		}
		if b, ok := e.Body.(*event.RunEnded); ok && e.Run == run {
			return b.Files, b.MoreFiles, nil
		}
	}
	return nil, 0, nil
}
