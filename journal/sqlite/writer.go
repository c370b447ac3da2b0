package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/braidrun/braid/event"
)

// maxGroup is how many calls share a transaction. More would make each wait
// longer and save little: the wait for the disk is already spread thin.
const maxGroup = 256

// writer is the one that writes. Callers put what they want done into its queue
// and wait; its goroutine takes all that waits, does each in a savepoint of one
// transaction, and waits for the disk once for all of them.
type writer struct {
	db      *sql.DB
	conn    *sql.Conn
	clock   *clock
	relaxed bool
	// What follows is the goroutine's own.
	statements map[string]*sql.Stmt
	// mode is what the connection was told about waiting for the disk; behind
	// is set while the file has commits that nobody waited for.
	mode   string
	behind bool

	mu     sync.Mutex
	work   sync.Cond
	queue  []*task
	closed bool
	done   chan struct{}
}

// task is one call's part of a transaction.
type task struct {
	// do may be called more than once, each time with nothing left of the time
	// before.
	do func(*tx) error
	// lazy is set where the caller need not wait for the disk.
	lazy bool
	// taken is set by who comes first: the writer, which then does it, or the
	// caller, who has given up.
	taken atomic.Bool
	err   error
	done  chan struct{}
}

// tx is the transaction as a task sees it: one moment in time.
type tx struct {
	w      *writer
	now    time.Time
	steady int64
	writes int
}

func newWriter(ctx context.Context, db *sql.DB, conn *sql.Conn, c *clock, relaxed bool) (*writer, error) {
	w := &writer{
		db: db, conn: conn, clock: c, relaxed: relaxed,
		statements: make(map[string]*sql.Stmt), done: make(chan struct{}),
	}
	w.work.L = &w.mu
	if err := w.sync(ctx, !relaxed); err != nil {
		return nil, err
	}
	go w.run()
	return w, nil
}

// write has the writer do something and waits until it is done. Who gives up
// before the writer has begun with it has done nothing; after that the answer is
// awaited, because it is near and tells what happened.
func (s *Store) write(ctx context.Context, op string, lazy bool, do func(*tx) error) error {
	if err := alive(ctx, op); err != nil {
		return err
	}
	t := &task{do: do, lazy: lazy || s.writer.relaxed, done: make(chan struct{})}
	if !s.writer.submit(t) {
		return isClosed(op)
	}
	select {
	case <-t.done:
	case <-ctx.Done():
		if t.taken.CompareAndSwap(false, true) {
			return alive(ctx, op)
		}
		<-t.done
	}
	return fault(op, t.err)
}

func (w *writer) submit(t *task) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	w.queue = append(w.queue, t)
	w.work.Signal()
	return true
}

// next waits for tasks and takes as many as fit a group; none means that the
// writer is closed and the queue is empty.
func (w *writer) next(group []*task) []*task {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(group) == 0 {
		for len(w.queue) == 0 {
			if w.closed {
				return nil
			}
			w.work.Wait()
		}
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
		rest := copy(w.queue, w.queue[n:])
		clear(w.queue[rest:])
		w.queue = w.queue[:rest]
	}
	return group
}

func (w *writer) run() {
	defer close(w.done)
	ctx := context.Background()
	group := make([]*task, 0, maxGroup)
	for group = w.next(group); len(group) > 0; group = w.next(group[:0]) {
		// One that breaks the transaction for all, as a full disk does, must not
		// take the others with it: then each gets its own.
		if !w.together(ctx, group) {
			for i := range group {
				w.together(ctx, group[i:i+1])
			}
		}
		for i, t := range group {
			close(t.done)
			group[i] = nil
		}
	}
}

// together does the tasks in one transaction. It is false where SQLite failed and
// each should be tried alone: then nothing has happened.
func (w *writer) together(ctx context.Context, group []*task) bool {
	alone := len(group) == 1
	fail := func(err error) bool {
		w.exec(ctx, `ROLLBACK`) //nolint:errcheck // SQLite may have done so by itself
		for _, t := range group {
			t.err = err
		}
		return alone
	}

	lazy := true
	for _, t := range group {
		lazy = lazy && t.lazy
	}
	if err := w.sync(ctx, !lazy); err != nil {
		return fail(err)
	}
	if _, err := w.exec(ctx, `BEGIN IMMEDIATE`); err != nil {
		return fail(err)
	}
	x := tx{w: w}
	x.now, x.steady, _ = w.clock.read()
	good := 0
	for _, t := range group {
		if err := w.one(ctx, &x, t, alone); err != nil {
			return fail(err)
		}
		if t.err == nil {
			good++
		}
	}
	if good == 0 {
		w.exec(ctx, `ROLLBACK`) //nolint:errcheck // there is nothing in it
		return true
	}
	if !lazy && w.behind && x.writes == 0 {
		// What a caller is told of may stand in a commit that nobody has waited
		// for. Without a write of its own this one would not wait either.
		if _, err := x.exec(`UPDATE store SET wall = ?`, x.now.UnixMicro()); err != nil {
			return fail(err)
		}
	}
	if _, err := w.exec(ctx, `COMMIT`); err != nil {
		return fail(err)
	}
	if x.writes > 0 {
		w.behind = lazy && !w.relaxed
	}
	return true
}

// one does one task, and undoes it where it refuses. An error means that SQLite
// has failed, and with it the whole transaction.
func (w *writer) one(ctx context.Context, x *tx, t *task, alone bool) error {
	if !alone {
		if _, err := w.exec(ctx, `SAVEPOINT task`); err != nil {
			return err
		}
	}
	writes := x.writes
	t.err = t.do(x)
	var refusal *event.Error
	if t.err != nil && !errors.As(t.err, &refusal) {
		return t.err
	}
	if alone {
		return nil
	}
	if t.err != nil && x.writes > writes {
		if _, err := w.exec(ctx, `ROLLBACK TO task`); err != nil {
			return err
		}
		x.writes = writes
	}
	_, err := w.exec(ctx, `RELEASE task`)
	return err
}

// sync sets whether commits wait for the disk. In the write-ahead log a commit that
// waits brings all before it to the disk, too.
func (w *writer) sync(ctx context.Context, wait bool) error {
	mode := `NORMAL`
	if wait {
		mode = `FULL`
	}
	if w.mode == mode {
		return nil
	}
	// Not prepared: SQLite sets it while it reads the statement.
	if _, err := w.conn.ExecContext(ctx, `PRAGMA synchronous = `+mode); err != nil {
		return err
	}
	w.mode = mode
	return nil
}

// close does what is in the queue, saves the clock and ends.
func (w *writer) close() error {
	w.mu.Lock()
	w.closed = true
	w.work.Signal()
	w.mu.Unlock()
	<-w.done

	ctx := context.Background()
	_, steady, wall := w.clock.read()
	// A disk that is full must not keep the folder from being given back.
	w.conn.ExecContext(ctx, `UPDATE store SET clock = ?, wall = ?`, steady, wall) //nolint:errcheck // see above
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
		x.writes++
	}
	return n, err
}

// insert is exec for one row; it gives the row's key.
func (x *tx) insert(text string, args ...any) (int64, error) {
	r, err := x.w.exec(context.Background(), text, args...)
	if err != nil {
		return 0, err
	}
	x.writes++
	return r.LastInsertId()
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
