package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/braidrun/braid/internal/pg"
)

// scope says for which tenant a transaction is: by its name, or by the id of what
// is its. A transaction for what is nobody's sees nothing.
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

// question is one statement of several that go to the database together.
type question struct {
	text string
	args []any
	read func(pgx.Rows) error
}

// ask asks for one row. there tells whether it came.
func ask(text string, args []any, there *bool, into ...any) question {
	return question{text, args, func(rows pgx.Rows) error {
		*there = rows.Next()
		if !*there || len(into) == 0 {
			return nil
		}
		return rows.Scan(into...)
	}}
}

// list asks for rows, one by one.
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

// do wants no answer.
func do(text string, args ...any) question { return question{text: text, args: args} }

// tx is a short transaction. It is one or two round trips: what goes together is
// sent together.
type tx struct {
	store *Store
	conn  *pgxpool.Conn
	ctx   context.Context //nolint:containedctx // a tx lives as long as the call that ctx is of
	scope scope
	// committing is set once the database may have changed for good.
	committing bool
}

const (
	beginWrite = `BEGIN`
	// One moment is read, over all its questions.
	beginRead = `BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY`
)

// begin begins, for the scope's tenant, and asks the first questions.
func (x *tx) begin(how string, questions ...question) error {
	return x.send(x.ctx, append([]question{do(how), do(x.scope.set, x.scope.id)}, questions...))
}

// more asks more.
func (x *tx) more(questions ...question) error { return x.send(x.ctx, questions) }

// commit carries the last statements out and commits. It sees that through, also
// where the caller gives up: whether it was done is then known.
func (x *tx) commit(questions ...question) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(x.ctx), 2*x.store.patience)
	defer cancel()
	x.committing = true
	return x.send(ctx, append(questions, do(`COMMIT`)))
}

// commitLazily commits what may be lost in a crash of the database: a lease that ends earlier.
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

// attempts is how often a transaction is tried that the database gave up, or that
// found a dead connection in the pool.
const attempts = 4

// transact runs body in a transaction, which it begins and commits; without a
// commit nothing was done. body may be called more than once.
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

// once tries. again says that nothing was done and that another try may help.
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
		// A connection that cannot even do this is thrown away.
		back, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		_, _ = conn.Exec(back, `ROLLBACK`)
		cancel()
	}
	if err != nil && x.committing && pg.Code(err) == "" {
		return false, unknown(op, err)
	}
	return err != nil && (pg.GaveWay(err) || !x.committing && pg.Cut(err)), err
}

// look is a transaction that reads one moment.
func (s *Store) look(ctx context.Context, op string, who scope, questions ...question) error {
	return s.transact(ctx, op, who, func(x *tx) error {
		return x.begin(beginRead, append(questions, do(`COMMIT`))...)
	})
}
