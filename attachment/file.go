package attachment

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/media"
	"github.com/braidrun/braid/internal/unseen"
)

// New makes the block of a file: an [event.Image], or an [event.Document], which holds a text as Text and everything else
// as Data. The block shares data. name may be empty. declared is the MIME type that the sender states; empty, and a type
// that says nothing such as application/octet-stream, mean that the bytes and the name decide.
//
// Errors have the kind [event.ErrInvalid] for a file that is empty, damaged or not what it is declared to be,
// [event.ErrTooLarge] for one over its bound, and [event.ErrUnsupported] for one that no model reads.
func New(name, declared string, data []byte) (event.Block, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	if len(data) == 0 {
		return nil, invalid(name, "is empty", "send the bytes of the file")
	}
	if len(data) > MaxDocument {
		return nil, tooLarge(name, MaxDocument)
	}
	kind, err := kindOf(name, declared, data)
	if err != nil {
		return nil, err
	}
	switch {
	case strings.HasPrefix(kind, "image/") && !isTextual(kind):
		if len(data) > MaxImage {
			return nil, tooLarge(name, MaxImage)
		}
		if err := checkImage(name, kind, data); err != nil {
			return nil, err
		}
		return &event.Image{MIME: kind, Data: data}, nil
	case isTextual(kind):
		if len(data) > MaxText {
			return nil, tooLarge(name, MaxText)
		}
		return &event.Document{Name: name, MIME: kind, Text: string(bytes.TrimPrefix(data, byteOrderMark))}, nil
	}
	return &event.Document{Name: name, MIME: kind, Data: data}, nil
}

// byteOrderMark begins some UTF-8 texts.
var byteOrderMark = []byte("\xef\xbb\xbf")

// kindOf returns the MIME type of a file. The bytes decide; name and declared choose between types that the bytes cannot
// tell apart.
func kindOf(name, declared string, data []byte) (string, error) {
	said, seen := media.Kind(declared), media.Sniffed(data)
	text, wrapped := isText(data), container(data)
	switch {
	case strings.HasPrefix(seen, "audio/"), strings.HasPrefix(seen, "video/"):
		return "", unreadable(name, "is "+seen+", which comes by reference only", "send the address of the recording as url, or a transcript")
	case seen == "application/pdf", strings.HasPrefix(seen, "image/") && !isTextual(seen):
		if said == "" || said == seen || isHEIF(said) && isHEIF(seen) {
			return seen, nil
		}
		return "", mismatch(name, said, seen)
	case wrapped != "" && (!text || !isTextual(said)):
		return officeKind(name, said, wrapped)
	case text:
		kind := said
		if kind == "" {
			kind = media.Named(name)
		}
		if kind == "" {
			kind = "text/plain"
		}
		if !isTextual(kind) {
			return "", mismatch(name, kind, "text/plain")
		}
		return kind, nil
	case isTextual(said) || said == "" && isTextual(media.Named(name)):
		return "", invalid(name, "is declared as text and is not UTF-8 text", "convert it to UTF-8 first")
	case said != "" && (strings.HasPrefix(said, "image/") || said == "application/pdf"):
		return "", invalid(name, "is declared as "+said+", and its bytes are not", "send the file as it is, with its own type")
	}
	return "", unreadable(name, "is of a type that no model reads", "send an image, a PDF document, an Office document or a text")
}

func mismatch(name, said, seen string) error {
	return invalid(name, "is declared as "+said+", and its bytes are "+seen, "send it with the type of its bytes")
}

func isHEIF(kind string) bool { return kind == "image/heic" || kind == "image/heif" }

// isTextual reports whether files of a type are text.
func isTextual(kind string) bool {
	if strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") || strings.HasSuffix(kind, "+yaml") {
		return true
	}
	switch kind {
	case "application/json", "application/xml", "application/yaml", "application/x-ndjson", "application/jsonl", "application/toml",
		"application/javascript", "application/x-javascript", "application/typescript", "application/x-sh", "application/sql",
		"application/x-httpd-php", "application/x-python-code", "application/graphql":
		return true
	}
	return false
}

// isText reports whether bytes are UTF-8 text without control characters other than those of lines.
func isText(data []byte) bool {
	if !utf8.Valid(data) {
		return false
	}
	return !bytes.ContainsFunc(data, func(r rune) bool {
		return r < ' ' && r != '\n' && r != '\r' && r != '\t' && r != '\f' && r != '\x1b' && r != '\b'
	})
}

// checkName refuses a name that would not be one line of text.
func checkName(name string) error {
	switch {
	case len(name) > MaxName:
		return invalid(name, "has a name of more than 200 bytes", "shorten it")
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r != ' ' && !unicode.IsPrint(r) || unseen.Rune(r) }):
		return invalid(name, "has a name with characters that are not shown", "send a name in UTF-8, without control characters")
	}
	return nil
}
