package permission

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestCanonicalJSON(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{}`:                          `{}`,
		"{ \"b\" : 1 , \"a\" : [ ] }": `{"a":[],"b":1}`,
		`{"a":{"d":1,"c":2}}`:         `{"a":{"c":2,"d":1}}`,
		`[1,1.0,1e3,-0]`:              `[1,1.0,1e3,-0]`,
		`12345678901234567890123`:     `12345678901234567890123`,
		`"\u0061\u003c&>"`:            `"a<&>"`,
		`"\n\u2028"`:                  `"\n\u2028"`,
		`null`:                        `null`,
	} {
		got, err := Canonical(json.RawMessage(raw))
		if err != nil || string(got) != want {
			t.Errorf("%s became %s, %v; want %s", raw, got, err, want)
		}
	}
	for _, bad := range []string{``, `{`, `{"a":1,"a":2}`, "\"\xff\"", `"\ud800"`, `1 2`} {
		if got, err := Canonical(json.RawMessage(bad)); err == nil {
			t.Errorf("%q became %s", bad, got)
		}
	}
}

func FuzzCanonical(f *testing.F) {
	for _, s := range []string{`{"b":1,"a":[{}]}`, `[1.0,"\u0041"]`, `{"":null}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		once, err := Canonical(raw)
		if err != nil {
			return
		}
		twice, err := Canonical(once)
		if err != nil || !bytes.Equal(once, twice) {
			t.Errorf("%q became %q and then %q, %v", raw, once, twice, err)
		}
		var a, b any
		if json.Unmarshal(raw, &a) == nil && json.Unmarshal(once, &b) == nil {
			x, _ := json.Marshal(a)
			y, _ := json.Marshal(b)
			if !bytes.Equal(x, y) {
				t.Errorf("%q says something else than %q", raw, once)
			}
		}
	})
}
