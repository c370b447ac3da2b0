package anthropic_test

import (
	"context"
	"iter"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/anthropic"
	"github.com/braidrun/braid/model/anthropic/anthropictest"
)

// unstamped is a model as Braid asked it before it stamped thinking.
type unstamped struct{ braid.Model }

func (m unstamped) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		for c, err := range m.Model.Stream(ctx, req) {
			if c.Kind == model.ChunkSignature {
				c.ID = ""
			}
			if r, ok := c.Block.(*event.RedactedThinking); ok {
				c.Block = &event.RedactedThinking{Data: r.Data}
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

func talk(t *testing.T, m braid.Model, conv *braid.Conversation, says ...string) {
	t.Helper()
	a := braid.New("a", m, echo("echo"))
	for _, say := range says {
		if _, err := a.Run(t.Context(), say, braid.In(conv)); err != nil {
			t.Fatalf("%q: %v", say, err)
		}
	}
}

// refusals counts the requests that a server refused, and those with thinking that it took.
func refusals(server *anthropictest.Server) (refused, withThinking int) {
	for _, r := range server.Asked() {
		switch {
		case r.Refused != "":
			refused++
		case thoughtsIn(r.Body) > 0:
			withThinking++
		}
	}
	return refused, withThinking
}

// A conversation of an older Braid says nothing of what its thinking stood behind.
func TestAnOldConversationGoesOn(t *testing.T) {
	t.Parallel()
	m, server := preserving(t, "claude-sonnet-5-5", thinks)
	conv := braid.NewConversation()
	talk(t, unstamped{m}, conv, "call:echo", "Hello.")
	before := len(server.Asked())
	talk(t, m, conv, "call:echo", "Bye.")
	for i, r := range server.Asked() {
		if r.Refused != "" {
			t.Errorf("request %d is refused: %s", i, r.Refused)
		}
	}
	last := server.Asked()[len(server.Asked())-1]
	if n := thoughtsIn(last.Body); n != 2 || len(server.Asked()) <= before {
		t.Errorf("the last request holds %d thinking blocks of the two that are stamped", n)
	}
	if blocks, refused := dropped(t, conv); blocks == 0 || refused {
		t.Errorf("the log says %d, %v", blocks, refused)
	}
}

// Where the vendor refuses thinking all the same, it is asked once more without it: here
// because the account is another one. Later requests hold what was thought since.
func TestRefusedThinkingIsLeftOut(t *testing.T) {
	t.Parallel()
	for name, cold := range map[string]bool{"the same model": false, "another process": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, first := preserving(t, "claude-sonnet-5-5", thinks)
			conv := braid.NewConversation()
			talk(t, m, conv, "call:echo", "Hello.")
			second := anthropictest.StartPreserved(thinks)
			defer second.Close()
			m = preservingAt(t, second, "claude-sonnet-5-5")
			talk(t, m, conv, "And now?")
			if cold {
				m = preservingAt(t, second, "claude-sonnet-5-5")
			}
			talk(t, m, conv, "call:echo", "Bye.")
			if refused, with := refusals(second); refused != 1 || with == 0 {
				t.Errorf("%d requests are refused, %d hold thinking", refused, with)
			}
			if n, _ := refusals(first); n != 0 {
				t.Errorf("the first account refuses %d requests", n)
			}
			if blocks, refused := dropped(t, conv); blocks == 0 || !refused {
				t.Errorf("the log says %d, %v", blocks, refused)
			}
		})
	}
}

// What the vendor refuses for another reason is not asked again.
func TestOtherRefusalsStand(t *testing.T) {
	t.Parallel()
	for _, said := range []string{
		"messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`.", "max_tokens: Field required",
	} {
		m, server := preserving(t, "claude-sonnet-5-5", thinks)
		conv := braid.NewConversation()
		talk(t, m, conv, "Hello.")
		server.Add(anthropictest.Error(http.StatusBadRequest, "invalid_request_error", said))
		_, err := braid.New("a", m, echo("echo")).Run(t.Context(), "Bye.", braid.In(conv))
		if event.KindOf(err) != event.ErrInvalid || len(server.Asked()) != 2 {
			t.Errorf("%d requests, %v", len(server.Asked()), err)
		}
	}
}

// Thinking that was never bound is refused too, such as that of another account.
func TestRefusedThinkingOfAnOlderModel(t *testing.T) {
	t.Parallel()
	const older = "claude-sonnet-4-6"
	chunks := []model.Chunk{
		{Kind: model.ChunkThinking, Text: "Hm."}, {Kind: model.ChunkSignature, Text: "c2ln"}, {Kind: model.ChunkText, Index: 1, Text: "Hello."},
	}
	m, _ := open(t, older, nil, anthropictest.Stream(chunks, "end_turn", event.Usage{}))
	conv := braid.NewConversation()
	talk(t, m, conv, "Hello.")
	m, second := open(t, older, nil, anthropictest.Text("Yes."), anthropictest.Text("No."))
	talk(t, m, conv, "And?", "So?")
	if n := len(second.Asked()); n != 3 {
		t.Errorf("%d requests", n)
	}
}

// A conversation moves between the API and Amazon Bedrock, and back.
func TestAConversationMovesToBedrock(t *testing.T) {
	t.Parallel()
	api, server := preserving(t, "claude-sonnet-5-5", thinks)
	cloud := anthropictest.StartPreservedBedrock(thinks)
	defer cloud.Close()
	aside := func(cfg aws.Config) braid.Model {
		m, err := anthropic.NewBedrock("us.anthropic.claude-sonnet-5-5", cfg, anthropic.HTTPClient(cloud.Client()))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	conv := braid.NewConversation()
	talk(t, api, conv, "call:echo", "Hello.")
	talk(t, aside(cloud.Signed()), conv, "call:echo", "Hello.")
	talk(t, api, conv, "call:echo")
	talk(t, aside(cloud.Keyed()), conv, "call:echo", "Bye.")
	for name, s := range map[string]*anthropictest.Server{"API": server, "Bedrock": cloud} {
		if refused, with := refusals(s); refused != 0 || with == 0 {
			t.Errorf("%s: %d requests are refused, %d hold thinking", name, refused, with)
		}
	}
}

// An answer that ends while the model thinks is no message that ends with thinking.
func TestAnAnswerThatIsCutInItsThinking(t *testing.T) {
	t.Parallel()
	for name, parts := range map[string][]anthropictest.Part{
		"thinking alone":           {{Thinks: true, Text: "Hm."}},
		"thinking behind a text":   {{Thinks: true, Text: "Hm."}, {Text: "So."}, {Thinks: true, Text: "Well."}},
		"twice":                    {{Thinks: true, Text: "Hm."}, {Text: "So."}, {Thinks: true}, {Thinks: true, Text: "Oh."}},
		"thinking between texts":   {{Text: "So."}, {Thinks: true, Text: "Hm."}, {Text: "Well."}, {Thinks: true}, {Text: "Done."}},
		"a text that is all space": {{Thinks: true, Text: "Hm."}, {Text: " "}, {Thinks: true, Text: "Oh."}, {Text: "Done."}},
	} {
		n := 0
		m, server := preserving(t, "claude-fable-5-1", func(told *anthropictest.Told) []anthropictest.Part {
			if n++; n%2 == 0 {
				return parts
			}
			return thinks(told)
		})
		conv := braid.NewConversation()
		talk(t, m, conv, "One.", "Two.", "Three.", "Four.", "Five.")
		for i, r := range server.Asked() {
			if r.Refused != "" {
				t.Errorf("%s: request %d is refused: %s\n%s", name, i, r.Refused, strings.ReplaceAll(string(r.Body), "},{", "},\n{"))
			}
		}
	}
}
