package skillpack

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
)

// fieldNames are the names that the parts of a form may have.
var fieldNames = []string{"file", "files", "files[]"}

// FromForm reads a skill from the body of a multipart form. Each part is a file, and its filename is the
// path, with or without the skill's folder. It returns [event.ErrInvalid] with [Code], or
// [event.ErrTooLarge].
func FromForm(body []byte, boundary string) (*Skill, error) {
	r := multipart.NewReader(bytes.NewReader(body), boundary)
	var c collector
	for parts := 0; ; parts++ {
		part, err := r.NextRawPart()
		if errors.Is(err, io.EOF) {
			return fromFiles(&c)
		}
		if err != nil {
			return nil, notForm(err)
		}
		if parts == mostEntries {
			return nil, tooManyFiles()
		}
		// Part.FileName would cut the path to its last name.
		kind, values, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
		if err != nil || kind != "form-data" {
			return nil, notForm(err)
		}
		if values["filename"] == "" || !slices.Contains(fieldNames, values["name"]) {
			return nil, invalid(`name each part "file", with the file's path as its filename`, "a part of the form is no file")
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return nil, notForm(err)
		}
		open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
		if err := c.add(file{strings.TrimPrefix(values["filename"], "./"), int64(len(data)), false, open}); err != nil {
			return nil, err
		}
	}
}

func notForm(err error) error {
	return &event.Error{
		Op: op, Kind: event.ErrInvalid, Code: Code, Message: "the form cannot be read", Hint: "send it as multipart/form-data, or send a zip archive",
		Err: err,
	}
}
