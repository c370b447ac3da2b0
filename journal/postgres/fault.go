package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/braidrun/braid/event"
)

// PostgreSQL's error codes: https://www.postgresql.org/docs/current/errcodes-appendix.html.
const (
	codeUnique      = "23505"
	codeBadText     = "22021"
	codePermission  = "42501"
	codeReadOnly    = "25006"
	codeNoDatabase  = "3D000"
	codeNoTable     = "42P01"
	codeNoColumn    = "42703"
	codeNoFunction  = "42883"
	codeNoSchema    = "3F000"
	codeNoSetting   = "42704"
	codeDiskFull    = "53100"
	codeConnections = "53300"
	codeTooLarge    = "54000"
	codeLockWait    = "55P03"
	codeCancelled   = "57014"
	codeSerialize   = "40001"
	codeDeadlock    = "40P01"
	codeIdle        = "25P03"
)

// code is PostgreSQL's word for an error, empty where the error is not its own.
func code(err error) string {
	if p, ok := errors.AsType[*pgconn.PgError](err); ok {
		return p.Code
	}
	return ""
}

// gaveWay reports whether the database gave a transaction up for the sake of another.
func gaveWay(err error) bool {
	c := code(err)
	return c == codeDeadlock || c == codeSerialize
}

// cut reports whether the connection is dead, or was about to be.
func cut(err error) bool {
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return false
	}
	var network net.Error
	c := code(err)
	return strings.HasPrefix(c, "57P") || strings.HasPrefix(c, "08") || c == codeIdle || pgconn.SafeToRetry(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.As(err, &network) && !network.Timeout()
}

// fault says in the store's words what went wrong in PostgreSQL or on the way there.
// What is an *event.Error already stays as it is; nil stays nil. The words name
// neither statement nor address; the cause does, for whoever unwraps it.
func fault(op string, err error) error {
	if err == nil {
		return nil
	}
	var e *event.Error
	var connecting *pgconn.ConnectError
	var network net.Error
	c := code(err)
	switch {
	case errors.As(err, &e):
		return e
	case c != "":
		said := sayOf(c)
		said.Op, said.Err = op, err
		return said
	case errors.As(err, &connecting):
		// Before the time-out, which may be the connection's own.
	case errors.Is(err, context.Canceled):
		return gaveUp(op, err)
	case errors.Is(err, context.DeadlineExceeded):
		return tooLate(op, err)
	case !cut(err) && !errors.As(err, &network):
		return &event.Error{Op: op, Kind: event.ErrInternal, Err: err, Message: "the journal and its database do not understand each other"}
	}
	return &event.Error{
		Op: op, Kind: event.ErrUnavailable, Err: err, Message: "the database does not answer",
		Hint: "see that it runs and can be reached, then try again",
	}
}

// atWork is an error of a store that was open: whatever the database does not let it do any
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

// saying is what is said about one of PostgreSQL's codes.
type saying struct {
	kind    event.ErrorKind
	message string
	hint    string
}

// sayOf is what is said about a code, as an error.
func sayOf(code string) *event.Error {
	said := words(code)
	return &event.Error{Kind: said.kind, Message: said.message, Hint: said.hint}
}

func words(code string) saying {
	switch code {
	case codeDiskFull:
		return saying{
			event.ErrStorageFull, "there is no space left for the journal",
			"free some on the database's disk; writing goes on by itself, and nothing that was acknowledged is lost",
		}
	case codePermission:
		return saying{
			event.ErrPermission, "the database does not let the journal's role do this", "migrate the database for this role",
		}
	case codeReadOnly:
		return saying{event.ErrUnavailable, "the database can only be read", "ask the one that can be written, not its copy"}
	case codeNoDatabase:
		return saying{event.ErrNotFound, "there is no such database", "make it, or correct its name"}
	case codeNoTable, codeNoColumn, codeNoFunction, codeNoSchema:
		return saying{
			event.ErrUnsupported, "the journal in the database is not of this version, or not there",
			"migrate the database, or run the version that did",
		}
	case codeNoSetting:
		return saying{
			event.ErrInvalid, "the database's address has a parameter that the database does not take",
			"correct or remove it; what stands behind the ? of an address is a parameter",
		}
	case codeConnections:
		return saying{
			event.ErrUnavailable, "the database has no connection left",
			"raise its max_connections, or lower --postgres-connections of the servers that use it",
		}
	case codeTooLarge:
		return saying{
			event.ErrTooLarge, "an id or a commit is larger than the journal can hold",
			"use shorter ids, and store large content elsewhere",
		}
	case codeBadText:
		return saying{event.ErrInvalid, "a name or an id holds what text cannot hold", "send UTF-8 without zero characters"}
	case codeLockWait, codeCancelled, codeDeadlock, codeSerialize:
		return saying{event.ErrUnavailable, "the database is too busy", "try again"}
	}
	switch code[:min(2, len(code))] {
	case "28":
		return saying{event.ErrPermission, "the database does not let the journal's role log in", "check the role and its password"}
	case "08", "53", "57", "58", "25":
		return saying{
			event.ErrUnavailable, "the database went away or is starting",
			"try again; what was asked for last may have been done",
		}
	case "XX":
		return saying{event.ErrInternal, "the database found itself damaged", "see its log, and restore a backup"}
	}
	return saying{event.ErrInternal, "the database gave an error that should not happen", ""}
}

// alive is nil unless ctx is done.
func alive(ctx context.Context, op string) error {
	err := ctx.Err()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return tooLate(op, context.Cause(ctx))
	default:
		return gaveUp(op, context.Cause(ctx))
	}
}

func tooLate(op string, cause error) error {
	return &event.Error{
		Op: op, Kind: event.ErrTimeout, Err: cause,
		Message: "the time was over before the journal had answered", Hint: "allow more time",
	}
}

func gaveUp(op string, cause error) error {
	return &event.Error{
		Op: op, Kind: event.ErrCancelled, Err: cause, Message: "the caller gave up before the journal had answered",
	}
}

// unknown is for a transaction that nobody knows the end of.
func unknown(op string, cause error) error {
	return &event.Error{
		Op: op, Kind: event.ErrUnavailable, Err: cause, Message: "the database went away while it was writing",
		Hint: "try again; what was asked for may have been done",
	}
}

func isClosed(op string) error {
	return &event.Error{
		Op: op, Kind: event.ErrUnavailable, Message: "the journal is closed", Hint: "open it again",
	}
}

func badAddress(op string) error {
	return invalid(op, "the database's address cannot be read", "write it as postgres://role@host/database")
}

func invalid(op, message, hint string) error {
	return &event.Error{Op: op, Kind: event.ErrInvalid, Message: message, Hint: hint}
}

func noID(op, message string) error { return invalid(op, message, "give it one that is not empty") }

func notFound(op, message string) error {
	return &event.Error{Op: op, Kind: event.ErrNotFound, Message: message, Hint: "check the id"}
}

func ended(op string) error {
	return &event.Error{
		Op: op, Kind: event.ErrConflict, Message: "the run has ended",
		Hint: "admit a new run to go on with the conversation",
	}
}

func leaseLost(op string) error {
	return &event.Error{
		Op: op, Kind: event.ErrLeaseLost, Message: "the lease is no longer this driver's",
		Hint: "drop what was not stored and acquire the run again",
	}
}

// damaged is for a row that the database can read and this package cannot.
func damaged(op, what string, cause error) error {
	return &event.Error{
		Op: op, Kind: event.ErrInternal, Code: "STORAGE_DAMAGED", Err: cause, Message: "the journal is damaged: " + what,
		Hint: "restore a backup; other conversations are not concerned",
	}
}
