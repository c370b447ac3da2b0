package database

import (
	"context"
	"database/sql"
	"errors"

	"github.com/braidrun/braid/internal/stacks"
)

// connection is the only connection to a SQLite file. Whoever has its turn uses it alone. It
// prepares each statement once. SQLite runs on a goroutine of the pool, because it needs a large
// stack and the callers are many.
type connection struct {
	conn *sql.Conn
	pool *stacks.Pool
	// turn has one token while nobody uses the connection. Its holder owns the fields below.
	turn       chan struct{}
	statements map[string]*sql.Stmt
	// reading counts the lists that are being read. A prepared statement can have only one reader.
	reading int
	closed  bool
}

// mostStatements bounds the prepared statements. Some texts depend on how many values they compare
// with.
const mostStatements = 256

func newConnection(ctx context.Context, db *sql.DB) (*connection, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	c := &connection{conn: conn, pool: stacks.New(1), turn: make(chan struct{}, 1), statements: make(map[string]*sql.Stmt)}
	c.turn <- struct{}{}
	return c, nil
}

// take waits for the connection's turn. If it returns nil, the caller must call give.
func (c *connection) take(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	select {
	case <-c.turn:
	case <-ctx.Done():
		return ctx.Err()
	}
	if c.closed {
		c.give()
		return sql.ErrConnDone
	}
	return nil
}

func (c *connection) give() { c.turn <- struct{}{} }

// close waits for the connection's turn and closes it. It may be called again.
func (c *connection) close() error {
	<-c.turn
	defer c.give()
	if c.closed {
		return nil
	}
	c.closed = true
	c.pool.Close()
	return errors.Join(c.forget(), c.conn.Close())
}

// forget closes all prepared statements.
func (c *connection) forget() error {
	var errs []error
	for _, s := range c.statements {
		errs = append(errs, s.Close())
	}
	clear(c.statements)
	return errors.Join(errs...)
}

// statement returns a prepared statement, or nil if the text must be executed without one: while a
// list is being read, whose statement it may be, or if it cannot be prepared.
func (c *connection) statement(ctx context.Context, text string) *sql.Stmt {
	if c.reading > 0 {
		return nil
	}
	if s := c.statements[text]; s != nil {
		return s
	}
	if len(c.statements) >= mostStatements {
		_ = c.forget() // closing a statement repeats the error of its last use
	}
	s, err := c.conn.PrepareContext(ctx, text)
	if err != nil {
		return nil
	}
	c.statements[text] = s
	return s
}

// ExecContext implements [asker]. A statement that has begun runs to its end: watching ctx would
// take a goroutine each, and no statement takes long.
func (c *connection) ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error) {
	ctx = context.WithoutCancel(ctx)
	if s := c.statement(ctx, text); s != nil { //nolint:sqlclosecheck // it is prepared once and closed with the connection
		return s.ExecContext(ctx, args...)
	}
	return c.conn.ExecContext(ctx, text, args...)
}

// QueryContext implements [asker].
func (c *connection) QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	ctx = context.WithoutCancel(ctx)
	if s := c.statement(ctx, text); s != nil { //nolint:sqlclosecheck // it is prepared once and closed with the connection
		return s.QueryContext(ctx, args...)
	}
	return c.conn.QueryContext(ctx, text, args...)
}

// QueryRowContext implements [asker].
func (c *connection) QueryRowContext(ctx context.Context, text string, args ...any) *sql.Row {
	ctx = context.WithoutCancel(ctx)
	if s := c.statement(ctx, text); s != nil { //nolint:sqlclosecheck // it is prepared once and closed with the connection
		return s.QueryRowContext(ctx, args...)
	}
	return c.conn.QueryRowContext(ctx, text, args...)
}

// read calls body, which must not write.
func (c *connection) read(ctx context.Context, db *DB, body func(tx *Tx) error) error {
	return c.do(ctx, func() error { return body(&Tx{ctx: ctx, tx: c, db: db}) })
}

// do waits for the connection's turn and calls use, which must not call do.
func (c *connection) do(ctx context.Context, use func() error) (err error) {
	if err := c.take(ctx); err != nil {
		return err
	}
	defer c.give()
	c.pool.Do(func() { err = use() })
	return err
}

// write calls body in a transaction. A soon transaction does not wait for the disk: a power cut may
// lose it, and the next other one takes it to the disk.
func (c *connection) write(ctx context.Context, db *DB, soon bool, body func(tx *Tx) error) (committing bool, err error) {
	err = c.do(ctx, func() (err error) {
		committing, err = c.transact(ctx, db, soon, body)
		return err
	})
	return committing, err
}

// transact is write for do.
func (c *connection) transact(ctx context.Context, db *DB, soon bool, body func(tx *Tx) error) (committing bool, err error) {
	if soon {
		if _, err := c.ExecContext(ctx, `PRAGMA synchronous = NORMAL`); err != nil {
			return false, err
		}
		defer func() {
			if _, again := c.ExecContext(ctx, `PRAGMA synchronous = FULL`); again != nil {
				err = errors.Join(err, again)
			}
		}()
	}
	if _, err := c.ExecContext(ctx, `BEGIN IMMEDIATE`); err != nil {
		return false, err
	}
	committed := false
	defer func() {
		if !committed {
			_, _ = c.ExecContext(ctx, `ROLLBACK`) // SQLite may have done so by itself
		}
	}()
	if err := body(&Tx{ctx: ctx, tx: c, db: db}); err != nil {
		return false, err
	}
	if ctx.Err() != nil { // whoever asked has gone
		return false, ctx.Err()
	}
	if _, err := c.ExecContext(ctx, `COMMIT`); err != nil {
		return true, err
	}
	committed = true
	return true, nil
}
