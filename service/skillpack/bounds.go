package skillpack

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/braidrun/braid/event"
)

// These are the bounds of a skill.
const (
	// MostFiles bounds the files of a skill.
	MostFiles = 500
	// MostBytes bounds the bytes of all its files together.
	MostBytes = 32 << 20
)

const op = "upload skill"

// Code is the code of the error for an upload that is no usable skill.
const Code = "SKILL_INVALID"

// invalid returns the error for an upload that is no usable skill.
func invalid(hint, format string, args ...any) error {
	return &event.Error{Op: op, Kind: event.ErrInvalid, Code: Code, Message: fmt.Sprintf(format, args...), Hint: hint}
}

func tooManyFiles() error {
	return &event.Error{
		Op: op, Kind: event.ErrTooLarge, Message: "the skill has more than " + strconv.Itoa(MostFiles) + " files",
		Hint: "leave out what the skill does not need",
	}
}

func tooManyBytes() error {
	return &event.Error{
		Op: op, Kind: event.ErrTooLarge, Message: "the files of the skill have more than " + strconv.Itoa(MostBytes>>20) + " MiB together",
		Hint: "leave out what the skill does not need",
	}
}

// inFile puts the name of a file before the message of an error about it.
func inFile(name string, err error) error {
	e, ok := errors.AsType[*event.Error](err)
	if !ok {
		return err
	}
	told := *e
	told.Op, told.Message = op, name+": "+e.Message
	if e.Kind != event.ErrTooLarge {
		told.Kind, told.Code = event.ErrInvalid, Code
	}
	return &told
}

// shown quotes a name of an upload for an error, and cuts a long one.
func shown(name string) string {
	const most = 80
	if r := []rune(name); len(r) > most {
		return strconv.Quote(string(r[:most])) + "…"
	}
	return strconv.Quote(name)
}
