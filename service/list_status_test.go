package service_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/service"
)

// Conversations are listed by status: that of their oldest open run, or else that of their newest
// one.
func TestConversationsByStatus(t *testing.T) {
	t.Parallel()
	store, rows := &journal.Memory{}, &service.MemoryRows{}
	nobody := func(context.Context, service.AgentRequest) (*braid.Agent, error) {
		return nil, errors.New("nobody answers")
	}
	s, err := service.New(service.Options{Journal: store, Rows: rows, Agent: nobody})
	if err != nil {
		t.Fatal(err)
	}
	admit := func(tenant, conv string) string {
		t.Helper()
		id := fmt.Sprint("run_", time.Now().UnixNano(), conv)
		if _, err := store.Admit(t.Context(), journal.Run{ID: id, Tenant: tenant, Conversation: "conv_" + conv}); err != nil {
			t.Fatal(err)
		}
		return id
	}
	take := func(id string) journal.Opened {
		t.Helper()
		o, err := store.Acquire(t.Context(), id, 0)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	end := func(id string, status event.RunStatus) {
		t.Helper()
		o := take(id)
		e := &event.Event{Header: event.Header{Seq: o.Last + 1, Conversation: o.Run.Conversation, Run: id}, Body: &event.RunEnded{Status: status}}
		if status == event.RunFailed {
			e.Body = &event.RunEnded{Status: status, Err: &event.Error{Kind: event.ErrInternal, Message: "it broke"}}
		}
		if err := store.Commit(t.Context(), o.Lease, journal.Batch{Events: []*event.Event{e}, Status: status}); err != nil {
			t.Fatal(err)
		}
	}
	made := time.Now()
	row := func(tenant, name, user, agent string, archived bool) {
		t.Helper()
		made = made.Add(time.Second)
		err := rows.Create(t.Context(), service.Row{
			Tenant: tenant, ID: "conv_" + name, User: user, Agent: agent, Archived: archived, Created: made, Updated: made,
		}, 0)
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name, runs string // q queued, r running, and how others ended: c completed, f failed, x cancelled
	}{
		{"done", "c"}, {"broken", "cf"}, {"mended", "fc"}, {"stopped", "cx"}, {"busy", "crq"}, {"behind", "fq"}, {"fresh", "q"},
	} {
		row("acme", c.name, map[string]string{"broken": "ann", "fresh": "ann"}[c.name], "", false)
		for _, how := range c.runs {
			id := admit("acme", c.name)
			switch how {
			case 'r':
				take(id)
			case 'c', 'f', 'x':
				end(id, map[rune]event.RunStatus{'c': event.RunCompleted, 'f': event.RunFailed, 'x': event.RunCancelled}[how])
			}
		}
	}
	row("acme", "away", "", "", true)
	end(admit("acme", "away"), event.RunFailed)
	row("acme", "silent", "", "", false)
	row("beta", "foreign", "ann", "", false)
	end(admit("beta", "foreign"), event.RunFailed)
	end(admit("acme", "rowless"), event.RunFailed) // its row has gone
	for range 5 {                                  // many runs that do not count
		end(admit("acme", "done"), event.RunFailed)
	}
	end(admit("acme", "done"), event.RunCompleted)

	acme := service.Principal{Tenant: "acme", Scopes: []service.Scope{service.ScopeRead}}
	ann := "ann"
	for _, c := range []struct {
		what string
		page service.Page
		want string
	}{
		{"queued", service.Page{Status: "queued"}, "fresh behind"},
		{"running", service.Page{Status: "running"}, "busy"},
		{"waiting", service.Page{Status: "waiting"}, ""},
		{"open", service.Page{Status: "open"}, "fresh behind busy"},
		{"failed", service.Page{Status: "failed"}, "broken"},
		{"cancelled", service.Page{Status: "cancelled"}, "stopped"},
		{"completed", service.Page{Status: "completed"}, "done mended"},
		{"archived", service.Page{Status: "failed", Archived: true}, "away"},
		{"a user's", service.Page{Status: "queued", User: &ann}, "fresh"},
		{"an agent's", service.Page{Status: "queued", Agent: "clerk"}, ""},
	} {
		for _, limit := range []int{0, 1, 2} {
			var got []string
			page := c.page
			page.Limit = limit
			for n := 0; ; n++ {
				list, next, err := s.ListConversations(t.Context(), acme, page)
				if err != nil || n > 50 || limit > 0 && len(list) > limit {
					t.Fatalf("%s: page %d of %d: %v", c.what, n, len(list), err)
				}
				for i := range list {
					got = append(got, strings.TrimPrefix(list[i].ID, "conv_"))
				}
				if page.Cursor = next; next == "" {
					break
				}
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%s, %d at a time: %q, want %q", c.what, limit, got, c.want)
			}
		}
	}
	bound := acme
	bound.User = "ann"
	list, _, err := s.ListConversations(t.Context(), bound, service.Page{Status: "open"})
	if err != nil || slices.ContainsFunc(list, func(r service.Row) bool { return r.User != "ann" && r.User != "" }) {
		t.Errorf("a key of a user lists %+v, %v", list, err)
	}
	_, next, err := s.ListConversations(t.Context(), acme, service.Page{Status: "open", Limit: 1})
	if err != nil || next == "" {
		t.Fatal(next, err)
	}
	for what, page := range map[string]service.Page{
		"another status": {Status: "failed", Cursor: next}, "no status": {Cursor: next}, "no such status": {Status: "asleep"}, "no cursor": {Status: "open", Cursor: "x"},
	} {
		if _, _, err := s.ListConversations(t.Context(), acme, page); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
