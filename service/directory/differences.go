package directory

import (
	"encoding/json"
	"maps"
	"slices"
)

// difference is the change of a field. Long values are left out.
type difference struct {
	From json.RawMessage `json:"from,omitempty"`
	To   json.RawMessage `json:"to,omitempty"`
}

type changedFields map[string]difference

func (c changedFields) any(names ...string) bool {
	return slices.ContainsFunc(names, func(n string) bool { _, ok := c[n]; return ok })
}

func (c changedFields) with(name string) changedFields {
	if c == nil {
		c = make(changedFields)
	}
	if _, ok := c[name]; !ok {
		c[name] = difference{}
	}
	return c
}

// longestTold bounds the length of a value in an audit entry.
const longestTold = 256

// differences returns the fields in which two values of a type differ.
func differences(from, to any) (changedFields, error) {
	var sides [2]map[string]json.RawMessage
	for i, v := range []any{from, to} {
		b, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(b, &sides[i]); err != nil {
			return nil, err
		}
	}
	var found changedFields
	names := maps.Clone(sides[0])
	maps.Copy(names, sides[1])
	for name := range names {
		a, b := sides[0][name], sides[1][name]
		if string(a) == string(b) {
			continue
		}
		found = found.with(name)
		if len(a) <= longestTold && len(b) <= longestTold {
			found[name] = difference{a, b}
		}
	}
	return found, nil
}
