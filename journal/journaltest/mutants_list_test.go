package journaltest

import (
	"context"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

func listMutants() []mutant {
	const (
		order   = "list/what admitted last comes first"
		tenants = "list/a tenant sees its own"
		follows = "list/a summary follows the runs"
		turns   = "list/runs come by their turn, as they stand"
		queue   = "list/the queue is the open runs in their order"
	)
	type listing = func(ctx context.Context, tenant, after string, limit int) ([]journal.Summary, error)
	lists := func(f func(b *bent) listing) func(b *bent) {
		return func(b *bent) { b.conversations = f(b) }
	}
	each := func(f func(s *journal.Summary)) func(b *bent) {
		return lists(func(b *bent) listing {
			return func(ctx context.Context, tenant, after string, limit int) ([]journal.Summary, error) {
				list, err := b.Memory.Conversations(ctx, tenant, after, limit)
				for i := range list {
					f(&list[i])
				}
				return list, err
			}
		})
	}
	rows := func(f func(runs []journal.Run) []journal.Run) func(b *bent) {
		return func(b *bent) {
			b.runs = func(ctx context.Context, conversation string, after, limit int) ([]journal.Run, error) {
				runs, err := b.Memory.Runs(ctx, conversation, after, limit)
				return f(runs), err
			}
		}
	}
	return []mutant{
		{
			name: "the first comes first", catcher: order,
			plant: lists(func(b *bent) listing {
				return func(ctx context.Context, tenant, after string, limit int) ([]journal.Summary, error) {
					list, err := b.Memory.Conversations(ctx, tenant, after, limit)
					slices.SortFunc(list, func(x, y journal.Summary) int { return x.Created.Compare(y.Created) })
					return list, err
				}
			}),
		},
		{
			name: "the last one of the page comes again", catcher: order,
			plant: lists(func(b *bent) listing {
				return func(ctx context.Context, tenant, after string, limit int) ([]journal.Summary, error) {
					list, err := b.Memory.Conversations(ctx, tenant, "", 0)
					if i := slices.IndexFunc(list, func(s journal.Summary) bool { return s.ID == after }); i >= 0 {
						list = list[i:]
					}
					if limit > 0 {
						list = list[:min(limit, len(list))]
					}
					return list, err
				}
			}),
		},
		{
			name: "an unknown place is the beginning", catcher: order,
			plant: lists(func(b *bent) listing {
				return func(ctx context.Context, tenant, after string, limit int) ([]journal.Summary, error) {
					list, err := b.Memory.Conversations(ctx, tenant, after, limit)
					if err != nil {
						return b.Memory.Conversations(ctx, tenant, "", limit)
					}
					return list, nil
				}
			}),
		},
		{
			name: "everybody sees what has no tenant", catcher: tenants,
			plant: lists(func(b *bent) listing {
				return func(ctx context.Context, tenant, after string, limit int) ([]journal.Summary, error) {
					list, err := b.Memory.Conversations(ctx, tenant, after, limit)
					if err == nil && len(list) == 0 && after == "" {
						return b.Memory.Conversations(ctx, "", "", limit)
					}
					return list, err
				}
			}),
		},
		{
			name: "the place may be another tenant's", catcher: tenants,
			plant: lists(func(b *bent) listing {
				return func(ctx context.Context, tenant, after string, limit int) ([]journal.Summary, error) {
					list, err := b.Memory.Conversations(ctx, tenant, after, limit)
					if err != nil && after != "nowhere" {
						return nil, nil
					}
					return list, err
				}
			}),
		},
		{name: "the count of turns is that of open runs", catcher: follows, plant: each(func(s *journal.Summary) { s.Turns = s.Open })},
		{name: "nothing is open", catcher: follows, plant: each(func(s *journal.Summary) { s.Open = 0 })},
		{name: "updated is created", catcher: follows, plant: each(func(s *journal.Summary) { s.Updated = s.Created })},
		{name: "events do not count", catcher: follows, plant: each(func(s *journal.Summary) { s.Last = 0 })},
		{
			name: "the status is the newest run's", catcher: follows,
			plant: each(func(s *journal.Summary) {
				if s.Open > 1 {
					s.Status = event.RunQueued
				}
			}),
		},
		{
			name: "runs come backwards", catcher: turns,
			plant: rows(func(runs []journal.Run) []journal.Run {
				slices.Reverse(runs)
				return runs
			}),
		},
		{
			name: "runs come without their input", catcher: turns,
			plant: rows(func(runs []journal.Run) []journal.Run {
				for i := range runs {
					runs[i].Input = nil
				}
				return runs
			}),
		},
		{
			name: "runs that the store made are hidden", catcher: "list/a run that was made for mail is listed",
			plant: rows(func(runs []journal.Run) []journal.Run {
				return slices.DeleteFunc(runs, func(r journal.Run) bool { return strings.HasSuffix(r.ID, "+") })
			}),
		},
		{
			name: "runs that have ended are queued", catcher: queue,
			plant: func(b *bent) {
				b.queue = func(ctx context.Context, conversation string) ([]journal.Run, error) {
					return b.Memory.Runs(ctx, conversation, 0, 0)
				}
			},
		},
		{
			name: "who waits is not queued", catcher: queue,
			plant: func(b *bent) {
				b.queue = func(ctx context.Context, conversation string) ([]journal.Run, error) {
					runs, err := b.Memory.Queue(ctx, conversation)
					return slices.DeleteFunc(runs, func(r journal.Run) bool { return r.Status == event.RunWaiting }), err
				}
			},
		},
	}
}

func removeMutants() []mutant {
	const gone = "remove/what was removed was never there"
	return []mutant{
		{
			name: "a tenant's removal takes others along", catcher: "remove/a tenant that is removed has nothing",
			plant: func(b *bent) {
				b.erased = func(ctx context.Context, tenant string) error {
					err := b.Memory.RemoveTenant(ctx, tenant)
					if err == nil {
						err = b.Memory.RemoveTenant(ctx, "zeta")
					}
					return err
				}
			},
		},
		{
			name: "removing does nothing", catcher: gone,
			plant: func(b *bent) {
				b.remove = func(_ context.Context, _, conversation string) error {
					for _, r := range b.open(conversation) {
						return &event.Error{Kind: event.ErrLocked, Message: "open: " + r.ID}
					}
					return nil
				}
			},
		},
		{
			name: "removing takes the tenant's state along", catcher: gone,
			plant: func(b *bent) {
				removed := false
				b.remove = func(ctx context.Context, tenant, conversation string) error {
					err := b.Memory.Remove(ctx, tenant, conversation)
					b.mu.Lock()
					removed = removed || err == nil
					b.mu.Unlock()
					return err
				}
				b.acquire = func(ctx context.Context, run string, have int64) (journal.Opened, error) {
					o, err := b.Memory.Acquire(ctx, run, have)
					b.mu.Lock()
					defer b.mu.Unlock()
					if removed {
						o.Shared = nil
					}
					return o, err
				}
			},
		},
		{
			name: "the removed one's mail is kept", catcher: gone,
			plant: func(b *bent) {
				removed := map[string]bool{}
				b.remove = func(ctx context.Context, tenant, conversation string) error {
					runs, _ := b.Memory.Runs(ctx, conversation, 0, 0)
					err := b.Memory.Remove(ctx, tenant, conversation)
					b.mu.Lock()
					defer b.mu.Unlock()
					for _, r := range runs {
						removed[r.ID] = err == nil
					}
					return err
				}
				b.post = func(ctx context.Context, m journal.Mail) error {
					b.mu.Lock()
					known := removed[m.Run]
					b.mu.Unlock()
					if known {
						return nil
					}
					return b.Memory.Post(ctx, m)
				}
			},
		},
		{
			name: "an open run ends with its conversation", catcher: "remove/a conversation with an open run stays",
			plant: func(b *bent) {
				b.remove = func(ctx context.Context, tenant, conversation string) error {
					err := b.Memory.Remove(ctx, tenant, conversation)
					if open := b.open(conversation); len(open) > 0 && open[0].Status == event.RunWaiting {
						return nil
					}
					return err
				}
			},
		},
		{
			name: "anybody removes", catcher: "remove/a tenant removes its own",
			plant: func(b *bent) {
				b.remove = func(ctx context.Context, tenant, conversation string) error {
					if tenant != "acme" && conversation != "" {
						tenant = "acme"
					}
					return b.Memory.Remove(ctx, tenant, conversation)
				}
			},
		},
		{
			name: "lives are not told apart", catcher: "remove/what is on its way to what was buried comes too late",
			plant: func(b *bent) {
				b.admit = func(ctx context.Context, r journal.Run) (journal.Run, error) {
					r.Incarnation = ""
					return b.Memory.Admit(ctx, r)
				}
			},
		},
	}
}

func (b *bent) RemoveTenant(ctx context.Context, tenant string) error {
	if b.erased != nil {
		return b.erased(ctx, tenant)
	}
	return b.Memory.RemoveTenant(ctx, tenant)
}
