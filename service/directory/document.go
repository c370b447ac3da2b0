package directory

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/database"
)

func encode(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}

func decode(doc string, into any) error {
	if err := json.Unmarshal([]byte(doc), into); err != nil {
		return database.Damaged("read", err)
	}
	return nil
}

// copied returns a deep copy that a caller may change.
func copied[T any](v T) (c T, err error) {
	doc, err := encode(v)
	if err != nil {
		return c, err
	}
	return c, decode(doc, &c)
}

// scanDoc reads a row whose last column is a JSON document. The other columns override the fields
// of the document.
func scanDoc(scan func(...any) error, about any, columns ...any) error {
	var doc string
	kept := make([]any, len(columns), len(columns)+1)
	for i, c := range columns {
		switch c.(type) {
		case *time.Time, *int64:
			kept[i] = new(int64)
		default:
			kept[i] = new(string)
		}
	}
	if err := scan(append(kept, &doc)...); err != nil {
		return err
	}
	if err := decode(doc, about); err != nil {
		return err
	}
	for i, c := range columns {
		switch c := c.(type) {
		case *time.Time:
			*c = database.Time(*kept[i].(*int64)) //nolint:forcetypeassert // made above
		case *int64:
			*c = *kept[i].(*int64) //nolint:forcetypeassert // made above
		case *string:
			*c = *kept[i].(*string) //nolint:forcetypeassert // made above
		case *Status:
			*c = Status(*kept[i].(*string)) //nolint:forcetypeassert // made above
		}
	}
	return nil
}

// one returns a row that must exist.
func one[T any](tx *database.Tx, op, what, statement string, args []any, read func(scan func(...any) error) (T, error)) (v T, err error) {
	there := false
	err = tx.List(statement, args, func(scan func(...any) error) error {
		there = true
		v, err = read(scan)
		return err
	})
	if err == nil && !there {
		err = notFound(op, what)
	}
	return v, err
}

func isNotFound(err error) bool { return errors.Is(err, event.ErrNotFound) }
func isConflict(err error) bool { return errors.Is(err, event.ErrConflict) }
