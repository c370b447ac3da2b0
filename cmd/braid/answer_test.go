package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
		{"a choice of types", "42", of(`{"type":["integer","null"]}`), "42", ""},
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

// typed is a person who types these lines.
type typed struct{ lines []string }

func (l *typed) line(context.Context, string, bool) (string, error) {
	if len(l.lines) == 0 {
		return "", io.EOF
	}
	line := l.lines[0]
	l.lines = l.lines[1:]
	return line, nil
}
func (l *typed) remember(string) {}
func (l *typed) close()          {}

func TestAskUntilItFits(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	a := &asker{lines: &typed{[]string{"what?", "", "yes"}}, out: &out, look: screen{width: 40}}
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
	a := &asker{lines: &typed{}, out: io.Discard, look: screen{width: 40}}
	if _, err := a.ask(t.Context(), &event.Asked{Ask: event.AskInput}); !errors.Is(err, io.EOF) {
		t.Errorf("got %v", err)
	}
}
