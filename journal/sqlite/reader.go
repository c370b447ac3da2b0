package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"github.com/braidrun/braid/internal/stacks"
)

// readers is the maximum number of concurrent reads; further ones wait.
const readers = 4

// reader reads the committed state without waiting for the writer. It reads on goroutines of its own.
type reader struct {
	db   *sql.DB
	pool *stacks.Pool

	mu         sync.Mutex
	statements map[string]*sql.Stmt
	closed     bool
	busy       sync.WaitGroup
}

func newReader(ctx context.Context, path string) (*reader, error) {
	db, err := connect(path, readers, false, "query_only(1)")
	if err != nil {
		return nil, err
	}
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &reader{db: db, pool: stacks.New(readers), statements: make(map[string]*sql.Stmt)}, nil
}

// enter begins a read. If it returns true, the caller must call leave.
func (r *reader) enter() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	r.busy.Add(1)
	return true
}

func (r *reader) leave() { r.busy.Done() }

// do executes a read, which must not call do.
func (r *reader) do(op string, read func() error) (err error) {
	if !r.enter() {
		return isClosed(op)
	}
	defer r.leave()
	r.pool.Do(func() { err = read() })
	return err
}

func (r *reader) close() error {
	r.mu.Lock()
	again := r.closed
	r.closed = true
	r.mu.Unlock()
	r.busy.Wait()
	if again {
		return r.db.Close()
	}
	r.pool.Close()
	for _, s := range r.statements {
		_ = s.Close()
	}
	return r.db.Close()
}

// query executes a statement that each connection prepares once.
func (r *reader) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	s, err := r.statement(ctx, text)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(ctx, args...)
}

// row reads the first row of the result; found is false if there is none.
func (r *reader) row(ctx context.Context, text string, args []any, into ...any) (found bool, err error) {
	s, err := r.statement(ctx, text)
	if err != nil {
		return false, err
	}
	err = s.QueryRowContext(ctx, args...).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

func (r *reader) statement(ctx context.Context, text string) (*sql.Stmt, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.statements[text]
	if s != nil {
		return s, nil
	}
	s, err := r.db.PrepareContext(ctx, text)
	if err == nil {
		r.statements[text] = s
	}
	return s, err
}
