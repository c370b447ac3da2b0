package wires_test

import (
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// Ids that come twice, a tool that was not offered, and arguments that are no object: the loop
// answers every call, and each vendor takes the conversation.
func TestStrangeCallsOnEachWire(t *testing.T) {
	t.Parallel()
	strange := map[string][]string{
		"an id twice":                        {"look", `{}`, "look", `{}`},
		"a tool that was not offered":        {"nobody", `{"x":1}`, "look", `{}`},
		"arguments that are a list":          {"look", `[1]`},
		"arguments that are a text":          {"look", `"{\"x\":1}"`},
		"arguments that are null":            {"look", `null`},
		"everything, and a name in capitals": {"nobody", `[{"x":1}]`, "LOOK", `{}`, "look", `{}`, "look", `[]`},
	}
	for _, v := range vendors {
		for name, list := range strange {
			t.Run(v.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := calls(list...)
				for i := range s.chunks {
					if s.chunks[i].Kind == model.ChunkCall {
						s.chunks[i].ID = "call_same"
					}
				}
				m, server := v.start(t, s, words("Done."))
				conv := braid.NewConversation()
				agent := braid.New("guide", m, quick, braid.Func("look", "Looks.", look))
				r, err := agent.Run(t.Context(), "Look.", braid.In(conv))
				if err != nil {
					t.Fatal(err)
				}
				taken(t, server)
				if asked := len(server.Asked()); asked != 2 || r.Text() != "Done." {
					t.Errorf("%d requests, %q", asked, r.Text())
				}
				messages, err := conv.Messages(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				answered := 0
				for _, msg := range messages {
					for _, b := range msg.Content {
						if _, ok := b.(*event.ToolResult); ok {
							answered++
						}
					}
				}
				if answered != len(list)/2 {
					t.Errorf("%d of %d calls are answered", answered, len(list)/2)
				}
			})
		}
	}
}
