package directory

import (
	"context"
	"math"
	"strconv"
	"time"

	"github.com/braidrun/braid/internal/cursor"
	"github.com/braidrun/braid/service/database"
)

// versionList describes a list of the versions of one object.
type versionList[V any] struct {
	op string
	// none returns the error for an object that does not exist.
	none func(op string) error
	// valid reports whether a text can be an id. nil means that ids are slugs.
	valid func(id string) bool
	// exists returns an error if the object does not exist.
	exists func(tx *database.Tx, op string) error
	// table has the versions, and column the object's id.
	table, column string
	read          func(version int, created time.Time, doc string) (V, error)
	number        func(V) int
}

// versions lists the versions of an object, the newest first. It ignores q.Status and q.Sort.
func versions[V any](ctx context.Context, db *database.DB, tenant, id string, q Query, l versionList[V]) (list []V, next string, err error) {
	if err := q.check(l.op); err != nil {
		return nil, "", err
	}
	valid := l.valid
	if valid == nil {
		valid = isSlug
	}
	if !isSlug(tenant) || !valid(id) {
		return nil, "", l.none(l.op)
	}
	name := l.op + "/" + tenant + "/" + id
	before := int64(math.MaxInt32)
	if q.Cursor != "" {
		place, ok := cursor.Decode(name, q.Cursor, 1)
		if ok {
			before, err = strconv.ParseInt(place[0], 10, 32)
		}
		if !ok || err != nil {
			return nil, "", badCursor(l.op)
		}
	}
	err = db.Read(ctx, l.op, tenant, func(tx *database.Tx) error {
		if err := l.exists(tx, l.op); err != nil {
			return err
		}
		list = nil
		return tx.List(`SELECT version, created, doc FROM `+l.table+` WHERE tenant = ? AND `+l.column+` = ? AND version < ?
			ORDER BY version DESC LIMIT ?`, []any{tenant, id, before, q.Limit + 1}, func(scan func(...any) error) error {
			var version int
			var created int64
			var doc string
			if err := scan(&version, &created, &doc); err != nil {
				return err
			}
			v, err := l.read(version, database.Time(created), doc)
			list = append(list, v)
			return err
		})
	})
	if err != nil || len(list) <= q.Limit {
		return list, "", err
	}
	list = list[:q.Limit]
	return list, cursor.Encode(name, strconv.Itoa(l.number(list[len(list)-1]))), nil
}
