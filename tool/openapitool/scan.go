package openapitool

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// maxDepth bounds the levels of a document.
const maxDepth = 200

var (
	errSyntax = errors.New("is not valid JSON")
	errDeep   = errors.New("is nested too deeply")
)

// members calls fn with each member of a JSON object, in order. A document is read in this way, and not decoded as a whole,
// because most of it is examples and responses, which no tool needs. Values are skipped without being checked; whoever uses
// one decodes it.
func members(raw []byte, fn func(key string, value []byte) error) error {
	i := space(raw, 0)
	if i >= len(raw) || raw[i] != '{' {
		return errors.New("is not an object")
	}
	for i = space(raw, i+1); i < len(raw) && raw[i] != '}'; {
		end, err := skip(raw, i)
		if err != nil {
			return err
		}
		var key string
		if raw[i] != '"' || json.Unmarshal(raw[i:end], &key) != nil {
			return errSyntax
		}
		if i = space(raw, end); i >= len(raw) || raw[i] != ':' {
			return errSyntax
		}
		i = space(raw, i+1)
		if end, err = skip(raw, i); err != nil {
			return err
		}
		if err := fn(key, raw[i:end]); err != nil {
			return err
		}
		i = space(raw, end)
		switch {
		case i < len(raw) && raw[i] == ',':
			i = space(raw, i+1)
		case i >= len(raw) || raw[i] != '}':
			return errSyntax
		}
	}
	if i >= len(raw) {
		return errSyntax
	}
	return nil
}

func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// skip returns the end of the JSON value that begins at i.
func skip(b []byte, i int) (end int, err error) {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			if i, err = skipString(b, i); err != nil {
				return 0, err
			}
		case '{', '[':
			if depth++; depth > maxDepth {
				return 0, errDeep
			}
			i++
			continue
		case '}', ']':
			if depth--; depth < 0 {
				return 0, errSyntax
			}
			i++
		case ' ', '\n', '\t', '\r', ',', ':':
			if depth == 0 {
				return 0, errSyntax
			}
			i++
			continue
		default: // a number or a word
			for i < len(b) && strings.IndexByte(" \n\t\r,:{}[]\"", b[i]) < 0 {
				i++
			}
		}
		if depth == 0 {
			return i, nil
		}
	}
	return 0, errSyntax
}

// skipString returns the end of the string that begins at i.
func skipString(b []byte, i int) (end int, err error) {
	for from := i + 1; ; {
		n := bytes.IndexByte(b[from:], '"')
		if n < 0 {
			return 0, errSyntax
		}
		quote, slashes := from+n, 0
		for quote-1-slashes > i && b[quote-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return quote + 1, nil
		}
		from = quote + 1
	}
}
