package livetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/live"
)

// Screen shows what a watcher received, as a client would, and checks it. The zero value is an
// empty screen.
type Screen struct {
	// Seq is the last durable event that was shown or covered by a Sync.
	Seq int64
	// Shown are the durable events that were shown.
	Shown []int64
	// Gaps are the ranges that a Sync covered, first and last Seq.
	Gaps [][2]int64
	// Steps are the steps in flight, in the order in which they began.
	Steps []live.Snapshot
	// Syncs counts the syncs.
	Syncs int
	// Following is for items of a [live.Follower]: every event after Seq must be shown, and no Sync
	// need come first.
	Following bool
	// Lossy allows missing live events at the end of a step: what is shown may be the beginning of
	// the message.
	Lossy bool

	epoch, n int64
	begun    bool
}

// Show adds an item. The error names a broken promise.
func (s *Screen) Show(item live.Item) error {
	switch {
	case item.Sync != nil && item.Event != nil:
		return errors.New("an item is both an event and a sync")
	case item.Sync != nil:
		return s.sync(item.Sync)
	case item.Event == nil:
		return errors.New("an item is nothing")
	case !s.begun && !s.Following:
		return fmt.Errorf("the first item is %s, want a sync", item.Event.ID())
	case item.Event.Live():
		return s.live(item.Event)
	default:
		return s.durable(item.Event)
	}
}

// Text returns the text of all blocks of a step, joined. found reports whether the step is in
// flight.
func (s *Screen) Text(run, step string) (text string, found bool) {
	i := s.step(run, step)
	if i < 0 {
		return "", false
	}
	var all strings.Builder
	for _, b := range s.Steps[i].Blocks {
		all.WriteString(b.Text)
	}
	return all.String(), true
}

func (s *Screen) step(run, step string) int {
	return slices.IndexFunc(s.Steps, func(o live.Snapshot) bool { return o.Run == run && o.Step == step })
}

func (s *Screen) sync(y *live.Sync) error {
	if y.Last < s.Seq {
		return fmt.Errorf("a sync goes back from %d to %d", s.Seq, y.Last)
	}
	if s.Following && y.Last != s.Seq {
		return fmt.Errorf("a sync at %d comes after event %d", y.Last, s.Seq)
	}
	if s.begun && y.Last > s.Seq {
		s.Gaps = append(s.Gaps, [2]int64{s.Seq + 1, y.Last})
	}
	s.begun, s.Seq = true, y.Last
	s.Syncs++
	s.Steps = nil
	for _, step := range y.Steps {
		if step.Seq > y.Last && y.Last > 0 {
			return fmt.Errorf("step %s begins at %d, after the sync's %d", step.Step, step.Seq, y.Last)
		}
		if step.Epoch > 0 && (step.Epoch < s.epoch || step.Epoch == s.epoch && step.N < s.n) {
			return fmt.Errorf("a snapshot goes back from %d.%d to %d.%d", s.epoch, s.n, step.Epoch, step.N)
		}
		step.Blocks = slices.Clone(step.Blocks)
		s.Steps = append(s.Steps, step)
	}
	for _, step := range y.Steps {
		if step.Epoch > s.epoch || step.Epoch == s.epoch && step.N > s.n {
			s.epoch, s.n = step.Epoch, step.N
		}
	}
	return nil
}

func (s *Screen) durable(e *event.Event) error {
	if e.Seq <= s.Seq || (s.Seq > 0 || s.Following) && e.Seq != s.Seq+1 {
		return fmt.Errorf("durable event %d (%s) comes after %d", e.Seq, e.Body.Kind(), s.Seq)
	}
	s.Seq = e.Seq
	s.Shown = append(s.Shown, e.Seq)
	i := s.step(e.Run, e.Step)
	switch b := e.Body.(type) {
	case *event.StepBegun:
		s.drop(e)
		s.Steps = append(s.Steps, live.Snapshot{Header: e.Header, Kind: b.Step, Call: b.Call, Tool: b.Tool})
	case *event.AssistantMessage:
		if i >= 0 && !s.Steps[i].Truncated && s.Steps[i].Attempt == e.Attempt {
			if err := s.compare(&s.Steps[i], b); err != nil {
				return err
			}
		}
		s.drop(e)
	case *event.StepEnded, *event.Asked:
		s.drop(e)
	case *event.RunEnded:
		s.Steps = slices.DeleteFunc(s.Steps, func(o live.Snapshot) bool { return o.Run == e.Run })
	}
	return nil
}

// compare compares the shown part of an answer with all of it.
func (s *Screen) compare(step *live.Snapshot, b *event.AssistantMessage) error {
	var got, want strings.Builder
	for _, block := range b.Content {
		if text, ok := block.(*event.Text); ok {
			want.WriteString(text.Text)
		}
	}
	for _, block := range step.Blocks {
		if block.Kind == event.BlockText {
			got.WriteString(block.Text)
		}
	}
	if got.String() == want.String() || s.Lossy && strings.HasPrefix(want.String(), got.String()) {
		return nil
	}
	return fmt.Errorf("step %s attempt %d: the screen shows %q, the message says %q", step.Step, step.Attempt, &got, &want)
}

func (s *Screen) drop(e *event.Event) {
	if i := s.step(e.Run, e.Step); i >= 0 {
		s.Steps = slices.Delete(s.Steps, i, i+1)
	}
}

func (s *Screen) live(e *event.Event) error {
	i := s.step(e.Run, e.Step)
	if i < 0 || s.Steps[i].Attempt != e.Attempt {
		return fmt.Errorf("%s is of step %s attempt %d, which is not in flight", e.ID(), e.Step, e.Attempt)
	}
	switch {
	case e.Epoch < s.epoch:
		return fmt.Errorf("%s is of an older epoch than %d", e.ID(), s.epoch)
	case e.Epoch == s.epoch && e.N <= s.n:
		return fmt.Errorf("%s is covered by %d.%d", e.ID(), s.epoch, s.n)
	}
	s.epoch, s.n = e.Epoch, e.N
	step := &s.Steps[i]
	if b, ok := e.Body.(*event.AnswerReplaced); ok {
		step.Blocks, step.Truncated = nil, false
		grow(step, live.Block{Block: b.Block, Kind: event.BlockText, Text: b.Text})
		return nil
	}
	if step.Truncated {
		return nil // it does not follow
	}
	switch b := e.Body.(type) {
	case *event.TextDelta:
		grow(step, live.Block{Block: b.Block, Kind: event.BlockText, Text: b.Text})
	case *event.ThinkingDelta:
		grow(step, live.Block{Block: b.Block, Kind: event.BlockThinking, Text: b.Text})
	case *event.ToolInputDelta:
		grow(step, live.Block{Block: b.Block, Kind: event.BlockToolCall, Call: b.Call, Tool: b.Tool, Text: b.JSON})
	case *event.ToolProgress:
		step.Progress = b
	}
	return nil
}

func grow(step *live.Snapshot, b live.Block) {
	for i := range step.Blocks {
		if o := &step.Blocks[i]; o.Block == b.Block && o.Kind == b.Kind {
			o.Text += b.Text
			return
		}
	}
	step.Blocks = append(step.Blocks, b)
	slices.SortStableFunc(step.Blocks, func(a, b live.Block) int { return a.Block - b.Block })
}
