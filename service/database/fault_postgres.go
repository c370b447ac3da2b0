package database

import (
	"errors"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/pg"
)

// again reports whether another try may help: the database gave the transaction up for the sake of another one, or its
// connection died before it could have been committed.
func again(err error, committing bool) bool {
	if _, said := errors.AsType[*event.Error](err); said || pg.IsConnect(err) {
		return false
	}
	return pg.GaveWay(err) || !committing && pg.Cut(err)
}
