package modeltest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
)

// signatures are those of other providers, by how they begin: what each provider
// wrote has its mark, and Claude's stands bare.
var signatures = map[string]string{
	"":         "EqQBCgIYAhgCIkDfb3JlaWduIHNpZ25hdHVyZQ==",
	"openai.":  "openai.rs_7.gAAAAABforeign_reasoning",
	"gemini.":  "gemini.CikBdoughtc2lnbmF0dXJl",
	"bedrock.": "bedrock.Zm9yZWlnbg==",
}

// foreign are conversations that another provider's model began. What only that
// provider can read is left out, or told in words; the rest goes on.
func (p *Provider) foreign() map[string][]event.Message {
	ask, done := user(text("Add 1 and 2.")), text("3")
	list := map[string][]event.Message{
		"long names of others": {
			ask, assistant(
				call("c1", strings.Repeat("long/", 30)+"1", `{}`), call("c2", strings.Repeat("long/", 30)+"2", `{}`),
			), user(result("c1", strings.Repeat("long/", 30)+"1", done), result("c2", strings.Repeat("long/", 30)+"2", done)),
		},
		"long ids of others": {
			ask, assistant(call(strings.Repeat("call|fc_", 20)+"1", "add", `{}`), call(strings.Repeat("call|fc_", 20)+"2", "add", `{}`)),
			user(result(strings.Repeat("call|fc_", 20)+"1", "add", done), result(strings.Repeat("call|fc_", 20)+"2", "add", done)),
		},
		"an unknown block in a call's answer": {
			ask, assistant(
				&event.UnknownBlock{Name: "x-other/search", Raw: json.RawMessage(`{"kind":"x-other/search","q":"1+2"}`)}, call("c1", "add", `{}`),
			), user(result("c1", "add", done)),
		},
	}
	for mark, signature := range signatures {
		if mark == p.Own && p.has(SignedThinking) {
			continue
		}
		whose := "Claude's "
		if mark != "" {
			whose = strings.TrimSuffix(mark, ".") + "'s "
		}
		list[whose+"thinking"] = []event.Message{
			ask, assistant(&event.Thinking{Text: "Hm.", Signature: signature}, text("I add."), call("c1", "add", `{"a":1}`)),
			user(result("c1", "add", done)),
		}
		list[whose+"hidden thinking"] = []event.Message{
			ask, assistant(&event.Thinking{Signature: signature}, call("c1", "add", `{"a":1}`)), user(result("c1", "add", done)),
		}
		list[whose+"signed text and call"] = []event.Message{
			ask, assistant(
				&event.Text{Text: "I add.", Signature: signature},
				&event.ToolCall{ID: "c1", Name: "add", Args: json.RawMessage(`{"a":1}`), Signature: signature},
			), user(result("c1", "add", done)),
		}
	}
	if !p.has(RedactedThinking) {
		list["redacted thinking of others"] = []event.Message{
			ask, assistant(&event.RedactedThinking{Data: "c2VjcmV0"}, text("I add."), call("c1", "add", `{"a":1}`)), user(result("c1", "add", done)),
		}
	}
	return list
}

// tooLarge is an image above the vendor's limit: it is told with the next step.
func tooLarge(t *testing.T, p *Provider) {
	p.shows(t, Images, ImageLimit)
	if p.LargestImage == 0 {
		t.Fatal("nobody says how large an image may be: set LargestImage, or name ImageLimit in Without")
	}
	image := append(Pixel(), make([]byte, p.LargestImage)...)
	m, _ := p.Open(t, whole)
	r := Call(t.Context(), m, request(user(text("See."), &event.Image{MIME: "image/png", Data: image})))
	mustFail(t, r, event.ErrTooLarge)
	if e := failure(t, r, event.ErrTooLarge); e.Hint == "" {
		t.Errorf("nobody says what to do next: %v", e)
	}
	// One that just fits is not told so. On a busy machine its bytes may take longer than
	// the vendor's silence may last here.
	r = Call(t.Context(), m, request(user(text("See."), &event.Image{MIME: "image/png", Data: image[:p.LargestImage]})))
	if r.Err != nil && event.KindOf(r.Err) != event.ErrStreamCut {
		t.Errorf("one that just fits: %v", r.Err)
	}
}

// bodies are the requests that came.
func bodies(t *testing.T, peer Peer) [][]byte {
	t.Helper()
	b, ok := peer.(Bodies)
	if !ok {
		t.Fatal("the stand-in does not give the bodies of its requests: it needs Bodies")
	}
	return b.Bodies()
}
