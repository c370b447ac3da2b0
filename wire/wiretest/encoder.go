package wiretest

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/wire"
)

// Wire tests that the encoders of a wire keep the promises of [wire.Encoder].
func Wire(t *testing.T, w wire.Wire) {
	t.Helper()
	if w.Name == "" || w.ContentType == "" {
		t.Errorf("the wire has no name, or no type of its stream: %q %q", w.Name, w.ContentType)
	}
	open := func(run string) *wire.Feed { return Feed(w.Open(wire.Start{Conversation: Name, Run: run}), run) }
	t.Run("events", rapid.MakeCheck(func(t *rapid.T) {
		events := Conversation().Draw(t, "events")
		run := events[rapid.IntRange(0, len(events)-1).Draw(t, "one of the run")].Run
		oneRun(t, open(run), open(run), run, events)
		allRuns(t, open(""), events)
	}))
	for name, kind := range map[string]event.ErrorKind{
		"the credential has ended":        event.ErrUnauthenticated,
		"the conversation was deleted":    event.ErrNotFound,
		"the database cannot be reached":  event.ErrUnavailable,
		"something went wrong inside":     event.ErrInternal,
		"an error that nobody thought of": "",
	} {
		t.Run(name, func(t *testing.T) { fails(t, open, kind) })
	}
}

// Feed gives events to an encoder of one run, or of all runs if run is empty.
func Feed(enc wire.Encoder, run string) *wire.Feed {
	f := &wire.Feed{Encoder: enc}
	f.Story.Run = run
	return f
}

// oneRun appends a conversation to an encoder of one run. fresh is another encoder of it.
func oneRun(t *rapid.T, enc, fresh *wire.Feed, run string, events []event.Event) {
	ended := false
	for i := range events {
		e := &events[i]
		got := enc.Append([]byte("before"), e)
		said, ok := bytes.CutPrefix(got, []byte("before"))
		switch {
		case !ok:
			t.Fatalf("the bytes of %T take the place of those before them: %q", e.Body, got)
		case e.Run != run && len(said) > 0:
			t.Fatalf("an encoder of %s shows %T of %s: %q", run, e.Body, e.Run, said)
		case bytes.Contains(said, []byte(Secret)):
			t.Fatalf("%T shows what no client may be sent: %q", e.Body, said)
		}
		if _, ok := e.Body.(*event.RunEnded); ok && e.Run == run {
			ended = true
		}
		if enc.Over != ended {
			t.Fatalf("after %T of %s an encoder of %s says that it is done: %t", e.Body, e.Run, run, enc.Over)
		}
		if !e.Live() {
			fresh.Skip(e)
		}
	}
	if !fresh.Over {
		t.Fatal("an encoder that skipped its run's end is not done")
	}
}

// allRuns appends a conversation to an encoder of all its runs.
func allRuns(t *rapid.T, enc *wire.Feed, events []event.Event) {
	shown := 0
	for i := range events {
		shown += len(enc.Append(nil, &events[i]))
	}
	if shown == 0 || enc.Over {
		t.Fatalf("an encoder of all runs has shown %d bytes and says that it is done: %t", shown, enc.Over)
	}
}

// fails ends a stream with an error of a kind; "" is one of no kind.
func fails(t *testing.T, open func(run string) *wire.Feed, kind event.ErrorKind) {
	t.Helper()
	cause := errors.New(Secret)
	err := error(&event.Error{Kind: kind, Message: "no", Err: cause})
	if kind == "" {
		err = cause
	}
	for _, run := range []string{"", "r1"} {
		enc := open(run).Encoder
		if b := enc.Idle([]byte("before")); !bytes.HasPrefix(b, []byte("before")) {
			t.Errorf("Idle gave %q", b)
		}
		if b := enc.AppendNotice(nil, "QUEUED", "the run waits"); !bytes.Contains(b, []byte("QUEUED")) {
			t.Errorf("AppendNotice gave %q", b)
		}
		b := enc.Fail([]byte("before"), err)
		if !bytes.HasPrefix(b, []byte("before")) || len(b) == len("before") || bytes.Contains(b, []byte(Secret)) {
			t.Errorf("Fail gave %q", b)
		}
	}
}
