package service_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/postgres"
	"github.com/braidrun/braid/journal/sqlite"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/database/databasetest"
)

// hooked is a journal whose next admission, or next burial, has something happen before and after it.
type hooked struct {
	journal.Journal

	before, after           func()
	beforeBury, afterBurial func()
}

func (h *hooked) Tombstone(ctx context.Context, tenant, conversation, life string) error {
	before, after := h.beforeBury, h.afterBurial
	h.beforeBury, h.afterBurial = nil, nil
	if before != nil {
		before()
	}
	err := h.Journal.Tombstone(ctx, tenant, conversation, life)
	if after != nil {
		after()
	}
	return err
}

func (h *hooked) Admit(ctx context.Context, r journal.Run) (journal.Run, error) {
	before, after := h.before, h.after
	h.before, h.after = nil, nil
	if before != nil {
		before()
	}
	row, err := h.Journal.Admit(ctx, r)
	if after != nil {
		after()
	}
	return row, err
}

// eachStore runs a test with two services on one store, as in two processes, on every kind of store.
func eachStore(t *testing.T, run func(t *testing.T, j *hooked, here, there *house)) {
	t.Helper()
	two := func(t *testing.T, j journal.Journal, rows service.Rows, shared bool) {
		t.Helper()
		h := &hooked{Journal: j}
		here := open(t, func(o *service.Options) { o.Journal, o.Rows, o.Shared = h, rows, shared })
		there := open(t, func(o *service.Options) { o.Journal, o.Rows, o.Shared = j, rows, shared })
		run(t, h, here, there)
	}
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		two(t, &journal.Memory{}, &service.MemoryRows{}, true)
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		store, err := sqlite.Open(filepath.Join(t.TempDir(), "journal"), sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		})
		two(t, store, service.NewRows(databasetest.OpenSQLite(t, "")), false)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		at := databases.Postgres(t)
		o := postgres.Options{URL: databases.Server(t).URL(databasetest.Owner, "postgres"), Schema: "journal of " + at.Schema}
		if err := postgres.Migrate(t.Context(), o, databasetest.Guest); err != nil {
			t.Fatal(err)
		}
		o.URL = at.URL
		store, err := postgres.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		})
		two(t, store, service.NewRows(databasetest.OpenPostgres(t, at)), true)
	})
}

// gone wants nothing to be left of a conversation: no row, no log and no run.
func gone(t *testing.T, j journal.Store, h *house, conv string) {
	t.Helper()
	if _, err := h.GetConversation(t.Context(), ann, conv); !errors.Is(err, event.ErrNotFound) {
		t.Errorf("its row: %v", err)
	}
	if events, err := j.Read(t.Context(), conv, 0, 0); err != nil || len(events) > 0 {
		t.Errorf("its log has %d events: %v", len(events), err)
	}
	if runs, err := j.Queue(t.Context(), conv); err != nil || len(runs) > 0 {
		t.Errorf("%d runs of it are open: %v", len(runs), err)
	}
}

// A run that is let in on one process while another deletes the conversation is refused, or the conversation
// stays until it has ended: no log is left that nobody can name, and no name without a log.
func TestDeletedElsewhereWhileARunComesIn(t *testing.T) {
	t.Parallel()
	orders := []struct {
		name string
		// play has the deletion happen, which is called once.
		play func(j *hooked, remove func())
		// late says that the run comes too late.
		late bool
	}{
		{"the deletion comes first", func(j *hooked, remove func()) { j.before = remove }, true},
		{"the run comes first", func(j *hooked, remove func()) { j.after = remove }, false},
	}
	for _, had := range []int{0, 1} { // runs before
		for _, o := range orders {
			t.Run(fmt.Sprint(o.name, " after ", had), func(t *testing.T) {
				t.Parallel()
				eachStore(t, func(t *testing.T, j *hooked, here, there *house) {
					conv := here.conversation(t)
					for range had {
						watcher := here.follow(t, conv)
						begin(t, here, conv, "hello")
						<-watcher.done
					}
					var deleted error
					o.play(j, func() { deleted = there.DeleteConversation(t.Context(), ann, conv) })
					started, err := here.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "use ask"})
					if o.late {
						if deleted != nil || !errors.Is(err, event.ErrNotFound) {
							t.Errorf("deleted: %v, started: %v", deleted, err)
						}
						gone(t, j, here, conv)
						return
					}
					if err != nil || !errors.Is(deleted, event.ErrLocked) {
						t.Fatalf("deleted: %v, started: %v", deleted, err)
					}
					watcher := here.followRun(t, conv, started.After, started.Run.ID)
					if err := here.CancelRun(t.Context(), ann, conv, started.Run.ID); err != nil {
						t.Fatal(err)
					}
					<-watcher.done
					if err := there.DeleteConversation(t.Context(), ann, conv); err != nil {
						t.Fatal(err)
					}
					gone(t, j, here, conv)
				})
			})
		}
	}
}

// A conversation that was deleted and made anew under its name has nothing of the one before, also on a process
// that knows that one well.
func TestANameHasAnotherLife(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		here, there := pair(t)
		named := func(h *house) string {
			t.Helper()
			c, err := h.OpenConversation(t.Context(), ann, "desk 7", service.NewConversation{})
			if err != nil {
				t.Fatal(err)
			}
			return c.ID
		}
		conv := named(here)
		here.wait(t, conv, begin(t, here, conv, "one"))
		time.Sleep(time.Second)
		if err := there.DeleteConversation(t.Context(), ann, conv); err != nil {
			t.Fatal(err)
		}
		if again := named(there); again != conv {
			t.Fatalf("the name stands for %s, and for %s", conv, again)
		}
		there.wait(t, conv, begin(t, there, conv, "two"))
		<-here.seen
		here.wait(t, conv, begin(t, here, conv, "three"))
		var asked []string
		for _, m := range <-here.seen {
			asked = append(asked, m.Text())
		}
		if want := []string{"two", "you said two", "three"}; !slices.Equal(asked, want) {
			t.Errorf("the model was asked %q, want %q", asked, want)
		}
	})
}

// Of two deletions of one conversation, the slower one leaves alone what has its name by then.
func TestTheSlowerDeletionTakesNothingNew(t *testing.T) {
	t.Parallel()
	places := map[string]func(j *hooked, happens func()){
		"before the log went":              func(j *hooked, happens func()) { j.beforeBury = happens },
		"between the log and its row went": func(j *hooked, happens func()) { j.afterBurial = happens },
	}
	for name, play := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachStore(t, func(t *testing.T, j *hooked, here, there *house) {
				named := func() string {
					t.Helper()
					c, err := there.OpenConversation(t.Context(), ann, "desk 7", service.NewConversation{})
					if err != nil {
						t.Fatal(err)
					}
					return c.ID
				}
				conv := named()
				say := func(text string) {
					t.Helper()
					watcher := there.follow(t, conv)
					begin(t, there, conv, text)
					<-watcher.done
				}
				say("one")
				play(j, func() {
					if err := there.DeleteConversation(t.Context(), ann, conv); err != nil {
						t.Error(err)
					}
					if again := named(); again != conv {
						t.Errorf("the name stands for %s, and for %s", conv, again)
					}
					say("two")
				})
				if err := here.DeleteConversation(t.Context(), ann, conv); !errors.Is(err, event.ErrNotFound) {
					t.Errorf("the slower deletion: %v", err)
				}
				if _, err := there.GetConversation(t.Context(), ann, conv); err != nil {
					t.Errorf("the row of what is new: %v", err)
				}
				events, err := j.Read(t.Context(), conv, 0, 0)
				if err != nil || len(events) == 0 {
					t.Fatalf("the log of what is new has %d events: %v", len(events), err)
				}
				for _, e := range events {
					if m, ok := e.Body.(*event.UserMessage); ok && event.TextOf(m.Content) != "two" {
						t.Errorf("its log says %q", event.TextOf(m.Content))
					}
				}
			})
		})
	}
}
