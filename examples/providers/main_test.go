package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/braidrun/braid/model"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What is the same on every provider. Only Anthropic's models are told instructions and tools inside
// the conversation; the event setup notes that.
var want = []string{
	"run_started",
	"user_message What is 3 + 5?",
	"step_begun model, attempt 1",
	"text_delta I add 3 and 5.",
	"tool_input_delta",
	`assistant_message tool_use, 40 tokens in, 20 out: I add 3 and 5. add{"a":3,"b":5}`,
	"step_begun tool add, attempt 1",
	"step_ended done add: 8",
	"step_begun model, attempt 1",
	"text_delta 3 + 5 = 8.",
	"assistant_message end_turn, 75 tokens in, 9 out: 3 + 5 = 8.",
	"run_ended completed, end_turn, 2 cycles, 115 tokens in, 29 out",
}

// The agent's events are the same on each provider: only the model was changed.
func TestTheSameEvents(t *testing.T) {
	t.Parallel()
	for _, p := range providers {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			got, err := story(t.Context(), &p)
			if err != nil {
				t.Fatal(err)
			}
			got = slices.DeleteFunc(got, func(line string) bool { return line == "setup" && p.name == "Anthropic" })
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

func TestRunPrintsEachProvider(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	for _, p := range providers {
		if !strings.Contains(out.String(), strings.TrimSpace(p.name+" "+p.model)+"\n    run_started\n") {
			t.Errorf("nothing of %s in\n%s", p.name, out.String())
		}
	}
}

// thoughtful is a turn that holds what only its own provider can read again:
// thinking with its signature, and the id of a call.
var thoughtful = []answer{
	{
		chunks: []model.Chunk{
			{Kind: model.ChunkThinking, Text: "A sum. "},
			{Kind: model.ChunkThinking, Text: "I have a tool."},
			{Kind: model.ChunkSignature, Text: "c2lnbmVk"},
			{Kind: model.ChunkText, Index: 1, Text: "I add."},
			{Kind: model.ChunkCall, Index: 2, ID: "call_1", Text: "add"},
			{Kind: model.ChunkCallInput, Index: 2, Text: `{"a":3,"b":5}`},
		},
		stop: event.StopToolUse, usage: event.Usage{Input: 40, Output: 20, Total: 60},
	},
	{
		chunks: []model.Chunk{{Kind: model.ChunkText, Text: "It is 8."}},
		stop:   event.StopEndTurn, usage: event.Usage{Input: 75, Output: 9, Total: 84},
	},
}

// A conversation that one provider's model began goes on with every other's, and
// comes back: each server refuses what its vendor does.
func TestAConversationGoesOnElsewhere(t *testing.T) {
	t.Parallel()
	for i := range providers {
		for k := range providers {
			first, second := &providers[i], &providers[k]
			t.Run(first.name+" to "+second.name, func(t *testing.T) {
				t.Parallel()
				conversation := braid.NewConversation()
				begun, end, err := first.open(append(slices.Clone(thoughtful), thoughtful...))
				if err != nil {
					t.Fatal(err)
				}
				defer end()
				other, end, err := second.open(thoughtful)
				if err != nil {
					t.Fatal(err)
				}
				defer end()
				for turn, m := range []braid.Model{begun, other, begun} {
					result, err := calculator(m).Run(t.Context(), question, braid.In(conversation))
					if err != nil || result.Text() != "It is 8." {
						t.Fatalf("turn %d: %q, %v", turn, result.Text(), err)
					}
				}
			})
		}
	}
}
