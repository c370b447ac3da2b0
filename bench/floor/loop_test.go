package floor

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script answers the n-th call of a run with the n-th list of chunks.
type script struct {
	answers [][]Chunk
	seen    [][]*Message
	fail    error
}

func (s *script) Stream(_ context.Context, req *Request) iter.Seq2[Chunk, error] {
	s.seen = append(s.seen, req.Messages)
	return func(yield func(Chunk, error) bool) {
		if s.fail != nil {
			yield(Chunk{}, s.fail)
			return
		}
		for _, c := range s.answers[req.Cycle-1] {
			if !yield(c, nil) {
				return
			}
		}
	}
}

func callAll(n int) []Chunk {
	var out []Chunk
	for i := range n {
		out = append(out,
			Chunk{Kind: ChunkCall, Index: i, ID: "c" + strconv.Itoa(i), Text: "echo"},
			Chunk{Kind: ChunkInput, Index: i, Text: `{"n":`},
			Chunk{Kind: ChunkInput, Index: i, Text: strconv.Itoa(i) + "}"})
	}
	return append(out, Chunk{Kind: ChunkUsage, Usage: &Usage{Input: 1, Output: 2}},
		Chunk{Kind: ChunkStop, Stop: "tool_use"})
}

func say(pieces ...string) []Chunk {
	var out []Chunk
	for _, p := range pieces {
		out = append(out, Chunk{Kind: ChunkText, Text: p})
	}
	return append(out, Chunk{Kind: ChunkStop, Stop: "end_turn"})
}

// echo gives its arguments back; the earlier the call, the longer it takes.
func echo(total int) *Tool {
	return &Tool{
		Spec: Spec{Name: "echo"},
		Call: func(_ context.Context, args []byte) (string, error) {
			n, err := strconv.Atoi(string(args[len(`{"n":`) : len(args)-1]))
			if err != nil {
				return "", err
			}
			time.Sleep(time.Duration(total-n) * time.Millisecond)
			return string(args), nil
		},
	}
}

func collect(t *testing.T, events iter.Seq2[*Event, error]) []*Event {
	t.Helper()
	var out []*Event
	for e, err := range events {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

func TestResultsStandInTheOrderOfTheCalls(t *testing.T) {
	t.Parallel()
	const n = 8
	s := NewSession("s")
	var events []*Event
	synctest.Test(t, func(t *testing.T) {
		m := &script{answers: [][]Chunk{callAll(n), say("do", "ne")}}
		events = collect(t, New("a", m, echo(n)).Stream(t.Context(), s, "go"))
	})

	var kinds []Kind
	for _, e := range events {
		if len(kinds) == 0 || kinds[len(kinds)-1] != e.Kind {
			kinds = append(kinds, e.Kind)
		}
	}
	want := []Kind{UserSaid, InputDelta, ModelSaid, ToolsDone, TextDelta, ModelSaid}
	if !slices.Equal(kinds, want) {
		t.Fatalf("events of kinds %v, want %v", kinds, want)
	}
	results := s.Events()[2].Message.Results
	if len(results) != n {
		t.Fatalf("%d results, want %d", len(results), n)
	}
	for i, r := range results {
		if r.Call != "c"+strconv.Itoa(i) || r.Text != `{"n":`+strconv.Itoa(i)+`}` || r.IsError {
			t.Errorf("result %d is %+v", i, r)
		}
	}
	if last := events[len(events)-1].Message; last.Text != "done" || last.Stop != "end_turn" {
		t.Errorf("last message %+v", last)
	}
}

func TestEventsAreNumberedAndKept(t *testing.T) {
	t.Parallel()
	m := &script{answers: [][]Chunk{say("a", "b", "c")}}
	s := NewSession("s")
	events := collect(t, New("a", m).Stream(t.Context(), s, "go"))
	for i, want := range []struct{ seq, n int64 }{{1, 0}, {0, 1}, {0, 2}, {0, 3}, {2, 0}} {
		e := events[i]
		if e.Seq != want.seq || e.N != want.n || e.Time.IsZero() || e.Run != "s/1" || e.Session != "s" {
			t.Errorf("event %d is %+v", i, e)
		}
	}
	if len(s.Events()) != 2 {
		t.Errorf("%d events kept, want the 2 finished ones", len(s.Events()))
	}
}

func TestTheNextTurnSeesTheHistoryWithoutACopy(t *testing.T) {
	t.Parallel()
	m := &script{answers: [][]Chunk{say("hi")}}
	a, s := New("a", m), NewSession("s")
	for range 3 {
		collect(t, a.Stream(t.Context(), s, "go"))
	}
	if got := len(m.seen[2]); got != 5 {
		t.Fatalf("the third turn saw %d messages, want 5", got)
	}
	if &m.seen[2][0] != &s.messages[0] {
		t.Error("the model was given a copy")
	}
	loaded := Load("s", s.Events())
	collect(t, a.Stream(t.Context(), loaded, "go"))
	if got := len(m.seen[3]); got != 7 {
		t.Errorf("the loaded session showed %d messages, want 7", got)
	}
	collect(t, a.Stream(t.Context(), s, "go"))
	if s.Events()[6].Run != "s/4" || loaded.Events()[6].Run != "s/1" {
		t.Error("the stored session and the loaded one write over each other")
	}
}

func TestValuesSayTheSame(t *testing.T) {
	t.Parallel()
	m := &script{answers: [][]Chunk{say("a", "b", "c")}}
	a := New("a", m)
	want := collect(t, a.Stream(t.Context(), NewSession("s"), "go"))
	var got []Event
	for e, err := range a.Values(t.Context(), NewSession("s"), "go") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e)
	}
	if len(got) != len(want) {
		t.Fatalf("%d events, want %d", len(got), len(want))
	}
	for i := range got {
		g, w := got[i], *want[i]
		if (g.Message == nil) != (w.Message == nil) || g.Message != nil && g.Message.Text != w.Message.Text {
			t.Errorf("event %d says %+v, want %+v", i, g.Message, w.Message)
		}
		g.Time, w.Time, g.Message, w.Message = time.Time{}, time.Time{}, nil, nil
		if g != w {
			t.Errorf("event %d is %+v, want %+v", i, g, w)
		}
	}
}

func TestBadEnds(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		m    *script
		want error
	}{
		"cut":       {t.Context(), &script{answers: [][]Chunk{{{Kind: ChunkText, Text: "a"}}}}, errCut},
		"failed":    {t.Context(), &script{fail: broken}, broken},
		"cancelled": {cancelled, &script{answers: [][]Chunk{say("a")}}, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var last error
			for _, err := range New("a", c.m).Stream(c.ctx, NewSession("s"), "go") {
				last = err
			}
			if !errors.Is(last, c.want) {
				t.Errorf("ended with %v, want %v", last, c.want)
			}
		})
	}
}

func TestAnUnknownToolIsAResult(t *testing.T) {
	t.Parallel()
	m := &script{answers: [][]Chunk{callAll(1), say("done")}}
	s := NewSession("s")
	collect(t, New("a", m).Stream(t.Context(), s, "go"))
	if r := s.Events()[2].Message.Results; len(r) != 1 || !r[0].IsError {
		t.Errorf("results %+v, want one error", r)
	}
}

func TestBreakingOutStops(t *testing.T) {
	t.Parallel()
	m := &script{answers: [][]Chunk{say("a", "b", "c")}}
	s := NewSession("s")
	seen := 0
	for _, err := range New("a", m).Stream(t.Context(), s, "go") {
		if err != nil {
			t.Fatal(err)
		}
		if seen++; seen == 3 {
			break
		}
	}
	if seen != 3 || len(s.Events()) != 1 {
		t.Errorf("saw %d events and kept %d, want 3 and 1", seen, len(s.Events()))
	}
}
