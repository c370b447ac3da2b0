package agentcore_test

import (
	"context"
	"iter"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/server/agentcore"
	"github.com/braidrun/braid/service"
	wire "github.com/braidrun/braid/wire/agentcore"
)

// cuts is a model that says what it is given, a chunk for each.
type cuts []model.Chunk

func (cuts) Info() model.Info { return model.Info{Name: "test:cuts"} }

func (c cuts) Stream(context.Context, *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		for i := range c {
			if !yield(c[i], nil) {
				return
			}
		}
		yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn}, nil)
	}
}

// A token that the model cuts over blocks is not in the stream, and nothing of the answer is said twice for it.
func TestTokensThatAreCutIntoBlocks(t *testing.T) {
	t.Parallel()
	const token = "ghp_0123456789abcdef"
	text, thinking := model.ChunkText, model.ChunkThinking
	for _, c := range []struct {
		name string
		says cuts
		want string
	}{
		{"two blocks of text", cuts{{Kind: text, Text: "it is " + token[:5]}, {Kind: text, Index: 1, Text: token[5:] + " here"}}, "it is [redacted][redacted] here"},
		{"thinking, then text", cuts{{Kind: thinking, Text: "it is " + token[:5]}, {Kind: text, Index: 1, Text: token[5:] + " here"}}, "[redacted] here"},
		{"thinking, and again", cuts{{Kind: thinking, Text: "it is " + token}, {Kind: text, Index: 1, Text: "they have the token " + token + " here"}}, "they have the token [redacted] here"},
		{
			"thinking between",
			cuts{{Kind: text, Text: "it is " + token[:5]}, {Kind: thinking, Index: 1, Text: "hm"}, {Kind: text, Index: 2, Text: token[5:] + " here"}},
			"it is " + token[:5] + "[redacted] here",
		},
	} {
		s := open(t, func(o *service.Options, _ *agentcore.Options) {
			o.Agent = func(context.Context, service.AgentRequest) (*braid.Agent, error) {
				return braid.New("guide", c.says), nil
			}
		})
		got := s.say("hello", "X-Amzn-Bedrock-AgentCore-Runtime-Custom-Github-Token", token, "Accept", "text/event-stream")
		all, said := "", ""
		for r := wire.NewReader(strings.NewReader(got.body), 0); ; {
			it, err := r.Next()
			if err != nil {
				break
			}
			if it.Repeats || it.Kind != wire.KindText && it.Kind != wire.KindThinking {
				continue
			}
			all += string(it.Text)
			if it.Kind == wire.KindText {
				said += string(it.Text)
			}
		}
		if got.code != 200 || said != c.want || strings.Contains(all, token) || strings.Contains(got.body, token) {
			t.Errorf("%s: %d, it says %q, want %q, all is %q", c.name, got.code, said, c.want, all)
		}
	}
}

// Headers that bring a secret are hidden where the agent repeats them, and headers that bring something else are not.
func TestHeadersThatAreSecret(t *testing.T) {
	t.Parallel()
	const custom = "X-Amzn-Bedrock-AgentCore-Runtime-Custom-"
	for _, c := range []struct{ header, value, want string }{
		{custom + "Github-Token", "ghp_0123 456789abcdef", "[redacted]"},
		{custom + "Api-Key", "key-0123456789", "[redacted]"},
		{custom + "Region", "ap-northeast-1", "ap-northeast-1"},
		{"WorkloadAccessToken", "wat-0123456789", "[redacted]"},
		{"OAuth2CallbackUrl", "https://app.example/callback", "https://app.example/callback"},
	} {
		s := open(t, nil)
		for _, accept := range []string{"text/event-stream", "application/json"} {
			got := s.say("it is "+c.value+" here", c.header, c.value, "Accept", accept)
			if got.code != 200 || !strings.Contains(got.body, c.want) || c.want == "[redacted]" && strings.Contains(got.body, "456789") {
				t.Errorf("%s as %s: %d %s", c.header, accept, got.code, got.body)
			}
		}
		if tokens := s.agent.Load().Tokens; len(tokens) != 1 {
			t.Errorf("%s: the agent is given %d tokens", c.header, len(tokens))
		}
	}
}
