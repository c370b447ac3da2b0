package schema

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Problem is something of a schema that its form does not hold.
type Problem struct {
	// At is where it stands in the schema: a JSON pointer, "" for the top.
	At string
	// Keyword is what it is about.
	Keyword string
	Kind    Kind
	// Text is a sentence for people.
	Text string
	// Schema is what a model is told of it: a schema that holds at that place. It
	// is empty where Text says all, or where there is too much of it.
	Schema json.RawMessage
	// Name is the name of a property that is [Nulled], where null under that name
	// never means null: whoever reads an answer can take such members out. It is
	// empty where a property of that name must be there and may be null.
	Name string
}

// Kind says what a problem does to the form.
type Kind uint8

// The kinds of problems.
const (
	// Told lets more through than the schema does: [Words] tells it.
	Told Kind = iota + 1
	// Narrowed lets less through.
	Narrowed
	// Nulled makes an optional property null where it would be missing.
	Nulled
	// Fatal means that there is no form.
	Fatal
)

// Worst gives the first problem of a kind.
func Worst(problems []Problem, k Kind) (Problem, bool) {
	for _, p := range problems {
		if p.Kind == k {
			return p, true
		}
	}
	return Problem{}, false
}

// maxWords bounds what a model is told of a schema, in bytes.
const maxWords = 4 << 10

// Words tells a model what its schema does not say; "" is nothing. It is about as
// long as what is missing, and 4 KiB at most.
func Words(problems []Problem) string {
	var top []byte
	var below strings.Builder
	for _, p := range problems {
		if p.Kind != Told || (len(p.Schema) == 0 && p.Text == "") || string(p.Schema) == `{"additionalProperties":false}` {
			// Models name few properties that do not stand there.
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
