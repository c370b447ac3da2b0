package schema

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Problem is a part of a schema that its form does not express.
type Problem struct {
	// At is the place in the schema: a JSON pointer, "" for the top.
	At string
	// Keyword is the keyword that is not expressed.
	Keyword string
	Kind    Kind
	// Text describes the problem in a sentence.
	Text string
	// Schema is the constraint at that place, for the words that the model gets. It is empty if Text is sufficient or
	// the schema is too large.
	Schema json.RawMessage
	// Name is the name of a property that is [Nulled], if null under that name never means a value. A reader of
	// answers can then remove such members. It is empty if a property of that name must be present and may be null.
	Name string
}

// Kind says how a problem changes the form.
type Kind uint8

// The kinds of problems.
const (
	// Widened means that the form is wider than the schema; [Words] describes the difference.
	Widened Kind = iota + 1
	// Narrowed means that the form is narrower.
	Narrowed
	// Nulled means that an optional property is null instead of missing.
	Nulled
	// Fatal means that there is no form.
	Fatal
)

// Worst returns the first problem of a kind.
func Worst(problems []Problem, k Kind) (Problem, bool) {
	for _, p := range problems {
		if p.Kind == k {
			return p, true
		}
	}
	return Problem{}, false
}

// maxWords is the maximum size of [Words] in bytes.
const maxWords = 4 << 10

// Words describes to a model what its schema does not express; "" means nothing. It is about as long as the missing
// part, and at most 4 KiB.
func Words(problems []Problem) string {
	var top []byte
	var below strings.Builder
	for _, p := range problems {
		if p.Kind != Widened || (len(p.Schema) == 0 && p.Text == "") || string(p.Schema) == `{"additionalProperties":false}` {
			// Models rarely write properties that the schema does not name.
			continue
		}
		switch {
		case len(p.Schema) > 2 && p.At == "" && p.Schema[0] == '{' && !bytes.Contains(top, p.Schema[1:len(p.Schema)-1]):
			if top == nil {
				top = append(top, '{')
			} else {
				top = append(top, ',')
			}
			top = append(top, p.Schema[1:len(p.Schema)-1]...)
		case len(p.Schema) > 0 && p.At != "":
			below.WriteString("\n" + p.At + ": " + string(p.Schema))
		case len(p.Schema) == 0:
			at := p.At
			if at == "" {
				at = "in all"
			}
			below.WriteString("\n" + at + ": " + p.Text)
		}
		if len(top)+below.Len() > maxWords {
			break
		}
	}
	var b strings.Builder
	if len(top) > 0 && len(top) <= maxWords {
		b.WriteString("The input must also match this JSON schema: " + string(top) + "}")
	}
	if below.Len() > 0 {
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		b.WriteString("These parts of its schema hold as well, each at its JSON pointer:")
		rest := below.String()
		if len(rest) > maxWords {
			rest = rest[:strings.LastIndexByte(rest[:maxWords], '\n')+1] + "…"
		}
		b.WriteString(rest)
	}
	return b.String()
}
