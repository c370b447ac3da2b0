package postgres

import (
	"context"
	"errors"
	"net"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/pg"
)

// fault converts an error of PostgreSQL or the connection. It leaves an *event.Error and nil
// unchanged. The message contains no statement and no address; the wrapped cause may.
func fault(op string, err error) error {
	if err == nil {
		return nil
	}
	var e *event.Error
	var connecting *pgconn.ConnectError
	var network net.Error
	c := pg.Code(err)
	switch {
	case errors.As(err, &e):
		return e
	case c != "":
		said := tables.Error(c)
		said.Op, said.Err = op, err
		return said
	case errors.As(err, &connecting):
		// Before the timeout, which may be the connection's own.
	case errors.Is(err, context.Canceled):
		return gaveUp(op, err)
	case errors.Is(err, context.DeadlineExceeded):
		return tooLate(op, err)
	case !pg.Cut(err) && !errors.As(err, &network):
		return &event.Error{Op: op, Kind: event.ErrInternal, Err: err, Message: "the journal and its database do not understand each other"}
	}
	return &event.Error{
		Op: op, Kind: event.ErrUnavailable, Err: err, Message: "the database does not answer",
		Hint: "see that it runs and can be reached, then try again",
	}
}

// alive returns nil unless ctx is done.
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

// unknown returns the error for a transaction with an unknown outcome.
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

// damaged returns the error for a row that the database can read and this package cannot.
func damaged(op, what string, cause error) error {
	return &event.Error{
		Op: op, Kind: event.ErrInternal, Code: "STORAGE_DAMAGED", Err: cause, Message: "the journal is damaged: " + what,
		Hint: "restore a backup; other conversations are not affected",
	}
}
