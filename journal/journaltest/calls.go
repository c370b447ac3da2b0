package journaltest

import (
	"context"
	"fmt"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// Call is a call that a server makes to its store.
type Call struct {
	Name string
	// Do makes the call for the n-th time, from 0, in the conversation talk of the tenant "acme". Nothing else uses
	// the conversation. The calls are made in their order, each equally often.
	Do func(ctx context.Context, s journal.Journal, talk string, n int) error
}

// Calls returns the calls that a server makes for a turn, for a page of a list and in its sweeps. Tests measure the
// cost of each in a store.
func Calls() []Call {
	return []Call{
		{"turn", takeTurn},
		{"steered", func(ctx context.Context, s journal.Journal, talk string, n int) error {
			run := journal.Run{ID: fmt.Sprint(talk, " admitted ", n), Conversation: talk + " steered", Tenant: "acme", Key: fmt.Sprint("key ", n)}
			if _, err := s.Admit(ctx, run); err != nil {
				return err
			}
			if _, err := s.Admit(ctx, run); err != nil { // a repeat
				return err
			}
			o, err := s.Acquire(ctx, run.ID, int64(2*n))
			if err != nil {
				return err
			}
			letter := journal.Mail{ID: "m", Run: run.ID, Kind: journal.MailMessage, Message: []event.Block{&event.Text{Text: "more"}}}
			if err := s.Post(ctx, letter); err != nil {
				return err
			}
			if err := s.Commit(ctx, o.Lease, endOf(o.Lease, int64(2*n+1))); err != nil { // the message moves to a new run
				return err
			}
			open, err := s.Queue(ctx, run.Conversation)
			if err != nil || len(open) != 1 {
				return fmt.Errorf("%d runs are open: %w", len(open), err)
			}
			if o, err = s.Acquire(ctx, open[0].ID, int64(2*n+1)); err != nil {
				return err
			}
			b := endOf(o.Lease, int64(2*n+2))
			b.Read = []string{"m"}
			return s.Commit(ctx, o.Lease, b)
		}},
		{"due", func(ctx context.Context, s journal.Journal, _ string, _ int) error {
			_, err := s.Due(ctx, 10)
			return err
		}},
		{"heads", func(ctx context.Context, s journal.Journal, talk string, _ int) error {
			_, err := s.LastSeqs(ctx, []string{talk, "c7", "nobody"})
			return err
		}},
		{"posted", func(ctx context.Context, s journal.Journal, talk string, _ int) error {
			_, err := s.Posted(ctx, []string{talk + " 0", "r7", "nobody"})
			return err
		}},
		{"conversations", func(ctx context.Context, s journal.Journal, _ string, _ int) error {
			page, err := s.Conversations(ctx, "acme", "", 5)
			if err == nil {
				_, err = s.Conversations(ctx, "acme", page[len(page)-1].ID, 5)
			}
			return err
		}},
		{"runs", func(ctx context.Context, s journal.Journal, talk string, _ int) error {
			_, err := s.Runs(ctx, talk, 3, 5)
			return err
		}},
		{"queue", func(ctx context.Context, s journal.Journal, talk string, _ int) error {
			_, err := s.Queue(ctx, talk)
			return err
		}},
		{"read", func(ctx context.Context, s journal.Journal, talk string, _ int) error {
			_, err := s.Read(ctx, talk, 3, 5)
			return err
		}},
		{"tail", func(ctx context.Context, s journal.Journal, talk string, _ int) error {
			_, err := s.Tail(ctx, talk)
			return err
		}},
		{"place", func(ctx context.Context, s journal.Journal, talk string, _ int) error {
			_, err := s.Position(ctx, talk, 3)
			return err
		}},
		{"keep messages", func(ctx context.Context, s journal.Journal, talk string, n int) error {
			return s.KeepMessages(ctx, talk+" 0", []journal.MessageEntry{{MessagePlace: journal.MessagePlace{Seq: int64(n)}, Type: "user"}})
		}},
		{"messages", func(ctx context.Context, s journal.Journal, talk string, _ int) error {
			_, err := s.Messages(ctx, journal.MessageQuery{Tenant: "acme", Conversation: talk, After: journal.MessagePlace{Seq: 1}, Limit: 5})
			return err
		}},
		{"messages of a run", func(ctx context.Context, s journal.Journal, talk string, _ int) error {
			_, err := s.Messages(ctx, journal.MessageQuery{Tenant: "acme", Conversation: talk, Run: talk + " 0", Limit: 5})
			return err
		}},
		{"unkept", func(ctx context.Context, s journal.Journal, talk string, _ int) error {
			_, err := s.Unkept(ctx, "acme", talk)
			return err
		}},
		{"add usage", func(ctx context.Context, s journal.Journal, talk string, n int) error {
			return s.AddUsage(ctx, journal.UsageEntry{Run: talk + " 0", Step: fmt.Sprint("title ", n), Kind: journal.UsageTitle, Time: time.Now()})
		}},
		{"a tenant's open runs", func(ctx context.Context, s journal.Journal, _ string, _ int) error {
			_, err := s.FindRuns(ctx, journal.RunQuery{Tenant: "acme", Status: []event.RunStatus{event.RunRunning}, Limit: 5})
			return err
		}},
		{"a tenant's failed runs", func(ctx context.Context, s journal.Journal, _ string, _ int) error {
			_, err := s.FindRuns(ctx, journal.RunQuery{Tenant: "acme", Status: []event.RunStatus{event.RunFailed}, Limit: 5})
			return err
		}},
		{"usage of a user", func(ctx context.Context, s journal.Journal, _ string, _ int) error {
			_, err := s.UsageLog(ctx, journal.LedgerQuery{Tenant: "acme", User: "ann", Limit: 5})
			return err
		}},
		{"sums of a user", func(ctx context.Context, s journal.Journal, _ string, _ int) error {
			_, err := s.UsageSums(ctx, journal.LedgerQuery{Tenant: "acme", User: "ann"}, journal.UsageByModel, nil)
			return err
		}},
		{"sums by user", func(ctx context.Context, s journal.Journal, _ string, _ int) error {
			_, err := s.UsageSums(ctx, journal.LedgerQuery{Tenant: "acme", Limit: 5}, journal.UsageByUser, nil)
			return err
		}},
		{"sums by conversation", func(ctx context.Context, s journal.Journal, _ string, _ int) error {
			_, err := s.UsageSums(ctx, journal.LedgerQuery{Tenant: "acme", Limit: 5}, journal.UsageByConversation, new("c"))
			return err
		}},
		{"sums by run of a day", func(ctx context.Context, s journal.Journal, _ string, _ int) error {
			now := time.Now()
			_, err := s.UsageSums(ctx, journal.LedgerQuery{Tenant: "acme", Limit: 5, From: now.Add(-time.Hour), To: now}, journal.UsageByRun, nil)
			return err
		}},
		{"usage", func(ctx context.Context, s journal.Journal, _ string, _ int) error {
			page, err := s.UsageLog(ctx, journal.LedgerQuery{Tenant: "acme", Limit: 5})
			if err == nil {
				last := page[len(page)-1]
				_, err = s.UsageLog(ctx, journal.LedgerQuery{Tenant: "acme", Limit: 5, Before: journal.LedgerPlace{Time: last.Time, Key: last.Key}})
			}
			return err
		}},
		{"usage of a conversation", func(ctx context.Context, s journal.Journal, talk string, _ int) error {
			_, err := s.UsageLog(ctx, journal.LedgerQuery{Tenant: "acme", Conversation: talk, Limit: 5})
			return err
		}},
		{"usage of a run", func(ctx context.Context, s journal.Journal, talk string, _ int) error {
			_, err := s.UsageLog(ctx, journal.LedgerQuery{Tenant: "acme", Run: talk + " 0", Limit: 5})
			return err
		}},
		{"sums of a conversation", func(ctx context.Context, s journal.Journal, talk string, _ int) error {
			_, err := s.UsageSums(ctx, journal.LedgerQuery{Tenant: "acme", Conversation: talk}, journal.UsageByModel, nil)
			return err
		}},
		{"tools", func(ctx context.Context, s journal.Journal, _ string, _ int) error {
			page, err := s.ToolLog(ctx, journal.LedgerQuery{Tenant: "acme", Limit: 5})
			if err == nil {
				last := page[len(page)-1]
				_, err = s.ToolLog(ctx, journal.LedgerQuery{Tenant: "acme", Limit: 5, Before: journal.LedgerPlace{Time: last.Began, Key: last.Key}})
			}
			return err
		}},
		{"tools of a conversation", func(ctx context.Context, s journal.Journal, talk string, _ int) error {
			_, err := s.ToolLog(ctx, journal.LedgerQuery{Tenant: "acme", Conversation: talk, Limit: 5})
			return err
		}},
		{"tools of a run", func(ctx context.Context, s journal.Journal, talk string, _ int) error {
			_, err := s.ToolLog(ctx, journal.LedgerQuery{Tenant: "acme", Run: talk + " 0", Limit: 5})
			return err
		}},
		{"remove", func(ctx context.Context, s journal.Journal, talk string, n int) error {
			other := fmt.Sprint(talk, " to be removed ", n)
			if err := takeTurn(ctx, s, other, 0); err != nil {
				return err
			}
			return s.Remove(ctx, "acme", other)
		}},
		{"remove tenant", func(ctx context.Context, s journal.Journal, talk string, n int) error {
			tenant := fmt.Sprint(talk, " ", n)
			o, err := s.Start(ctx, journal.Run{ID: tenant + " run", Conversation: tenant + " talk", Tenant: tenant}, 0)
			if err == nil {
				err = s.Commit(ctx, o.Lease, endOf(o.Lease, 1))
			}
			if err != nil {
				return err
			}
			return s.RemoveTenant(ctx, tenant)
		}},
	}
}

// takeTurn runs the n-th turn of a conversation. Each turn has two events.
func takeTurn(ctx context.Context, s journal.Journal, talk string, n int) error {
	seq := int64(2 * n)
	run := journal.Run{ID: fmt.Sprint(talk, " ", n), Conversation: talk, Tenant: "acme", Since: 1}
	o, err := s.Start(ctx, run, seq)
	if err != nil {
		return err
	}
	if err := s.Post(ctx, journal.Mail{ID: "a", Run: run.ID, Kind: journal.MailAnswer}); err != nil {
		return err
	}
	b := journal.Batch{
		Events: []*event.Event{{
			Header: event.Header{Seq: seq + 1, Conversation: talk, Run: run.ID}, Body: &event.RunStarted{Turn: n + 1, Session: 1},
		}},
		Read:  []string{"a"},
		Usage: []journal.UsageEntry{{Step: "m1", Attempt: 1, Time: time.Now()}},
		Tools: []journal.ToolEntry{{Step: "t1", Attempt: 1, Name: "look", Began: time.Now()}},
	}
	if err := s.Commit(ctx, o.Lease, b); err != nil {
		return err
	}
	if _, err := s.Renew(ctx, o.Lease); err != nil {
		return err
	}
	return s.Commit(ctx, o.Lease, endOf(o.Lease, seq+2))
}

// endOf returns the batch that ends the run.
func endOf(l journal.Lease, seq int64) journal.Batch {
	return journal.Batch{
		Events: []*event.Event{{
			Header: event.Header{Seq: seq, Conversation: l.Conversation, Run: l.Run}, Body: &event.RunEnded{Status: event.RunCompleted},
		}},
		Status: event.RunCompleted,
	}
}
