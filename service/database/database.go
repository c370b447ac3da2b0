package database

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lowspace"
	"github.com/braidrun/braid/internal/pg"
)

// DB is the service's own database. Its methods are safe for concurrent use and answer
// *[event.Error]s. Make it with [OpenSQLite], [OpenMemory] or [OpenPostgres].
type DB struct {
	sql     *sql.DB
	shared  bool
	numbers sync.Map // from a statement with "?" to one with "$1"
	space   lowspace.Watch
}

// Shared says that other processes may write here too.
func (db *DB) Shared() bool { return db.shared }

// Stats says how full the connections to the database are now.
func (db *DB) Stats() sql.DBStats { return db.sql.Stats() }

// Close frees what it holds. It may be called again.
func (db *DB) Close() error { return fault("close", db.sql.Close()) }

// Tx is a transaction. It is for one goroutine and dies with the call that it was
// given to. Errors of its methods go back to [DB.Write] or [DB.Read] as they are.
type Tx struct {
	ctx context.Context //nolint:containedctx // a Tx lives as long as the call that ctx is of
	tx  asker
	db  *DB
}

// asker is a [sql.Tx], or a [sql.Conn] that is held.
type asker interface {
	ExecContext(ctx context.Context, statement string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, statement string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, statement string, args ...any) *sql.Row
}

// scope says whose rows a transaction sees: by a statement for PostgreSQL, and its argument.
type scope struct{ set, of string }

const (
	ofTenant   = `SELECT set_config('braid.tenant', '=' || $1::text, true)`
	ofOperator = `SELECT set_config('braid.tenant', '*' || $1::text, true)`
	ofKey      = `SELECT set_config('braid.tenant', tenant_of_key($1), true)`
)

// attempts is how often a transaction is tried that the database gave up for another's
// sake, or that met a dead connection before it had written.
const attempts = 4

// Write runs body in a transaction that sees the tenant's rows and may change them,
// and commits it; "" is what all tenants share. An error of body is the answer, and
// then nothing was done. body may be called more than once.
func (db *DB) Write(ctx context.Context, op, tenant string, body func(tx *Tx) error) error {
	return db.transact(ctx, op, scope{ofTenant, tenant}, false, body)
}

// Read is [DB.Write] for what only looks.
func (db *DB) Read(ctx context.Context, op, tenant string, body func(tx *Tx) error) error {
	return db.transact(ctx, op, scope{ofTenant, tenant}, true, body)
}

// ReadTenants is [DB.Read] for the operator's looks at the tenants themselves: it sees
// the rows of the table tenant, and of no other.
func (db *DB) ReadTenants(ctx context.Context, op string, body func(tx *Tx) error) error {
	return db.transact(ctx, op, scope{ofOperator, ""}, true, body)
}

// ReadKey is [DB.Read] for the tenant that an API key of the id belongs to. Where there is
// none it sees nothing.
func (db *DB) ReadKey(ctx context.Context, op, id string, body func(tx *Tx) error) error {
	return db.transact(ctx, op, scope{ofKey, id}, true, body)
}

func (db *DB) transact(ctx context.Context, op string, who scope, look bool, body func(tx *Tx) error) error {
	for n := 1; ; n++ {
		committing := false
		err := pg.WithRoom(ctx, func() (err error) {
			committing, err = db.once(ctx, who, look, body)
			return err
		})
		if err == nil {
			return nil
		}
		if pg.Code(err) == pg.DiskFull {
			db.space.Failed()
		}
		if n == attempts || ctx.Err() != nil || !again(err, committing) {
			return pg.AtWork(fault(op, err))
		}
	}
}

func (db *DB) once(ctx context.Context, who scope, look bool, body func(tx *Tx) error) (committing bool, err error) {
	var o *sql.TxOptions
	switch {
	case look && db.shared:
		// One moment is read, over all its questions.
		o = &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
	case look:
		// Who holds the only connection reads one moment.
		conn, err := db.sql.Conn(ctx)
		if err != nil {
			return false, err
		}
		defer conn.Close()
		return false, body(&Tx{ctx: ctx, tx: conn, db: db})
	}
	tx, err := db.sql.BeginTx(ctx, o)
	if err != nil {
		return false, err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
	x := &Tx{ctx: ctx, tx: tx, db: db}
	if err := x.scope(who); err != nil {
		return false, err
	}
	if err := body(x); err != nil {
		return false, err
	}
	return true, tx.Commit()
}

func (x *Tx) scope(who scope) error {
	if !x.db.shared {
		return nil
	}
	_, err := x.tx.ExecContext(x.ctx, who.set, who.of)
	return err
}

// For has the transaction go on for another tenant: for what an operator does, of which
// two have to know.
func (x *Tx) For(tenant string) error { return x.scope(scope{ofTenant, tenant}) }

// Exec runs a statement and says how many rows it has changed.
func (x *Tx) Exec(statement string, args ...any) (int64, error) {
	r, err := x.tx.ExecContext(x.ctx, x.db.marks(statement), args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// Get asks for one row. there is false where there is none.
func (x *Tx) Get(statement string, args []any, into ...any) (there bool, err error) {
	err = x.tx.QueryRowContext(x.ctx, x.db.marks(statement), args...).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// List asks for rows, and calls each with every one of them.
func (x *Tx) List(statement string, args []any, each func(scan func(into ...any) error) error) error {
	rows, err := x.tx.QueryContext(x.ctx, x.db.marks(statement), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// ForUpdate ends a SELECT of a row that the transaction is about to change.
func (x *Tx) ForUpdate() string {
	if x.db.shared {
		return " FOR UPDATE"
	}
	return "" // it is the only writer
}

// Changed counts that the directory was changed, and gives the count; 0 where nobody else can
// have changed it, and it is not kept. It is the last statement of a transaction, so that
// others wait for it no longer than a commit takes.
func (x *Tx) Changed() (count int64, err error) {
	if !x.db.shared {
		return 0, nil
	}
	err = x.tx.QueryRowContext(x.ctx, `UPDATE change SET n = n + 1 RETURNING n`).Scan(&count)
	return count, err
}

// Changes is the count of [Tx.Changed] in the transaction; 0 where it is not kept.
func (x *Tx) Changes() (count int64, err error) {
	if !x.db.shared {
		return 0, nil
	}
	_, err = x.Get(`SELECT n FROM change`, nil, &count)
	return count, err
}

// Changes is the count of [Tx.Changed].
func (db *DB) Changes(ctx context.Context) (count int64, err error) {
	err = db.sql.QueryRowContext(ctx, `SELECT n FROM change`).Scan(&count)
	return count, fault("directory", err)
}

// EraseSpend removes what a tenant has spent. Only a database that processes share has it.
func (x *Tx) EraseSpend(tenant string) error {
	if !x.db.shared {
		return nil
	}
	_, err := x.Exec(`DELETE FROM reservation WHERE tenant = ?`, tenant)
	if err == nil {
		_, err = x.Exec(`DELETE FROM spend WHERE tenant = ?`, tenant)
	}
	return err
}

// EraseAudit removes the audit of the transaction's tenant, which must not be active, together with the
// tenant's row. It returns how many entries there were, and the hash of the last one. On PostgreSQL this is
// the one way in which entries leave an audit. It moves them to where only the owner of the tables reaches them ([Owner]),
// and leaves a row in audit_erasure that no server can change or remove.
func (x *Tx) EraseAudit(tenant string) (entries int64, head []byte, err error) {
	if _, err = x.Get(`SELECT hash FROM audit WHERE tenant = ? ORDER BY seq DESC LIMIT 1`, []any{tenant}, &head); err != nil {
		return 0, nil, err
	}
	if x.db.shared {
		_, err = x.Get(`SELECT erase_audit(?)`, []any{tenant}, &entries)
		return entries, head, err
	}
	if entries, err = x.Exec(`DELETE FROM audit WHERE tenant = ?`, tenant); err != nil {
		return 0, nil, err
	}
	if entries > 0 {
		_, err = x.Exec(`INSERT INTO audit_erasure (tenant, at, entries, head) VALUES (?, ?, ?, ?)`, tenant, Micros(Now()), entries, head)
		if err != nil {
			return 0, nil, err
		}
	}
	for _, statement := range []string{`DELETE FROM audit_head WHERE tenant = ?`, `DELETE FROM tenant WHERE id = ?`} {
		if _, err = x.Exec(statement, tenant); err != nil {
			return 0, nil, err
		}
	}
	return entries, head, nil
}

// marks gives the statement with the marks that the database wants.
func (db *DB) marks(statement string) string {
	if !db.shared {
		return statement
	}
	if s, ok := db.numbers.Load(statement); ok {
		return s.(string) //nolint:forcetypeassert // nothing else is in it
	}
	var b strings.Builder
	n := 0
	for i, part := range strings.Split(statement, "?") {
		if i > 0 {
			n++
			b.WriteString("$" + strconv.Itoa(n))
		}
		b.WriteString(part)
	}
	db.numbers.Store(statement, b.String())
	return b.String()
}

// Micros is how a time is kept; the zero time is 0.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// Time reads what [Micros] has written.
func Time(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// Now is the time as the database keeps it.
func Now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// Damaged is for a row that the database can read and its reader cannot.
func Damaged(op string, cause error) error {
	return &event.Error{
		Op: op, Kind: event.ErrInternal, Message: "a row of the service's database cannot be read", Hint: "restore a backup", Err: cause,
	}
}
