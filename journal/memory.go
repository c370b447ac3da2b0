package journal

import (
	"crypto/sha256"
	"encoding/json"
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

// tombstone identifies a removed incarnation of a conversation.
type tombstone struct{ tenant, conversation, incarnation string }

// memoryFold is a stored fold in memory. Its bytes do not change.
type memoryFold struct {
	seq   int64
	head  []byte
	parts [][]byte
}

// usageRow is a usage entry of the ledger; run is nil once its conversation was removed.
type usageRow struct {
	UsageEntry
	run *run
}

// tally counts the bytes of the tenants' conversations. It counts nothing before the first query.
type tally struct {
	asked bool
	bytes map[string]int64
	// changed holds the conversations that have changed since they were counted.
	changed map[*conversation]struct{}
	scratch []byte
}

// weight is the last count of a conversation.
type weight struct {
	bytes int64
	// log is the part of bytes of the first events, and events is the number of these.
	log    int64
	events int
}
