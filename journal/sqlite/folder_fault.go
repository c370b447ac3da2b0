package sqlite

import (
	"errors"
	"io/fs"

	"github.com/braidrun/braid/event"
)

// folderFault returns the error for a folder that cannot be used.
func folderFault(op string, err error) error {
	e := &event.Error{
		Op: op, Kind: event.ErrUnavailable, Err: err,
		Message: "the folder for the data cannot be used", Hint: "check that it is a folder, and on a disk that works",
	}
	switch {
	case errors.Is(err, fs.ErrPermission) || readOnly(err):
		e.Kind = event.ErrPermission
		e.Message = "the folder for the data cannot be written"
		e.Hint = "let the user that runs this program write it, or choose another folder"
	case noSpace(err):
		e.Kind, e.Message, e.Hint = event.ErrStorageFull, noSpaceMessage, noSpaceHint
	}
	return e
}
