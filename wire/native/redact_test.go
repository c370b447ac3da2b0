package native_test

import (
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/wire/native"
	"github.com/braidrun/braid/wire/wiretest"
)

// An answer that a guardrail takes back while it streams: whoever knows snapshots shows what
// stands instead, from then on and at the end, also where the reader was too slow to
// see it taken back; and the result does not repeat it.
func TestAnAnswerThatIsTakenBackIsShownNoMore(t *testing.T) {
	t.Parallel()
	for _, instead := range []string{"[no]", "[blocked by the provider's guardrail, ask for something else]"} {
		for _, complete := range []bool{false, true} {
			for slow := range 4 { // 1 misses what is taken back, 2 that too and is given a snapshot, 3 is one that comes late
				s := newStory()
				s.begin("m1", 1)
				s.say("m1", 1, "take the ", "secret")
				s.live("m1", 1, &event.AnswerReplaced{Text: instead})
				enc := newEncoder()
				enc.Complete = complete
				var screen native.Screen
				show := func(frames []native.Frame) {
					for _, f := range frames {
						screen.Apply(f)
					}
				}
				for i := range s.events {
					last := i == len(s.events)-1
					if last && (slow == 1 || slow == 2) || slow == 3 && s.events[i].Live() {
						continue
					}
					show(enc.Frames(&s.events[i]))
				}
				if slow > 1 {
					for _, step := range inFlight(s.events, instead) {
						show(enc.SnapshotFrames(&step))
					}
				}
				if got := screen.Text("m1"); slow != 1 && got != instead {
					t.Errorf("complete %v, slow %d: %q is shown, want %q", complete, slow, got, instead)
				}
				before := len(s.events)
				s.answer("m1", 1, &event.Text{Text: instead + " Bye."})
				s.end(nil)
				told := ""
				for i := range s.events[before:] {
					frames := enc.Frames(&s.events[before+i])
					for _, f := range frames {
						told += string(native.AppendJSON(nil, f))
					}
					show(frames)
				}
				if got := screen.Text("m1"); got != instead+" Bye." || strings.Contains(told, "secret") {
					t.Errorf("complete %v, slow %d: at the end %q is shown:\n%s", complete, slow, got, told)
				}
			}
		}
	}
}

// A reader who was told that something is missing is told all again once it is taken back.
func TestWhatIsTakenBackIsWholeAgain(t *testing.T) {
	t.Parallel()
	s := newStory()
	s.begin("m1", 1)
	s.live("m1", 1, &event.AnswerReplaced{Text: "[no]"})
	s.say("m1", 1, " Bye.")
	enc := newEncoder()
	var screen native.Screen
	for i := range s.events {
		if s.events[i].Live() && s.n > 0 {
			s.n = 0
			for _, f := range enc.SnapshotFrames(&event.Snapshot{Header: s.header("m1", 1), Kind: event.StepModel, Truncated: true}) {
				screen.Apply(f)
			}
		}
		for _, f := range enc.Frames(&s.events[i]) {
			screen.Apply(f)
		}
	}
	if got := screen.Text("m1"); got != "[no] Bye." {
		t.Errorf("%q is shown", got)
	}
}

// inFlight is what a bus says of the step after it was taken back.
func inFlight(events []event.Event, instead string) []event.Snapshot {
	list := wiretest.InFlight(events, 1<<20)
	for i := range list {
		list[i].Blocks = []event.SnapshotBlock{{Kind: event.BlockText, Text: instead}}
	}
	return list
}

// A message that is redacted before its run ends is not repeated at its end.
func TestARedactedAnswerIsNoResult(t *testing.T) {
	t.Parallel()
	for _, failed := range []bool{false, true} {
		s := newStory()
		s.begin("m1", 1)
		s.answer("m1", 1, &event.Text{Text: "the secret"})
		s.durable("", 0, &event.Redacted{Target: s.seq})
		s.end(func(b *event.RunEnded) {
			if failed {
				b.Err = &event.Error{Kind: event.ErrLimit, Message: "enough"}
			}
		})
		enc := newEncoder()
		var last native.Frame
		for i := range s.events {
			for _, f := range enc.Frames(&s.events[i]) {
				if r, ok := f.(*native.Redacted); ok && (r.Target != 4 || r.Text != "[redacted]") {
					t.Errorf("it is told as %+v", r)
				}
				last = f
			}
		}
		if r, ok := last.(*native.Result); !ok || r.Result != "[redacted]" || r.IsError != failed {
			t.Errorf("the result is %+v", last)
		}
	}
}
