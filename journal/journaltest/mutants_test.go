package journaltest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/race"
	"github.com/braidrun/braid/journal"
)

// mutant is a memory store with one planted bug that the author of a store could make.
type mutant struct {
	name string
	// catcher is the case that must catch the bug: "group/case".
	catcher string
	plant   func(b *bent)
	// term is the store's lease term, if the bug needs one.
	term time.Duration
}

// TestTheSuiteCatchesPlantedBugs checks that each bug fails the suite, in exactly the case about it. The race
// detector runs only these cases, because all of them are two thousand.
func TestTheSuiteCatchesPlantedBugs(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	caught := map[string]int{} // by case
	t.Run("mutants", func(t *testing.T) {
		first := mutants()
		for i, m := range slices.Concat(
			first, mailMutants(), aloneMutants(), sessionMutants(), listMutants(), tellMutants(), removeMutants(), eraseMutants(),
			ledgerMutants(), messageMutants(), lostMutants(), weighMutants(), storageMutants(), foldMutants(), beginMutants(),
		) {
			t.Run(m.name, func(t *testing.T) {
				t.Parallel()
				known, all := false, 0
				for _, g := range groups() {
					// Race cases take long. The bugs in the first list are enough for most of them.
					if g.name == "race" && i >= len(first) && !strings.HasPrefix(m.catcher, "race/") {
						continue
					}
					for _, c := range g.cases {
						name := g.name + "/" + c.name
						if race.On && name != m.catcher {
							continue
						}
						var r *recorder
						// A race does not show its bug every time.
						for tries := 20; tries > 0 && (r == nil || name == m.catcher && len(r.reasons) == 0); tries-- {
							h, real := memory(m.term)
							b := &bent{Memory: real, letters: map[string]journal.Mail{}, leases: map[string]journal.Lease{}, begins: beginner{Memory: real}}
							m.plant(b)
							h.Store = b
							r = play(t.Context(), c, h)
						}
						known = known || name == m.catcher
						if len(r.reasons) > 0 {
							all++
							mu.Lock()
							caught[name]++
							mu.Unlock()
							if name == m.catcher {
								t.Logf("%s: %.300s", name, r.reasons[0])
							}
						} else if name == m.catcher {
							t.Errorf("%s does not see it", name)
						}
					}
				}
				if !known {
					t.Errorf("there is no case %q", m.catcher)
				}
				t.Logf("caught by %d cases", all)
			})
		}
	})
	for _, g := range groups() {
		for _, c := range g.cases {
			// TestReopenCases covers the rest.
			if name := g.name + "/" + c.name; !race.On && caught[name] == 0 && g.name != "reopen" {
				t.Errorf("no planted bug fails %s: can it fail?", name)
			}
		}
	}
}

// bent is a memory store with some methods replaced.
type bent struct {
	*journal.Memory

	admit   func(context.Context, journal.Run) (journal.Run, error)
	acquire func(context.Context, string, int64) (journal.Opened, error)
	commit  func(context.Context, journal.Lease, journal.Batch) error
	renew   func(context.Context, journal.Lease) (journal.News, error)
	post    func(context.Context, journal.Mail) error
	read    func(context.Context, string, int64, int) ([]*event.Event, error)
	due     func(context.Context, int) ([]journal.Run, error)

	conversations func(ctx context.Context, tenant, after string, limit int) ([]journal.Summary, error)
	runs          func(context.Context, string, int, int) ([]journal.Run, error)
	queue         func(context.Context, string) ([]journal.Run, error)
	heads         func(context.Context, []string) (map[string]int64, error)
	posted        func(context.Context, []string) (map[string]journal.Posted, error)
	place         func(context.Context, string, int) (journal.Position, error)
	remove        func(ctx context.Context, tenant, conversation string) error

	// The ledger's queries and results.
	usage func(q *journal.LedgerQuery)
	used  func([]journal.UsageEntry) []journal.UsageEntry
	did   func([]journal.ToolEntry) []journal.ToolEntry
	sums  func(context.Context, journal.LedgerQuery, journal.UsageBy, *string) ([]journal.UsageSum, error)
	add   func(u *journal.UsageEntry)
	said  func(context.Context, journal.MessageQuery) ([]journal.MessageEntry, error)
	keep  func(context.Context, string, []journal.MessageEntry) error

	unkept func(ctx context.Context, conversation string) ([]string, error)
	erased func(ctx context.Context, tenant string) error

	// weight changes the weight of a log with this many events and bytes.
	weight func(events int, bytes int64) int64
	// paged changes the bounds of a page.
	paged func(limit int, most int64) (int, int64)
	// counts changes the bytes of a tenant; blind does so even for a refused call.
	counts func(tenant string, bytes int64) int64
	blind  bool
	folds  foldBugs
	begins beginner

	// State of earlier calls for the planted bugs.
	mu      sync.Mutex
	rows    []journal.Run
	leases  map[string]journal.Lease // the last one, by conversation
	letters map[string]journal.Mail  // by run and id
	kinds   map[string]journal.MailKind
	// consumed are messages in the order in which runs read them. found selects the one that answers.
	consumed []consumed
	found    func(c consumed, conversation, id string) bool
}

func (b *bent) Admit(ctx context.Context, r journal.Run) (journal.Run, error) {
	admit := b.Memory.Admit
	if b.admit != nil {
		admit = b.admit
	}
	row, err := admit(ctx, r)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil && !slices.ContainsFunc(b.rows, func(o journal.Run) bool { return o.ID == row.ID }) {
		b.rows = append(b.rows, row)
	}
	return row, err
}

func (b *bent) Acquire(ctx context.Context, run string, have int64) (journal.Opened, error) {
	acquire := b.Memory.Acquire
	if b.acquire != nil {
		acquire = b.acquire
	}
	o, err := acquire(ctx, run, have)
	if err == nil {
		b.mu.Lock()
		b.leases[o.Lease.Conversation] = o.Lease
		b.mu.Unlock()
	}
	return o, err
}

func (b *bent) Commit(ctx context.Context, l journal.Lease, batch journal.Batch) error {
	if b.commit != nil {
		return b.commit(ctx, l, batch)
	}
	err := b.Memory.Commit(ctx, l, batch)
	if err == nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, id := range batch.Read {
			b.consumed = append(b.consumed, consumed{l.Conversation, l.Run, id, b.kinds[l.Run+"/"+id]})
		}
	}
	return err
}

// consumed is a message that a run has read.
type consumed struct {
	conversation, run, id string
	kind                  journal.MailKind
}

// Tail returns the whole log, and Entered searches what a tail omits.
func (b *bent) Tail(ctx context.Context, conversation string) (journal.Tail, error) {
	events, err := b.Read(ctx, conversation, 0, 0)
	return journal.Tail{First: 1, Last: int64(len(events)), Events: events}, err
}

func (b *bent) Entered(_ context.Context, conversation, id string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.consumed {
		if b.found != nil && b.found(c, conversation, id) ||
			b.found == nil && c.conversation == conversation && c.id == id && (c.kind == journal.MailMessage || c.kind == "") {
			return c.run, nil
		}
	}
	return "", nil
}

func (b *bent) Renew(ctx context.Context, l journal.Lease) (journal.News, error) {
	if b.renew != nil {
		return b.renew(ctx, l)
	}
	return b.Memory.Renew(ctx, l)
}

func (b *bent) Post(ctx context.Context, m journal.Mail) error {
	if b.post != nil {
		return b.post(ctx, m)
	}
	b.mu.Lock()
	if b.kinds == nil {
		b.kinds = map[string]journal.MailKind{}
	}
	b.kinds[m.Run+"/"+m.ID] = m.Kind
	b.mu.Unlock()
	return b.Memory.Post(ctx, m)
}

func (b *bent) Read(ctx context.Context, conversation string, after int64, limit int) ([]*event.Event, error) {
	if b.read != nil {
		return b.read(ctx, conversation, after, limit)
	}
	return b.Memory.Read(ctx, conversation, after, limit)
}

func (b *bent) Due(ctx context.Context, limit int) ([]journal.Run, error) {
	if b.due != nil {
		return b.due(ctx, limit)
	}
	return b.Memory.Due(ctx, limit)
}

func (b *bent) Conversations(ctx context.Context, tenant, after string, limit int) ([]journal.Summary, error) {
	if b.conversations != nil {
		return b.conversations(ctx, tenant, after, limit)
	}
	return b.Memory.Conversations(ctx, tenant, after, limit)
}

func (b *bent) Runs(ctx context.Context, conversation string, after, limit int) ([]journal.Run, error) {
	if b.runs != nil {
		return b.runs(ctx, conversation, after, limit)
	}
	return b.Memory.Runs(ctx, conversation, after, limit)
}

func (b *bent) Queue(ctx context.Context, conversation string) ([]journal.Run, error) {
	if b.queue != nil {
		return b.queue(ctx, conversation)
	}
	return b.Memory.Queue(ctx, conversation)
}

func (b *bent) LastSeqs(ctx context.Context, conversations []string) (map[string]int64, error) {
	if b.heads != nil {
		return b.heads(ctx, conversations)
	}
	return b.Memory.LastSeqs(ctx, conversations)
}

func (b *bent) Posted(ctx context.Context, runs []string) (map[string]journal.Posted, error) {
	if b.posted != nil {
		return b.posted(ctx, runs)
	}
	return b.Memory.Posted(ctx, runs)
}

func (b *bent) Position(ctx context.Context, conversation string, since int) (journal.Position, error) {
	if b.place != nil {
		return b.place(ctx, conversation, since)
	}
	return b.Memory.Position(ctx, conversation, since)
}

func (b *bent) Remove(ctx context.Context, tenant, conversation string) error {
	if b.remove != nil {
		return b.remove(ctx, tenant, conversation)
	}
	return b.Memory.Remove(ctx, tenant, conversation)
}

// lease returns the conversation's last lease.
func (b *bent) lease(conversation string) journal.Lease {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.leases[conversation]
}

// history returns the conversation's log.
func (b *bent) history(conversation string) []*event.Event {
	if conversation == "" {
		return nil
	}
	events, _ := b.Memory.Read(context.Background(), conversation, 0, 0)
	return events
}

// held returns the leases in force.
func (b *bent) held() []journal.Lease {
	b.mu.Lock()
	defer b.mu.Unlock()
	var held []journal.Lease
	for _, l := range b.leases {
		if _, err := b.Memory.Renew(context.Background(), l); err == nil {
			held = append(held, l)
		}
	}
	return held
}

// further returns the batch with its events renumbered from the end of the log.
func (b *bent) further(l journal.Lease, batch journal.Batch) journal.Batch {
	return rewrite(batch, int64(len(b.history(l.Conversation)))+1, nil)
}

// rewrite copies the batch's events and applies f to each of them; from, if not 0, is the first Seq to change.
func rewrite(batch journal.Batch, from int64, f func(*event.Event)) journal.Batch {
	events := make([]*event.Event, len(batch.Events))
	for i, e := range batch.Events {
		if e == nil {
			continue
		}
		c := *e
		if from > 0 {
			c.Seq = from + int64(i)
		}
		if f != nil {
			f(&c)
		}
		events[i] = &c
	}
	batch.Events = events
	return batch
}

// stored reports whether the log has similar events at the batch's positions.
func (b *bent) stored(l journal.Lease, batch journal.Batch, alike func(a, b *event.Event) bool) bool {
	log := b.history(l.Conversation)
	for _, e := range batch.Events {
		if e == nil || e.Seq < 1 || e.Seq > int64(len(log)) || !alike(log[e.Seq-1], e) {
			return false
		}
	}
	return len(batch.Events) > 0
}

func mutants() []mutant {
	return []mutant{
		{
			name: "no epoch check", catcher: "lease/taking over voids the earlier lease",
			plant: func(b *bent) {
				b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
					l.Epoch = b.lease(l.Conversation).Epoch
					return b.Memory.Commit(ctx, l, batch)
				}
			},
		},
		{
			name: "no epoch check in Renew", catcher: "lease/taking over voids the earlier lease",
			plant: func(b *bent) {
				b.renew = func(ctx context.Context, l journal.Lease) (journal.News, error) {
					l.Epoch = b.lease(l.Conversation).Epoch
					return b.Memory.Renew(ctx, l)
				}
			},
		},
		{
			name: "a lease is any run's", catcher: "lease/a lease that nobody gave is void",
			plant: func(b *bent) {
				b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
					if last := b.lease(l.Conversation); last.Epoch == l.Epoch && last.Run != "" && l.Run != "" {
						batch = rewrite(batch, 0, func(e *event.Event) {
							if e.Run == l.Run {
								e.Run = last.Run
							}
						})
						l.Run = last.Run
					}
					return b.Memory.Commit(ctx, l, batch)
				}
			},
		},
		{
			name: "no check of the last seq", catcher: "commit/a batch that does not go on from the last event is refused",
			plant: func(b *bent) {
				b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
					err := b.Memory.Commit(ctx, l, batch)
					if errors.Is(err, event.ErrLeaseLost) {
						err = b.Memory.Commit(ctx, l, b.further(l, batch))
					}
					return err
				}
			},
		},
		{
			name: "a repeat appends again", catcher: "repeat/a commit that is there already is a success and changes nothing",
			plant: func(b *bent) {
				b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
					before := len(b.history(l.Conversation))
					err := b.Memory.Commit(ctx, l, batch)
					if err == nil && before > 0 && len(b.history(l.Conversation)) == before {
						batch.Read = nil
						_ = b.Memory.Commit(ctx, l, b.further(l, batch))
					}
					return err
				}
			},
		},
		{
			name: "a repeat is refused", catcher: "repeat/a commit that is there already is a success and changes nothing",
			plant: func(b *bent) {
				b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
					before := len(b.history(l.Conversation))
					err := b.Memory.Commit(ctx, l, batch)
					if err == nil && len(batch.Events) > 0 && len(b.history(l.Conversation)) == before {
						return &event.Error{Kind: event.ErrLeaseLost, Message: "lost"}
					}
					return err
				}
			},
		},
		{
			name: "a repeat is refused once the lease was released", catcher: "repeat/the end of a run comes again",
			plant: func(b *bent) {
				b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
					if batch.Status.Ended() && b.stored(l, batch, func(x, y *event.Event) bool { return x == y }) {
						return &event.Error{Kind: event.ErrLeaseLost, Message: "lost"}
					}
					return b.Memory.Commit(ctx, l, batch)
				}
			},
		},
		{
			name: "a repeated wait parks a run that was taken up", catcher: "repeat/a wait comes again",
			plant: func(b *bent) {
				b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
					before := len(b.history(l.Conversation))
					err := b.Memory.Commit(ctx, l, batch)
					if err == nil && batch.Status == event.RunWaiting && len(b.history(l.Conversation)) == before {
						last := b.lease(l.Conversation)
						_ = b.Memory.Commit(ctx, last, journal.Batch{Status: event.RunWaiting, WakeAt: batch.WakeAt})
					}
					return err
				}
			},
		},
		{
			name: "whatever stands there already is a success", catcher: "repeat/what differs in kind, step or attempt is not there already",
			plant: func(b *bent) {
				b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
					err := b.Memory.Commit(ctx, l, batch)
					if errors.Is(err, event.ErrLeaseLost) && b.stored(l, batch, func(_, _ *event.Event) bool { return true }) {
						return nil
					}
					return err
				}
			},
		},
		{
			name: "a repeat does not compare attempts", catcher: "repeat/what differs in kind, step or attempt is not there already",
			plant: func(b *bent) {
				b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
					err := b.Memory.Commit(ctx, l, batch)
					alike := func(x, y *event.Event) bool {
						return x.Run == y.Run && x.Step == y.Step && x.Body.Kind() == y.Body.Kind()
					}
					if errors.Is(err, event.ErrLeaseLost) && b.lease(l.Conversation).Epoch == l.Epoch && b.stored(l, batch, alike) {
						return nil
					}
					return err
				}
			},
		},
		{
			name: "what another epoch wrote counts as a repeat", catcher: "repeat/a commit that was never stored is not confirmed by one like it",
			plant: func(b *bent) {
				b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
					err := b.Memory.Commit(ctx, l, batch)
					alike := func(x, y *event.Event) bool {
						return x.Run == y.Run && x.Step == y.Step && x.Attempt == y.Attempt && x.Body.Kind() == y.Body.Kind()
					}
					if errors.Is(err, event.ErrLeaseLost) && b.stored(l, batch, alike) {
						return nil
					}
					return err
				}
			},
		},
		{
			name: "what another run wrote counts as a repeat", catcher: "repeat/what one run wrote is not another's commit",
			plant: func(b *bent) {
				b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
					err := b.Memory.Commit(ctx, l, batch)
					alike := func(x, y *event.Event) bool {
						return x.Run != y.Run && x.Step == y.Step && x.Attempt == y.Attempt && x.Body.Kind() == y.Body.Kind()
					}
					if errors.Is(err, event.ErrLeaseLost) && b.stored(l, batch, alike) {
						return nil
					}
					return err
				}
			},
		},
		{
			name: "a superseded driver is told to go on", catcher: "repeat/a commit that kept the lease is not confirmed to a driver that lost it",
			plant: func(b *bent) {
				b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
					err := b.Memory.Commit(ctx, l, batch)
					if errors.Is(err, event.ErrLeaseLost) && b.stored(l, batch, func(x, y *event.Event) bool { return x == y }) {
						return nil
					}
					return err
				}
			},
		},
		{
			name: "a repeat in part is a success", catcher: "repeat/a commit that is there only in part is refused",
			plant: func(b *bent) {
				b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
					err := b.Memory.Commit(ctx, l, batch)
					if n := len(b.history(l.Conversation)); errors.Is(err, event.ErrLeaseLost) && len(batch.Events) > 0 &&
						batch.Events[0].Seq <= int64(n) && b.lease(l.Conversation).Epoch == l.Epoch {
						batch.Events = batch.Events[int64(n)-batch.Events[0].Seq+1:]
						return b.Memory.Commit(ctx, l, batch)
					}
					return err
				}
			},
		},
		{
			name: "a batch without events is refused when it is repeated", catcher: "repeat/a batch without events is known by its effect",
			plant: func(b *bent) {
				given := map[int64]bool{}
				b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
					if len(batch.Events) == 0 {
						b.mu.Lock()
						again := given[l.Epoch]
						given[l.Epoch] = given[l.Epoch] || batch.Release || batch.Status == event.RunWaiting
						b.mu.Unlock()
						if again {
							return &event.Error{Kind: event.ErrLeaseLost, Message: "lost"}
						}
					}
					return b.Memory.Commit(ctx, l, batch)
				}
			},
		},
		{
			name: "a step may end that has not begun", catcher: "steps/a step that has not begun does not end",
			plant: func(b *bent) { b.commit = withoutSteps(b) },
		},
		{
			name: "a step may end twice", catcher: "steps/a step ends once",
			plant: func(b *bent) {
				over := map[string]bool{}
				b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
					b.mu.Lock()
					defer b.mu.Unlock()
					batch = rewrite(batch, 0, func(e *event.Event) {
						if body, ok := e.Body.(*event.StepEnded); ok && body.Outcome == event.OutcomeDone {
							if over[e.Run+e.Step] {
								e.Step, e.Body = "", &event.Notice{}
							}
							over[e.Run+e.Step] = true
						}
					})
					return b.Memory.Commit(ctx, l, batch)
				}
			},
		},
		{
			name: "a step ends whatever the attempt", catcher: "steps/an earlier attempt than began does not end",
			plant: func(b *bent) {
				attempts := map[string]int{}
				b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
					b.mu.Lock()
					defer b.mu.Unlock()
					batch = rewrite(batch, 0, func(e *event.Event) {
						switch e.Body.(type) {
						case *event.StepBegun:
							attempts[e.Run+e.Step] = e.Attempt
						case *event.StepEnded:
							if n := attempts[e.Run+e.Step]; n > 0 && e.Attempt > 0 {
								e.Attempt = n
							}
						}
					})
					return b.Memory.Commit(ctx, l, batch)
				}
			},
		},
		{
			name: "a step begins again", catcher: "steps/an attempt does not begin twice",
			plant: func(b *bent) {
				b.commit = withoutSteps(b, event.KindStepBegun)
			},
		},
		{
			name: "a late question is taken", catcher: "steps/a question comes not later than the attempt's end",
			plant: func(b *bent) {
				b.commit = withoutSteps(b, event.KindAsked)
			},
		},
		{
			name: "a message ends any step", catcher: "steps/a message does not end a tool step",
			plant: func(b *bent) {
				b.commit = withoutSteps(b, event.KindAssistantMessage)
			},
		},
		{
			name: "a piece ends its step", catcher: "steps/a piece of an answer does not end the step",
			plant: func(b *bent) {
				b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
					return b.Memory.Commit(ctx, l, rewrite(batch, 0, func(e *event.Event) {
						if m, ok := e.Body.(*event.AssistantMessage); ok && m.Piece {
							whole := *m
							whole.Piece = false
							e.Body = &whole
						}
					}))
				}
			},
		},
		{
			name: "a piece is taken of any attempt", catcher: "steps/a superseded attempt gives no piece",
			plant: func(b *bent) {
				b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
					return b.Memory.Commit(ctx, l, rewrite(batch, 0, func(e *event.Event) {
						if m, ok := e.Body.(*event.AssistantMessage); ok && m.Piece {
							e.Step, e.Attempt = "", 0
						}
					}))
				}
			},
		},
		{
			name: "a step must begin in an earlier commit", catcher: "steps/a step may begin and end in one batch",
			plant: func(b *bent) {
				b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
					begun := map[string]bool{}
					for _, e := range batch.Events {
						if e == nil || e.Body == nil {
							continue
						}
						switch e.Body.(type) {
						case *event.StepBegun:
							begun[e.Step] = true
						case *event.StepEnded:
							if begun[e.Step] {
								return &event.Error{Kind: event.ErrConflict, Message: "not begun"}
							}
						}
					}
					return b.Memory.Commit(ctx, l, batch)
				}
			},
		},
		{
			name: "several questions are one too many", catcher: "steps/several questions of one attempt stand in a batch",
			plant: func(b *bent) {
				b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
					seen := map[string]bool{}
					for _, e := range batch.Events {
						if e == nil {
							continue
						}
						if _, ok := e.Body.(*event.Asked); ok && e.Step != "" {
							if seen[e.Step] {
								return &event.Error{Kind: event.ErrConflict, Message: "asked"}
							}
							seen[e.Step] = true
						}
					}
					return b.Memory.Commit(ctx, l, batch)
				}
			},
		},
		{
			name: "no step may end", catcher: "steps/a tool step that began may end",
			plant: func(b *bent) {
				b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
					for _, e := range batch.Events {
						if e == nil {
							continue
						}
						switch e.Body.(type) {
						case *event.StepEnded, *event.AssistantMessage, *event.Asked:
							return &event.Error{Kind: event.ErrConflict, Message: "not begun"}
						}
					}
					return b.Memory.Commit(ctx, l, batch)
				}
			},
		},
		{
			name: "an end of nothing is taken", catcher: "steps/an end names its step",
			plant: func(b *bent) {
				b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
					return b.Memory.Commit(ctx, l, rewrite(batch, 0, func(e *event.Event) {
						if _, ok := e.Body.(*event.StepEnded); ok && e.Step == "" {
							e.Body = &event.Notice{}
						}
					}))
				}
			},
		},
		{
			name: "mail is consumed although the commit is refused", catcher: "commit/a refused batch leaves no trace",
			plant: func(b *bent) {
				b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
					err := b.Memory.Commit(ctx, l, batch)
					if err != nil {
						for _, id := range batch.Read {
							_ = b.Memory.Commit(ctx, l, journal.Batch{Read: []string{id}})
						}
					}
					return err
				}
			},
		},
		{
			name: "consumed mail comes again", catcher: "inbox/the same id twice is once",
			plant: func(b *bent) {
				b.acquire = func(ctx context.Context, run string, have int64) (journal.Opened, error) {
					o, err := b.Memory.Acquire(ctx, run, have)
					b.mu.Lock()
					defer b.mu.Unlock()
					for _, m := range o.Mail {
						b.letters[m.Run+"/"+m.ID] = m
					}
					o.Mail = nil
					for _, m := range b.letters {
						if m.Run == run {
							o.Mail = append(o.Mail, m)
						}
					}
					slices.SortFunc(o.Mail, func(x, y journal.Mail) int { return cmp.Compare(x.ID, y.ID) })
					return o, err
				}
			},
		},
		{
			name: "mail may be read twice", catcher: "inbox/mail is consumed once",
			plant: func(b *bent) {
				b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
					err := b.Memory.Commit(ctx, l, batch)
					if errors.Is(err, event.ErrConflict) && len(batch.Read) > 0 {
						batch.Read = nil
						return b.Memory.Commit(ctx, l, batch)
					}
					return err
				}
			},
		},
		{
			name: "mail that is posted again replaces the first", catcher: "inbox/the same id for something else is a conflict",
			plant: func(b *bent) {
				b.post = func(ctx context.Context, m journal.Mail) error {
					b.mu.Lock()
					b.letters[m.Run+"/"+m.ID] = m
					b.mu.Unlock()
					return b.Memory.Post(ctx, m)
				}
				b.acquire = func(ctx context.Context, run string, have int64) (journal.Opened, error) {
					o, err := b.Memory.Acquire(ctx, run, have)
					b.mu.Lock()
					defer b.mu.Unlock()
					for i, m := range o.Mail {
						o.Mail[i] = b.letters[m.Run+"/"+m.ID]
						o.Mail[i].Posted = m.Posted
					}
					return o, err
				}
			},
		},
		{
			name: "the sender's bytes are kept", catcher: "inbox/what senders and readers do with their values later changes nothing",
			plant: func(b *bent) {
				b.post = func(ctx context.Context, m journal.Mail) error {
					b.mu.Lock()
					b.letters[m.Run+"/"+m.ID] = m
					b.mu.Unlock()
					return b.Memory.Post(ctx, m)
				}
				b.acquire = func(ctx context.Context, run string, have int64) (journal.Opened, error) {
					o, err := b.Memory.Acquire(ctx, run, have)
					b.mu.Lock()
					defer b.mu.Unlock()
					for i, m := range o.Mail {
						o.Mail[i].Value = b.letters[m.Run+"/"+m.ID].Value
					}
					return o, err
				}
			},
		},
		{
			name: "mail ids are everybody's", catcher: "inbox/an id is the run's own",
			plant: func(b *bent) {
				b.post = func(ctx context.Context, m journal.Mail) error {
					b.mu.Lock()
					first, known := b.letters[m.ID]
					if !known {
						b.letters[m.ID] = m
					}
					b.mu.Unlock()
					if known && first.Run != m.Run {
						return nil
					}
					return b.Memory.Post(ctx, m)
				}
			},
		},
		{
			name: "mail comes in the order of its ids", catcher: "inbox/mail comes whole and in the order of posting",
			plant: func(b *bent) {
				b.acquire = func(ctx context.Context, run string, have int64) (journal.Opened, error) {
					o, err := b.Memory.Acquire(ctx, run, have)
					slices.SortFunc(o.Mail, func(x, y journal.Mail) int { return cmp.Compare(x.ID, y.ID) })
					return o, err
				}
			},
		},
		{
			name: "a repeat of mail is refused after the end", catcher: "inbox/the same id twice is once",
			plant: func(b *bent) {
				b.post = func(ctx context.Context, m journal.Mail) error {
					if _, err := b.Memory.Acquire(ctx, m.Run, 0); errors.Is(err, event.ErrConflict) {
						return err
					}
					return b.Memory.Post(ctx, m)
				}
			},
		},
		{
			name: "mail of the conversation, not of the run", catcher: "inbox/another run of the conversation does not get it",
			plant: func(b *bent) {
				b.post = func(ctx context.Context, m journal.Mail) error {
					err := b.Memory.Post(ctx, m)
					b.mu.Lock()
					if err == nil {
						b.letters[m.Run+"/"+m.ID] = m
					}
					b.mu.Unlock()
					return err
				}
				b.acquire = func(ctx context.Context, run string, have int64) (journal.Opened, error) {
					o, err := b.Memory.Acquire(ctx, run, have)
					b.mu.Lock()
					defer b.mu.Unlock()
					for _, r := range b.rows {
						for _, m := range b.letters {
							if r.ID == m.Run && r.ID != run && r.Conversation == o.Lease.Conversation {
								o.Mail = append(o.Mail, m)
							}
						}
					}
					return o, err
				}
			},
		},
		{
			name: "Renew forgets the cancel flag", catcher: "inbox/a cancel is told by Renew and stands on the row",
			plant: func(b *bent) {
				b.renew = func(ctx context.Context, l journal.Lease) (journal.News, error) {
					news, err := b.Memory.Renew(ctx, l)
					news.Cancelled = false
					return news, err
				}
			},
		},
		{
			name: "the cancel flag goes with its mail", catcher: "inbox/a cancel is told by Renew and stands on the row",
			plant: func(b *bent) {
				b.acquire = func(ctx context.Context, run string, have int64) (journal.Opened, error) {
					o, err := b.Memory.Acquire(ctx, run, have)
					o.Run.Cancelled = slices.ContainsFunc(o.Mail, func(m journal.Mail) bool { return m.Kind == journal.MailCancel })
					return o, err
				}
			},
		},
		{
			name: "a release is ignored", catcher: "commit/a run that waits, ends or is released loses its lease",
			plant: func(b *bent) {
				b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
					batch.Release = false
					return b.Memory.Commit(ctx, l, batch)
				}
			},
		},
		{
			name: "a released lease still writes", catcher: "commit/a run that waits, ends or is released loses its lease",
			plant: func(b *bent) {
				b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
					err := b.Memory.Commit(ctx, l, batch)
					if errors.Is(err, event.ErrLeaseLost) && b.lease(l.Conversation).Epoch == l.Epoch {
						if o, err := b.Memory.Acquire(ctx, l.Run, 0); err == nil {
							return b.Memory.Commit(ctx, o.Lease, batch)
						}
					}
					return err
				}
			},
		},
		{
			name: "a lease never runs out", catcher: "lease/a lease runs out on the store's clock",
			plant: func(*bent) {}, term: 1000 * time.Hour,
		},
		{
			name: "two drivers get one lease", catcher: "acquire/one driver at a time",
			plant: func(b *bent) {
				b.acquire = func(ctx context.Context, run string, have int64) (journal.Opened, error) {
					o, err := b.Memory.Acquire(ctx, run, have)
					if errors.Is(err, event.ErrLocked) {
						if last := b.lease(talk); last.Run == run {
							return journal.Opened{Lease: last}, nil
						}
					}
					return o, err
				}
			},
		},
		{
			name: "one driver for all conversations", catcher: "acquire/conversations do not wait for each other",
			plant: func(b *bent) {
				b.acquire = func(ctx context.Context, run string, have int64) (journal.Opened, error) {
					if len(b.held()) > 0 {
						return journal.Opened{}, &event.Error{Kind: event.ErrLocked, Message: "busy"}
					}
					return b.Memory.Acquire(ctx, run, have)
				}
			},
		},
		{
			name: "no lease can be renewed", catcher: "lease/a lease may be renewed",
			plant: func(b *bent) {
				b.renew = func(context.Context, journal.Lease) (journal.News, error) {
					return journal.News{}, &event.Error{Kind: event.ErrLeaseLost, Message: "lost"}
				}
			},
		},
		{
			name: "a lease that ran out is void", catcher: "lease/expiry alone does not void a lease",
			plant: func(b *bent) {
				b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
					due, err := b.Memory.Due(ctx, 0)
					if err == nil && slices.ContainsFunc(due, func(r journal.Run) bool { return r.ID == l.Run }) {
						return &event.Error{Kind: event.ErrLeaseLost, Message: "too late"}
					}
					return b.Memory.Commit(ctx, l, batch)
				}
			},
		},
		{
			name: "Renew does not move the end", catcher: "lease/renewing moves the end",
			plant: func(b *bent) {
				b.renew = func(ctx context.Context, l journal.Lease) (journal.News, error) {
					return journal.News{}, b.Memory.Commit(ctx, l, journal.Batch{})
				}
			},
		},
		{
			name: "a commit renews", catcher: "lease/writing does not move the end",
			plant: func(b *bent) {
				b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
					_, _ = b.Memory.Renew(ctx, l)
					return b.Memory.Commit(ctx, l, batch)
				}
			},
		},
		{
			name: "Admit ignores the key", catcher: "admit/the same key again is the first run",
			plant: func(b *bent) {
				b.admit = func(ctx context.Context, r journal.Run) (journal.Run, error) {
					key := r.Key
					r.Key = ""
					row, err := b.Memory.Admit(ctx, r)
					row.Key = key
					return row, err
				}
			},
		},
		{
			name: "a key is the store's", catcher: "admit/a key is the conversation's own, and none is no key",
			plant: func(b *bent) {
				b.admit = func(ctx context.Context, r journal.Run) (journal.Run, error) {
					b.mu.Lock()
					i := slices.IndexFunc(b.rows, func(o journal.Run) bool { return r.Key != "" && o.Key == r.Key && o.Tenant == r.Tenant })
					var found journal.Run
					if i >= 0 {
						found = b.rows[i]
					}
					b.mu.Unlock()
					if i >= 0 && found.Conversation != r.Conversation {
						return found, nil
					}
					return b.Memory.Admit(ctx, r)
				}
			},
		},
		{
			name: "no key is a key", catcher: "admit/a key is the conversation's own, and none is no key",
			plant: func(b *bent) {
				b.admit = func(ctx context.Context, r journal.Run) (journal.Run, error) {
					key := r.Key
					r.Key = "key:" + key
					row, err := b.Memory.Admit(ctx, r)
					row.Key = key
					return row, err
				}
			},
		},
		{
			name: "another input under a known id is taken for the same", catcher: "admit/the same id or key for something else is a conflict",
			plant: func(b *bent) {
				b.admit = func(ctx context.Context, r journal.Run) (journal.Run, error) {
					row, err := b.Memory.Admit(ctx, r)
					if errors.Is(err, event.ErrConflict) {
						b.mu.Lock()
						defer b.mu.Unlock()
						for _, o := range b.rows {
							if o.ID == r.ID {
								return o, nil
							}
						}
					}
					return row, err
				}
			},
		},
		{
			name: "another user's request is taken for the same", catcher: "admit/the same id or key for something else is a conflict",
			plant: func(b *bent) {
				b.admit = func(ctx context.Context, r journal.Run) (journal.Run, error) {
					if row, err := b.Memory.Admit(ctx, r); !errors.Is(err, event.ErrConflict) {
						return row, err
					}
					r.User = "ann"
					return b.Memory.Admit(ctx, r)
				}
			},
		},
		{
			name: "labels make another request", catcher: "admit/labels are no part of what was asked for",
			plant: func(b *bent) {
				b.admit = func(ctx context.Context, r journal.Run) (journal.Run, error) {
					row, err := b.Memory.Admit(ctx, r)
					if err == nil && (row.Executor != r.Executor || !maps.Equal(row.Metadata, r.Metadata)) {
						return journal.Run{}, &event.Error{Kind: event.ErrConflict, Message: "other labels"}
					}
					return row, err
				}
			},
		},
		{
			name: "any tenant may admit to a conversation", catcher: "admit/a conversation is its tenant's",
			plant: func(b *bent) {
				b.admit = func(ctx context.Context, r journal.Run) (journal.Run, error) {
					row, err := b.Memory.Admit(ctx, r)
					if errors.Is(err, event.ErrNotFound) {
						r.Tenant = "acme"
						return b.Memory.Admit(ctx, r)
					}
					return row, err
				}
			},
		},
		{
			name: "another tenant's conversation is a conflict", catcher: "admit/a conversation is its tenant's",
			plant: func(b *bent) {
				b.admit = func(ctx context.Context, r journal.Run) (journal.Run, error) {
					row, err := b.Memory.Admit(ctx, r)
					if errors.Is(err, event.ErrNotFound) {
						return row, &event.Error{Kind: event.ErrConflict, Message: "taken"}
					}
					return row, err
				}
			},
		},
		{
			name: "a refused admission uses a turn up", catcher: "admit/the same id or key for something else is a conflict",
			plant: func(b *bent) {
				skipped := 0
				b.admit = func(ctx context.Context, r journal.Run) (journal.Run, error) {
					row, err := b.Memory.Admit(ctx, r)
					b.mu.Lock()
					defer b.mu.Unlock()
					if errors.Is(err, event.ErrConflict) {
						skipped++
					}
					row.Turn += skipped
					return row, err
				}
			},
		},
		{
			name: "turns count through all conversations", catcher: "admit/turns count from 1 in each conversation",
			plant: func(b *bent) {
				b.admit = func(ctx context.Context, r journal.Run) (journal.Run, error) {
					row, err := b.Memory.Admit(ctx, r)
					b.mu.Lock()
					defer b.mu.Unlock()
					row.Turn = len(b.rows) + 1
					return row, err
				}
			},
		},
		{
			name: "runs of a conversation do not wait", catcher: "acquire/runs are taken in the order of their turns",
			plant: func(b *bent) {
				b.acquire = func(ctx context.Context, run string, have int64) (journal.Opened, error) {
					o, err := b.Memory.Acquire(ctx, run, have)
					if errors.Is(err, event.ErrLocked) && run == next {
						return journal.Opened{Lease: journal.Lease{Run: run, Conversation: talk, Epoch: 99}}, nil
					}
					return o, err
				}
			},
		},
		{
			name: "all events whatever the driver has", catcher: "acquire/the events come that the driver does not have",
			plant: func(b *bent) {
				b.acquire = func(ctx context.Context, run string, _ int64) (journal.Opened, error) {
					return b.Memory.Acquire(ctx, run, 0)
				}
			},
		},
		{
			name: "the run's own events only", catcher: "acquire/the events of earlier runs come too",
			plant: func(b *bent) {
				b.acquire = func(ctx context.Context, run string, have int64) (journal.Opened, error) {
					o, err := b.Memory.Acquire(ctx, run, have)
					o.Events = slices.DeleteFunc(slices.Clone(o.Events), func(e *event.Event) bool { return e.Run != run })
					return o, err
				}
			},
		},
		{
			name: "a run that has ended is locked", catcher: "acquire/a run that has ended is a conflict",
			plant: func(b *bent) {
				b.acquire = func(ctx context.Context, run string, have int64) (journal.Opened, error) {
					o, err := b.Memory.Acquire(ctx, run, have)
					if errors.Is(err, event.ErrConflict) {
						err = &event.Error{Kind: event.ErrLocked, Message: "over"}
					}
					return o, err
				}
			},
		},
		{
			name: "a waiting run is taken only when it is due", catcher: "acquire/a run that waits may be taken at any time",
			plant: func(b *bent) {
				b.acquire = func(ctx context.Context, run string, have int64) (journal.Opened, error) {
					due, _ := b.Memory.Due(ctx, 0)
					if run == first && !slices.ContainsFunc(due, func(r journal.Run) bool { return r.ID == run }) {
						return journal.Opened{}, &event.Error{Kind: event.ErrLocked, Message: "not due"}
					}
					return b.Memory.Acquire(ctx, run, have)
				}
			},
		},
		{
			name: "Due lists blocked runs", catcher: "due/a run behind another is not due",
			plant: func(b *bent) {
				b.due = func(ctx context.Context, limit int) ([]journal.Run, error) {
					due, err := b.Memory.Due(ctx, limit)
					for _, r := range b.admitted(ctx) {
						if r.Status == event.RunQueued && !slices.ContainsFunc(due, func(o journal.Run) bool { return o.ID == r.ID }) {
							due = append(due, r)
						}
					}
					return due, err
				}
			},
		},
		{
			name: "Due lists runs that are held", catcher: "due/a queued run is due until it is taken",
			plant: func(b *bent) {
				b.due = func(ctx context.Context, limit int) ([]journal.Run, error) {
					due, err := b.Memory.Due(ctx, limit)
					for _, r := range b.admitted(ctx) {
						if r.Status == event.RunRunning && !slices.ContainsFunc(due, func(o journal.Run) bool { return o.ID == r.ID }) {
							due = append(due, r)
						}
					}
					return due, err
				}
			},
		},
		{
			name: "Due does not list runs without a driver", catcher: "due/a run without a driver is due",
			plant: func(b *bent) {
				b.due = func(ctx context.Context, limit int) ([]journal.Run, error) {
					due, err := b.Memory.Due(ctx, limit)
					return slices.DeleteFunc(due, func(r journal.Run) bool { return r.Status == event.RunRunning }), err
				}
			},
		},
		{
			name: "Due does not look at mail", catcher: "due/a waiting run is due by mail",
			plant: func(b *bent) {
				b.due = func(ctx context.Context, limit int) ([]journal.Run, error) {
					due, err := b.Memory.Due(ctx, limit)
					return slices.DeleteFunc(due, func(r journal.Run) bool {
						return r.Status == event.RunWaiting && r.WakeAt.IsZero()
					}), err
				}
			},
		},
		{
			name: "Due does not look at the time", catcher: "due/a waiting run is due by time",
			plant: func(b *bent) {
				b.due = func(ctx context.Context, limit int) ([]journal.Run, error) {
					due, err := b.Memory.Due(ctx, limit)
					return slices.DeleteFunc(due, func(r journal.Run) bool {
						return r.Status == event.RunWaiting && !r.WakeAt.IsZero()
					}), err
				}
			},
		},
		{
			name: "Due takes no bound", catcher: "due/the oldest come first, and no more than asked for",
			plant: func(b *bent) {
				b.due = func(ctx context.Context, _ int) ([]journal.Run, error) { return b.Memory.Due(ctx, 0) }
			},
		},
		{
			name: "Due gives the newest first", catcher: "due/the oldest come first, and no more than asked for",
			plant: func(b *bent) {
				b.due = func(ctx context.Context, limit int) ([]journal.Run, error) {
					due, err := b.Memory.Due(ctx, 0)
					slices.Reverse(due)
					if limit > 0 && limit < len(due) {
						due = due[:limit]
					}
					return due, err
				}
			},
		},
		{
			name: "the wake-up is lost", catcher: "commit/the status is the run's, and none keeps it",
			plant: func(b *bent) {
				b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
					if batch.Status == event.RunWaiting {
						batch.WakeAt = time.Time{}
					}
					return b.Memory.Commit(ctx, l, batch)
				}
			},
		},
		{
			name: "the caller's slice is kept", catcher: "commit/the caller may use its slice again",
			plant: func(b *bent) {
				var log [][]*event.Event
				b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
					err := b.Memory.Commit(ctx, l, batch)
					b.mu.Lock()
					defer b.mu.Unlock()
					if err == nil && l.Conversation == talk {
						log = append(log, batch.Events)
					}
					return err
				}
				b.read = func(ctx context.Context, c string, after int64, limit int) ([]*event.Event, error) {
					if c == talk && after == 0 && limit == 0 {
						b.mu.Lock()
						defer b.mu.Unlock()
						return slices.Concat(log...), nil
					}
					return b.Memory.Read(ctx, c, after, limit)
				}
			},
		},
		{
			name: "numbers in the state are rounded", catcher: "state/values are any JSON",
			plant: func(b *bent) {
				b.acquire = func(ctx context.Context, run string, have int64) (journal.Opened, error) {
					o, err := b.Memory.Acquire(ctx, run, have)
					for k, raw := range o.Shared {
						var v any
						_ = json.Unmarshal(raw, &v)
						o.Shared[k], _ = json.Marshal(v)
					}
					return o, err
				}
			},
		},
		{
			name: "state begins with something", catcher: "state/there is none at first",
			plant: func(b *bent) {
				b.acquire = func(ctx context.Context, run string, have int64) (journal.Opened, error) {
					o, err := b.Memory.Acquire(ctx, run, have)
					if o.Shared == nil {
						o.Shared = map[string]json.RawMessage{"app:version": json.RawMessage("1")}
					}
					return o, err
				}
			},
		},
		{
			name: "app state leaks to other tenants", catcher: "state/the same names in two tenants are two states",
			plant: func(b *bent) { leak(b, "app:", false) },
		},
		{
			name: "user state leaks to other users", catcher: "state/app state is the tenant's, user state the user's, the rest the conversation's",
			plant: func(b *bent) { leak(b, "user:", false) },
		},
		{
			name: "state is shared before the commit is good", catcher: "state/it changes with its commit or not at all",
			plant: func(b *bent) { leak(b, "app:", true) },
		},
		{
			name: "removed state stays", catcher: "state/later changes win, in the order of the log",
			plant: func(b *bent) {
				b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
					return b.Memory.Commit(ctx, l, rewrite(batch, 0, func(e *event.Event) {
						if c, ok := e.Body.(*event.StateChanged); ok && !slices.ContainsFunc(c.Delete, isTemp) {
							e.Body = &event.StateChanged{Set: c.Set}
						}
					}))
				}
			},
		},
		{
			name: "null removes", catcher: "state/null is a value",
			plant: func(b *bent) {
				b.acquire = func(ctx context.Context, run string, have int64) (journal.Opened, error) {
					o, err := b.Memory.Acquire(ctx, run, have)
					maps.DeleteFunc(o.Shared, func(_ string, v json.RawMessage) bool { return string(v) == "null" })
					return o, err
				}
			},
		},
		{
			name: "the caller gets the store's own map", catcher: "state/what the caller does with its map changes nothing",
			plant: func(b *bent) {
				own := map[string]json.RawMessage{}
				b.acquire = func(ctx context.Context, run string, have int64) (journal.Opened, error) {
					o, err := b.Memory.Acquire(ctx, run, have)
					b.mu.Lock()
					defer b.mu.Unlock()
					if err == nil && len(own) == 0 {
						maps.Copy(own, o.Shared)
					}
					o.Shared = own
					return o, err
				}
			},
		},
		{
			name: "temp state is dropped in silence", catcher: "state/it changes with its commit or not at all",
			plant: func(b *bent) {
				b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
					return b.Memory.Commit(ctx, l, rewrite(batch, 0, func(e *event.Event) {
						if c, ok := e.Body.(*event.StateChanged); ok {
							set := maps.Clone(c.Set)
							maps.DeleteFunc(set, func(k string, _ json.RawMessage) bool { return isTemp(k) })
							e.Body = &event.StateChanged{Set: set, Delete: slices.DeleteFunc(slices.Clone(c.Delete), isTemp)}
						}
					}))
				}
			},
		},
		{
			name: "what can never be right is taken", catcher: "commit/a batch that can never be right is invalid",
			plant: func(b *bent) {
				b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
					if err := b.Memory.Commit(ctx, l, batch); !errors.Is(err, event.ErrInvalid) {
						return err
					}
					return nil
				}
			},
		},
		{
			name: "the end needs no event", catcher: "commit/a batch that can never be right is invalid",
			plant: func(b *bent) {
				b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
					err := b.Memory.Commit(ctx, l, batch)
					if errors.Is(err, event.ErrInvalid) && batch.Status.Ended() {
						return nil
					}
					return err
				}
			},
		},
		{
			name: "the caller sets the turn", catcher: "admit/what is the store's is ignored in the argument",
			plant: func(b *bent) {
				b.admit = func(ctx context.Context, r journal.Run) (journal.Run, error) {
					row, err := b.Memory.Admit(ctx, r)
					if r.Turn > 0 {
						row.Turn = r.Turn
					}
					return row, err
				}
			},
		},
		{
			name: "the caller's map is kept", catcher: "admit/what the caller does with its values later changes nothing",
			plant: func(b *bent) {
				var kept map[string]string
				b.admit = func(ctx context.Context, r journal.Run) (journal.Run, error) {
					b.mu.Lock()
					kept = r.Metadata
					b.mu.Unlock()
					return b.Memory.Admit(ctx, r)
				}
				b.acquire = func(ctx context.Context, run string, have int64) (journal.Opened, error) {
					o, err := b.Memory.Acquire(ctx, run, have)
					b.mu.Lock()
					o.Run.Metadata = kept
					b.mu.Unlock()
					return o, err
				}
			},
		},
		{
			name: "an empty id is an unknown one", catcher: "acquire/an empty id is invalid",
			plant: func(b *bent) {
				b.acquire = func(ctx context.Context, run string, have int64) (journal.Opened, error) {
					o, err := b.Memory.Acquire(ctx, run, have)
					if errors.Is(err, event.ErrInvalid) {
						err = &event.Error{Kind: event.ErrNotFound, Message: "unknown"}
					}
					return o, err
				}
			},
		},
		{
			name: "an empty id reads nothing", catcher: "read/an empty id is invalid",
			plant: func(b *bent) {
				b.read = func(ctx context.Context, c string, after int64, limit int) ([]*event.Event, error) {
					if c == "" {
						return nil, nil
					}
					return b.Memory.Read(ctx, c, after, limit)
				}
			},
		},
		{
			name: "an empty log is not found", catcher: "read/a conversation that is unknown or empty has none",
			plant: func(b *bent) {
				b.read = func(ctx context.Context, c string, after int64, limit int) ([]*event.Event, error) {
					events, err := b.Memory.Read(ctx, c, after, limit)
					if err == nil && after == 0 && len(events) == 0 {
						err = &event.Error{Kind: event.ErrNotFound, Message: "unknown"}
					}
					return events, err
				}
			},
		},
		{
			name: "Read mixes conversations", catcher: "read/only this conversation's",
			plant: func(b *bent) {
				b.read = func(ctx context.Context, c string, after int64, limit int) ([]*event.Event, error) {
					events, err := b.Memory.Read(ctx, c, after, limit)
					if c == talk {
						events = slices.Concat(events, b.history(other))
					}
					return events, err
				}
			},
		},
		{
			name: "nothing due is an error", catcher: "due/nothing is due in an empty store",
			plant: func(b *bent) {
				b.due = func(ctx context.Context, limit int) ([]journal.Run, error) {
					due, err := b.Memory.Due(ctx, limit)
					if err == nil && len(due) == 0 {
						err = &event.Error{Kind: event.ErrNotFound, Message: "nothing"}
					}
					return due, err
				}
			},
		},
		{
			name: "Due lists runs that have ended", catcher: "due/a run that has ended is not due",
			plant: func(b *bent) {
				b.due = func(ctx context.Context, limit int) ([]journal.Run, error) {
					due, err := b.Memory.Due(ctx, limit)
					for _, r := range b.admitted(ctx) {
						if r.Status == event.RunFailed {
							due = append(due, r)
						}
					}
					return due, err
				}
			},
		},
		{
			name: "mail for nobody is taken", catcher: "inbox/an unknown run is not found",
			plant: func(b *bent) {
				b.post = func(ctx context.Context, m journal.Mail) error {
					if err := b.Memory.Post(ctx, m); !errors.Is(err, event.ErrNotFound) {
						return err
					}
					return nil
				}
			},
		},
		{
			name: "mail for a run that has ended is taken", catcher: "inbox/a run that has ended takes no new mail",
			plant: func(b *bent) {
				b.post = func(ctx context.Context, m journal.Mail) error {
					if err := b.Memory.Post(ctx, m); !errors.Is(err, event.ErrConflict) {
						return err
					}
					return nil
				}
			},
		},
		{
			name: "an empty id is an id", catcher: "admit/an empty id is invalid",
			plant: func(b *bent) {
				b.admit = func(ctx context.Context, r journal.Run) (journal.Run, error) {
					if r.ID == "" {
						r.ID = "made up"
					}
					return b.Memory.Admit(ctx, r)
				}
			},
		},
		{
			name: "Read takes no bound", catcher: "read/from any seq, with or without a bound",
			plant: func(b *bent) {
				b.read = func(ctx context.Context, c string, after int64, _ int) ([]*event.Event, error) {
					return b.Memory.Read(ctx, c, after, 0)
				}
			},
		},
		{
			name: "Read includes the seq that it comes after", catcher: "read/from any seq, with or without a bound",
			plant: func(b *bent) {
				b.read = func(ctx context.Context, c string, after int64, limit int) ([]*event.Event, error) {
					return b.Memory.Read(ctx, c, after-1, limit)
				}
			},
		},
		{
			name: "Read gives at most a thousand", catcher: "read/ten thousand events in pages",
			plant: func(b *bent) {
				b.acquire = func(ctx context.Context, run string, have int64) (journal.Opened, error) {
					o, err := b.Memory.Acquire(ctx, run, have)
					if have > 1000 {
						o.Events = nil
					}
					return o, err
				}
			},
		},
		{
			name: "kinds that nobody knows are dropped", catcher: "commit/an event of a kind that nobody knows survives",
			plant: func(b *bent) {
				b.read = func(ctx context.Context, c string, after int64, limit int) ([]*event.Event, error) {
					events, err := b.Memory.Read(ctx, c, after, limit)
					return slices.DeleteFunc(slices.Clone(events), func(e *event.Event) bool {
						_, ok := e.Body.(*event.Unknown)
						return ok
					}), err
				}
			},
		},
		{
			name: "a header field is not stored", catcher: "commit/every kind of body, block and header field survives",
			plant: func(b *bent) {
				b.read = func(ctx context.Context, c string, after int64, limit int) ([]*event.Event, error) {
					events, err := b.Memory.Read(ctx, c, after, limit)
					return rewrite(journal.Batch{Events: events}, 0, func(e *event.Event) { e.Simulated = false }).Events, err
				}
			},
		},
		{
			name: "long texts are cut", catcher: "read/events of a megabyte",
			plant: func(b *bent) {
				b.read = func(ctx context.Context, c string, after int64, limit int) ([]*event.Event, error) {
					events, err := b.Memory.Read(ctx, c, after, limit)
					return rewrite(journal.Batch{Events: events}, 0, func(e *event.Event) {
						if n, ok := e.Body.(*event.Notice); ok && len(n.Text) > 1<<16 {
							e.Body = &event.Notice{Code: n.Code, Text: n.Text[:1<<16]}
						}
					}).Events, err
				}
			},
		},
		{
			name: "the context is not looked at", catcher: "context/a cancelled context changes nothing",
			plant: func(b *bent) {
				b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
					return b.Memory.Commit(context.WithoutCancel(ctx), l, batch)
				}
			},
		},
		{
			name: "a deadline counts as a cancel", catcher: "context/a context past its deadline changes nothing",
			plant: func(b *bent) {
				b.due = func(ctx context.Context, limit int) ([]journal.Run, error) {
					if ctx.Err() != nil {
						return nil, &event.Error{Kind: event.ErrCancelled, Message: "done"}
					}
					return b.Memory.Due(ctx, limit)
				}
			},
		},
		{
			name: "an error is no *event.Error", catcher: "acquire/an unknown run is not found",
			plant: func(b *bent) {
				b.acquire = func(ctx context.Context, run string, have int64) (journal.Opened, error) {
					o, err := b.Memory.Acquire(ctx, run, have)
					if errors.Is(err, event.ErrNotFound) {
						return o, event.ErrNotFound
					}
					return o, err
				}
			},
		},
	}
}

func isTemp(key string) bool { return strings.HasPrefix(key, "temp:") }

// admitted returns the current rows of all runs.
func (b *bent) admitted(ctx context.Context) []journal.Run {
	b.mu.Lock()
	rows := slices.Clone(b.rows)
	b.mu.Unlock()
	for i, r := range rows {
		if row, err := b.Memory.Admit(ctx, r); err == nil {
			rows[i] = row
		}
	}
	return rows
}

// withoutSteps is a Commit that repeats a conflicting batch without the steps of events of these kinds, or of all
// kinds.
func withoutSteps(b *bent, kinds ...event.Kind) func(context.Context, journal.Lease, journal.Batch) error {
	return func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
		err := b.Memory.Commit(ctx, l, batch)
		if !errors.Is(err, event.ErrConflict) {
			return err
		}
		return b.Memory.Commit(ctx, l, rewrite(batch, 0, func(e *event.Event) {
			if e.Step != "" && (len(kinds) == 0 || slices.Contains(kinds, e.Body.Kind())) {
				e.Step, e.Body = "", &event.Notice{}
			}
		}))
	}
}

// leak makes state under the prefix visible to everyone, even from a refused commit.
func leak(b *bent, prefix string, onlyRefused bool) {
	all := map[string]json.RawMessage{}
	b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
		err := b.Memory.Commit(ctx, l, batch)
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, e := range batch.Events {
			if e == nil || onlyRefused == (err == nil) {
				continue
			}
			if c, ok := e.Body.(*event.StateChanged); ok {
				for k, v := range c.Set {
					if strings.HasPrefix(k, prefix) {
						all[k] = v
					}
				}
			}
		}
		return err
	}
	b.acquire = func(ctx context.Context, run string, have int64) (journal.Opened, error) {
		o, err := b.Memory.Acquire(ctx, run, have)
		b.mu.Lock()
		defer b.mu.Unlock()
		if o.Shared == nil {
			o.Shared = map[string]json.RawMessage{}
		}
		maps.Copy(o.Shared, all)
		return o, err
	}
}
