package provider

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
)

// AppendExtra appends the members that a developer adds to each request's body, each after a comma,
// in the order of their names. own are the members that the provider writes itself. It returns an
// error of kind [event.ErrInvalid] for such a member and for a value that is not JSON.
func AppendExtra(b []byte, op string, extra map[string]json.RawMessage, own ...string) ([]byte, error) {
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		switch {
		case name == "" || slices.Contains(own, name):
			return nil, NotSent(op, event.ErrInvalid, "the member %q cannot be added to requests", "leave it out: Braid writes it itself", name)
		case !json.Valid(extra[name]):
			return nil, NotSent(op, event.ErrInvalid, "the member %q that is added to requests is not JSON", "write its value as JSON", name)
		}
		b = strictjson.AppendString(append(b, ','), name)
		b = append(append(b, ':'), extra[name]...)
	}
	return b, nil
}
