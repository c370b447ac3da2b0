package database

import (
	"context"
	"database/sql"
	"errors"

	"modernc.org/sqlite"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/pg"
)

// SQLite's result codes that users can act on: https://www.sqlite.org/rescode.html.
const (
	sqliteBusy     = 5
	sqliteReadOnly = 8
	sqliteIO       = 10
	sqliteCorrupt  = 11
	sqliteFull     = 13
	sqliteCantOpen = 14
	sqliteNoDB     = 26
)

const noSpace = "there is no space left for the service's database"

// fault converts an error of the database or the connection. It leaves an *event.Error and nil
// unchanged. The message contains no statement, path or address; the wrapped cause may.
func fault(op string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*event.Error](err); ok {
		return e
	}
	e := &event.Error{
		Op: op, Kind: event.ErrUnavailable, Message: "the service's database cannot be used", Hint: "check the disk, then try again",
		Err: err,
	}
	s, isSQLite := errors.AsType[*sqlite.Error](err)
	switch {
	case pg.IsConnect(err): // before the timeout, which may be the connection's own
		e.Message, e.Hint = "the database does not answer", "see that it runs and can be reached, then try again"
		if c := pg.Code(err); c != "" {
			describePostgres(e, c)
		}
	case errors.Is(err, context.Canceled):
		e.Kind, e.Message, e.Hint = event.ErrCancelled, "the request was given up", ""
	case errors.Is(err, context.DeadlineExceeded):
		e.Kind, e.Message, e.Hint = event.ErrTimeout, "the service's database did not answer in time", "try again"
	case errors.Is(err, sql.ErrConnDone), err.Error() == "sql: database is closed":
		e.Message, e.Hint = "the service's database is closed", "open it again"
	case isSQLite:
		describeSQLite(e, s.Code()&0xff)
	case pg.Code(err) != "":
		describePostgres(e, pg.Code(err))
	case pg.Cut(err):
		e.Message, e.Hint = "the database does not answer", "see that it runs and can be reached, then try again"
	}
	return e
}

func describeSQLite(e *event.Error, code int) {
	switch code {
	case sqliteFull:
		e.Kind, e.Message, e.Hint = event.ErrStorageFull, noSpace, "free some, then try again"
	case sqliteReadOnly, sqliteCantOpen:
		e.Kind, e.Message = event.ErrPermission, "the service's database cannot be opened or written"
		e.Hint = "let the user that runs this program read and write the data folder"
	case sqliteNoDB:
		e.Kind, e.Message, e.Hint = event.ErrInvalid, "the file of the service's database is not a database", "choose another data folder"
	case sqliteIO:
		e.Message = "the disk gave an error"
	case sqliteBusy:
		e.Message, e.Hint = "another program holds the service's database", "close that program, then try again"
	case sqliteCorrupt:
		e.Kind, e.Code = event.ErrInternal, "STORAGE_DAMAGED"
		e.Message, e.Hint = "the service's database is damaged", "keep a copy of it, then restore a backup"
	}
}

func describePostgres(e *event.Error, code string) {
	said := sharedTables.Error(code)
	e.Kind, e.Message, e.Hint = said.Kind, said.Message, said.Hint
}
