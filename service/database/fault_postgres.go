package database

import (
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/braidrun/braid/event"
)

// PostgreSQL's error codes: https://www.postgresql.org/docs/current/errcodes-appendix.html.
const (
	pgBadText     = "22021"
	pgReadOnly    = "25006"
	pgIdle        = "25P03"
	pgNoDatabase  = "3D000"
	pgNoSchema    = "3F000"
	pgSerialize   = "40001"
	pgDeadlock    = "40P01"
	pgPermission  = "42501"
	pgNoColumn    = "42703"
	pgNoFunction  = "42883"
	pgNoSetting   = "42704"
	pgNoTable     = "42P01"
	pgDiskFull    = "53100"
	pgConnections = "53300"
	pgTooLarge    = "54000"
	pgLockWait    = "55P03"
	pgCancelled   = "57014"
)

// code is PostgreSQL's word for an error, empty where the error is not its own.
func code(err error) string {
	if p, ok := errors.AsType[*pgconn.PgError](err); ok {
		return p.Code
	}
	return ""
}

func isConnect(err error) bool {
	_, ok := errors.AsType[*pgconn.ConnectError](err)
	return ok
}

// cut reports whether the connection is dead, or was about to be.
func cut(err error) bool {
	var network net.Error
	c := code(err)
	return strings.HasPrefix(c, "57P") || strings.HasPrefix(c, "08") || c == pgIdle || pgconn.SafeToRetry(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.As(err, &network) && !network.Timeout()
}

// again says whether another try may help: where the database gave the transaction up for the
// sake of another, and where its connection died before it could have been committed.
func again(err error, committing bool) bool {
	if _, said := errors.AsType[*event.Error](err); said || isConnect(err) {
		return false
	}
	c := code(err)
	return c == pgDeadlock || c == pgSerialize || !committing && cut(err)
}

// atWork is an error of a database that was open: whatever it does not let its role do any
// more, or does not have any more, is the operator's trouble and passes. Who asked for something
// has no less right to it, and it is no less there.
func atWork(err error) error {
	e, ok := errors.AsType[*event.Error](err)
	if !ok || code(e.Err) == "" {
		return err
	}
	switch e.Kind {
	case event.ErrPermission, event.ErrNotFound, event.ErrUnsupported:
		passing := *e
		passing.Kind = event.ErrUnavailable
		return &passing
	}
	return err
}

func sayingOfPostgres(e *event.Error, code string) {
	switch code {
	case pgDiskFull:
		e.Kind, e.Message, e.Hint = event.ErrStorageFull, noSpace, "free some on the database's disk, then try again"
	case pgPermission:
		e.Kind, e.Message = event.ErrPermission, "the database does not let the service's role do this"
		e.Hint = "migrate the database for this role"
	case pgReadOnly:
		e.Message, e.Hint = "the database can only be read", "ask the one that can be written, not its copy"
	case pgNoDatabase:
		e.Kind, e.Message, e.Hint = event.ErrNotFound, "there is no such database", "make it, or correct its name"
	case pgNoTable, pgNoColumn, pgNoFunction, pgNoSchema:
		e.Kind, e.Message = event.ErrUnsupported, "the service's tables are not of this version, or not there"
		e.Hint = "migrate the database, or run the version that did"
	case pgNoSetting:
		e.Kind, e.Message = event.ErrInvalid, "the database's address has a parameter that the database does not take"
		e.Hint = "correct or remove it; what stands behind the ? of an address is a parameter"
	case pgConnections:
		e.Message = "the database has no connection left"
		e.Hint = "raise its max_connections, or lower --postgres-connections of the servers that use it"
	case pgTooLarge:
		e.Kind, e.Message, e.Hint = event.ErrTooLarge, "this is larger than the database can hold", "send less"
	case pgBadText:
		e.Kind, e.Message = event.ErrInvalid, "a text holds what the database cannot keep"
		e.Hint = "send UTF-8 without zero characters"
	case pgLockWait, pgCancelled, pgDeadlock, pgSerialize:
		e.Message, e.Hint = "the database is too busy", "try again"
	default:
		sayingOfClass(e, code[:min(2, len(code))])
	}
}

func sayingOfClass(e *event.Error, class string) {
	switch class {
	case "28":
		e.Kind, e.Message = event.ErrPermission, "the database does not let the service's role log in"
		e.Hint = "check the role and its password"
	case "08", "53", "57", "58", "25":
		e.Message, e.Hint = "the database went away or is starting", "try again; what was asked for last may have been done"
	case "XX":
		e.Kind, e.Message, e.Hint = event.ErrInternal, "the database found itself damaged", "see its log, and restore a backup"
	default:
		e.Kind, e.Message, e.Hint = event.ErrInternal, "the database gave an error that should not happen", "tell the operator of this service"
	}
}
