package database

import (
	"errors"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/pg"
)

// again reports whether a retry may help: the database aborted the transaction in favour of
// another one, or its connection died before the commit.
func again(err error, committing bool) bool {
	if _, said := errors.AsType[*event.Error](err); said || pg.IsConnect(err) {
		return false
	}
	return pg.GaveWay(err) || !committing && pg.Cut(err)
}
