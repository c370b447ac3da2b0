package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"modernc.org/sqlite"

	"github.com/braidrun/braid/event"
)

// SQLite's primary result codes: https://www.sqlite.org/rescode.html.
const (
	codePerm      = 3
	codeBusy      = 5
	codeReadOnly  = 8
	codeInterrupt = 9
	codeIO        = 10
	codeCorrupt   = 11
	codeFull      = 13
	codeCantOpen  = 14
	codeTooBig    = 18
	codeNoLFS     = 22
	codeNotADB    = 26
)

const (
	noSpaceMessage = "there is no space left for the journal"
	noSpaceHint    = "free some; writing goes on by itself, and nothing that was acknowledged is lost"
	damagedMessage = "the journal's file is damaged"
	damagedHint    = "keep a copy of it, then restore a backup"
)

// fault converts an error of SQLite or the file system. It leaves an *event.Error and nil
// unchanged.
func fault(op string, err error) error {
	if err == nil {
		return nil
	}
	var e *event.Error
	if errors.As(err, &e) {
		return e
	}
	e = &event.Error{
		Op: op, Kind: event.ErrUnavailable, Err: err,
		Message: "the journal's file cannot be used", Hint: "check the disk, then try again",
	}
	var s *sqlite.Error
	switch {
	case errors.Is(err, context.Canceled):
		return gaveUp(op, err)
	case errors.Is(err, context.DeadlineExceeded):
		return tooLate(op, err)
	case errors.Is(err, sql.ErrConnDone):
		return isClosed(op)
	case !errors.As(err, &s):
		return e
	}
	switch s.Code() & 0xff {
	case codeFull:
		e.Kind, e.Message, e.Hint = event.ErrStorageFull, noSpaceMessage, noSpaceHint
	case codePerm, codeReadOnly, codeCantOpen:
		e.Kind = event.ErrPermission
		e.Message = "the journal's file cannot be opened or written"
		e.Hint = "let the user that runs this program read and write it and its folder"
	case codeBusy:
		e.Message, e.Hint = "another program holds the journal's file", "close that program, then try again"
	case codeIO:
		e.Message, e.Hint = "the disk gave an error", "check the disk and its quota, then try again"
	case codeCorrupt:
		e.Kind, e.Code, e.Message, e.Hint = event.ErrInternal, "STORAGE_DAMAGED", damagedMessage, damagedHint
	case codeNotADB:
		e.Kind, e.Message = event.ErrInvalid, "the file where the journal should be is not a journal"
		e.Hint = "choose another folder for the data, or restore a backup"
	case codeTooBig:
		e.Kind, e.Message, e.Hint = event.ErrTooLarge, "one commit is larger than the journal can hold", "store large content elsewhere"
	case codeNoLFS:
		e.Kind, e.Message, e.Hint = event.ErrUnsupported, "the disk cannot hold files this large", "put the data on another disk"
	case codeInterrupt:
		return gaveUp(op, err)
	default:
		e.Kind, e.Message, e.Hint = event.ErrInternal, "the journal's file gave an error that should not happen", ""
	}
	return e
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
		Message: "the time was over before the journal was asked", Hint: "allow more time",
	}
}

func gaveUp(op string, cause error) error {
	return &event.Error{
		Op: op, Kind: event.ErrCancelled, Err: cause, Message: "the caller gave up before the journal was asked",
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

func noFile(op string) error {
	return invalid(op, "there is a folder where the journal's file should be", "choose another folder for the data, or take that one away")
}

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

// damaged returns the error for a row that SQLite can read and this package cannot: another
// program or the disk has changed it.
func damaged(op, what string, cause error) error {
	return &event.Error{
		Op: op, Kind: event.ErrInternal, Code: "STORAGE_DAMAGED", Err: cause, Message: "the journal is damaged: " + what,
		Hint: "restore a backup; other conversations are not affected",
	}
}
