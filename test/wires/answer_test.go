package wires_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model/anthropic/anthropictest"
)

// city is what answers are to be.
type city struct {
	Name   string `json:"name"`
	People int    `json:"people"`
}

const (
	kyoto = `{"name":"Kyōto","people":1463723}`
	wrong = `{"name":"Kyōto","people":"many"}`
)

// formed reports whether a request holds the form of the answer.
func formed(r *anthropictest.Request) bool {
	body := bytes.ReplaceAll(r.Body, []byte(`\"`), []byte(`"`)) // one vendor takes it as a text
	return bytes.Contains(body, []byte(`"people":{"type":"integer"`))
}

// mended reports whether the last message of a request holds what was wrong with an answer.
func mended(r *anthropictest.Request) bool {
	return bytes.Contains(r.Body, []byte("people: type")) || bytes.Contains(r.Body, []byte("calling the tool final_answer")) ||
		bytes.Contains(r.Body, []byte("as JSON alone"))
}

// Where no vendor holds the answer to its form, the model is made to call a tool with it: what is
// wrong goes back to it, so often and no more, and each request is one that the vendor takes.
func TestAForcedAnswerOnEachWire(t *testing.T) {
	t.Parallel()
	for _, v := range vendors {
		if v.held || v.forced == "" {
			continue
		}
		for name, c := range map[string]struct {
			says  []said
			asked int
			stop  event.StopReason
		}{
			"at once":              {[]said{calls(braid.OutputTool, kyoto)}, 1, event.StopToolUse},
			"after words":          {[]said{words("It is Kyōto."), calls(braid.OutputTool, kyoto)}, 2, event.StopToolUse},
			"after what was wrong": {[]said{calls(braid.OutputTool, wrong), calls(braid.OutputTool, wrong), calls(braid.OutputTool, kyoto)}, 3, event.StopToolUse},
			"never":                {[]said{calls(braid.OutputTool, wrong), words("No."), calls(braid.OutputTool, wrong), words("No."), words("!")}, 4, event.StopLimitAnswers},
		} {
			t.Run(v.name+", "+name, func(t *testing.T) {
				t.Parallel()
				model, server := v.start(t, c.says[:c.asked]...)
				if model.Info().Output {
					t.Fatal("the vendor holds answers to a schema")
				}
				conv := braid.NewConversation()
				agent := braid.New("guide", model, quick, braid.OutputType[city]())
				r, err := agent.Run(t.Context(), "Where?", braid.In(conv))
				taken(t, server)
				if failed := c.stop == event.StopLimitAnswers; failed != errors.Is(err, event.ErrInvalid) || !failed && err != nil || r.Stop != c.stop {
					t.Fatalf("%v, %s", err, r.Stop)
				}
				if got, err := braid.OutputOf[city](r); err == nil && got != (city{"Kyōto", 1463723}) {
					t.Errorf("the answer is %+v", got)
				}
				asked := server.Asked()
				if len(asked) != c.asked {
					t.Fatalf("%d requests", len(asked))
				}
				for i := range asked {
					if !bytes.Contains(asked[i].Body, []byte(`"final_answer"`)) || !formed(&asked[i]) {
						t.Errorf("request %d has no tool for the answer: %s", i, asked[i].Body)
					}
					if again := i > 0; again != bytes.Contains(asked[i].Body, []byte(v.forced)) || again != mended(&asked[i]) {
						t.Errorf("request %d, made to call the tool, and told why: %s", i, asked[i].Body)
					}
				}
				goesOn(t, &v, server, agent, conv, calls(braid.OutputTool, kyoto))
			})
		}
	}
}

// A vendor that holds answers to a schema is sent it, beside the agent's own tools, and no tool for
// the answer. Where it does not keep to it all the same, it is told.
func TestAnAnswerThatIsHeldOnEachWire(t *testing.T) {
	t.Parallel()
	for _, v := range vendors {
		if !v.held {
			continue
		}
		for name, c := range map[string]struct {
			says  []said
			asked int
			stop  event.StopReason
		}{
			"at once":              {[]said{words(kyoto)}, 1, event.StopEndTurn},
			"after a tool":         {[]said{calls("look", `{}`), words(kyoto)}, 2, event.StopEndTurn},
			"after what was wrong": {[]said{words(wrong), words(kyoto)}, 2, event.StopEndTurn},
			"never":                {[]said{words(wrong), words(wrong), words(wrong), words(wrong)}, 4, event.StopLimitAnswers},
		} {
			t.Run(v.name+", "+name, func(t *testing.T) {
				t.Parallel()
				model, server := v.start(t, c.says...)
				conv := braid.NewConversation()
				agent := braid.New("guide", model, quick, braid.OutputType[city](), braid.Func("look", "Looks.", look))
				r, err := agent.Run(t.Context(), "Where?", braid.In(conv))
				taken(t, server)
				if failed := c.stop == event.StopLimitAnswers; failed != errors.Is(err, event.ErrInvalid) || !failed && err != nil || r.Stop != c.stop {
					t.Fatalf("%v, %s", err, r.Stop)
				}
				if got, err := braid.OutputOf[city](r); err == nil && got != (city{"Kyōto", 1463723}) {
					t.Errorf("the answer is %+v", got)
				}
				asked := server.Asked()
				if len(asked) != c.asked {
					t.Fatalf("%d requests", len(asked))
				}
				for i := range asked {
					if !formed(&asked[i]) || bytes.Contains(asked[i].Body, []byte(braid.OutputTool)) {
						t.Errorf("request %d: %s", i, asked[i].Body)
					}
					if told := i > 0 && name != "after a tool"; told != mended(&asked[i]) {
						t.Errorf("request %d, told what was wrong: %s", i, asked[i].Body)
					}
				}
				goesOn(t, &v, server, agent, conv, words(kyoto))
			})
		}
	}
}

// A model that can neither be held to a schema nor be made to call a tool is told in words.
func TestAnAnswerThatNobodyCanForce(t *testing.T) {
	t.Parallel()
	for _, v := range vendors {
		if v.held || v.forced != "" {
			continue
		}
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			model, server := v.start(t, words("Kyōto."), words(wrong), words(kyoto))
			conv := braid.NewConversation()
			agent := braid.New("guide", model, quick, braid.OutputType[city]())
			r, err := agent.Run(t.Context(), "Where?", braid.In(conv))
			taken(t, server)
			if err != nil || len(server.Asked()) != 3 {
				t.Fatalf("%v after %d requests", err, len(server.Asked()))
			}
			if got, err := braid.OutputOf[city](r); err != nil || got.Name != "Kyōto" {
				t.Errorf("%+v, %v", got, err)
			}
			goesOn(t, &v, server, agent, conv, words(kyoto))
		})
	}
}

// goesOn has the conversation take another turn, which the vendor takes.
func goesOn(t *testing.T, v *vendor, server standIn, agent *braid.Agent, conv *braid.Conversation, answer said) {
	t.Helper()
	v.add(server, answer)
	r, err := agent.Run(t.Context(), "And now?", braid.In(conv))
	if err != nil || r.Status != event.RunCompleted {
		t.Errorf("the next turn: %v", err)
	}
	taken(t, server)
	last := server.Asked()[len(server.Asked())-1]
	if !json.Valid(last.Body) || !bytes.Contains(last.Body, []byte("And now?")) {
		t.Errorf("the next turn's request: %s", last.Body)
	}
}
