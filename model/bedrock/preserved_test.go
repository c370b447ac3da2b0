package bedrock_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/bedrock"
	"github.com/braidrun/braid/model/bedrock/bedrocktest"
)

const latest = "us.anthropic.claude-sonnet-5-5"

// thinking returns answer n: thinking, text, thinking.
func thinking(n int) bedrocktest.Answer {
	return bedrocktest.Stream([]model.Chunk{
		{Kind: model.ChunkThinking, Text: "Hm."},
		{Kind: model.ChunkSignature, Text: fmt.Sprint("c2ln", n)},
		{Kind: model.ChunkText, Index: 1, Text: fmt.Sprint("Answer ", n)},
		{Kind: model.ChunkThinking, Index: 2, Text: "Well."},
		{Kind: model.ChunkSignature, Index: 2, Text: fmt.Sprint("bGF0ZXI", n)},
		{Kind: model.ChunkText, Index: 3, Text: "So."},
	}, "end_turn", event.Usage{})
}

// sent returns the signatures in a request.
func sent(body []byte) (list []string) {
	for i := range 9 {
		for _, s := range []string{fmt.Sprint("c2ln", i), fmt.Sprint("bGF0ZXI", i)} {
			if strings.Contains(string(body), `"`+s+`"`) {
				list = append(list, s)
			}
		}
	}
	return list
}

// Claude's thinking is sent back while the history before it is unchanged. Thinking in the middle
// of an answer is not.
func TestThinkingBehindAChangedPrefix(t *testing.T) {
	t.Parallel()
	type step struct {
		instructions string
		want         []string
	}
	for name, c := range map[string]struct {
		model string
		steps []step
	}{
		"nothing changes": {latest, []step{{"x", nil}, {"x", []string{"c2ln0"}}, {"x", []string{"c2ln0", "c2ln1"}}}},
		"instructions change": {latest, []step{
			{"x", nil}, {"x", []string{"c2ln0"}}, {"y", nil}, {"y", []string{"c2ln2"}}, {"x", []string{"c2ln0", "c2ln1"}},
		}},
		"a model that binds nothing": {opus, []step{{"x", nil}, {"y", []string{"c2ln0", "bGF0ZXI0"}}}},
	} {
		m, server := open(t, c.model, nil)
		conv := braid.NewConversation()
		for i, s := range c.steps {
			server.Add(thinking(i))
			if _, err := braid.New("a", m, braid.Instructions(s.instructions)).Run(t.Context(), "Go on.", braid.In(conv)); err != nil {
				t.Fatalf("%s, turn %d: %v", name, i, err)
			}
			asked := server.Asked()
			if got := sent(asked[len(asked)-1].Body); !slices.Equal(got, s.want) {
				t.Errorf("%s, turn %d: %q is sent, want %q", name, i, got, s.want)
			}
		}
	}
}

// A whole response gets the same mark as a stream.
func TestAWholeAnswerIsStamped(t *testing.T) {
	t.Parallel()
	chunks := []model.Chunk{
		{Kind: model.ChunkThinking, Text: "Hm."}, {Kind: model.ChunkSignature, Text: "c2ln"}, {Kind: model.ChunkText, Index: 1, Text: "So."},
	}
	req := &model.Request{Messages: []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "Go on."}}}}}
	var stamps []string
	for way, answer := range map[bedrock.Streaming]bedrocktest.Answer{
		bedrock.Stream: bedrocktest.Stream(chunks, "end_turn", event.Usage{}), bedrock.Whole: bedrocktest.Whole(chunks, "end_turn", event.Usage{}),
	} {
		m, _ := open(t, latest, []bedrock.Option{bedrock.Answers(way)}, answer)
		for c, err := range m.Stream(t.Context(), req) {
			if err != nil {
				t.Fatal(err)
			}
			if c.Kind == model.ChunkSignature {
				stamps = append(stamps, c.ID)
			}
		}
	}
	if len(stamps) != 2 || stamps[0] == "" || stamps[0] != stamps[1] {
		t.Errorf("stamps are %q", stamps)
	}
}

// If Bedrock refuses a request because of its thinking, the model repeats it without thinking and
// reports that.
func TestRefusedThinkingIsLeftOut(t *testing.T) {
	t.Parallel()
	for _, name := range []string{latest, opus} {
		m, server := open(t, name, nil, thinking(0), bedrocktest.Error(400, "ValidationException",
			"messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation."), thinking(1), thinking(2))
		a := braid.New("a", m)
		conv := braid.NewConversation()
		for range 3 {
			if _, err := a.Run(t.Context(), "Go on.", braid.In(conv)); err != nil {
				t.Fatal(err)
			}
		}
		asked := server.Asked()
		if len(asked) != 4 || len(sent(asked[2].Body)) != 0 || !slices.Contains(sent(asked[3].Body), "c2ln1") || slices.Contains(sent(asked[3].Body), "c2ln0") {
			t.Errorf("%s: %d requests, the third with %q, the fourth with %q", name, len(asked), sent(asked[2].Body), sent(asked[3].Body))
		}
		refused := false
		for e, err := range conv.Events(t.Context(), 0) {
			if err != nil {
				t.Fatal(err)
			}
			if b, ok := e.Body.(*event.AssistantMessage); ok {
				refused = refused || b.ThinkingRefused && b.ThinkingDropped == 2
			}
		}
		if !refused {
			t.Errorf("%s: the log does not say that thinking was refused", name)
		}
	}
}

// Claude 5.5 cannot be forced to call a tool.
func TestAForcedToolIsRefusedBeforeItIsAsked(t *testing.T) {
	t.Parallel()
	m, server := open(t, latest, nil)
	err := m.Check(&model.Request{
		Tools: []model.ToolSpec{{Name: "a", Schema: []byte(`{"type":"object"}`)}}, ToolChoice: model.ToolChoice{Mode: model.ToolsAny},
	})
	if event.KindOf(err) != event.ErrUnsupported || len(server.Asked()) != 0 {
		t.Error(err)
	}
}
