package tool

import (
	"fmt"
	"sync"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/schemacheck"
)

// CheckName returns an error if a tool cannot have the name. All providers share the rule: 1 to 64 letters, digits, "_"
// and "-".
func CheckName(name string) error {
	ok := name != "" && len(name) <= 64
	for i := 0; ok && i < len(name); i++ {
		c := name[i]
		ok = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
	}
	if ok {
		return nil
	}
	return &event.Error{
		Op: "tool", Kind: event.ErrInvalid, Message: fmt.Sprintf("%q cannot be the name of a tool", name),
		Hint: "use 1 to 64 letters, digits, _ or -",
	}
}

// SchemaErrOf returns [CheckSchema] of a tool's spec, or what the tool's method SchemaErr() error returns. A tool that many
// agents get has this method, so that its schema is checked only once.
func SchemaErrOf(t Tool, spec Spec) error {
	if d, ok := t.(interface{ SchemaErr() error }); ok {
		return d.SchemaErr()
	}
	return CheckSchema(spec)
}

// CheckSchema returns an error if the schema of a tool's arguments is not a JSON schema of an object, or can never be
// checked.
func CheckSchema(spec Spec) error {
	bad := func(what string, cause error) error {
		return &event.Error{
			Op: "tool " + spec.Name, Kind: event.ErrInvalid, Message: "the schema of its arguments " + what,
			Hint: `give a JSON schema such as {"type":"object","properties":{}}`, Err: cause,
		}
	}
	if passed.has(spec.Schema) {
		return nil
	}
	s, err := schemacheck.Compile(spec.Schema)
	if err != nil {
		return bad("cannot be used: "+err.Error(), err)
	}
	if s.Type() != "object" {
		return bad("does not describe an object", nil)
	}
	passed.add(spec.Schema)
	return nil
}

// passed are schemas that passed [CheckSchema]. A server makes an agent for each request, mostly with the same tools.
var passed passedSchemas

// passedSchemas is a bounded set of schemas. Its zero value is empty.
type passedSchemas struct {
	mu    sync.Mutex
	known map[string]struct{}
}

const (
	// mostPassed bounds the schemas that are remembered, and mostPassedBytes the length of each.
	mostPassed      = 256
	mostPassedBytes = 8 << 10
)

func (p *passedSchemas) has(schema []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.known[string(schema)]
	return ok
}

func (p *passedSchemas) add(schema []byte) {
	if len(schema) > mostPassedBytes {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil || len(p.known) >= mostPassed {
		p.known = make(map[string]struct{})
	}
	p.known[string(schema)] = struct{}{}
}
