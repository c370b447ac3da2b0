package directory

import (
	"context"
	"slices"
	"strconv"

	"github.com/braidrun/braid/internal/cursor"
	"github.com/braidrun/braid/service/database"
)

// AuditQuery selects entries of an audit.
type AuditQuery struct {
	// Action selects entries with that action. Empty selects all.
	Action string
	// Object selects entries about that object. Empty selects all.
	Object string
	// Cursor is the next cursor of the previous page; empty means the first page.
	Cursor string
	// Limit is at most [MostPage]. 0 means [DefaultPage].
	Limit int
}

// Audit returns a page of a tenant's audit, or of the operator's for "", the newest entry first.
func (d *Directory) Audit(ctx context.Context, tenant string, q AuditQuery) (list []Entry, next string, err error) {
	const op = "audit"
	page := Query{Cursor: q.Cursor, Limit: q.Limit}
	if err := page.check(op); err != nil {
		return nil, "", err
	}
	if tenant != "" && !isSlug(tenant) {
		return nil, "", notFound(op, "tenant")
	}
	name := op + "/" + tenant + "/" + q.Action + "/" + q.Object
	statement, args := `SELECT `+entryColumns+` FROM audit WHERE tenant = ?`, []any{tenant}
	if q.Action != "" {
		statement, args = statement+` AND action = ?`, append(args, q.Action)
	}
	if q.Object != "" {
		statement, args = statement+` AND object = ?`, append(args, q.Object)
	}
	if q.Cursor != "" {
		place, ok := cursor.Decode(name, q.Cursor, 1)
		if !ok {
			return nil, "", badCursor(op)
		}
		seq, err := strconv.ParseInt(place[0], 10, 64)
		if err != nil {
			return nil, "", badCursor(op)
		}
		statement, args = statement+` AND seq < ?`, append(args, seq)
	}
	err = d.db.Read(ctx, op, tenant, func(tx *database.Tx) error {
		list = nil
		return tx.List(statement+` ORDER BY seq DESC LIMIT ?`, append(slices.Clip(args), page.Limit+1), func(scan func(...any) error) error {
			e, err := scanEntry(scan)
			list = append(list, e)
			return err
		})
	})
	if err != nil || len(list) <= page.Limit {
		return list, "", err
	}
	list = list[:page.Limit]
	return list, cursor.Encode(name, strconv.FormatInt(list[len(list)-1].Seq, 10)), nil
}

// Record adds an entry to a tenant's audit, or to the operator's for "", about something outside
// the directory, such as the removal of a conversation. detail is encoded as JSON; nil means none.
func (d *Directory) Record(ctx context.Context, by By, tenant, action, object string, detail any) error {
	return d.db.Write(ctx, "audit", tenant, func(tx *database.Tx) error { return record(tx, tenant, by, action, object, detail) })
}
