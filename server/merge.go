package server

import (
	"bytes"
	"encoding/json"

	"github.com/braidrun/braid/internal/strictjson"
)

// merge gives what a JSON merge patch (RFC 7396) makes of a value: a member that the patch
// names takes the place of the value's, null takes it away, objects are merged. The result
// must be one that could have been sent as a whole.
func merge[T any](value T, patch json.RawMessage) (T, error) {
	var out T
	raw, err := json.Marshal(value)
	if err != nil {
		return out, err
	}
	from, err := anyOf(raw)
	if err != nil {
		return out, err
	}
	with, err := anyOf(patch)
	if err != nil {
		return out, unreadable(err)
	}
	if raw, err = json.Marshal(merged(from, with)); err != nil {
		return out, err
	}
	if err := strictjson.Unmarshal(raw, &out); err != nil {
		return out, unreadable(err)
	}
	return out, nil
}

// anyOf keeps numbers as they are written.
func anyOf(raw []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

func merged(value, patch any) any {
	with, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	into, ok := value.(map[string]any)
	if !ok {
		into = map[string]any{}
	}
	for name, v := range with {
		if v == nil {
			delete(into, name)
			continue
		}
		into[name] = merged(into[name], v)
	}
	return into
}
