package service_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/database/databasetest"
	"github.com/braidrun/braid/service/directory"
)

// What a tenant's retention keeps no longer goes: not what is used, and not what others have.
func TestConversationsExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, operator := t.Context(), directory.By{Operator: true}
		people := directory.New(directory.Options{Database: databasetest.OpenMemory(t)})
		for id, days := range map[string]int{"acme": 3, "zeta": 0} {
			x := directory.Tenant{ID: id, Retention: directory.Retention{Conversations: days}}
			if _, err := people.CreateTenant(ctx, operator, x, ""); err != nil {
				t.Fatal(err)
			}
		}
		rows := &service.MemoryRows{}
		h := open(t, func(o *service.Options) { o.Directory, o.Rows = people, rows })
		make := func(p service.Principal) string {
			t.Helper()
			c, err := h.CreateConversation(ctx, p, service.NewConversation{})
			if err != nil {
				t.Fatal(err)
			}
			return c.ID
		}
		idle, used, waits, other := make(ann), make(ann), make(ann), make(service.Principal{Tenant: "zeta"})
		var archived []string
		for range 120 { // more than a page
			id := make(ann)
			if _, err := h.UpdateConversation(ctx, ann, id, service.Changes{Archived: new(true)}); err != nil {
				t.Fatal(err)
			}
			archived = append(archived, id)
		}
		say := func(id, text string) {
			t.Helper()
			if _, err := h.StartRun(ctx, ann, id, service.RunRequest{Input: text}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		say(idle, "hello")
		say(waits, "use ask")
		time.Sleep(2 * 24 * time.Hour)
		if n, err := h.Expire(ctx, time.Now()); n != 0 || err != nil {
			t.Errorf("after 2 days %d expire: %v", n, err)
		}
		say(used, "hello")
		if _, err := rows.Change(ctx, "acme", used, func(r *service.Row) error { r.Updated = r.Created; return nil }); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * 24 * time.Hour)
		if n, err := h.Expire(ctx, time.Now()); n != 1+len(archived) || err != nil {
			t.Errorf("after 4 days %d expire, want %d: %v", n, 1+len(archived), err)
		}
		for id, want := range map[string]error{idle: event.ErrGone, used: nil, waits: nil, archived[7]: event.ErrGone} {
			if _, err := h.GetConversation(ctx, ann, id); !errors.Is(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}
		}
		if _, err := h.Events(ctx, ann, idle, 0, 0); !errors.Is(err, event.ErrGone) {
			t.Errorf("the events that are kept no longer: %v", err)
		}
		if _, err := h.StartRun(ctx, ann, idle, service.RunRequest{Input: "hello"}); !errors.Is(err, event.ErrGone) {
			t.Errorf("a run of one that is kept no longer: %v", err)
		}
		if _, err := h.GetConversation(ctx, service.Principal{Tenant: "zeta"}, idle); !errors.Is(err, event.ErrNotFound) {
			t.Errorf("another tenant hears of it: %v", err)
		}
		if _, err := h.GetConversation(ctx, service.Principal{Tenant: "zeta"}, other); err != nil {
			t.Error(err)
		}
		entries, _, err := people.Audit(ctx, "acme", directory.AuditQuery{Action: "retention.expire"})
		if err != nil || len(entries) != 1 {
			t.Errorf("the audit says %+v: %v", entries, err)
		}
	})
}
