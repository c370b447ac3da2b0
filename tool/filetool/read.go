package filetool

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool"
	"github.com/braidrun/braid/workspace"
)

// The bounds of what read returns.
const (
	// MaxLines is how many lines read returns if the model asks for no other number.
	MaxLines = 2000
	// MaxText bounds the text of one result, in bytes.
	MaxText = 256 << 10
	// MaxLine is after how many bytes a line is cut.
	MaxLine = 4000
	// MaxMedia bounds an image or a PDF document, in bytes.
	MaxMedia = 10 << 20
)

type readCall struct {
	Path   string `json:"path"             jsonschema:"the path of the file"`
	Offset int    `json:"offset,omitempty" jsonschema:"the number of the first line, from 1; leave it out to begin with the file"`
	Limit  int    `json:"limit,omitempty"  jsonschema:"the largest number of lines; leave it out for 2000"`
}

func (s *Set) read(ctx context.Context, in readCall) (out tool.Output, err error) {
	if in.Offset < 0 || in.Limit < 0 {
		return out, refused("read file", "the offset or the limit is below 0", "pass numbers from 1 on, or leave them out")
	}
	files, err := s.files(ctx)
	if err != nil {
		return out, err
	}
	r, err := files.Open(ctx, in.Path)
	if err != nil {
		return out, err
	}
	defer r.Close()
	const sniffed = 512
	lines := bufio.NewReaderSize(r, 64<<10)
	head, err := lines.Peek(sniffed)
	switch kind := mediaOf(head); {
	case err != nil && !errors.Is(err, io.EOF):
		return out, err
	case len(head) == 0:
		return tool.Text("(the file is empty)"), nil
	case kind != "":
		block, err := media(in.Path, kind, lines)
		return tool.Output{Content: []event.Block{block}}, err
	case !isText(head):
		return out, notText(in.Path)
	}
	text, err := numbered(in, lines)
	return tool.Text(text), err
}

// mediaOf returns the kind of a file that models see as it is; empty for all others.
func mediaOf(head []byte) string {
	switch kind := http.DetectContentType(head); kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf":
		return kind
	}
	return ""
}

func media(name, kind string, r io.Reader) (event.Block, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxMedia+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxMedia {
		return nil, &event.Error{
			Op: "read file", Kind: event.ErrTooLarge, Message: strconv.Quote(name) + " has more than " + strconv.Itoa(MaxMedia>>20) + " MiB",
			Hint: "use a smaller file",
		}
	}
	if kind == "application/pdf" {
		return &event.Document{Name: path.Base(name), MIME: kind, Data: data}, nil
	}
	return &event.Image{MIME: kind, Data: data}, nil
}

// isText reports whether bytes are text. The last character may be cut.
func isText(data []byte) bool {
	if bytes.IndexByte(data, 0) >= 0 {
		return false
	}
	for cut := 0; cut < utf8.UTFMax && cut <= len(data); cut++ {
		if utf8.Valid(data[:len(data)-cut]) {
			return true
		}
	}
	return false
}

func notText(path string) error {
	return refused("read file", strconv.Quote(path)+" is no text, no image and no PDF document", "read another file")
}

// numbered returns the lines that a call asks for.
func numbered(in readCall, r *bufio.Reader) (string, error) {
	first, most := max(in.Offset, 1), in.Limit
	if most == 0 {
		most = MaxLines
	}
	var b strings.Builder
	for n := 1; ; n++ {
		line, cut, err := nextLine(r)
		switch {
		case errors.Is(err, io.EOF) && n > first:
			return b.String(), nil
		case errors.Is(err, io.EOF):
			return "(the file has " + strconv.Itoa(n-1) + " lines)", nil
		case err != nil:
			return "", err
		case n < first:
			continue
		case n-first == most || b.Len()+len(line) > MaxText:
			b.WriteString("(there is more: read on with offset " + strconv.Itoa(n) + ")\n")
			return b.String(), nil
		case !isText(line):
			return "", notText(in.Path)
		}
		b.WriteString(strconv.Itoa(n))
		b.WriteByte('\t')
		b.WriteString(strings.ToValidUTF8(string(line), ""))
		if cut {
			b.WriteString(" (the line is cut)")
		}
		b.WriteByte('\n')
	}
}

// nextLine returns a line without its end, and whether it was cut. It returns io.EOF after the last line.
func nextLine(r *bufio.Reader) (line []byte, cut bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if room := MaxLine - len(line); len(part) > room {
			line, cut = append(line, part[:room]...), cut || len(bytes.TrimRight(part[room:], "\r\n")) > 0
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err == io.EOF && len(line) > 0, err == nil:
			return bytes.TrimRight(line, "\r\n"), cut, nil
		default:
			return nil, false, err
		}
	}
}

// text returns the whole text of a file of at most limit bytes, and its version.
func text(ctx context.Context, files workspace.Files, path string, limit int64) (string, workspace.File, error) {
	f, err := files.Stat(ctx, path)
	if err != nil {
		return "", f, err
	}
	r, err := files.Open(ctx, path)
	if err != nil {
		return "", f, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	switch {
	case err != nil:
		return "", f, err
	case int64(len(data)) > limit:
		return "", f, &event.Error{
			Op: "read file", Kind: event.ErrTooLarge, Message: strconv.Quote(path) + " is larger than " + strconv.FormatInt(limit>>20, 10) + " MiB",
			Hint: "use a smaller file",
		}
	case bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data):
		return "", f, notText(path)
	}
	return string(data), f, nil
}

func refused(op, message, hint string) error {
	return &event.Error{Op: op, Kind: event.ErrInvalid, Message: message, Hint: hint}
}
