package service_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
)

// named makes the conversation of a name that callers choose.
func (h *house) named(t *testing.T, p service.Principal, name string) string {
	t.Helper()
	c, err := h.OpenConversation(t.Context(), p, name, service.NewConversation{})
	if err != nil {
		t.Fatal(err)
	}
	return c.ID
}

// A title that a model still makes when its conversation is deleted never becomes that of another
// conversation of the same id.
func TestALateTitleIsNotTheNextConversations(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := []string{}
		h, _ := titled(t, namer{title: "The first one's words", takes: 10 * time.Second, asked: &asked})
		conv := h.named(t, ann, "session")
		started, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "a secret"})
		if err != nil {
			t.Fatal(err)
		}
		h.wait(t, conv, started)
		synctest.Wait() // the log has the run's end before the model is asked
		if err := h.DeleteConversation(t.Context(), ann, conv); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if again := h.named(t, ann, "session"); again != conv {
			t.Fatalf("%s and %s", conv, again)
		}
		time.Sleep(time.Minute)
		if title := h.title(t, conv); title != "" {
			t.Errorf("the new conversation is called %q", title)
		}
		if len(asked) != 1 {
			t.Fatalf("the model was asked %d times", len(asked))
		}
	})
}

// Who follows a conversation that is deleted reads nothing of the next one of its id, wherever it was deleted
// and whoever drives the next one's runs.
func TestAFollowerReadsOneConversation(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		open func(t *testing.T) (reads, deletes, drives *house)
	}{
		{"one process", func(t *testing.T) (reads, deletes, drives *house) {
			t.Helper()
			h := open(t, nil)
			return h, h, h
		}},
		{"deleted and made again elsewhere", func(t *testing.T) (reads, deletes, drives *house) {
			t.Helper()
			here, there := pair(t)
			return here, there, there
		}},
		{"deleted elsewhere, made again here", func(t *testing.T) (reads, deletes, drives *house) {
			t.Helper()
			here, there := pair(t)
			return here, there, here
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reads, deletes, drives := c.open(t)
				conv := reads.named(t, ann, "session")
				reader := reads.follow(t, conv)
				synctest.Wait()
				if err := deletes.DeleteConversation(t.Context(), ann, conv); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Millisecond) // no two conversations are made at one moment
				bob := service.Principal{Tenant: ann.Tenant, User: "bob"}
				drives.named(t, bob, "session")
				if _, err := drives.StartRun(t.Context(), bob, conv, service.RunRequest{Input: "bob's secret"}); err != nil {
					t.Fatal(err)
				}
				<-reader.done
				for _, e := range reader.events {
					if m, ok := e.Body.(*event.UserMessage); ok && strings.Contains(event.TextOf(m.Content), "secret") {
						t.Error("it reads the next conversation's words")
					}
				}
				if !errors.Is(reader.err, event.ErrNotFound) {
					t.Errorf("it was told %v after %d events", reader.err, len(reader.events))
				}
			})
		})
	}
}

// A process drops the cached folds of conversations that another process has deleted, also with
// their tenant.
func TestWarmConversationsGo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := people(t)
		rows := &service.MemoryRows{}
		h := tenants(t, d, func(o *service.Options) { o.Rows, o.Shared = rows, true })
		say := func() string {
			conv := h.named(t, ann, "session")
			started, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "hello"})
			if err != nil {
				t.Fatal(err)
			}
			h.wait(t, conv, started)
			synctest.Wait()
			return conv
		}
		wants := func(why string, want int) {
			t.Helper()
			if err := errors.Join(h.ForgetErased(t.Context()), h.ForgetDeleted(t.Context())); err != nil {
				t.Fatal(err)
			}
			if n := h.CachedFolds(); n != want {
				t.Errorf("%s: %d folds are cached, want %d", why, n, want)
			}
		}
		conv := say()
		wants("it is there", 1)
		// As another process does, that knows nothing of what is kept here.
		another := tenants(t, d, func(o *service.Options) { o.Journal, o.Rows, o.Shared = h.store, rows, true })
		if err := another.DeleteConversation(t.Context(), ann, conv); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
		another.named(t, ann, "session")
		wants("another conversation has its id", 0)
		say()
		setTenant(t, d, func(of *directory.Tenant) { of.Status = directory.Inactive })
		if _, err := another.EraseTenant(t.Context(), operator, "acme"); err != nil {
			t.Fatal(err)
		}
		wants("its tenant is erased", 0)
	})
}
