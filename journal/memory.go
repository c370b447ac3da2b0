package journal

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/braidrun/braid/blob"
	"github.com/braidrun/braid/event"
)

// Memory is a [Journal] in memory, the library's default. Its data is lost with the value. The
// zero value is ready for use. It is safe for concurrent use; do not copy it after its first use.
//
// The cost of a call does not depend on the length of the conversation. The log is one
// append-only slice of shared events, readers get a part of it, and only open steps are indexed.
type Memory struct {
	options MemoryOptions

	// One mutex guards everything. Each call holds it for well under a microsecond, and it makes
	// a commit to log, inbox and shared state one transaction.
	mu            sync.Mutex
	conversations map[string]*conversation
	runs          map[string]*run
	shared        map[owner]map[string]json.RawMessage
	// oldest and newest are the ends of the list of open runs, in the order of admission.
	oldest, newest *run
	// admitted counts the runs.
	admitted int64
	// usage holds the ledger's usage rows by tenant. Each run holds its own tool rows.
	usage map[string][]*usageRow
	// ledgerKey is the last key of a usage or tool row.
	ledgerKey int64
	// tombstones holds when each tombstone was set.
	tombstones map[tombstone]time.Time
	tally      tally
	blobs      blob.Memory
}

var _ Journal = (*Memory)(nil)

// MemoryOptions configure a [Memory]. The zero value is valid.
type MemoryOptions struct {
	// Term is the duration of a lease; 0 or less means [DefaultTerm].
	Term time.Duration
	// Now is the store's clock; nil means time.Now. The store calls it while it is locked, so it
	// must not call the store.
	Now func() time.Time
}

// DefaultTerm is the default duration of a lease.
const DefaultTerm = 10 * time.Second

// NewMemory returns an empty store. It needs no closing.
func NewMemory(options MemoryOptions) *Memory {
	return &Memory{options: options}
}

// conversation is one log and the lease on it.
type conversation struct {
	id     string
	tenant string
	events []*event.Event
	// runs holds all runs by turn.
	runs []*run
	// head and tail are the ends of the queue of open runs.
	head, tail *run
	keys       map[string]*run

	// epoch is the epoch of the newest lease.
	epoch int64
	// holder is the run of the newest lease.
	holder *run
	// held is false once the newest lease was released.
	held  bool
	until time.Time
	// stretches maps parts of the log to the epochs that wrote them, in the order of the log.
	stretches []stretch
	weight    weight
	fold      memoryFold
}

// stretch is a part of the log that one lease wrote. It ends where the next one begins.
type stretch struct {
	epoch int64
	first int64
}

// run is a run's row and the store's own data about it.
type run struct {
	row          Run
	conversation *conversation
	// number is the position of the run in the store's order of admission.
	number int64
	// behind is the next run in the conversation's queue.
	behind *run
	// older and newer are the neighbours in the list of open runs.
	older, newer *run
	open         openSteps
	// spare is memory for the next open, if there are many. With a new list for each commit, 32 tools in one answer
	// (row c of the bench) take 3 KB more.
	spare openSteps
	inbox inbox
	// started is set once the log has the run's first event.
	started bool
	// erased is the hash of an input that a redaction has erased.
	erased *[sha256.Size]byte
	// tools and messages are the run's rows in the ledger.
	tools    []*ToolEntry
	messages []MessageEntry
}

// Admit implements [Store].
func (m *Memory) Admit(ctx context.Context, r Run) (Run, error) {
	const op = "journal admit"
	if err := alive(ctx, op); err != nil {
		return Run{}, err
	}
	if r.ID == "" || r.Conversation == "" {
		return Run{}, noID(op, "a run and its conversation need an id")
	}
	if err := names(op, r.ID, r.Conversation, r.Tenant, r.User, r.Agent, r.Key, r.Executor, r.Incarnation); err != nil {
		return Run{}, err
	}
	for k, v := range r.Metadata {
		if err := names(op, k, v); err != nil {
			return Run{}, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()

	c := m.conversations[r.Conversation]
	if c != nil && c.tenant != r.Tenant {
		return Run{}, notFound(op, "there is no such conversation")
	}
	if _, removed := m.tombstones[tombstone{r.Tenant, r.Conversation, r.Incarnation}]; removed && r.Incarnation != "" {
		return Run{}, notFound(op, "there is no such conversation any more")
	}
	known := m.runs[r.ID]
	if known != nil && known.row.Tenant != r.Tenant {
		return Run{}, notFound(op, "there is no such run")
	}
	if known == nil && c != nil && r.Key != "" {
		known = c.keys[r.Key]
	}
	if known != nil {
		if !known.same(r) {
			return Run{}, &event.Error{
				Op: op, Kind: event.ErrConflict,
				Message: "a run with this id or key was admitted with another input",
				Hint:    "use a new id and a new key for a new request",
			}
		}
		return handOut(known.row), nil
	}
	if r.Alone && c != nil && c.head != nil {
		return Run{}, &event.Error{
			Op: op, Kind: event.ErrLocked, Message: "another run of the conversation has not ended",
			Hint: "wait for it, cancel it, or queue behind it",
		}
	}
	if r.Follows > 0 && (c == nil || len(c.runs) != r.Follows) {
		return Run{}, &event.Error{
			Op: op, Kind: event.ErrConflict, Code: CodePassed, Message: "the run to follow is not the conversation's newest",
			Hint: "read the conversation again",
		}
	}

	if c == nil {
		c = &conversation{id: r.Conversation, tenant: r.Tenant}
		if m.conversations == nil {
			m.conversations = make(map[string]*conversation)
			m.runs = make(map[string]*run)
		}
		m.conversations[c.id] = c
	}
	n := m.admit(c, r)
	if r.Key != "" {
		if c.keys == nil {
			c.keys = make(map[string]*run)
		}
		c.keys[r.Key] = n
	}
	return handOut(n.row), nil
}

// admit adds a queued run.
func (m *Memory) admit(c *conversation, r Run) *run {
	r.Turn = len(c.runs) + 1
	r.Status = event.RunQueued
	r.WakeAt = time.Time{}
	r.Cancelled, r.Alone, r.Follows = false, false, 0
	r.Input = slices.Clip(slices.Clone(r.Input))
	if r.Turn == 1 && len(r.Past) > 0 {
		r.Input = slices.Concat(r.Past, r.Input)
	}
	if r.Since > 0 {
		r.NewSession = !c.begins(r.Since)
	}
	r.Since, r.Past, r.Session, r.First, r.Incarnation, r.Lost, r.Failure = 0, nil, 0, 0, "", 0, ""
	r.Admitted = m.now().Round(0)
	r.Metadata = maps.Clone(r.Metadata)
	m.admitted++
	n := &run{row: r, conversation: c, number: m.admitted}
	c.runs = append(c.runs, n)
	m.runs[r.ID] = n
	m.enqueue(n)
	m.tally.touch(c)
	return n
}

// Acquire implements [Store].
func (m *Memory) Acquire(ctx context.Context, id string, have int64) (Opened, error) {
	const op = "journal acquire"
	if err := alive(ctx, op); err != nil {
		return Opened{}, err
	}
	if id == "" {
		return Opened{}, noID(op, "a run needs an id")
	}
	m.mu.Lock()
	defer m.mu.Unlock()

	r := m.runs[id]
	if r == nil {
		return Opened{}, notFound(op, "there is no such run")
	}
	if r.row.Status.Ended() {
		return Opened{}, ended(op)
	}
	c := r.conversation
	if c.head != r {
		return Opened{}, &event.Error{
			Op: op, Kind: event.ErrLocked,
			Message: "an earlier run of the conversation has not ended",
			Hint:    "wait for it to end, or cancel it",
		}
	}
	now := m.now()
	if c.held && now.Before(c.until) {
		return Opened{}, &event.Error{
			Op: op, Kind: event.ErrLocked,
			Message:    "another driver holds the conversation",
			Hint:       "try again once its lease has run out",
			RetryAfter: c.until.Sub(now),
		}
	}
	if c.held {
		r.row.Lost++
	}
	c.epoch++
	c.holder = r
	c.held = true
	c.until = now.Add(m.term())
	r.row.Status = event.RunRunning
	r.row.WakeAt = time.Time{}
	return Opened{
		Lease:  Lease{Conversation: c.id, Run: r.row.ID, Epoch: c.epoch, Until: c.until, Term: m.term()},
		Run:    handOut(r.row),
		Last:   c.last(),
		Events: c.after(have, 0),
		Mail:   slices.Clone(r.inbox.unread),
		Shared: m.sharedWith(&r.row),
	}, nil
}

// Renew implements [Store].
func (m *Memory) Renew(ctx context.Context, l Lease) (News, error) {
	const op = "journal renew"
	if err := alive(ctx, op); err != nil {
		return News{}, err
	}
	if l.Run == "" || l.Conversation == "" {
		return News{}, noID(op, "a lease names a run and its conversation")
	}
	m.mu.Lock()
	defer m.mu.Unlock()

	r := m.leased(l)
	if r == nil || !r.conversation.heldBy(r, l) {
		return News{}, leaseLost(op)
	}
	r.conversation.until = m.now().Add(m.term())
	return News{Cancelled: r.row.Cancelled, Mail: slices.Clone(r.inbox.unread)}, nil
}

// Post implements [Store].
func (m *Memory) Post(ctx context.Context, mail Mail) error {
	const op = "journal post"
	if err := alive(ctx, op); err != nil {
		return err
	}
	if mail.ID == "" || mail.Run == "" || mail.Kind == "" {
		return noID(op, "mail needs an id, a run and a kind")
	}
	if err := names(op, mail.ID, mail.Run, string(mail.Kind), mail.Token, mail.By); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()

	r := m.runs[mail.Run]
	if r == nil {
		return notFound(op, "there is no such run")
	}
	digest := Digest(mail)
	if known, ok := r.inbox.known[mail.ID]; ok {
		if known.digest != digest {
			return &event.Error{
				Op: op, Kind: event.ErrConflict, Message: "mail with this id was left before, and said something else",
				Hint: "use a new id for new mail; a question is answered once",
			}
		}
		return nil
	}
	if r.row.Status.Ended() {
		return ended(op)
	}
	mail.Posted, mail.Early = m.now().Round(0), false
	mail.Value = slices.Clone(mail.Value)
	mail.Message = slices.Clone(mail.Message)
	r.inbox.add(mail, digest)
	m.tally.touch(r.conversation)
	if mail.Kind == MailCancel {
		r.row.Cancelled = true
	}
	return nil
}

// Read implements [Store].
func (m *Memory) Read(ctx context.Context, id string, after int64, limit int) ([]*event.Event, error) {
	const op = "journal read"
	if err := alive(ctx, op); err != nil {
		return nil, err
	}
	if id == "" {
		return nil, noID(op, "a conversation needs an id")
	}
	m.mu.Lock()
	defer m.mu.Unlock()

	c := m.conversations[id]
	if c == nil {
		return nil, nil
	}
	return c.after(after, limit), nil
}

// Due implements [Store].
func (m *Memory) Due(ctx context.Context, limit int) ([]Run, error) {
	if err := alive(ctx, "journal due"); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()

	now := m.now()
	var due []Run
	for r := m.oldest; r != nil && (limit <= 0 || len(due) < limit); r = r.newer {
		if r.due(now) {
			due = append(due, handOut(r.row))
		}
	}
	return due, nil
}

func (m *Memory) now() time.Time {
	if m.options.Now != nil {
		return m.options.Now()
	}
	return time.Now()
}

func (m *Memory) term() time.Duration {
	if m.options.Term > 0 {
		return m.options.Term
	}
	return DefaultTerm
}

// leased returns the run that the lease names; nil if the conversation has no such run.
func (m *Memory) leased(l Lease) *run {
	r := m.runs[l.Run]
	if r == nil || r.conversation.id != l.Conversation {
		return nil
	}
	return r
}

// enqueue appends a new run to its conversation's queue and to the list of open runs.
func (m *Memory) enqueue(r *run) {
	c := r.conversation
	if c.tail == nil {
		c.head = r
	} else {
		c.tail.behind = r
	}
	c.tail = r
	r.older = m.newest
	if m.newest == nil {
		m.oldest = r
	} else {
		m.newest.newer = r
	}
	m.newest = r
}

// dequeue removes an ended run. It is the head of its queue, because only heads are acquired and
// only acquired runs end.
func (m *Memory) dequeue(r *run) {
	c := r.conversation
	c.head = r.behind
	if c.head == nil {
		c.tail = nil
	}
	if r.older == nil {
		m.oldest = r.newer
	} else {
		r.older.newer = r.newer
	}
	if r.newer == nil {
		m.newest = r.older
	} else {
		r.newer.older = r.older
	}
	r.behind, r.older, r.newer = nil, nil, nil
}

// due reports whether a driver could take the run now.
func (r *run) due(now time.Time) bool {
	c := r.conversation
	switch {
	case c.head != r:
		return false
	case r.row.Status == event.RunWaiting:
		wake := r.row.WakeAt
		return r.inbox.wakes() || !wake.IsZero() && !now.Before(wake)
	case r.row.Status == event.RunRunning:
		return !c.held || !now.Before(c.until)
	default:
		return true
	}
}

// last returns the Seq of the last event.
func (c *conversation) last() int64 { return int64(len(c.events)) }

// after returns the shared events after seq, at most limit unless that is 0 or less. The slice
// has no spare capacity, so that appending to it does not change the log.
func (c *conversation) after(seq int64, limit int) []*event.Event {
	seq = max(seq, 0)
	if seq >= c.last() {
		return nil
	}
	part := c.events[seq:]
	if limit > 0 && limit < len(part) {
		part = part[:limit]
	}
	return slices.Clip(part)
}

// heldBy reports whether l is the current lease and belongs to r.
func (c *conversation) heldBy(r *run, l Lease) bool {
	return c.held && c.current(r, l)
}

// current reports whether l is the newest lease and belongs to r, released or not.
func (c *conversation) current(r *run, l Lease) bool {
	return c.holder == r && c.epoch == l.Epoch
}

// handOut returns a copy of the row that its receiver may change. The messages are shared, as
// events are.
func handOut(r Run) Run {
	r.Metadata = maps.Clone(r.Metadata)
	return r
}
