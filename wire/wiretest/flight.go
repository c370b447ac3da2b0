package wiretest

import (
	"slices"

	"github.com/braidrun/braid/event"
)

// InFlight says what a bus would say of the steps that are in flight after these
// events, if it kept no more than most bytes of the text of each.
func InFlight(events []event.Event, most int) []event.Snapshot {
	var steps []flight
	at := func(e *event.Event) int {
		return slices.IndexFunc(steps, func(f flight) bool { return f.Run == e.Run && f.Step == e.Step })
	}
	for i := range events {
		e := &events[i]
		here := at(e)
		if e.Live() {
			if here >= 0 && steps[here].Attempt == e.Attempt && e.Audience == event.Everyone {
				steps[here].say(e, most)
			}
			continue
		}
		switch b := e.Body.(type) {
		case *event.StepBegun:
			if here >= 0 {
				steps = slices.Delete(steps, here, here+1)
			}
			steps = append(steps, flight{Snapshot: event.Snapshot{Header: e.Header, Kind: b.Step, Call: b.Call, Tool: b.Tool}})
		case *event.AssistantMessage:
			switch {
			case here < 0:
			case b.Piece:
				steps[here].commit(len(b.Content))
			default:
				steps = slices.Delete(steps, here, here+1)
			}
		case *event.StepEnded, *event.Asked:
			if here >= 0 {
				steps = slices.Delete(steps, here, here+1)
			}
		case *event.RunEnded:
			steps = nil
		}
	}
	snapshots := make([]event.Snapshot, len(steps))
	for i := range steps {
		snapshots[i] = steps[i].Snapshot
	}
	return snapshots
}

type flight struct {
	event.Snapshot
	committed, size int
}

func (f *flight) say(e *event.Event, most int) {
	f.Epoch, f.N = e.Epoch, e.N
	switch b := e.Body.(type) {
	case *event.TextDelta:
		f.grow(event.SnapshotBlock{Block: b.Block, Kind: event.BlockText, Text: b.Text}, most)
	case *event.ThinkingDelta:
		f.grow(event.SnapshotBlock{Block: b.Block, Kind: event.BlockThinking, Text: b.Text}, most)
	case *event.ToolProgress:
		f.Progress = b
	}
}

func (f *flight) grow(b event.SnapshotBlock, most int) {
	if f.Truncated || f.size+len(b.Text) > most {
		f.Truncated = true
		return
	}
	f.size += len(b.Text)
	for i := range f.Blocks {
		if o := &f.Blocks[i]; o.Block == b.Block && o.Kind == b.Kind {
			o.Text += b.Text
			return
		}
	}
	f.Blocks = append(f.Blocks, b)
}

// commit drops what an answer in pieces has committed.
func (f *flight) commit(blocks int) {
	f.committed += blocks
	f.Blocks = slices.DeleteFunc(f.Blocks, func(b event.SnapshotBlock) bool { return b.Block < f.committed })
}
