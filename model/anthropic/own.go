package anthropic

import (
	"bytes"
	"encoding/json"

	"github.com/braidrun/braid/internal/strictjson"
)

// own is the prefix of block kinds that only this vendor has. Such blocks are sent back
// unchanged.
const own = "anthropic."

// member is a member of a JSON object. Slices of members keep the order of the object.
type member struct {
	name  string
	value json.RawMessage
}

// membersOf decodes a JSON object.
func membersOf(raw []byte) (all []member, ok bool) {
	if strictjson.Check(raw, strictjson.DefaultDepth) != nil {
		return nil, false
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	for dec.More() {
		t, err := dec.Token()
		name, isName := t.(string)
		m := member{name: name}
		if err != nil || !isName || dec.Decode(&m.value) != nil {
			return nil, false
		}
		all = append(all, m)
	}
	return all, true
}

// set replaces the value of a member, or appends the member.
func set(all []member, name string, value json.RawMessage) []member {
	for i := range all {
		if all[i].name == name {
			all[i].value = value
			return all
		}
	}
	return append(all, member{name, value})
}

// appendMembers writes members, separated by commas.
func appendMembers(b []byte, all []member) []byte {
	for i, m := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(strictjson.AppendString(b, m.name), ':'), m.value...)
	}
	return b
}
