package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/braidrun/braid/event"
)

const (
	// maxGroup is how many calls share a transaction. More would make each wait
	// longer and save little: the wait for the disk is already spread thin.
	maxGroup = 256
	// maxPending is how many calls may be answered before they are on the disk, and maxPendingBytes how long
	// their arguments may be: until then they are in memory.
	maxPending      = 128
	maxPendingBytes = 1 << 20
	// longLog is how long the write-ahead log may become before it is brought into the file at once.
	longLog = 16 << 20
)

// writer is who writes. Callers put what they want done into a queue. One of them
// at a time has the pen: it takes all that waits, does each in one transaction,
// waits for the disk once for all of them, and hands the pen on. So a call that is
// alone is carried out where it stands, and calls that come together share
// the wait; there is no goroutine between.
//
// A call that need not be durable by itself, such as taking a lease, is answered
// while the transaction is open, and goes to the disk with the next one that must.
// So a run costs no more waits than it has commits. The transaction itself is
// what everything is looked up in, so nothing is ever known twice.
type writer struct {
	db    *sql.DB
	conn  *sql.Conn
	clock *clock

	mu    sync.Mutex
	queue []*task
	// busy is set while somebody has the pen.
	busy   bool
	closed bool
	idle   sync.Cond
	// open is set while calls that were answered are in the open transaction,
	// where readers do not see them.
	open atomic.Bool

	// What follows belongs to who has the pen.
	statements map[string]*sql.Stmt
	group      []*task
	// begun is whether a transaction is open. pending are the writes in it that
	// were answered for: when it must be undone they are done again.
	begun   bool
	pending []write
	waiting int // the tasks that pending is of
	// settling commits what is pending after settleTime; nil where nothing is.
	settling *time.Timer
	// bytes are the length of what pending holds, logged of what was written since the write-ahead log was cut.
	bytes, logged int64
	// fences are those that were looked up or moved last, by conversation. Only
	// the writer moves them, so they are right until it undoes something.
	fences map[string]*fence
}

// write is a statement that was carried out. Its arguments are never changed.
type write struct {
	text string
	args []any
}

// task is one call's part of a transaction.
type task struct {
	// do may be called more than once, each time as if it were the first.
	do func(*tx) error
	// lazy is set where the caller need not wait for the disk.
	lazy bool
	// taken is set by who comes first: who has the pen, and then does it or hands
	// the pen to its caller, or the caller, who has given up.
	taken atomic.Bool
	// pen is what the caller waits for: true gives it the pen, false the answer.
	pen chan bool
	err error
}

// tx is the transaction as a task sees it: one moment in time.
type tx struct {
	w      *writer
	now    time.Time
	steady int64
	writes []write
	// durable is set by a task that, after all, must wait for the disk.
	durable bool
	// scrubs are where the errors of the scrubs go that are made after the commit.
	scrubs []*error
}

func newWriter(ctx context.Context, db *sql.DB, conn *sql.Conn, c *clock, relaxed bool) (*writer, error) {
	// Without waiting at a commit the order still holds, and a crash of
	// the process alone loses nothing.
	level := `PRAGMA synchronous = FULL`
	if relaxed {
		level = `PRAGMA synchronous = NORMAL`
	}
	// Ids are random, so that beside many conversations each write is somewhere else in the indexes. With
	// SQLite's own 2 MiB most of those pages would be read anew each time.
	for _, setting := range []string{level, `PRAGMA cache_size = -16384`} {
		if _, err := conn.ExecContext(ctx, setting); err != nil {
			return nil, err
		}
	}
	w := &writer{
		db: db, conn: conn, clock: c,
		statements: make(map[string]*sql.Stmt), fences: make(map[string]*fence), group: make([]*task, 0, maxGroup),
	}
	w.idle.L = &w.mu
	return w, nil
}

// write does something in a transaction and waits until it is done. Who gives up
// while others write has done nothing; what has been begun is awaited, because the
// answer is near and tells what happened.
func (s *Store) write(ctx context.Context, op string, lazy bool, do func(*tx) error) error {
	if err := alive(ctx, op); err != nil {
		return err
	}
	w := s.writer
	t := &task{do: do, lazy: lazy}
	mine, ok := w.enter(t)
	if !ok {
		return isClosed(op)
	}
	if !mine {
		select {
		case mine = <-t.pen:
		case <-ctx.Done():
			if t.taken.CompareAndSwap(false, true) {
				return alive(ctx, op)
			}
			mine = <-t.pen
		}
	}
	if mine {
		w.carryOut(t)
	}
	return fault(op, t.err)
}

// enter gives the pen where nobody has it, and puts the task into the queue
// otherwise. ok is false where the writer is closed.
func (w *writer) enter(t *task) (pen, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false, false
	}
	if w.busy {
		t.pen = make(chan bool, 1)
		w.queue = append(w.queue, t)
		return false, true
	}
	w.busy = true
	t.taken.Store(true)
	return true, true
}

// carryOut does the caller's task, and those that wait, and hands the pen on.
func (w *writer) carryOut(t *task) {
	w.group = w.take(append(w.group[:0], t))
	ctx := context.Background()
	// One that breaks the transaction for all, as a full disk does, must not
	// take the others with it: then each gets its own.
	if !w.together(ctx, w.group) {
		for i := range w.group {
			w.together(ctx, w.group[i:i+1])
		}
	}
	w.open.Store(len(w.pending) > 0)
	w.settleLater()
	for _, o := range w.group[1:] {
		o.pen <- false
	}
	clear(w.group)
	w.handOn()
}

// settleTime is how long a write that nobody waits for may stay in the open transaction: programs that read
// the file see it after that at the latest, and may write themselves.
const settleTime = time.Second

// settleLater has what is pending be committed, unless a commit comes before. The caller has the pen.
func (w *writer) settleLater() {
	switch {
	case len(w.pending) == 0 && w.settling != nil:
		w.settling.Stop()
		w.settling = nil
	case len(w.pending) > 0 && w.settling == nil:
		w.settling = time.AfterFunc(settleTime, w.settle)
	}
}

// settle commits what is pending.
func (w *writer) settle() {
	t := &task{do: func(*tx) error {
		w.settling = nil // if the commit fails, it is tried again
		return nil
	}}
	mine, ok := w.enter(t)
	if ok && !mine {
		mine = <-t.pen
	}
	if mine {
		w.carryOut(t)
	}
}

// take adds to the group what waits, as much as fits.
func (w *writer) take(group []*task) []*task {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, t := range w.queue {
		if len(group) == maxGroup {
			break
		}
		n++
		if t.taken.CompareAndSwap(false, true) {
			group = append(group, t)
		}
	}
	w.queue = slices.Delete(w.queue, 0, n)
	return group
}

// handOn gives the pen to who has waited longest.
func (w *writer) handOn() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, t := range w.queue {
		if t.taken.CompareAndSwap(false, true) {
			w.queue = slices.Delete(w.queue, 0, i+1)
			t.pen <- true
			return
		}
	}
	clear(w.queue)
	w.queue = w.queue[:0]
	w.busy = false
	w.idle.Broadcast()
}

// together does the tasks in the transaction, and ends it where one of them has
// to be on the disk. It is false where each should be tried alone: then nothing
// of any of them has happened.
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
		t.err = t.do(&x)
		var refusal *event.Error
		switch {
		case t.err == nil:
			durable = durable || !t.lazy || x.durable
			if len(x.writes) > before {
				wrote++
			}
		case !errors.As(t.err, &refusal), len(x.writes) > before:
			// SQLite failed, or the task has written before it refused.
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

// sizeOf is how long the arguments of writes are.
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

// cut brings a long write-ahead log into the file and cuts it, if no reader is in the way. Otherwise a later
// commit tries again.
func (w *writer) cut(ctx context.Context) {
	if w.logged < longLog {
		return
	}
	w.logged = 0
	_, _ = w.conn.ExecContext(ctx, `PRAGMA busy_timeout = 0`) // it waits for nobody
	var busy, pages, moved int
	err := w.conn.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &pages, &moved)
	if err != nil || busy != 0 {
		w.logged = longLog / 2
	}
	_, _ = w.conn.ExecContext(ctx, `PRAGMA busy_timeout = 5000`)
}

// begin makes sure that a transaction is open, with all in it that was answered for.
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

// undo takes the whole transaction back. What was answered for is done again
// with the next one.
func (w *writer) undo(ctx context.Context) {
	w.begun = false
	clear(w.fences)
	w.exec(ctx, `ROLLBACK`) //nolint:errcheck // SQLite may have done so by itself
}

// maxFences bounds what is kept of conversations that nobody writes to any more.
const maxFences = 1024

func (w *writer) know(f *fence) {
	if len(w.fences) >= maxFences {
		clear(w.fences)
	}
	w.fences[f.id] = f
}

func (w *writer) forget(conversation string) { delete(w.fences, conversation) }

// close does what is in the queue, brings everything to the disk, saves the clock
// and ends.
func (w *writer) close() error {
	w.mu.Lock()
	w.closed = true
	for w.busy {
		w.idle.Wait()
	}
	w.mu.Unlock()

	// A disk that is full must not keep the folder from being given back: what
	// is lost then is what nobody was told is durable.
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

// exec carries out a statement of the task's and gives how many rows it changed.
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

// insert is exec for one row; it gives the row's key, and 0 where there is such a
// row already and the statement does nothing then.
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

// change is exec for a statement that gives back the row that it changed.
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

// row gives what the statement finds first; found is false for nothing.
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
