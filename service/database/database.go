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

// DB is the service's own database. Its methods are safe for concurrent use and return
// *[event.Error]s. Make it with [OpenSQLite], [OpenMemory] or [OpenPostgres].
type DB struct {
	sql *sql.DB
	// one is SQLite's only connection; nil on PostgreSQL.
	one     *connection
	shared  bool
	numbers sync.Map // statements with "?" to their form with "$1"
	space   lowspace.Watch
}

// Shared reports whether other processes may write to the database too.
func (db *DB) Shared() bool { return db.shared }

// Stats returns the current state of the connection pool.
func (db *DB) Stats() sql.DBStats { return db.sql.Stats() }

// Close closes the database. It may be called again.
func (db *DB) Close() error {
	var err error
	if db.one != nil {
		err = db.one.close()
	}
	return fault("close", errors.Join(err, db.sql.Close()))
}

// Tx is a transaction. It belongs to one goroutine and is valid only during the call that
// received it. Pass errors of its methods on unchanged.
type Tx struct {
	ctx context.Context //nolint:containedctx // a Tx lives as long as the call of ctx
	tx  asker
	db  *DB
}

// asker is a [sql.Tx], or SQLite's connection while the caller has its turn.
type asker interface {
	ExecContext(ctx context.Context, statement string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, statement string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, statement string, args ...any) *sql.Row
}

// scope decides which rows a PostgreSQL transaction sees: a statement and its argument.
type scope struct{ set, of string }

const (
	ofTenant   = `SELECT set_config('braid.tenant', '=' || $1::text, true)`
	ofOperator = `SELECT set_config('braid.tenant', '*' || $1::text, true)`
	ofKey      = `SELECT set_config('braid.tenant', tenant_of_key($1), true)`
)

// attempts is the number of attempts of a transaction that the database aborted in favour of
// another one, or whose connection was dead before it wrote anything.
const attempts = 4

// Write runs body in a transaction that may read and write the tenant's rows, and commits it. The
// tenant "" has what all tenants share. If body returns an error, Write rolls back and returns
// it. Write may call body more than once.
func (db *DB) Write(ctx context.Context, op, tenant string, body func(tx *Tx) error) error {
	return db.transact(ctx, op, scope{ofTenant, tenant}, write, body)
}

// WriteSoon is [DB.Write] for what can be made again. On SQLite it does not wait for the disk, and
// a power cut may lose it; a crash of the process loses nothing.
func (db *DB) WriteSoon(ctx context.Context, op, tenant string, body func(tx *Tx) error) error {
	return db.transact(ctx, op, scope{ofTenant, tenant}, writeSoon, body)
}

// Read is [DB.Write] without writing.
func (db *DB) Read(ctx context.Context, op, tenant string, body func(tx *Tx) error) error {
	return db.transact(ctx, op, scope{ofTenant, tenant}, read, body)
}

// ReadTenants is [DB.Read] for the operator: it sees only the rows of the tables tenant and
// webhook_due, of all tenants.
func (db *DB) ReadTenants(ctx context.Context, op string, body func(tx *Tx) error) error {
	return db.transact(ctx, op, scope{ofOperator, ""}, read, body)
}

// ReadKey is [DB.Read] for the tenant that owns the API key with the id. It sees nothing if no
// such key exists.
func (db *DB) ReadKey(ctx context.Context, op, id string, body func(tx *Tx) error) error {
	return db.transact(ctx, op, scope{ofKey, id}, read, body)
}

// mode is what a transaction is for.
type mode int

const (
	write mode = iota
	writeSoon
	read
)

func (db *DB) transact(ctx context.Context, op string, who scope, use mode, body func(tx *Tx) error) error {
	for n := 1; ; n++ {
		committing := false
		err := pg.WithRoom(ctx, func() (err error) {
			committing, err = db.once(ctx, who, use, body)
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

func (db *DB) once(ctx context.Context, who scope, use mode, body func(tx *Tx) error) (committing bool, err error) {
	var o *sql.TxOptions
	switch {
	case db.one != nil && use == read:
		// The only connection excludes writers, so all queries see one state.
		return false, db.one.read(ctx, db, body)
	case db.one != nil:
		return db.one.write(ctx, db, use == writeSoon, body)
	case use == read:
		// All queries see one state.
		o = &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
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

// For continues the transaction in the scope of another tenant. The operator's changes use it if
// they concern two tenants.
func (x *Tx) For(tenant string) error { return x.scope(scope{ofTenant, tenant}) }

// Exec executes a statement and returns how many rows it changed.
func (x *Tx) Exec(statement string, args ...any) (int64, error) {
	r, err := x.tx.ExecContext(x.ctx, x.db.marks(statement), args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// Get reads one row; there is false if there is none.
func (x *Tx) Get(statement string, args []any, into ...any) (there bool, err error) {
	err = x.tx.QueryRowContext(x.ctx, x.db.marks(statement), args...).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// List reads rows and calls each with every row.
func (x *Tx) List(statement string, args []any, each func(scan func(into ...any) error) error) error {
	rows, err := x.tx.QueryContext(x.ctx, x.db.marks(statement), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	if c := x.db.one; c != nil {
		c.reading++
		defer func() { c.reading-- }()
	}
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// ForUpdate returns the suffix of a SELECT for a row that the transaction is about to change.
func (x *Tx) ForUpdate() string {
	if x.db.shared {
		return " FOR UPDATE"
	}
	return "" // SQLite has only one writer
}

// Changed increments the counter of changes to the directory and returns it; 0 if no other
// process can change the directory. Execute it as the last statement of a transaction, because it
// blocks other writers until the commit.
func (x *Tx) Changed() (count int64, err error) {
	if !x.db.shared {
		return 0, nil
	}
	err = x.tx.QueryRowContext(x.ctx, `UPDATE change SET n = n + 1 RETURNING n`).Scan(&count)
	return count, err
}

// Changes returns the counter of [Tx.Changed] in the transaction; 0 if there is none.
func (x *Tx) Changes() (count int64, err error) {
	if !x.db.shared {
		return 0, nil
	}
	_, err = x.Get(`SELECT n FROM change`, nil, &count)
	return count, err
}

// Changes returns the counter of [Tx.Changed]; 0 if there is none.
func (db *DB) Changes(ctx context.Context) (count int64, err error) {
	err = db.sql.QueryRowContext(ctx, `SELECT n FROM change`).Scan(&count)
	return count, fault("directory", err)
}

// EraseSpend removes a tenant's spending. Only a shared database stores it.
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

// EraseAudit removes the audit of the transaction's tenant, which must be inactive, and the
// tenant's row. It returns the number of entries and the hash of the last one. On PostgreSQL no
// other way removes entries: it moves them to a table that only the owner of the tables can reach
// ([Owner]). It leaves a row in audit_erasure that no server can change or remove.
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

// marks returns the statement with the database's parameter marks.
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

// Micros returns a time as the database stores it; 0 for the zero time.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// Time returns the time that [Micros] encoded.
func Time(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// Now returns the current time with the database's precision.
func Now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// Damaged returns the error for a row that the database can read and its reader cannot.
func Damaged(op string, cause error) error {
	return &event.Error{
		Op: op, Kind: event.ErrInternal, Message: "a row of the service's database cannot be read", Hint: "restore a backup", Err: cause,
	}
}
