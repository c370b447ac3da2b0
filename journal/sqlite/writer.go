package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/braidrun/braid/event"
)

const (
	// maxGroup bounds the calls that share a transaction. More would wait longer and save little.
	maxGroup = 256
	// maxPending bounds the calls that return before they are on the disk, and maxPendingBytes their arguments, which stay in
	// memory until then.
	maxPending      = 128
	maxPendingBytes = 1 << 20
	// longLog is the length of the write-ahead log beyond which it is copied into the file at once.
	longLog = 16 << 20
)

// writer executes all writes on a goroutine of its own. Callers queue their tasks and wait. The goroutine takes all waiting
// tasks, executes them in one transaction and waits for the disk once, so concurrent calls share the wait. SQLite needs a
// large stack, which only this goroutine has: a caller may be one of thousands that then wait for a model.
//
// A task that need not be durable by itself, such as taking a lease, returns while the transaction is open. It goes to
// the disk with the next task that must. So a run waits for the disk once for each commit. All look-ups are in the
// transaction, so no state is kept twice.
type writer struct {
	db    *sql.DB
	conn  *sql.Conn
	clock *clock

	mu    sync.Mutex
	queue []*task
	// busy is set while the goroutine executes a group.
	busy   bool
	closed bool
	// changed is signalled when a task was queued or the writer was closed.
	changed sync.Cond
	// ended is closed when the goroutine has ended.
	ended chan struct{}
	// open is set while the open transaction holds writes of calls that have returned. Readers do not see them.
	open atomic.Bool
	// shares is set if the table of state may have rows. Most servers share no state, and then no run looks for it.
	shares atomic.Bool

	// The goroutine owns the fields below.
	statements map[string]*sql.Stmt
	group      []*task
	// begun is set while a transaction is open.
	begun bool
	// pending are the writes in it of calls that have returned. After a rollback they are executed again.
	pending []write
	// waiting counts the tasks of pending.
	waiting int
	// settling commits pending after settleTime; nil if there is nothing.
	settling *time.Timer
	// bytes is the length of pending's arguments.
	bytes int64
	// logged is the length of what was written since the write-ahead log was cut.
	logged int64
	// fences are the latest fences by conversation. Only the writer changes them, so they are right until a rollback.
	fences map[string]*fence
}

// write is an executed statement. Its arguments never change.
type write struct {
	text string
	args []any
}

// task is one call's part of a transaction.
type task struct {
	// do may be called more than once, each time as if it were the first.
	do func(*tx) error
	// lazy is set if the caller need not wait for the disk.
	lazy bool
	// taken is set by the first of two: the goroutine, which executes the task, or the caller, which has given up.
	taken atomic.Bool
	// done receives a value when the task is done.
	done chan struct{}
	err  error
	// panicked is what the task panicked with.
	panicked any
}

// tx is the transaction as a task sees it: one moment in time.
type tx struct {
	w      *writer
	now    time.Time
	steady int64
	writes []write
	// durable is set by a lazy task that must wait for the disk after all.
	durable bool
	// scrubs receive the errors of scrubs after the commit.
	scrubs []*error
}

func newWriter(ctx context.Context, db *sql.DB, conn *sql.Conn, c *clock, relaxed bool) (*writer, error) {
	// NORMAL keeps the order without waiting at a commit, and a crash of the process alone loses nothing.
	level := `PRAGMA synchronous = FULL`
	if relaxed {
		level = `PRAGMA synchronous = NORMAL`
	}
	// Ids are random, so with many conversations each write hits other pages of the indexes. SQLite's default cache of 2 MiB
	// would read most of them again each time.
	for _, setting := range []string{level, `PRAGMA cache_size = -16384`} {
		if _, err := conn.ExecContext(ctx, setting); err != nil {
			return nil, err
		}
	}
	w := &writer{
		db: db, conn: conn, clock: c,
		statements: make(map[string]*sql.Stmt), fences: make(map[string]*fence), group: make([]*task, 0, maxGroup),
	}
	var shares bool
	if err := conn.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM state)`).Scan(&shares); err != nil {
		return nil, err
	}
	w.shares.Store(shares)
	w.changed.L, w.ended = &w.mu, make(chan struct{})
	go w.run()
	return w, nil
}

func newTask(do func(*tx) error, lazy bool) *task {
	return &task{do: do, lazy: lazy, done: make(chan struct{}, 1)}
}

// enter queues a task. It returns false if the writer is closed.
func (w *writer) enter(t *task) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	w.queue = append(w.queue, t)
	w.changed.Signal()
	return true
}

// run executes tasks until the writer is closed and the queue is empty.
func (w *writer) run() {
	defer close(w.ended)
	for w.take() {
		w.carryOut()
	}
}

// take waits for tasks and moves them to the group, up to maxGroup. It returns false if there will be none.
func (w *writer) take() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy = false
	for {
		n := 0
		for _, t := range w.queue {
			if len(w.group) == maxGroup {
				break
			}
			n++
			if t.taken.CompareAndSwap(false, true) {
				w.group = append(w.group, t)
			}
		}
		w.queue = slices.Delete(w.queue, 0, n)
		switch {
		case len(w.group) > 0:
			w.busy = true
			return true
		case len(w.queue) > 0:
		case w.closed:
			return false
		default:
			w.changed.Wait()
		}
	}
}

// carryOut executes the group.
func (w *writer) carryOut() {
	ctx := context.Background()
	// A task that breaks the transaction, as on a full disk, must not fail the others: each then gets its own transaction.
	if !w.together(ctx, w.group) {
		for i := range w.group {
			w.together(ctx, w.group[i:i+1])
		}
	}
	w.open.Store(len(w.pending) > 0)
	w.settleLater()
	for _, t := range w.group {
		t.done <- struct{}{}
	}
	clear(w.group)
	w.group = w.group[:0]
}

// settleTime bounds how long a lazy write stays in the open transaction. After that, other programs see it and can write.
const settleTime = time.Second

// settleLater schedules a commit of pending, unless another one comes first.
func (w *writer) settleLater() {
	switch {
	case len(w.pending) == 0 && w.settling != nil:
		w.settling.Stop()
		w.settling = nil
	case len(w.pending) > 0 && w.settling == nil:
		w.settling = time.AfterFunc(settleTime, w.settle)
	}
}

// settle commits pending. It does not wait for that.
func (w *writer) settle() {
	w.enter(newTask(func(*tx) error {
		w.settling = nil // if the commit fails, it is tried again
		return nil
	}, false))
}

// together executes the tasks in the transaction, and commits it if one of them must be on the disk. It returns false if
// each task should be tried alone; nothing has happened then.
func (w *writer) together(ctx context.Context, group []*task) bool {
	alone := len(group) == 1
	fail := func(err error) bool {
		w.undo(ctx)
		for _, t := range group {
			t.err = err
		}
		return alone
	}
	if err := w.begin(ctx); err != nil {
		return fail(err)
	}
	x := tx{w: w}
	x.now, x.steady, _ = w.clock.read()
	durable := false
	wrote := 0
	for _, t := range group {
		before := len(x.writes)
		t.try(&x)
		var refusal *event.Error
		switch {
		case t.err == nil:
			durable = durable || !t.lazy || x.durable
			if len(x.writes) > before {
				wrote++
			}
		case !errors.As(t.err, &refusal), len(x.writes) > before:
			// SQLite failed, or the task wrote before it refused.
			return fail(t.err)
		}
	}
	wroteBytes := sizeOf(x.writes)
	if durable || wrote > 0 && (w.waiting+wrote > maxPending || w.bytes+wroteBytes > maxPendingBytes) {
		if _, err := w.exec(ctx, `COMMIT`); err != nil {
			return fail(err)
		}
		clear(w.pending)
		w.logged += w.bytes + wroteBytes
		w.begun, w.pending, w.waiting, w.bytes = false, w.pending[:0], 0, 0
		w.cut(ctx)
		if len(x.scrubs) > 0 {
			err := w.scrub(ctx)
			for _, into := range x.scrubs {
				*into = err
			}
		}
		return true
	}
	w.bytes += wroteBytes
	w.pending = append(w.pending, x.writes...)
	w.waiting += wrote
	if len(w.pending) == 0 {
		// Nothing was written, so nothing is kept open.
		if _, err := w.exec(ctx, `COMMIT`); err != nil {
			return fail(err)
		}
		w.begun = false
	}
	return true
}

// try executes the task. A panic is an error here, and the caller's panic later.
func (t *task) try(x *tx) {
	defer func() {
		if t.panicked = recover(); t.panicked != nil {
			t.err = fmt.Errorf("panic: %v\n%s", t.panicked, debug.Stack())
		}
	}()
	t.err = t.do(x)
}

// sizeOf returns the length of the arguments of writes.
func sizeOf(writes []write) (bytes int64) {
	for i := range writes {
		for _, arg := range writes[i].args {
			switch arg := arg.(type) {
			case []byte:
				bytes += int64(len(arg))
			case string:
				bytes += int64(len(arg))
			}
		}
	}
	return bytes
}

// cut copies a long write-ahead log into the file and truncates it, unless a reader blocks that. A later commit then
// tries again.
func (w *writer) cut(ctx context.Context) {
	if w.logged < longLog {
		return
	}
	w.logged = 0
	_, _ = w.conn.ExecContext(ctx, `PRAGMA busy_timeout = 0`) // do not wait for readers
	var busy, pages, moved int
	err := w.conn.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &pages, &moved)
	if err != nil || busy != 0 {
		w.logged = longLog / 2
	}
	_, _ = w.conn.ExecContext(ctx, `PRAGMA busy_timeout = 5000`)
}

// begin makes sure that a transaction is open, with pending in it.
func (w *writer) begin(ctx context.Context) error {
	if w.begun {
		return nil
	}
	if _, err := w.exec(ctx, `BEGIN IMMEDIATE`); err != nil {
		return err
	}
	w.begun = true
	for _, p := range w.pending {
		if _, err := w.exec(ctx, p.text, p.args...); err != nil {
			return err
		}
	}
	return nil
}

// undo rolls the transaction back. The next one executes pending again.
func (w *writer) undo(ctx context.Context) {
	w.begun = false
	clear(w.fences)
	w.exec(ctx, `ROLLBACK`) //nolint:errcheck // SQLite may have done so by itself
}

// maxFences bounds the fences of idle conversations.
const maxFences = 1024

func (w *writer) know(f *fence) {
	if len(w.fences) >= maxFences {
		clear(w.fences)
	}
	w.fences[f.id] = f
}

func (w *writer) forget(conversation string) { delete(w.fences, conversation) }

// close executes the queue, writes everything to the disk, saves the clock and ends.
func (w *writer) close() error {
	w.mu.Lock()
	w.closed = true
	w.changed.Signal()
	w.mu.Unlock()
	<-w.ended

	// A full disk must not keep the folder locked. Only lazy writes are lost then.
	if w.settling != nil {
		w.settling.Stop()
	}
	ctx := context.Background()
	err := w.begin(ctx)
	if err == nil {
		_, steady, wall := w.clock.read()
		_, err = w.exec(ctx, `UPDATE store SET clock = ?, wall = ?`, steady, wall)
	}
	if err == nil {
		_, err = w.exec(ctx, `COMMIT`)
	}
	if err != nil {
		w.undo(ctx)
	}
	for _, s := range w.statements {
		_ = s.Close()
	}
	_ = w.conn.Close()
	return w.db.Close()
}

// statement prepares a statement once.
func (w *writer) statement(ctx context.Context, text string) (*sql.Stmt, error) {
	s := w.statements[text]
	if s != nil {
		return s, nil
	}
	s, err := w.conn.PrepareContext(ctx, text)
	if err == nil {
		w.statements[text] = s
	}
	return s, err
}

func (w *writer) exec(ctx context.Context, text string, args ...any) (sql.Result, error) {
	s, err := w.statement(ctx, text)
	if err != nil {
		return nil, err
	}
	return s.ExecContext(ctx, args...)
}

// exec executes a statement of the task and returns how many rows it changed.
func (x *tx) exec(text string, args ...any) (int64, error) {
	r, err := x.w.exec(context.Background(), text, args...)
	if err != nil {
		return 0, err
	}
	n, err := r.RowsAffected()
	if n > 0 {
		x.writes = append(x.writes, write{text, args})
	}
	return n, err
}

// insert is exec for one row. It returns the row's key, or 0 if the row exists and the statement did nothing.
func (x *tx) insert(text string, args ...any) (int64, error) {
	r, err := x.w.exec(context.Background(), text, args...)
	if err != nil {
		return 0, err
	}
	n, err := r.RowsAffected()
	if err != nil || n == 0 {
		return 0, err
	}
	x.writes = append(x.writes, write{text, args})
	return r.LastInsertId()
}

// change is exec for a statement that returns the row that it changed.
func (x *tx) change(text string, args []any, into ...any) (found bool, err error) {
	found, err = x.row(text, args, into...)
	if found {
		x.writes = append(x.writes, write{text, args})
	}
	return found, err
}

func (x *tx) query(text string, args ...any) (*sql.Rows, error) {
	s, err := x.w.statement(context.Background(), text)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(context.Background(), args...)
}

// row reads the first row that the statement finds. found is false if there is none.
func (x *tx) row(text string, args []any, into ...any) (found bool, err error) {
	s, err := x.w.statement(context.Background(), text)
	if err != nil {
		return false, err
	}
	err = s.QueryRowContext(context.Background(), args...).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}
