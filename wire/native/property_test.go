package native_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/event/eventtest"
	"github.com/braidrun/braid/internal/sse"
	"github.com/braidrun/braid/wire/native"
	"github.com/braidrun/braid/wire/wiretest"
)

// frame is a frame as a reader has it; id is empty where it has none of its own.
type frame struct {
	native.Frame
	id string
}

// readFrames reads as many frames as there are whole, up to the last with an id: a
// reader holds what comes before it.
func readFrames(stream []byte) (list []frame, held int, err error) {
	r := sse.NewReader(bytes.NewReader(stream), sse.Limits{})
	var all []frame
	n := 0
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all[:n], len(all) - n, nil
		}
		if err != nil {
			return nil, 0, err
		}
		f, err := native.Decode(e.Name, e.Data)
		if err != nil || f == nil {
			return nil, 0, fmt.Errorf("%s %s: %v", e.Name, e.Data, err)
		}
		if !e.Fresh {
			e.ID = ""
		}
		all = append(all, frame{f, e.ID})
		if e.Fresh {
			n = len(all)
		}
	}
}

// durable reports whether a frame comes from the log.
func durable(f native.Frame) bool {
	switch f.(type) {
	case *native.TextDelta, *native.Thinking, *native.Snapshot, *native.ToolProgress:
		return false
	default:
		return true
	}
}

func line(f native.Frame) string { return f.FrameName() + " " + string(native.AppendJSON(nil, f)) }

// truth is what every reader must come to: the durable frames, and the text of
// each run's steps, "" for those without a message.
func truth(events []event.Event) (frames []string, texts []map[string]string) {
	enc := newEncoder()
	pieces := map[string]string{}
	for i := range events {
		e := &events[i]
		if e.Live() {
			continue
		}
		for _, f := range enc.Frames(e) {
			frames = append(frames, line(f))
		}
		switch b := e.Body.(type) {
		case *event.RunStarted:
			texts = append(texts, map[string]string{})
		case *event.StepBegun:
			if b.Step == event.StepModel {
				texts[len(texts)-1][e.Step] = ""
			}
		case *event.AssistantMessage:
			pieces[e.Run+e.Step] += event.RawText(b.Content)
			if !b.Piece {
				texts[len(texts)-1][e.Step] = pieces[e.Run+e.Step]
			}
		}
	}
	return frames, texts
}

// attempts is all that was said in each attempt of each run's steps: by its
// message, or else by its deltas.
func attempts(events []event.Event) map[string]string {
	said := map[string]string{}
	whole := map[string]bool{}
	pieces := map[string]string{}
	for i := range events {
		e := &events[i]
		key := attempt(e.Run, e.Step, e.Attempt)
		switch b := e.Body.(type) {
		case *event.TextDelta:
			if e.Audience == event.Everyone && !whole[key] {
				said[key] += b.Text
			}
		case *event.AssistantMessage:
			pieces[key] += event.RawText(b.Content)
			said[key] = pieces[key] + strings.TrimPrefix(said[key], pieces[key])
			whole[key] = !b.Piece
		}
	}
	return said
}

func attempt(run, step string, n int) string { return fmt.Sprint(run, " ", step, "#", n) }

// server serves a stream as the execution service does: what the log has, the
// steps in flight, and then what happens; where it was too slow, the log and the
// steps again.
type server struct {
	t      *rapid.T
	events []event.Event
	most   int
}

// serve gives a stream from a place, begun when now events had happened. ends is
// how many had happened when each part of it was sent.
func (s *server) serve(from native.Cursor, now int, complete bool) (stream []byte, ends []int) {
	enc := newEncoder()
	enc.Complete, enc.RequestID = complete, "req"
	part := func(b []byte, i int) {
		for range len(b) - len(stream) {
			ends = append(ends, i)
		}
		stream = b
	}
	for i := range s.events[:now] {
		if e := &s.events[i]; e.Live() {
			continue
		} else if e.Seq <= from.Seq {
			enc.Skip(e)
		} else {
			part(enc.Append(stream, e), now)
		}
	}
	part(s.sync(enc, stream, now), now)
	for i := now; i < len(s.events); {
		if rapid.IntRange(0, 9).Draw(s.t, "too slow") == 0 {
			to := rapid.IntRange(i, len(s.events)).Draw(s.t, "catches up at")
			for ; i < to; i++ {
				if !s.events[i].Live() {
					part(enc.Append(stream, &s.events[i]), to)
				}
			}
			part(s.sync(enc, stream, to), to)
			continue
		}
		part(enc.Append(stream, &s.events[i]), i+1)
		i++
	}
	return stream, ends
}

func (s *server) sync(enc *encoder, stream []byte, now int) []byte {
	for _, step := range wiretest.InFlight(s.events[:now], s.most) {
		stream = enc.AppendSnapshot(stream, &step)
	}
	return stream
}

// Whatever happens in a conversation, and wherever its stream is cut and taken up
// again: the reader comes to the same text for each step, and has each durable
// frame once, in order; each run ends with one terminal frame, its last; and what
// is for the operator stays with the operator.
func TestEveryCutConverges(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := &server{t: t, events: wiretest.Conversation().Draw(t, "conversation"), most: rapid.SampledFrom([]int{1 << 20, 10}).Draw(t, "most")}
		want, texts := truth(s.events)
		said := attempts(s.events)
		var screen native.Screen
		var got []string
		run := -1
		ended := true
		now := 0
		at := native.Cursor{}
		for last := false; !last; {
			now = rapid.IntRange(now, len(s.events)).Draw(t, "connects at")
			stream, ends := s.serve(at, now, rapid.Bool().Draw(t, "complete"))
			if bytes.Contains(stream, []byte(wiretest.Secret)) {
				t.Fatalf("a client was sent what is for the operator:\n%s", stream)
			}
			cut := len(stream)
			if last = rapid.IntRange(0, 3).Draw(t, "cut") == 0; !last {
				cut = rapid.IntRange(0, len(stream)).Draw(t, "cut at")
			}
			if cut > 0 {
				now = ends[cut-1]
			}
			list, held, err := readFrames(stream[:cut])
			if err != nil {
				t.Fatal(err)
			}
			if last && held > 0 {
				t.Fatalf("the stream ends with %d frames without an id", held)
			}
			for _, f := range list {
				if ended != isInit(f.Frame) {
					t.Fatalf("%s comes where the last run has ended: %v", line(f.Frame), ended)
				}
				if ended {
					run++
				}
				if durable(f.Frame) {
					if e, ok := f.Frame.(*native.Error); ok {
						if e.RequestID != "req" {
							t.Fatalf("the error has the request id %q", e.RequestID)
						}
						e.RequestID = ""
					}
					got = append(got, line(f.Frame))
				}
				screen.Apply(f.Frame)
				for _, a := range screen.Answers {
					whole := said[attempt("r"+fmt.Sprint(run+1), a.Step, a.Attempt)]
					if !a.Truncated && !strings.HasPrefix(whole, a.Text()) {
						t.Fatalf("step %s attempt %d shows %q, and says %q", a.Step, a.Attempt, a.Text(), whole)
					}
				}
				if ended = native.Terminal(f.Frame); ended {
					check(t, &screen, texts[run])
				}
				if f.id == "" {
					continue
				}
				next, err := native.ParseCursor(f.id)
				if err != nil || next.Seq < at.Seq {
					t.Fatalf("after %v comes %q (%v)", at, f.id, err)
				}
				at = next
			}
		}
		if !ended || run != len(texts)-1 {
			t.Fatalf("the stream stops in run %d of %d", run+1, len(texts))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("the reader has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

func isInit(f native.Frame) bool {
	_, ok := f.(*native.Init)
	return ok
}

func check(t *rapid.T, screen *native.Screen, texts map[string]string) {
	for step, want := range texts {
		if got := screen.Text(step); got != want {
			t.Fatalf("step %s shows %q, want %q", step, got, want)
		}
	}
	for _, a := range screen.Answers {
		if want, ok := texts[a.Step]; !ok || a.Void != (a.Message == nil) || !a.Void && a.Text() != want {
			t.Fatalf("the screen shows step %+v", a)
		}
	}
	for _, c := range screen.Calls {
		if c.Use == nil || c.Result == nil {
			t.Fatalf("the screen shows half a call: %+v", c)
		}
	}
	if len(screen.Questions) > 0 {
		t.Fatalf("after the end %d questions are open", len(screen.Questions))
	}
}

// A reader that knows only the seed's frames, and is not cut off, has every answer
// from its deltas alone, however slow it is.
func TestDeltasOfACompleteStreamAddUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := &server{t: t, events: wiretest.Conversation().Draw(t, "conversation"), most: rapid.SampledFrom([]int{1 << 20, 10}).Draw(t, "most")}
		_, texts := truth(s.events)
		stream, _ := s.serve(native.Cursor{}, rapid.IntRange(0, len(s.events)).Draw(t, "connects at"), true)
		list, _, err := readFrames(stream)
		if err != nil {
			t.Fatal(err)
		}
		run := -1
		var shown map[string]string
		for _, f := range list {
			switch f := f.Frame.(type) {
			case *native.Init:
				run++
				shown = map[string]string{}
			case *native.TextDelta:
				shown[fmt.Sprint(f.Step, "#", f.Attempt)] += f.Text
			case *native.Message:
				if got := shown[fmt.Sprint(f.Step, "#", f.Attempt)]; !f.Piece && got != texts[run][f.Step] {
					t.Fatalf("the deltas of step %s say %q, the answer %q", f.Step, got, texts[run][f.Step])
				}
			case *native.Snapshot:
				t.Fatal("a stream that is complete needs no snapshot")
			}
		}
	})
}

// Any events, sensible or not, give frames that can be read.
func TestAnyEventsGiveReadableFrames(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		enc := newEncoder()
		enc.Complete = rapid.Bool().Draw(t, "complete")
		var stream []byte
		frames := 0
		for range rapid.IntRange(0, 6).Draw(t, "events") {
			e := eventtest.Event().Draw(t, "event")
			if rapid.Bool().Draw(t, "sensible header") {
				e.Seq, e.Audience, e.Step, e.Scope = enc.Cursor().Seq+1, event.Everyone, "m1", ""
			}
			if enc.Cursor().Seq < 0 || e.Seq < 0 || e.Epoch < 0 || e.N < 0 {
				continue
			}
			before := len(stream)
			stream = enc.Append(stream, &e)
			if len(stream) > before && e.Audience != event.Everyone {
				t.Fatalf("an event for the operator gives %s", stream[before:])
			}
			frames += bytes.Count(stream[before:], []byte("\ndata: ")) + bytes.Count(stream[before:], []byte("\n\ndata: "))
		}
		list, held, err := readFrames(stream)
		if err != nil || held > 0 {
			t.Fatalf("%v, %d held\n%s", err, held, stream)
		}
		if len(list) != frames {
			t.Fatalf("%d frames were written and %d read\n%s", frames, len(list), stream)
		}
	})
}
