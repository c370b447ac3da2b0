package sqlite_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/race"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/sqlite"
)

// talk writes a conversation run by run.
type talk struct {
	t   testing.TB
	s   *sqlite.Store
	id  string
	n   int
	seq int64
}

// run writes a run in a session, with bodies after its first event, and returns the Seq of the first. If open is
// set, the run does not end.
func (w *talk) run(session int, open bool, bodies ...event.Body) int64 {
	w.t.Helper()
	w.n++
	run := fmt.Sprint(w.id, " run ", w.n)
	l := take(w.t, w.s, w.id, run)
	first := w.seq + 1
	all := append([]event.Body{&event.RunStarted{Session: session, Turn: w.n}}, bodies...)
	if !open {
		all = append(all, &event.RunEnded{Status: event.RunCompleted})
	}
	for i, body := range all {
		w.seq++
		e := &event.Event{Header: event.Header{Seq: w.seq, Conversation: w.id, Run: run}, Body: body}
		if c, ok := body.(*event.Compacted); ok && c.Trigger == "scope" {
			e.Scope = "child"
		}
		b := journal.Batch{Events: []*event.Event{e}}
		if !open && i == len(all)-1 {
			b.Status = event.RunCompleted
		}
		if err := w.s.Commit(w.t.Context(), l, b); err != nil {
			w.t.Fatal(err)
		}
	}
	return first
}

func (w *talk) tail() journal.Tail {
	w.t.Helper()
	tail, err := w.s.Tail(w.t.Context(), w.id)
	if err != nil {
		w.t.Fatal(err)
	}
	if n := len(tail.Events); n > 0 && (tail.Events[0].Seq != tail.First || tail.Events[n-1].Seq != tail.Last) ||
		int64(n) != tail.Last-tail.First+1 {
		w.t.Fatalf("the tail is said to be from %d to %d and has %d events", tail.First, tail.Last, n)
	}
	return tail
}

func (w *talk) begins(first int64, session int) {
	w.t.Helper()
	if tail := w.tail(); tail.First != first || tail.Session != session || tail.Last != w.seq {
		w.t.Errorf("the tail is from %d to %d in session %d, want from %d to %d in %d",
			tail.First, tail.Last, tail.Session, first, w.seq, session)
	}
}

func TestTail(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), sqlite.Options{})
	note := &event.Notice{Code: "n"}
	covers := func(from, to int64) event.Body { return &event.Compacted{From: from, To: to} }
	for name, play := range map[string]func(w *talk){
		"nothing": func(w *talk) { w.begins(1, 1) },
		"no compaction": func(w *talk) {
			w.run(1, false, note)
			w.begins(1, 1)
			w.run(1, false, note)
			w.begins(1, 1)
		},
		"a session begins": func(w *talk) {
			w.run(1, false, note)
			second := w.run(2, false, note)
			w.begins(second, 2)
			w.run(2, false, note)
			w.begins(second, 2)
			w.begins(w.run(3, true), 3)
		},
		"all before the run is compacted": func(w *talk) {
			w.run(1, false, note)
			w.run(1, false, note)
			third := w.run(1, true, covers(1, w.seq))
			w.begins(third, 1)
		},
		"a part of the run is compacted": func(w *talk) {
			w.run(1, false, note)
			second := w.run(1, true, note, note, covers(1, w.seq+2))
			w.begins(second, 1)
		},
		"the last turns are kept": func(w *talk) {
			w.run(1, false, note)
			kept := w.run(1, false, note)
			w.run(1, false, note, covers(1, kept-1))
			w.begins(kept, 1)
		},
		"the compaction does not begin at the beginning": func(w *talk) {
			w.run(1, false, note, note)
			w.run(1, false, covers(3, w.seq))
			w.begins(1, 1)
			third := w.run(1, false, covers(2, w.seq)) // only the begin of a run is left out
			w.begins(third, 1)
		},
		"a later compaction reaches further": func(w *talk) {
			w.run(1, false, note)
			w.run(1, false, covers(1, w.seq))
			third := w.run(1, false, covers(1, w.seq))
			w.run(1, false, note)
			w.begins(third, 1)
		},
		"a later compaction reaches less far": func(w *talk) {
			w.run(1, false, note)
			second := w.run(1, false, covers(1, w.seq))
			w.run(1, false, covers(1, 1))
			w.begins(second, 1)
		},
		"of an earlier session": func(w *talk) {
			w.run(1, false, note)
			w.run(1, false, covers(1, w.seq))
			third := w.run(2, false, note)
			w.begins(third, 2)
			fourth := w.run(2, false, covers(third, w.seq))
			w.begins(fourth, 2)
		},
		"a run says twice that it begins": func(w *talk) {
			w.run(1, false, note)
			second := w.run(1, true, note, &event.RunStarted{Session: 1}, covers(1, w.seq+3))
			w.begins(second, 1)
		},
		"of another scope": func(w *talk) {
			w.run(1, false, note)
			w.run(1, false, &event.Compacted{From: 1, To: w.seq, Trigger: "scope"})
			w.begins(1, 1)
		},
	} {
		play(&talk{t: t, s: s, id: name})
	}
	_, err := s.Tail(t.Context(), "")
	wantKind(t, "Tail of no conversation", err, event.ErrInvalid)
}

// The tail of a conversation has its whole state.
func TestTailState(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := open(t, folder, sqlite.Options{Relaxed: true})
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		w := &talk{t: t, s: s, id: fmt.Sprint("talk ", n)}
		session := 1
		for range rapid.IntRange(1, 8).Draw(r, "runs") {
			var bodies []event.Body
			for range rapid.IntRange(0, 3).Draw(r, "changes") {
				key := rapid.SampledFrom([]string{"a", "b", "c", "app:a", "user:b"}).Draw(r, "key")
				if rapid.IntRange(0, 3).Draw(r, "delete") == 0 {
					bodies = append(bodies, &event.StateChanged{Delete: []string{key}})
					continue
				}
				value := json.RawMessage(fmt.Sprint(rapid.IntRange(0, 99).Draw(r, "value")))
				bodies = append(bodies, &event.StateChanged{Set: map[string]json.RawMessage{key: value}})
			}
			if w.seq > 0 && rapid.IntRange(0, 2).Draw(r, "compact") == 0 {
				bodies = append(bodies, &event.Compacted{From: 1, To: w.seq})
			}
			if rapid.IntRange(0, 4).Draw(r, "new session") == 0 {
				session++
			}
			w.run(session, false, bodies...)
		}
		whole, err := s.Read(t.Context(), w.id, 0, 0)
		if err != nil {
			r.Fatal(err)
		}
		want := folded(nil, whole)
		tail := w.tail()
		if tail.First == 1 && tail.State != nil {
			r.Fatal("the whole log comes with a state")
		}
		if diff := cmp.Diff(want, folded(tail.State, tail.Events), cmpopts.EquateEmpty()); diff != "" {
			r.Fatalf("state (-whole log +tail from %d):\n%s", tail.First, diff)
		}
	})
}

// folded returns the conversation's own state after events.
func folded(state map[string]json.RawMessage, events []*event.Event) map[string]json.RawMessage {
	own := map[string]json.RawMessage{}
	maps.Copy(own, state)
	for _, e := range events {
		c, ok := e.Body.(*event.StateChanged)
		if !ok {
			continue
		}
		maps.Copy(own, c.Set)
		for _, k := range c.Delete {
			delete(own, k)
		}
	}
	for k := range own {
		if len(k) > 1 {
			delete(own, k) // "app:" and "user:" values are not the conversation's
		}
	}
	return own
}

// A conversation of 10,000 events, or of 1,000 under the race detector: its tail is short and complete.
func TestLong(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), sqlite.Options{Relaxed: true})
	events := 10_000
	if race.On {
		events = 1000 // make test-long writes them all
	}
	seq := history(t, s, "talk", events)
	seq = compacted(t, s, "talk", seq)
	seq = newTurn("talk", "after").play(t, s, seq)
	tail, err := s.Tail(t.Context(), "talk")
	if err != nil || tail.First != int64(events)+1 || tail.Last != seq || len(tail.Events) != 11 {
		t.Errorf("the tail is from %d to %d with %d events: %v", tail.First, tail.Last, len(tail.Events), err)
	}
	if _, err := s.Admit(t.Context(), journal.Run{ID: "last", Conversation: "talk"}); err != nil {
		t.Fatal(err)
	}
	o, err := s.Acquire(t.Context(), "last", tail.Last)
	if err != nil || o.Events != nil || o.Last != seq {
		t.Errorf("behind the tail there are %d events: %v", len(o.Events), err)
	}
	all, err := s.Read(t.Context(), "talk", 0, 0)
	if err != nil || int64(len(all)) != seq {
		t.Fatalf("%d events: %v", len(all), err)
	}
	if diff := cmp.Diff(all[events:], tail.Events); diff != "" {
		t.Errorf("the tail (-log +tail):\n%s", diff)
	}
}
