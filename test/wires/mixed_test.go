package wires_test

import (
	"context"
	"strings"
	"testing"

	"github.com/braidrun/braid"
)

// What a person says while tools run stands behind their results, in one turn of the loop's. Some
// vendors take text and results in one message, some refuse it: each is sent what it takes, in this call and
// in each later one, whose history has it again.
func TestWordsBesideResults(t *testing.T) {
	t.Parallel()
	for _, v := range vendors {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			model, server := v.start(t, calls("look", `{"n":1}`, "look", `{"n":2}`), words("Both, quickly."), words("Gladly."))
			conv := braid.NewConversation()
			var agent *braid.Agent
			agent = braid.New("guide", model, quick, braid.Func("look", "Looks.", func(ctx context.Context, in struct {
				N int `json:"n"`
			},
			) (int, error) {
				if in.N == 1 {
					if _, err := agent.Send(ctx, conv, "Hurry up.", braid.During(braid.Steer)); err != nil {
						return 0, err
					}
				}
				return 7100 + in.N, nil
			}))
			for _, say := range []string{"Look twice.", "Thank you."} {
				if _, err := agent.Run(t.Context(), say, braid.In(conv)); err != nil {
					t.Fatal(err)
				}
			}
			taken(t, server)
			asked := server.Asked()
			if len(asked) != 3 {
				t.Fatalf("%d requests", len(asked))
			}
			for _, r := range asked[1:] {
				first, second, hurry := strings.Index(string(r.Body), "7101"), strings.Index(string(r.Body), "7102"), strings.Index(string(r.Body), "Hurry up.")
				if first < 0 || second < first || hurry < second {
					t.Errorf("the results and what was said stand at %d, %d and %d of\n%s", first, second, hurry, r.Body)
				}
			}
		})
	}
}
