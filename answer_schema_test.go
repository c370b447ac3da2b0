package braid_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
)

func TestAnAnswerThatIsToBeJSON(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
	for _, c := range []struct{ says, output string }{
		{`{"n":3}`, `{"n":3}`},
		{"```json\n{\"n\":3}\n```", `{"n":3}`},
		{` {"n":3} `, `{"n":3}`},
		{`{"n":"three"}`, ""},
		{`{"n":3,"n":4}`, ""},
		{`It is 3.`, ""},
	} {
		m := answers(says(c.says))
		agent := braid.New("a", m, braid.Instructions("Count."), braid.AnswerSchema(schema))
		conv := braid.NewConversation()
		r, err := agent.Run(t.Context(), "how many?", braid.In(conv))
		if (c.output == "") != errors.Is(err, event.ErrInvalid) || r.Status != event.RunCompleted {
			t.Errorf("%s: %v, %+v", c.says, err, r)
		}
		for e, err := range conv.Events(t.Context(), 0) {
			if err != nil {
				t.Fatal(err)
			}
			if b, ok := e.Body.(*event.RunEnded); ok && string(b.Output) != c.output {
				t.Errorf("%s: the output is %s", c.says, b.Output)
			}
		}
	}
	if err := braid.New("a", answers(says("x")), braid.AnswerSchema(json.RawMessage(`[]`))).Err(); !errors.Is(err, event.ErrInvalid) {
		t.Errorf("a schema that is none: %v", err)
	}
}

func TestWhereToolsComeFrom(t *testing.T) {
	t.Parallel()
	conv := braid.NewConversation()
	agent := braid.New("a", answers(says("x")), braid.Announce(func() []event.ToolServer {
		return []event.ToolServer{{Name: "files", Status: "connected"}}
	}))
	if _, err := agent.Run(t.Context(), "hello", braid.In(conv)); err != nil {
		t.Fatal(err)
	}
	var got []string
	for e, err := range conv.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := e.Body.(*event.RunStarted); ok {
			for _, s := range b.Servers {
				got = append(got, s.Name+" "+s.Status)
			}
		}
	}
	if strings.Join(got, ",") != "files connected" {
		t.Errorf("the servers are %v", got)
	}
}
