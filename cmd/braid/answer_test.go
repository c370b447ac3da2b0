package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
)

func TestParseAnswer(t *testing.T) {
	t.Parallel()
	approval := &event.Asked{Ask: event.AskApproval}
	of := func(schema string) *event.Asked {
		return &event.Asked{Ask: event.AskInput, Schema: json.RawMessage(schema)}
	}
	for _, c := range []struct {
		name, line string
		q          *event.Asked
		want       any
		refused    string
	}{
		{"yes", " Y ", approval, true, ""},
		{"yes in Japanese", "はい", approval, true, ""},
		{"no", "no", approval, false, ""},
		{"neither", "perhaps", approval, nil, "y or n"},
		{"nothing is not yes", "", approval, nil, "y or n"},
		{"text", "Kyoto ", of(`{"type":"string"}`), "Kyoto", ""},
		{"text without a schema", "42", of(``), "42", ""},
		{"a type or null", "42", of(`{"type":["integer","null"]}`), json.RawMessage("42"), ""},
		{"nothing for null", " ", of(`{"type":["null","integer"]}`), nil, ""},
		{"null", "null", of(`{"type":["null","string"]}`), nil, ""},
		{"neither of a type or null", "many", of(`{"type":["null","integer"]}`), nil, "integer"},
		{"a choice of types", "42", of(`{"type":["integer","string"]}`), "42", ""},
		{"integer", "42", of(`{"type":"integer"}`), json.RawMessage("42"), ""},
		{"large integer", "9007199254740993", of(`{"type":"integer"}`), json.RawMessage("9007199254740993"), ""},
		{"no integer", "4.5", of(`{"type":"integer"}`), nil, "integer"},
		{"two values", "4 5", of(`{"type":"integer"}`), nil, "integer"},
		{"number", "4.5", of(`{"type":"number"}`), json.RawMessage("4.5"), ""},
		{"no number", "four", of(`{"type":"number"}`), nil, "number"},
		{"boolean", "はい", of(`{"type":"boolean"}`), true, ""},
		{"boolean off", "off", of(`{"type":"boolean"}`), false, ""},
		{"no boolean", "maybe", of(`{"type":"boolean"}`), nil, "yes or no"},
		{"object", `{"a":1}`, of(`{"type":"object"}`), json.RawMessage(`{"a":1}`), ""},
		{"no object", `[1]`, of(`{"type":"object"}`), nil, "object"},
		{"array", `[1]`, of(`{"type":"array"}`), json.RawMessage(`[1]`), ""},
		{"bytes", "\xff", of(`{"type":"string"}`), nil, "UTF-8"},
		{"a schema that is none", "x", of(`7`), "x", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := parseAnswer(c.q, c.line)
			if c.refused != "" {
				if err == nil || !strings.Contains(err.Error(), c.refused) {
					t.Errorf("got %v, %v", got, err)
				}
				return
			}
			if err != nil || !cmp.Equal(got, c.want) {
				t.Errorf("got %v (%T), %v; want %v", got, got, err, c.want)
			}
		})
	}
}

// typed is a terminal on which a user types these lines.
type typed struct{ lines []string }

func (l *typed) Line(context.Context, string, bool) (string, error) {
	if len(l.lines) == 0 {
		return "", io.EOF
	}
	line := l.lines[0]
	l.lines = l.lines[1:]
	return line, nil
}
func (l *typed) Remember(string) {}
func (l *typed) Close()          {}

func TestAskUntilItFits(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	a := &asker{lines: &typed{[]string{"what?", "", "yes"}}, out: &out, look: term.Screen{Width: 40}}
	q := &event.Asked{
		Ask: event.AskApproval, Prompt: "Delete\x1b[2J it?", Tool: "delete_file",
		Args: json.RawMessage(`{"name":"` + strings.Repeat("長", 60) + `"}`),
	}
	got, err := a.ask(t.Context(), q)
	if err != nil || got != true {
		t.Fatalf("got %v, %v", got, err)
	}
	golden(t, "question", out.String())
}

func TestAskNobody(t *testing.T) {
	t.Parallel()
	a := &asker{lines: &typed{}, out: io.Discard, look: term.Screen{Width: 40}}
	if _, err := a.ask(t.Context(), &event.Asked{Ask: event.AskInput}); !errors.Is(err, io.EOF) {
		t.Errorf("got %v", err)
	}
}

// A permission question takes more answers than yes and no. Each says how long the approval holds.
func TestParsePermission(t *testing.T) {
	t.Parallel()
	q := &event.Asked{Ask: event.AskApproval, Name: event.PermissionQuestion, Tool: "delete_file", Prompt: "May a run delete_file?"}
	for line, want := range map[string]string{
		"y": `true`, " YES ": `true`, "はい": `true`, "n": `false`, "no": `false`, "いいえ": `false`,
		"n  it is Friday": `{"approved":false,"reason":"it is Friday"}`,
		"c":               `{"approved":true,"lasts":"conversation"}`,
		"c*":              `{"approved":true,"lasts":"conversation","any_args":true}`,
		"A":               `{"approved":true,"lasts":"always"}`,
		"always*":         `{"approved":true,"lasts":"always","any_args":true}`,
		"":                "", "perhaps": "", "y*": "", "n*": "", "y please": "", "c delete_file": "", "*": "",
	} {
		got, err := parseAnswer(q, line)
		if want == "" {
			if err == nil || !strings.Contains(err.Error(), "please answer") {
				t.Errorf("%q gave %v, %v", line, got, err)
			}
			continue
		}
		raw, jsonErr := json.Marshal(got)
		if err != nil || jsonErr != nil || string(raw) != want {
			t.Errorf("%q gave %s, %v; want %s", line, raw, err, want)
		}
	}
}

// An answer that does not fit the question's schema is requested again before the tool sees it.
func TestAskUntilItFitsTheSchema(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	a := &asker{lines: &typed{[]string{`{"n":"many"}`, `{"n":3}`}}, out: &out, look: term.Screen{Width: 80}}
	got, err := a.ask(t.Context(), &event.Asked{
		Ask: event.AskInput, Prompt: "How many?", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`),
	})
	if raw, _ := json.Marshal(got); err != nil || string(raw) != `{"n":3}` || !strings.Contains(out.String(), "schema") {
		t.Errorf("got %s, %v after %q", raw, err, out.String())
	}
}

// A permission question names the tool, its arguments and the possible answers.
func TestShowPermission(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	a := &asker{lines: &typed{[]string{"what?", "c"}}, out: &out, look: term.Screen{Width: 90}}
	q := &event.Asked{
		Ask: event.AskApproval, Name: event.PermissionQuestion, Prompt: "May assistant run delete_file?", Tool: "delete_file",
		Args: json.RawMessage(`{"name":"draft.txt"}`),
	}
	if _, err := a.ask(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	golden(t, "permission", out.String())
}

// A lasting approval also answers the other open questions that it covers.
func TestOneYesForSeveral(t *testing.T) {
	t.Parallel()
	q := func(tool, args string) *event.Asked {
		return &event.Asked{Name: event.PermissionQuestion, Tool: tool, Prompt: "May a run " + tool + "?", Args: json.RawMessage(args)}
	}
	for _, c := range []struct {
		value      any
		same, args bool
	}{
		{event.Approval{Approved: true}, false, false},
		{event.Approval{}, false, false},
		{true, false, false},
		{event.Approval{Approved: true, Lasts: event.LastsConversation}, true, false},
		{event.Approval{Approved: true, Lasts: event.LastsAlways, AnyArgs: true}, true, true},
	} {
		held := lasting(nil, q("rm", `{"a":1}`), c.value)
		_, same := coveredBy(held, q("rm", `{"a":1}`))
		_, args := coveredBy(held, q("rm", `{"a":2}`))
		_, other := coveredBy(held, q("mv", `{"a":1}`))
		plain := q("rm", `{"a":1}`)
		plain.Name = ""
		_, own := coveredBy(held, plain)
		if same != c.same || args != c.args || other || own {
			t.Errorf("%+v: %v %v %v %v", c.value, same, args, other, own)
		}
	}
}
