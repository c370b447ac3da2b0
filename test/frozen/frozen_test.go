//go:build unix

package frozen

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/engine"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/sqlite"
)

// thaw gives a copy of a frozen journal's folder.
func thaw(t *testing.T, version string) string {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", version+".tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	folder := t.TempDir()
	unpack(t, f, folder)
	return folder
}

func open(t *testing.T, folder string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(folder, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// named gives the runs of these names.
func named(t *testing.T, names []string) (list []*frozenRun) {
	t.Helper()
	for i := range runs {
		if slices.Contains(names, runs[i].name) {
			list = append(list, &runs[i])
		}
	}
	if len(list) != len(names) {
		t.Fatalf("%d runs have these names: %v", len(list), names)
	}
	return list
}

// asFrozen wants every run in its state.
func asFrozen(t *testing.T, store *sqlite.Store, names []string) {
	t.Helper()
	for _, r := range named(t, names) {
		if row := rowOf(t, store, r); row.Status != r.status {
			t.Errorf("%s is %s in the file, want %s", r.name, row.Status, r.status)
		} else if timed := strings.Contains(r.plan, "busy"); timed == row.WakeAt.IsZero() {
			t.Errorf("%s wakes at %v", r.name, row.WakeAt)
		}
	}
}

// sameEvents wants that what is read today is what the version itself read.
func sameEvents(t *testing.T, folder string, today []byte) {
	t.Helper()
	before, err := os.ReadFile(filepath.Join(folder, eventsName))
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(today, []byte("\n"))
	for i, line := range bytes.Split(before, []byte("\n")) {
		if i >= len(lines) || !bytes.Equal(lines[i], line) {
			t.Errorf("event %d of the file was %s, and is read in another way today", i+1, line)
			return
		}
	}
}

func rowOf(t *testing.T, store *sqlite.Store, r *frozenRun) journal.Run {
	t.Helper()
	rows, err := store.Runs(t.Context(), r.talk(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(rows, func(row journal.Run) bool { return row.ID == r.name })
	if i < 0 {
		t.Fatalf("%s is not in the file", r.name)
	}
	return rows[i]
}

// drive drives a run to its end, and answers what it asks.
func drive(t *testing.T, store *sqlite.Store, a *braid.Agent, r *frozenRun) (*braid.Result, error) {
	t.Helper()
	talk := braid.Open(store, r.talk())
	for range 4 {
		got, err := a.Drive(t.Context(), talk, r.name, braid.Work{})
		if err != nil || got.Status.Ended() {
			return got, err
		}
		for _, q := range got.Questions {
			if err := talk.Answer(t.Context(), q.Token, r.answer); err != nil {
				t.Fatal(err)
			}
		}
		if !got.WakeAt.IsZero() {
			// Only where the file has just been written.
			<-time.After(time.Until(got.WakeAt))
		}
	}
	t.Fatalf("%s does not come to an end", r.name)
	return nil, nil
}

// doubts counts a run's calls in doubt, and looks at its log.
func doubts(t *testing.T, store *sqlite.Store, r *frozenRun) int {
	t.Helper()
	n := 0
	events, err := store.Read(t.Context(), r.talk(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range events {
		if e.Seq != int64(i+1) {
			t.Errorf("%s: event %d has the number %d", r.name, i+1, e.Seq)
		}
		if b, ok := e.Body.(*event.StepEnded); ok && e.Run == r.name && b.Outcome == event.OutcomeInDoubt {
			n++
		}
		if _, unknown := e.Body.(*event.Unknown); unknown {
			t.Errorf("%s: nobody knows the kind %s any more", r.name, e.Body.Kind())
		}
	}
	return n
}

// Every run of every version goes on from where it was, and comes to its end.
func TestEveryVersion(t *testing.T) {
	t.Parallel()
	for _, version := range versions {
		t.Run(version.name, func(t *testing.T) {
			t.Parallel()
			folder := thaw(t, version.name)
			store := open(t, folder)
			asFrozen(t, store, version.runs)
			sameEvents(t, folder, eventsOf(t, store, version.runs))
			for _, r := range named(t, version.runs) {
				if r.status.Ended() {
					_, err := newOutside(false).agent(agentName).Drive(t.Context(), braid.Open(store, r.talk()), r.name, braid.Work{})
					if !errors.Is(err, event.ErrConflict) {
						t.Errorf("%s was driven after its end: %v", r.name, err)
					}
					continue
				}
				o := newOutside(false)
				got, err := drive(t, store, o.agent(agentName), r)
				if err != nil {
					t.Errorf("%s: %v", r.name, err)
					continue
				}
				if got.Status != r.ends || o.actions(r.name) != r.acts || o.asked[r.name] != r.asks {
					t.Errorf("%s is %s (%s), did %q and asked %d times, want %s, %q and %d",
						r.name, got.Status, got.Stop, o.actions(r.name), o.asked[r.name], r.ends, r.acts, r.asks)
				}
				if n := doubts(t, store, r); n != r.doubts {
					t.Errorf("%s has %d calls in doubt, want %d", r.name, n, r.doubts)
				}
				if shown := textOf(o.shown[r.name]); !strings.Contains(shown, r.says) {
					t.Errorf("%s: the model is shown %q, want %q in it", r.name, shown, r.says)
				}
			}
			next(t, store, version.runs)
		})
	}
}

// next begins another run in every conversation: it sees what was before.
func next(t *testing.T, store *sqlite.Store, names []string) {
	t.Helper()
	for _, r := range named(t, names) {
		if r.behind != "" {
			continue
		}
		o := newOutside(false)
		talk := braid.Open(store, r.name)
		got, err := o.agent(agentName).Run(t.Context(), "and now do nothing", braid.In(talk), braid.For(tenant, user))
		if err != nil || got.Text() != "That is all." {
			t.Errorf("after %s: %v, %q", r.name, err, got.Text())
			continue
		}
		// Of a run that failed a model is shown what it did to the world, and nothing else.
		failed := r.ends == event.RunFailed
		if shown := textOf(o.shown[got.Run]); strings.Contains(shown, r.plan) == failed || !strings.HasSuffix(shown, "and now do nothing") {
			t.Errorf("after %s the model is shown %q", r.name, shown)
		}
		state, err := talk.State(t.Context())
		if err != nil || string(state["user:shared"]) != `"kept"` || (string(state["own"]) == `"kept"`) != (r.name == "completed") {
			t.Errorf("after %s the state is %s %v", r.name, state, err)
		}
	}
}

// textOf is all text that a model is shown, tools' results among it.
func textOf(messages []event.Message) string {
	var b strings.Builder
	for _, m := range messages {
		for _, block := range m.Content {
			switch block := block.(type) {
			case *event.Text:
				b.WriteString(block.Text)
			case *event.ToolResult:
				b.WriteString(event.TextOf(block.Content))
			}
			b.WriteString("\n")
		}
	}
	return strings.TrimSpace(b.String())
}

// A tool that a run needs may be gone: the model is told, and what was in flight is
// in doubt or begun no more. No run is stuck, and none ends without a name for it.
func TestToolsAreGone(t *testing.T) {
	t.Parallel()
	for _, version := range versions {
		for _, gone := range [][]string{
			{"look"}, {"file"}, {"book"}, {"pay"}, {"permit"}, {helperName}, {"look", "file", "book", "pay", "permit", helperName},
		} {
			t.Run(version.name+" without "+strings.Join(gone, " "), func(t *testing.T) {
				t.Parallel()
				store := open(t, thaw(t, version.name))
				for _, r := range named(t, version.runs) {
					if r.status.Ended() {
						continue
					}
					o := newOutside(false)
					got, err := drive(t, store, o.agent(agentName, gone...), r)
					switch kind := event.KindOf(err); {
					case err != nil && kind != event.ErrNotFound:
						t.Errorf("%s: %v (%s)", r.name, err, kind)
					case err == nil && got.Status != r.ends:
						t.Errorf("%s is %s (%s), want %s", r.name, got.Status, got.Stop, r.ends)
					case strings.Contains(o.actions(r.name), gone[0]):
						t.Errorf("%s did %s", r.name, o.actions(r.name))
					}
					// What is in doubt by what the tool was is so without it.
					if n := doubts(t, store, r); err == nil && n < r.doubts {
						t.Errorf("%s has %d calls in doubt, want %d", r.name, n, r.doubts)
					}
				}
			})
		}
	}
}

// An agent of another name does not touch what was begun by this one: it says so, and
// the run is there for who has the agent.
func TestAnotherAgent(t *testing.T) {
	t.Parallel()
	for _, version := range versions {
		t.Run(version.name, func(t *testing.T) {
			t.Parallel()
			store := open(t, thaw(t, version.name))
			for _, r := range named(t, version.runs) {
				if r.status.Ended() {
					continue
				}
				o := newOutside(false)
				got, err := o.agent("stranger").Drive(t.Context(), braid.Open(store, r.talk()), r.name, braid.Work{})
				var named *event.Error
				switch {
				case err == nil && r.status == event.RunQueued:
					if got.Status != event.RunCompleted {
						t.Errorf("%s is %s", r.name, got.Status)
					}
					continue
				case r.behind != "" && errors.Is(err, event.ErrLocked):
					continue // that one is still open
				case !errors.Is(err, event.ErrNotFound) || !errors.As(err, &named) || named.Hint == "":
					t.Errorf("%s: %v", r.name, err)
					continue
				}
				if row := rowOf(t, store, r); row.Status.Ended() || len(o.acted[r.name]) > 0 {
					t.Errorf("%s is %s, and did %v", r.name, row.Status, o.acted[r.name])
				}
				o = newOutside(false)
				if got, err := drive(t, store, o.agent(agentName), r); err != nil || got.Status != r.ends || o.actions(r.name) != r.acts {
					t.Errorf("%s afterwards: %v, %s, did %q", r.name, err, got.Status, o.actions(r.name))
				}
			}
		})
	}
}

// An engine that starts on the folder finds by itself what is to be driven, and with
// the answers everything ends.
func TestEngine(t *testing.T) {
	t.Parallel()
	for _, version := range versions {
		t.Run(version.name, func(t *testing.T) {
			t.Parallel()
			store := open(t, thaw(t, version.name))
			o := newOutside(false)
			a := o.agent(agentName)
			e := engine.NewLocal(store, func(ctx context.Context, w engine.Work) (engine.Outcome, error) {
				got, err := a.Drive(ctx, braid.Open(store, w.Run.Conversation), w.Run.ID, braid.Work{Mail: w.Mail, Draining: w.Draining})
				if err != nil {
					return engine.Outcome{}, err
				}
				return engine.Outcome{Status: got.Status, WakeAt: got.WakeAt}, nil
			}, engine.Options{})
			if err := e.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := e.Drain(context.WithoutCancel(t.Context())); err != nil {
					t.Error(err)
				}
			}()
			for _, r := range named(t, version.runs) {
				waitFor(t, store, e, r)
			}
		})
	}
}

// waitFor waits until a run has ended, and answers what it asks.
func waitFor(t *testing.T, store *sqlite.Store, e *engine.Local, r *frozenRun) {
	t.Helper()
	limit := time.After(time.Minute)
	for {
		row := rowOf(t, store, r)
		if row.Status.Ended() {
			if row.Status != r.ends {
				t.Errorf("%s is %s, want %s", r.name, row.Status, r.ends)
			}
			return
		}
		talk := braid.Open(store, r.talk())
		questions, err := talk.Questions(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range questions {
			if r.answer == "" {
				continue
			}
			if err := talk.Answer(t.Context(), q.Token, r.answer); err != nil && !errors.Is(err, event.ErrNotFound) {
				t.Fatal(err)
			}
			if err := e.Wake(t.Context(), row); err != nil {
				t.Fatal(err)
			}
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-limit:
			t.Errorf("%s is still %s", r.name, row.Status)
			return
		}
	}
}
