package workspace

import (
	"context"
	"errors"
	"io/fs"
	"strconv"
	"syscall"

	"github.com/braidrun/braid/event"
)

func invalid(op, message, hint string) error {
	return &event.Error{Op: op, Kind: event.ErrInvalid, Message: message, Hint: hint}
}

func notFound(op, path string) error {
	return &event.Error{Op: op, Kind: event.ErrNotFound, Message: "there is no file " + strconv.Quote(path), Hint: "list the files for their paths"}
}

func conflict(op, path, what, hint string) error {
	return &event.Error{Op: op, Kind: event.ErrConflict, Message: "the file " + strconv.Quote(path) + " " + what, Hint: hint}
}

func full(op, message, hint string) error {
	return &event.Error{Op: op, Kind: event.ErrQuota, Message: message, Hint: hint}
}

// tooMany returns the error for a file with more bytes than there is room for.
func tooMany(op string, limit int64, all bool) error {
	if all {
		return full(op, "the file does not fit: the workspace has "+amount(limit)+" left", "remove a file first, or store a smaller one")
	}
	return &event.Error{
		Op: op, Kind: event.ErrTooLarge, Message: "the file has more than " + amount(limit), Hint: "store a smaller file, or several",
	}
}

func amount(n int64) string {
	if n == 1 {
		return "1 byte"
	}
	return strconv.FormatInt(n, 10) + " bytes"
}

// system describes an error of the operating system without its words, which hold paths.
func system(op, message string, err error) error {
	if e, ok := errors.AsType[*event.Error](err); ok {
		return e
	}
	e := &event.Error{Op: op, Kind: event.ErrUnavailable, Message: message, Hint: "try again, or look at the folder", Err: err}
	switch {
	case errors.Is(err, context.Canceled):
		e.Kind, e.Message, e.Hint = event.ErrCancelled, "the caller gave up", ""
	case errors.Is(err, context.DeadlineExceeded):
		e.Kind, e.Message, e.Hint = event.ErrTimeout, "the time was over", "allow more time"
	case errors.Is(err, fs.ErrPermission):
		e.Kind, e.Message, e.Hint = event.ErrPermission, message+": the system does not allow it", "change who may use the folder"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		e.Kind, e.Message, e.Hint = event.ErrStorageFull, message+": there is no space left", "make space on the disk"
	case errors.Is(err, syscall.ENAMETOOLONG):
		e.Kind, e.Message, e.Hint = event.ErrInvalid, message+": a name is too long for this system", "use a shorter name"
	}
	return e
}

// checkCall returns an error for a path that no workspace takes, and if ctx is done.
func checkCall(ctx context.Context, op, path string) error {
	if err := CheckPath(op, path); err != nil {
		return err
	}
	return alive(ctx, op)
}

// alive returns an error if ctx is done.
func alive(ctx context.Context, op string) error {
	if err := ctx.Err(); err != nil {
		return system(op, "", err)
	}
	return nil
}
