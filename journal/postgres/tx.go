package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/braidrun/braid/internal/pg"
)

// scope names a transaction's tenant directly, or by the id of something that the tenant owns. A
// transaction for an unknown id sees nothing.
type scope struct {
	set string
	id  string
}

func ofTenant(tenant string) scope {
	return scope{`SELECT set_config('braid.tenant', '=' || $1::text, true)`, tenant}
}

func ofConversation(id string) scope {
	return scope{`SELECT set_config('braid.tenant', tenant_of_conversation($1), true)`, id}
}

func ofRun(id string) scope {
	return scope{`SELECT set_config('braid.tenant', tenant_of_run($1), true)`, id}
}

// question is one of several statements that go to the database together.
type question struct {
	text string
	args []any
	read func(pgx.Rows) error
}

// ask reads one row; there reports whether one was found.
func ask(text string, args []any, there *bool, into ...any) question {
	return question{text, args, func(rows pgx.Rows) error {
		*there = rows.Next()
		if !*there || len(into) == 0 {
			return nil
		}
		return rows.Scan(into...)
	}}
}

// list reads rows one by one.
func list(text string, args []any, each func(pgx.Rows) error) question {
	return question{text, args, func(rows pgx.Rows) error {
		for rows.Next() {
			if err := each(rows); err != nil {
				return err
			}
		}
		return nil
	}}
}

// do executes a statement without a result.
func do(text string, args ...any) question { return question{text: text, args: args} }

// tx is a short transaction of one or two round trips: it sends independent statements together.
type tx struct {
	store *Store
	conn  *pgxpool.Conn
	ctx   context.Context //nolint:containedctx // a tx lives as long as the call of ctx
	scope scope
	// committing is set once the database may have committed.
	committing bool
}

const (
	beginWrite = `BEGIN`
	// All queries see one state.
	beginRead = `BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY`
)

// begin begins a transaction for the scope's tenant and sends the first questions.
func (x *tx) begin(how string, questions ...question) error {
	return x.send(x.ctx, append([]question{do(how), do(x.scope.set, x.scope.id)}, questions...))
}

// more sends further questions.
func (x *tx) more(questions ...question) error { return x.send(x.ctx, questions) }

// commit executes the last statements and commits. It ignores a cancelled ctx, so that the
// outcome is known.
func (x *tx) commit(questions ...question) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(x.ctx), 2*x.store.patience)
	defer cancel()
	x.committing = true
	return x.send(ctx, append(questions, do(`COMMIT`)))
}

// commitLazily commits without waiting for the disk. A crash of the database may lose the commit.
func (x *tx) commitLazily(questions ...question) error {
	return x.commit(append(questions, do(`SET LOCAL synchronous_commit = off`))...)
}

func (x *tx) send(ctx context.Context, questions []question) (err error) {
	var batch pgx.Batch
	for _, q := range questions {
		batch.Queue(q.text, q.args...)
	}
	results := x.conn.SendBatch(ctx, &batch)
	defer func() { err = errors.Join(err, results.Close()) }()
	for _, q := range questions {
		if q.read == nil {
			if _, err := results.Exec(); err != nil {
				return err
			}
			continue
		}
		rows, err := results.Query()
		if err != nil {
			return err
		}
		err = q.read(rows)
		rows.Close()
		if err = errors.Join(err, rows.Err()); err != nil {
			return err
		}
	}
	return nil
}

// attempts is the number of attempts of a transaction that the database aborted, or that got a
// dead connection from the pool.
const attempts = 4

// transact runs body in a transaction, which body begins and commits. Without a commit nothing
// has happened. transact may call body more than once.
func (s *Store) transact(ctx context.Context, op string, who scope, body func(x *tx) error) error {
	for n := 1; ; n++ {
		again, err := s.once(ctx, op, who, body)
		if err != nil && s.closed.Load() {
			return isClosed(op)
		}
		if pg.Code(err) == pg.DiskFull {
			s.space.Failed()
		}
		if err == nil || !again || n == attempts || ctx.Err() != nil {
			return pg.AtWork(fault(op, err))
		}
	}
}

// once tries a transaction once. again reports that nothing has happened and that a retry may
// help.
func (s *Store) once(ctx context.Context, op string, who scope, body func(x *tx) error) (again bool, err error) {
	var conn *pgxpool.Conn
	err = pg.WithRoom(ctx, func() (err error) {
		conn, err = s.pool.Acquire(ctx)
		return err
	})
	if err != nil {
		return false, err
	}
	defer conn.Release()
	x := &tx{store: s, conn: conn, ctx: ctx, scope: who}
	err = body(x)
	if pg := conn.Conn().PgConn(); !pg.IsClosed() && pg.TxStatus() != 'I' {
		// a connection that cannot even do this is closed
		back, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		_, _ = conn.Exec(back, `ROLLBACK`)
		cancel()
	}
	if err != nil && x.committing && pg.Code(err) == "" {
		return false, unknown(op, err)
	}
	return err != nil && (pg.GaveWay(err) || !x.committing && pg.Cut(err)), err
}

// look is a transaction that reads one state.
func (s *Store) look(ctx context.Context, op string, who scope, questions ...question) error {
	return s.transact(ctx, op, who, func(x *tx) error {
		return x.begin(beginRead, append(questions, do(`COMMIT`))...)
	})
}
