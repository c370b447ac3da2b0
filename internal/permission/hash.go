package permission

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"

	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/tool"
)

// ToolHash returns the hash that approvals of a tool are bound to. It covers all that the model and the
// user read about the tool. The order of the schema's keys does not count.
func ToolHash(t tool.Tool) string {
	spec := t.Spec()
	schema := spec.Schema
	if exact, err := Canonical(schema); err == nil {
		schema = exact
	}
	return hashOf(spec.Name, spec.Description, string(schema))
}

// hashOf returns a hash of parts. Each part is hashed with its length, so that parts cannot run together.
func hashOf(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		h.Write(binary.AppendUvarint(nil, uint64(len(part))))
		h.Write([]byte(part))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Canonical returns JSON in the one form that all JSON of the same meaning has: members sorted by
// name, no space, no needless escapes. Numbers stay as they are written, so that 1 is not 1.0.
func Canonical(raw json.RawMessage) (json.RawMessage, error) {
	if err := strictjson.Check(raw, strictjson.DefaultDepth); err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(buf.Bytes()), nil
}
