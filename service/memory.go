package service

import (
	"container/list"
	"context"
	"errors"
	"io"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/braidrun/braid/event"
)

// DefaultMemory is the memory that a server plans with by default, in bytes.
const DefaultMemory = 512 << 20

const (
	// bodyCopies is how often a request's body, or what a run loads, is in memory at the worst
	// moment: as received, decoded, encoded as JSON, and twice in the database's memory. The
	// planned memory divided by it is the number of bytes in work at once.
	bodyCopies = 8
	// memoryShares is the number of shares of that number; a tenant may have one.
	memoryShares = 2
	// freeBytes of each body and conversation are not counted. The number of requests and runs
	// bounds these.
	freeBytes = 64 << 10
	// memoryRetry is the RetryAfter of a refusal.
	memoryRetry = 2 * time.Second
)

// Memory bounds the bytes that a server works on at once: request bodies that are being read or
// turned into runs, and conversations whose runs are being driven. One tenant may use half of them.
// It is safe for concurrent use. Make it with [NewMemory].
type Memory struct {
	most, share int64
	// folds bounds the cached folds that no run uses.
	folds int64
	// unread bounds the unread events of all streams together.
	unread int64

	mu      sync.Mutex
	held    int64
	tenants map[string]int64
	waiting list.List // of *memoryWait, in the order in which they came

	// planned is the memory from which the bounds are computed.
	planned int64
	// collects reports that this Memory may run the garbage collector.
	collects bool
	// paces reports that it may lower the collector's limit.
	paces bool
	// paced reports that the collector's limit is lowered now.
	paced bool
	// unpaced is the limit before it was lowered.
	unpaced int64
	pacing  *time.Timer
	// over is held by the one cancelled run that may exceed the bound.
	over chan struct{}

	// worked counts the bytes that were released since memory was last returned to the system.
	worked     atomic.Int64
	collecting atomic.Bool
	// begun counts the runs that were begun since the last look, and looking reports that there will be one.
	begun   atomic.Int64
	looking atomic.Bool
}

// memoryWait is a request or a run that waits for memory.
type memoryWait struct {
	tenant string
	bytes  int64
	placed chan struct{}
	// body reports that a request waits and not a run.
	body bool
}

// NewMemory returns a Memory for so many bytes. 0 or less means [DefaultMemory].
func NewMemory(bytes int64) *Memory {
	if bytes <= 0 {
		bytes = DefaultMemory
	}
	most := bytes / bodyCopies
	return &Memory{
		planned: bytes, most: most, share: max(most/memoryShares, 1), folds: bytes / 16, unread: bytes / 16, tenants: make(map[string]int64),
		over: make(chan struct{}, 1),
	}
}

// MemoryFor returns the planned memory for which [Memory.MostBody] is the given number of bytes.
func MemoryFor(body int64) int64 { return body * bodyCopies * memoryShares }

// MostBody returns the size of the largest body that a request may have: a tenant's share.
func (m *Memory) MostBody() int64 { return m.share }

// Hold begins counting the bytes of one request of the tenant.
func (m *Memory) Hold(tenant string) *Hold { return &Hold{memory: m, tenant: tenant} }

// Hold is the memory that one request holds. It is not safe for concurrent use.
type Hold struct {
	memory *Memory
	tenant string
	read   int64
	held   int64
}

// Release returns everything. Calling it again does nothing.
func (h *Hold) Release() {
	if h == nil {
		return
	}
	h.memory.give(h.tenant, h.held)
	h.read, h.held = 0, 0
}

// grow counts n bytes more. If there is no room it waits a little, which stops the client from
// sending. It does not wait if another request of the tenant already waits: two that wait for each
// other would both be refused.
func (h *Hold) grow(ctx context.Context, n int64) error {
	h.read += n
	need := h.read - freeBytes - h.held
	if need <= 0 {
		return nil
	}
	need = max(need, min(growStep, h.memory.share-h.held)) // do not lock for each read
	m := h.memory
	m.mu.Lock()
	w := &memoryWait{tenant: h.tenant, bytes: need, placed: make(chan struct{}), body: true}
	if m.fits(w) {
		m.take(h.tenant, need)
		m.mu.Unlock()
		h.held += need
		return nil
	}
	if m.anotherBody(h.tenant) {
		defer m.mu.Unlock()
		return m.refuse(w)
	}
	e := m.waiting.PushBack(w)
	m.mu.Unlock()
	patience, stop := context.WithTimeout(ctx, memoryPatience)
	defer stop()
	select {
	case <-w.placed:
	case <-patience.Done():
	}
	if !m.leave(e) {
		h.held += need
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.refuse(w)
}

const (
	// memoryPatience is how long a body waits for room before it is refused.
	memoryPatience = 2 * time.Second
	// growStep is how many bytes are counted at once.
	growStep = 256 << 10
)

// fits reports whether there is room. The caller holds the lock.
func (m *Memory) fits(w *memoryWait) bool {
	return m.tenants[w.tenant]+w.bytes <= m.share && m.held+w.bytes <= m.most
}

// anotherBody reports whether a body of the tenant waits for room. The caller holds the lock.
func (m *Memory) anotherBody(tenant string) bool {
	for e := m.waiting.Front(); e != nil; e = e.Next() {
		if w := e.Value.(*memoryWait); w.body && w.tenant == tenant { //nolint:forcetypeassert // nothing else is in the list
			return true
		}
	}
	return false
}

// refuse returns the error for a lack of room. The caller holds the lock.
func (m *Memory) refuse(w *memoryWait) error {
	if m.tenants[w.tenant]+w.bytes > m.share {
		return &event.Error{
			Op: "read body", Kind: event.ErrQuota, Code: "TOO_MANY_BYTES",
			Message: "your other requests and runs take up the memory that you may use",
			Hint:    "send fewer large requests at once", RetryAfter: memoryRetry,
		}
	}
	return &event.Error{
		Op: "read body", Kind: event.ErrUnavailable, Code: "SERVER_BUSY", Message: "the server works on too many large requests",
		Hint: "try again in a moment", RetryAfter: memoryRetry,
	}
}

// take counts bytes as held. The caller holds the lock.
func (m *Memory) take(tenant string, n int64) {
	m.held += n
	m.tenants[tenant] += n
	m.pace()
}

// give returns bytes and places the waiters that they have room for.
func (m *Memory) give(tenant string, n int64) {
	if n == 0 {
		return
	}
	m.mu.Lock()
	m.held -= n
	if m.tenants[tenant] -= n; m.tenants[tenant] == 0 {
		delete(m.tenants, tenant)
	}
	m.place()
	m.pace()
	m.mu.Unlock()
	m.collect(n)
}

// place places waiters that fit. A waiter whose tenant has no room is skipped. The first one that
// only lacks room in total stops the loop, so that later ones cannot overtake it. The caller holds
// the lock.
func (m *Memory) place() {
	for e := m.waiting.Front(); e != nil; {
		next, w := e.Next(), e.Value.(*memoryWait) //nolint:forcetypeassert // nothing else is in the list
		if m.tenants[w.tenant]+w.bytes <= m.share {
			if m.held+w.bytes > m.most {
				return
			}
			m.take(w.tenant, w.bytes)
			m.waiting.Remove(e)
			close(w.placed)
		}
		e = next
	}
}

// Collect lets m control the process's garbage collector. After large work it returns memory to the
// system. With pace it lowers the collector's soft limit while large data is in memory. Call it
// once, before m is used, and only in a program that owns its process.
func (m *Memory) Collect(pace bool) { m.collects, m.paces = true, pace }

// paceEvery is how often the collector's limit follows the live heap.
const paceEvery = time.Second

// pace bounds the garbage while large data is in memory: by default the heap may grow to twice the
// live data. The caller holds the lock.
func (m *Memory) pace() {
	switch {
	case !m.paces:
	case !m.paced && m.held > m.share/8:
		m.paced, m.unpaced = true, debug.SetMemoryLimit(-1)
		m.limit()
		m.pacing = time.AfterFunc(paceEvery, m.repace)
	case m.paced && m.held == 0:
		m.paced = false
		m.pacing.Stop()
		debug.SetMemoryLimit(m.unpaced)
	}
}

func (m *Memory) repace() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.paced {
		m.limit()
		m.pacing.Reset(paceEvery)
	}
}

// limit sets the collector's limit to three eighths of the planned memory, or to an eighth above
// the live heap if that is more. Below that the collector would run all the time. The caller holds
// the lock.
func (m *Memory) limit() {
	limit := m.planned / 8 * 3
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	if metrics.Read(live); live[0].Value.Kind() == metrics.KindUint64 {
		limit = max(limit, int64(min(live[0].Value.Uint64(), math.MaxInt64/2))+m.planned/8)
	}
	debug.SetMemoryLimit(min(limit, m.unpaced))
}

// collectAfter is the delay after large work before memory is returned to the system.
const collectAfter = 500 * time.Millisecond

// collect returns memory to the system some time after large work. The runtime alone would take
// minutes.
func (m *Memory) collect(n int64) {
	if !m.collects || m.worked.Add(n) < m.share/8 || !m.collecting.CompareAndSwap(false, true) {
		return
	}
	time.AfterFunc(collectAfter, func() {
		m.worked.Store(0)
		m.collecting.Store(false)
		debug.FreeOSMemory()
	})
}

const (
	// quietTime is how long no run begins until memory is returned to the system.
	quietTime = 500 * time.Millisecond
	// manyRuns is how many runs must have begun before that. Fewer leave too little behind.
	manyRuns = 100
)

// began notes the beginning of a run. Beginning many runs leaves garbage, which would stay for as long as
// they wait for their models: a process that waits allocates nothing, so its collector does not run.
func (m *Memory) began() {
	if !m.collects {
		return
	}
	m.begun.Add(1)
	if m.looking.CompareAndSwap(false, true) {
		m.look(0)
	}
}

// look returns memory to the system when no run has begun for quietTime. runs is the number of runs that had
// begun before.
func (m *Memory) look(runs int64) {
	time.AfterFunc(quietTime, func() {
		switch n := m.begun.Swap(0); {
		case n > 0:
			m.look(runs + n)
		case runs >= manyRuns:
			m.looking.Store(false)
			debug.FreeOSMemory()
		default:
			m.looking.Store(false)
		}
	})
}

// wait counts n bytes for a run of the tenant as soon as there is room. The caller must call give
// at the end. A run larger than a tenant's share gets the whole share.
//
// wait returns an error when quit is closed or ctx ends. A cancelled run is the exception: it only
// has to end, and one at a time may exceed the bound for that.
func (m *Memory) wait(ctx context.Context, quit <-chan struct{}, tenant string, n int64) (give func(), err error) {
	n = min(n-freeBytes, m.share)
	if n <= 0 {
		return func() {}, nil
	}
	give = func() { m.give(tenant, n) }
	m.mu.Lock()
	w := &memoryWait{tenant: tenant, bytes: n, placed: make(chan struct{})}
	e := m.waiting.PushBack(w)
	m.place()
	m.mu.Unlock()
	select {
	case <-w.placed:
		return give, nil
	default:
	}
	var over chan<- struct{} // nil until the run is cancelled
	for stop := ctx.Done(); ; {
		select {
		case <-w.placed:
			return give, nil
		case over <- struct{}{}:
			if m.leave(e) {
				return func() { <-m.over }, nil
			}
			<-m.over
			return give, nil
		case <-quit:
			err = &event.Error{Op: "drive", Kind: event.ErrUnavailable, Message: "the service is shutting down"}
		case <-stop:
			if errors.Is(context.Cause(ctx), event.ErrCancelled) {
				stop, over = nil, m.over
				continue
			}
			err = &event.Error{Op: "drive", Kind: event.ErrUnavailable, Message: "the run waited for memory", Err: context.Cause(ctx)}
		}
		if m.leave(e) {
			return nil, err
		}
		return give, nil // it was placed at the same moment
	}
}

// leave removes a waiter from the queue. It returns false if the waiter was already placed.
func (m *Memory) leave(e *list.Element) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-e.Value.(*memoryWait).placed: //nolint:forcetypeassert // nothing else is in the list
		return false
	default:
		m.waiting.Remove(e)
		m.place()
		return true
	}
}

const (
	// firstPart is the size of the first part of a body. Each part is twice as large as the one before.
	firstPart = 4 << 10
	// mostPart is the largest size of a part.
	mostPart = 1 << 20
)

// Body reads a body of up to most bytes. It counts the bytes as they arrive, so that a client
// cannot reserve memory by announcing a large body. size is the announced size; negative means
// unknown. It returns [event.ErrTooLarge] for a longer body, and the reader's errors unchanged.
func (h *Hold) Body(ctx context.Context, from io.Reader, size, most int64) ([]byte, error) {
	most = min(most, h.memory.share)
	if size > most {
		return nil, bodyTooLarge(most)
	}
	var parts [][]byte
	part := make([]byte, 0, max(min(size+1, freeBytes), firstPart))
	total := int64(0)
	for {
		if len(part) == cap(part) {
			parts = append(parts, part)
			part = make([]byte, 0, min(2*cap(part), mostPart))
		}
		n, err := from.Read(part[len(part):cap(part)])
		part = part[:len(part)+n]
		if total += int64(n); total > most {
			return nil, bodyTooLarge(most)
		}
		if n > 0 {
			if err := h.grow(ctx, int64(n)); err != nil {
				return nil, err
			}
		}
		switch {
		case err == io.EOF && parts == nil:
			return part, nil
		case err == io.EOF:
			return join(append(parts, part), total), nil
		case err != nil:
			return nil, err
		}
	}
}

// join concatenates the parts and frees each one after copying it.
func join(parts [][]byte, total int64) []byte {
	whole := make([]byte, 0, total)
	for i, part := range parts {
		whole = append(whole, part...)
		parts[i] = nil
	}
	return whole
}

func bodyTooLarge(most int64) error {
	return &event.Error{
		Op: "read body", Kind: event.ErrTooLarge, Message: "the body is longer than " + strconv.FormatInt(most, 10) + " bytes",
		Hint: "send less at once",
	}
}
