package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/race"
	"github.com/braidrun/braid/model"
)

func held(schema string) *model.Request {
	return &model.Request{
		Instructions: "Be brief.", Messages: []event.Message{from(event.RoleUser, &event.Text{Text: "q"})},
		Output: &model.OutputSchema{Name: "a b", Schema: json.RawMessage(schema)},
	}
}

// What a schema becomes in each API: strict where it can be, else asked for, else
// told in words.
func TestOutputOnTheWire(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		schema, want string
		absent       map[string]bool
	}{
		"strict": {
			`{"type":"object","properties":{"a":{"type":"string","minLength":2}},"required":["a"]}`,
			`"description":"These parts of its schema hold as well, each at its JSON pointer:\n/properties/a: {\"minLength\":2}",` +
				`"schema":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false},"strict":true`, nil,
		},
		"what may be missing": {
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":["string","null"]}}}`,
			`"schema":{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"type":["string","null"]}},"required":["a","b"],` +
				`"additionalProperties":false},"strict":true`,
			map[string]bool{"a": true},
		},
		"null that means two things": {
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"object","properties":{"a":{"type":"null"}},"required":["a"]}}}`,
			`"schema":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"object","properties":{"a":{"type":"null"}},"required":["a"]}}},` +
				`"strict":false`, nil,
		},
		"any names": {
			`{"type":"object","additionalProperties":{"type":"integer"}}`,
			`"schema":{"type":"object","additionalProperties":{"type":"integer"},"properties":{}},"strict":false`, nil,
		},
		"no object": {`{"type":"array","items":{"type":"integer"}}`, "", nil},
	} {
		for _, m := range []*Model{made(t, "gpt-5.4"), made(t, "gpt-4o", Use(ChatCompletions)), made(t, "qwen3", BaseURL("http://127.0.0.1/v1"), Schemas(true))} {
			req := held(tc.schema)
			body, way, err := m.body(req)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			before := `"response_format":{"type":"json_schema","json_schema":{"name":"` + toolNames.Wire("a b") + `",`
			if m.api == Responses {
				before = `"text":{"format":{"type":"json_schema","name":"` + toolNames.Wire("a b") + `",`
			}
			switch {
			case tc.want == "":
				if bytes.Contains(body, []byte("json_schema\"")) || !bytes.Contains(body, []byte(`It must be valid under this JSON schema: {\"type\":\"array\"`)) {
					t.Errorf("%s: %s", name, body)
				}
			case !strings.HasSuffix(string(body), before+tc.want+"}}}"):
				t.Errorf("%s: %s\nhas no %s", name, body, before+tc.want)
			}
			if d := cmp.Diff(tc.absent, way.absent); d != "" {
				t.Errorf("%s: %s", name, d)
			}
			again, _, err := m.body(req)
			if err != nil || !bytes.Equal(body, again) || !json.Valid(body) {
				t.Errorf("%s: %v, %s", name, err, again)
			}
			ahead := *req
			ahead.Messages = nil
			if err := m.Check(&ahead); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// What cannot be asked is said beforehand, in the same words.
func TestCheck(t *testing.T) {
	t.Parallel()
	half := 0.5
	tool := func(schema string) []model.ToolSpec {
		return []model.ToolSpec{{Name: "f", Schema: json.RawMessage(schema)}}
	}
	for name, tc := range map[string]struct {
		m    *Model
		req  model.Request
		kind event.ErrorKind
		says string
	}{
		"fine":                {made(t, "gpt-5.4"), model.Request{Tools: tool(`{}`)}, "", ""},
		"a model that cannot": {made(t, "gpt-4-turbo"), *held(`{"type":"object"}`), event.ErrUnsupported, "cannot be held"},
		"a server that cannot": {
			made(t, "qwen3", BaseURL("http://127.0.0.1/v1")), *held(`{"type":"object"}`), event.ErrUnsupported, "cannot be held",
		},
		"no schema":          {made(t, "gpt-5.4"), *held(`{"type":"object","properties":{"a":{"$ref":"#/nowhere"}}}`), event.ErrInvalid, "refers to something"},
		"no JSON":            {made(t, "gpt-5.4"), *held(`{`), event.ErrInvalid, "no JSON"},
		"a tool's schema":    {made(t, "gpt-5.4"), model.Request{Tools: tool(`{"properties":{"a":{"type":"text"}}}`)}, event.ErrInvalid, `"f"`},
		"where it stands":    {made(t, "gpt-5.4"), model.Request{Tools: tool(`{"properties":{"a":{"type":"text"}}}`)}, event.ErrInvalid, "/properties/a"},
		"a temperature":      {made(t, "gpt-5.4"), model.Request{Options: model.Options{Temperature: &half}}, event.ErrUnsupported, "temperature"},
		"words in Responses": {made(t, "gpt-4o"), model.Request{Options: model.Options{StopWords: []string{"x"}}}, event.ErrUnsupported, "words"},
		"a tool that there is not": {
			made(t, "gpt-4o"), model.Request{Tools: tool(``), ToolChoice: model.ToolChoice{Mode: model.ToolsOne, Tool: "g"}}, event.ErrInvalid, `"g"`,
		},
	} {
		req := tc.req
		req.Messages = nil
		err := tc.m.Check(&req)
		if tc.kind == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		var e *event.Error
		if !errors.As(err, &e) || e.Kind != tc.kind || !strings.Contains(e.Message, tc.says) || e.Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
		if name != "a tool that there is not" && name != "fine" {
			req.Messages = []event.Message{from(event.RoleUser, &event.Text{Text: "q"})}
			if _, _, later := tc.m.body(&req); fmt.Sprint(later) != err.Error() {
				t.Errorf("%s: first %v, then %v", name, err, later)
			}
		}
	}
	if err := made(t, "gpt-5.4").Check(nil); err != nil {
		t.Error(err)
	}
}

func TestModelsThatAreHeld(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"gpt-4o": true, "gpt-4o-mini-2024-07-18": true, "gpt-4.1-nano": true, "gpt-5.4": true, "gpt-5-chat-latest": true, "o1": true, "o3-mini": true,
		"ft:gpt-4o-mini:x::1": true, "gpt-10": true,
		"gpt-4": false, "gpt-4-turbo": false, "gpt-3.5-turbo": false, "o1-preview": false, "o1-mini": false, "gpt-4o-2024-05-13": false,
		"gpt-4o-audio-preview": false, "chatgpt-4o-latest": false,
	} {
		if got := made(t, name).Info().Output; got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if made(t, "gpt-4o", BaseURL("http://127.0.0.1/v1")).Info().Output || !made(t, "x", BaseURL("http://127.0.0.1/v1"), Schemas(true)).Info().Output ||
		made(t, "gpt-4o", Schemas(false)).Info().Output {
		t.Error("the option does not decide")
	}
}

// The key of the cache goes with every request, behind the messages.
func TestCacheKey(t *testing.T) {
	t.Parallel()
	for _, api := range []API{Responses, ChatCompletions} {
		m := made(t, "gpt-4o", Use(api), CacheKey("tenant-7/agent"))
		body, _, err := m.body(&model.Request{Messages: []event.Message{from(event.RoleUser, &event.Text{Text: "q"})}})
		if err != nil || !strings.Contains(string(body), `}],"prompt_cache_key":"tenant-7/agent",`) {
			t.Errorf("%v: %s", err, body)
		}
	}
	for _, key := range []string{"", "a b", strings.Repeat("k", 65)} {
		if err := CacheKey(key)(&Model{}); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%q: %v", key, err)
		}
	}
}

// A request that is larger than the vendor takes is not sent.
func TestARequestThatIsTooLarge(t *testing.T) {
	t.Parallel()
	req := &model.Request{Messages: []event.Message{from(event.RoleUser, &event.Image{MIME: "image/png", Data: make([]byte, 40<<20)})}}
	if _, _, err := made(t, "gpt-4o").body(req); !errors.Is(err, event.ErrTooLarge) {
		t.Errorf("%v", err)
	}
	if race.On {
		return // one goroutine encodes: make test-long sends it elsewhere, too
	}
	if _, _, err := made(t, "x", BaseURL("http://127.0.0.1/v1")).body(req); err != nil {
		t.Errorf("nobody knows what other servers take: %v", err)
	}
}

func taken(names map[string]bool, pieces ...string) string {
	a := &absent{names: names}
	var out []byte
	for _, p := range pieces {
		out = append(out, a.write(p)...)
	}
	return string(append(out, a.rest()...))
}

func TestNullsThatMeanNothing(t *testing.T) {
	t.Parallel()
	names := map[string]bool{"a": true, "ü": true}
	for given, want := range map[string]string{
		`{}`:                     `{}`,
		`{"a":null}`:             `{}`,
		`{"a":null,"b":null}`:    `{"b":null}`,
		`{"b":1,"a":null}`:       `{"b":1}`,
		`{"b":1,"a":null,"c":2}`: `{"b":1,"c":2}`,
		` { "a" : null , "b" : [ {"a":null} ] } `:                          ` {  "b" : [ {} ] } `,
		`{"a":"null","b":{"a":null,"\u0061":null,"\u00fc":null,"c":null}}`: `{"a":"null","b":{"c":null}}`,
		`{"a":[null,{"a":1}],"b":"\",\"a\":null"}`:                         `{"a":[null,{"a":1}],"b":"\",\"a\":null"}`,
		`{"a":nul`:             `{"a":nul`,
		`{"b":1,"a":nu`:        `{"b":1,"a":nu`,
		`{"b":1,`:              `{"b":1,`,
		`{"b":1,"a":null`:      `{"b":1`,
		`{"b":1,"a"`:           `{"b":1,"a"`,
		`I cannot. {"a":null}`: `I cannot. {"a":null}`,
		`[{"a":null}]`:         `[{"a":null}]`,
		`{"a":none}`:           `{"a":none}`,
		`{a:null}`:             `{a:null}`,
		`{"a":null}{"a":null}`: `{}{"a":null}`,
		`{"b":]}`:              `{"b":]}`,
		``:                     ``,
	} {
		if got := taken(names, given); got != want {
			t.Errorf("%s becomes %s, not %s", given, got, want)
		}
		if got := taken(names, strings.Split(given, "")...); got != want {
			t.Errorf("%s by the letter becomes %s, not %s", given, got, want)
		}
		if got := taken(nil, given); got != given {
			t.Errorf("%s becomes %s with no names", given, got)
		}
	}
}

// Any JSON loses the members that are null, and nothing else, however it is cut.
func TestNullsOfAnyText(t *testing.T) {
	t.Parallel()
	names := map[string]bool{"a": true, "b": true}
	var value func(t *rapid.T, depth int) any
	value = func(t *rapid.T, depth int) any {
		switch n := rapid.IntRange(0, 6).Draw(t, "kind"); {
		case n == 0 || depth == 0:
			return rapid.SampledFrom([]any{nil, 1.5, true, "null", "a\"b\\", ",}"}).Draw(t, "scalar")
		case n < 3:
			list := []any{}
			for range rapid.IntRange(0, 3).Draw(t, "items") {
				list = append(list, value(t, depth-1))
			}
			return list
		}
		o := map[string]any{}
		for range rapid.IntRange(0, 4).Draw(t, "members") {
			o[rapid.SampledFrom([]string{"a", "b", "c", "\"", "é"}).Draw(t, "name")] = value(t, depth-1)
		}
		return o
	}
	var without func(v any) any
	without = func(v any) any {
		switch v := v.(type) {
		case []any:
			for i := range v {
				v[i] = without(v[i])
			}
		case map[string]any:
			for k := range v {
				if v[k] == nil && names[k] {
					delete(v, k)
				} else {
					v[k] = without(v[k])
				}
			}
		}
		return v
	}
	rapid.Check(t, func(t *rapid.T) {
		v := map[string]any{"a": value(t, 4), "c": value(t, 4)}
		text, err := json.Marshal(v)
		if rapid.Bool().Draw(t, "indented") {
			text, err = json.MarshalIndent(v, "", "\t")
		}
		if err != nil {
			t.Fatal(err)
		}
		var pieces []string
		for rest := string(text); rest != ""; {
			n := rapid.IntRange(1, min(9, len(rest))).Draw(t, "piece")
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		got := taken(names, pieces...)
		var back any
		if err := json.Unmarshal([]byte(got), &back); err != nil {
			t.Fatalf("%s becomes %s: %v", text, got, err)
		}
		if d := cmp.Diff(without(v), back); d != "" {
			t.Fatalf("%s becomes %s\n%s", text, got, d)
		}
		if whole := taken(names, string(text)); whole != got {
			t.Fatalf("in pieces %s, whole %s", got, whole)
		}
	})
}
