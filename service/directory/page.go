package directory

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/braidrun/braid/internal/cursor"
	"github.com/braidrun/braid/service/database"
)

// These are the sizes of pages.
const (
	DefaultPage = 20
	MostPage    = 100
)

// Sort is the order of a list.
type Sort string

// These are the orders. Empty means SortID.
const (
	SortID     Sort = "id"
	SortOldest Sort = "created_at"
	SortNewest Sort = "-created_at"
)

// Query selects a part of a list.
type Query struct {
	// Status lists the entries with that status. Empty lists all.
	Status Status
	Sort   Sort
	// Cursor is the next cursor of the previous page; empty means the first page.
	Cursor string
	// Limit is at most [MostPage]. 0 means [DefaultPage].
	Limit int
}

func (q *Query) check(op string) error {
	if q.Limit < 0 || q.Limit > MostPage {
		return invalid(op, "the limit is out of bounds", "ask for 1 to 100 at a time")
	}
	if q.Limit == 0 {
		q.Limit = DefaultPage
	}
	if q.Sort == "" {
		q.Sort = SortID
	}
	if q.Sort != SortID && q.Sort != SortOldest && q.Sort != SortNewest {
		return invalid(op, "there is no such order", "sort by id, created_at or -created_at")
	}
	if q.Status != "" && q.Status != Active && q.Status != Inactive {
		return invalid(op, "there is no such status", "ask for active or inactive")
	}
	return nil
}

func badCursor(op string) error {
	return invalid(op, "the cursor does not belong to this list", "begin again without one")
}

// condition is a part of a statement with its values.
type condition struct {
	text string
	args []any
}

// listing describes a list that is read in pages.
type listing[T any] struct {
	op string
	// from ends in a condition.
	from string
	args []any
	// prefix precedes the columns id, created and status.
	prefix string
	scan   func(scan func(...any) error) (T, error)
	place  func(T) (id string, created time.Time)
	// status are the conditions of statuses that are not a column.
	status map[Status]condition
}

func page[T any](ctx context.Context, db *database.DB, tenant string, all bool, q Query, l listing[T]) (list []T, next string, err error) {
	if err := q.check(l.op); err != nil {
		return nil, "", err
	}
	if tenant != "" && !isSlug(tenant) {
		return nil, "", notFound(l.op, "tenant")
	}
	statement, args := l.from, l.args
	if q.Status != "" {
		c, ok := l.status[q.Status]
		if !ok {
			c = condition{` AND ` + l.prefix + `status = ?`, []any{q.Status}}
		}
		statement += c.text
		args = append(slices.Clip(args), c.args...)
	}
	name := l.op + "/" + tenant + "/" + string(q.Status) + "/" + string(q.Sort)
	if q.Cursor != "" {
		place, ok := cursor.Decode(name, q.Cursor, 2)
		if !ok {
			return nil, "", badCursor(l.op)
		}
		created, err := strconv.ParseInt(place[0], 10, 64)
		if err != nil {
			return nil, "", badCursor(l.op)
		}
		switch q.Sort {
		case SortOldest:
			statement += ` AND (` + l.prefix + `created, ` + l.prefix + `id) > (?, ?)`
			args = append(slices.Clip(args), created, place[1])
		case SortNewest:
			statement += ` AND (` + l.prefix + `created, ` + l.prefix + `id) < (?, ?)`
			args = append(slices.Clip(args), created, place[1])
		default:
			statement += ` AND ` + l.prefix + `id > ?`
			args = append(slices.Clip(args), place[1])
		}
	}
	switch q.Sort {
	case SortOldest:
		statement += ` ORDER BY ` + l.prefix + `created, ` + l.prefix + `id`
	case SortNewest:
		statement += ` ORDER BY ` + l.prefix + `created DESC, ` + l.prefix + `id DESC`
	default:
		statement += ` ORDER BY ` + l.prefix + `id`
	}
	statement += ` LIMIT ?`
	args = append(slices.Clip(args), q.Limit+1)
	read := func(tx *database.Tx) error {
		list = nil
		return tx.List(statement, args, func(scan func(...any) error) error {
			v, err := l.scan(scan)
			list = append(list, v)
			return err
		})
	}
	if all {
		err = db.ReadTenants(ctx, l.op, read)
	} else {
		err = db.Read(ctx, l.op, tenant, read)
	}
	if err != nil {
		return nil, "", err
	}
	if len(list) <= q.Limit {
		return list, "", nil
	}
	list = list[:q.Limit]
	id, created := l.place(list[len(list)-1])
	return list, cursor.Encode(name, strconv.FormatInt(database.Micros(created), 10), id), nil
}
