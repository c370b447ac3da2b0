package braid_test

import (
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// An interruption that is said again under its key, because nobody heard that it was
// accepted, does not cancel what came after it.
func TestInterruptAgain(t *testing.T) {
	t.Parallel()
	store := &journal.Memory{}
	talk := braid.Open(store, "talk")
	d := newDesk()
	send := func(text, key string, policy braid.Policy) braid.Sent {
		t.Helper()
		sent, err := d.Send(t.Context(), talk, text, braid.During(policy), braid.Key(key))
		if err != nil {
			t.Fatal(err)
		}
		return sent
	}
	drive := func(run string, want event.RunStatus) {
		t.Helper()
		r, err := d.Drive(t.Context(), talk, run, braid.Work{})
		if err != nil || r.Status != want {
			t.Errorf("the run is %v, want %s: %v", r.Status, want, err)
		}
	}
	first := send("hello", "a", braid.Queue)
	stop := send("stop that", "b", braid.Interrupt)
	drive(first.Run, event.RunCancelled)
	drive(stop.Run, event.RunCompleted)
	last := send("hello again", "c", braid.Queue)

	again := send("stop that", "b", braid.Interrupt)
	if again.Run != stop.Run || len(again.Interrupted) > 0 {
		t.Errorf("said again it is run %s and interrupts %v, want %s and nothing", again.Run, again.Interrupted, stop.Run)
	}
	drive(last.Run, event.RunCompleted)
}

// A message that has steered a run is said again under its key, long after: when the log's end that is
// still looked at does not tell of it any more. It is in the log once, whichever way it comes again.
func TestSteeringAgainAfterAReset(t *testing.T) {
	t.Parallel()
	const words = "and mind this"
	for name, store := range map[string]journal.Store{"whole logs": &journal.Memory{}, "ends of logs": openSQLite(t)} {
		for how, again := range map[string]func(t *testing.T, d *desk, talk *braid.Conversation, first string){
			"steered": func(t *testing.T, d *desk, talk *braid.Conversation, first string) {
				sent, err := d.Send(t.Context(), talk, words, braid.During(braid.Steer), braid.Key("k"))
				if err != nil || sent.Run != first || !sent.Joined {
					t.Errorf("it is %+v, %v, want to have joined %s", sent, err, first)
				}
			},
			"queued": func(t *testing.T, d *desk, talk *braid.Conversation, _ string) {
				sent, err := d.Send(t.Context(), talk, words, braid.During(braid.Queue), braid.Key("k"))
				if err == nil {
					_, err = d.Drive(t.Context(), talk, sent.Run, braid.Work{})
				}
				if err != nil {
					t.Error(err)
				}
			},
			"left for a later run": func(t *testing.T, d *desk, talk *braid.Conversation, _ string) {
				sent, err := d.Send(t.Context(), talk, "go on", braid.During(braid.Queue))
				if err == nil {
					err = store.Post(t.Context(), journal.Mail{
						ID: "message-k", Run: sent.Run, Kind: journal.MailMessage, Message: []event.Block{&event.Text{Text: words}},
					})
				}
				if err == nil {
					_, err = d.Drive(t.Context(), talk, sent.Run, braid.Work{})
				}
				if err != nil {
					t.Error(err)
				}
			},
		} {
			t.Run(name+", "+how, func(t *testing.T) {
				t.Parallel()
				id, d := name+how, newDesk()
				talk := braid.Open(store, id)
				run := func(text string, opts ...braid.SendOption) string {
					t.Helper()
					sent, err := d.Send(t.Context(), talk, text, append(opts, braid.During(braid.Queue))...)
					if err != nil {
						t.Fatal(err)
					}
					return sent.Run
				}
				drive := func(run string) {
					t.Helper()
					if r, err := d.Drive(t.Context(), talk, run, braid.Work{}); err != nil || r.Status != event.RunCompleted {
						t.Fatal(r, err)
					}
				}
				first := run("hello")
				if _, err := d.Send(t.Context(), talk, words, braid.During(braid.Steer), braid.Key("k")); err != nil {
					t.Fatal(err)
				}
				drive(first)
				drive(run("something else", braid.NewSession()))
				drive(run("and more"))
				again(t, d, braid.Open(store, id), first)

				events, err := store.Read(t.Context(), id, 0, 0)
				if err != nil {
					t.Fatal(err)
				}
				n := 0
				for _, e := range events {
					if m, ok := e.Body.(*event.UserMessage); ok && event.TextOf(m.Content) == words {
						n++
					}
				}
				if n != 1 {
					t.Errorf("it is there %d times", n)
				}
			})
		}
	}
}
