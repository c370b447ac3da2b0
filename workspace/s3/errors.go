package s3

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"syscall"

	"github.com/braidrun/braid/event"
)

// errNoDraft says that the temporary file cannot be written.
var errNoDraft = errors.New("the temporary file cannot be written")

// described makes the error of a store one for users. Its words hold no address, bucket or key of the operator; Err has
// them. It returns nil for nil.
func described(op, path string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*event.Error](err); ok {
		return e
	}
	e := &event.Error{Op: op, Kind: event.ErrUnavailable, Message: "the storage of files does not answer", Hint: "try again in a moment", Err: err}
	refused, answered := errors.AsType[*refusal](err)
	switch {
	case errors.Is(err, context.Canceled):
		e.Kind, e.Message, e.Hint = event.ErrCancelled, "the caller gave up", ""
	case errors.Is(err, context.DeadlineExceeded):
		e.Kind, e.Message, e.Hint = event.ErrTimeout, "the time was over", "allow more time"
	case errors.Is(err, errNoDraft) && (errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)):
		e.Kind, e.Message, e.Hint = event.ErrStorageFull, "there is no space left for a temporary file", "make space on the disk"
	case errors.Is(err, errDamaged):
		e.Message = "the file cannot be read: the storage gives other bytes than were stored"
		e.Hint = "try again, and tell the operator of this service"
	case errors.Is(err, errNoKeys):
		e.Message, e.Hint = "the server has no credentials for its storage of files", "tell the operator of this service"
	case answered:
		refused.describe(e, path)
	}
	return e
}

// describe fills in the words for an answer of the store.
func (r *refusal) describe(e *event.Error, path string) {
	const operator = "tell the operator of this service"
	switch {
	case r.Code == "NoSuchBucket" || r.status == http.StatusNotFound && path == "":
		e.Message, e.Hint = "the server's storage of files has no such bucket", operator
	case r.status == http.StatusNotFound:
		e.Kind, e.Message, e.Hint = event.ErrNotFound, "there is no file "+strconv.Quote(path), "list the files for their paths"
	case r.status == http.StatusPreconditionFailed, r.status == http.StatusConflict:
		e.Kind, e.Message, e.Hint = event.ErrConflict, "the file "+strconv.Quote(path)+" has changed", "read it again"
	case r.status == http.StatusUnauthorized, r.status == http.StatusForbidden, r.expired():
		e.Message, e.Hint = "the storage of files refuses the server's credentials", operator
	case r.status == http.StatusInsufficientStorage, r.Code == "QuotaExceeded", r.Code == "XMinioStorageFull":
		e.Kind, e.Message, e.Hint = event.ErrStorageFull, "the storage of files has no space left", operator
	case r.status >= 300 && r.status < 400:
		e.Message, e.Hint = "the server's bucket of files is in another region", operator
	case r.status < 500 && r.status != http.StatusTooManyRequests:
		e.Message, e.Hint = "the storage of files refuses the request", operator
	}
}
