package modeltest

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// maxPoints is how many cache points a vendor takes.
const maxPoints = 4

// promptCache holds a conversation of many turns, with tools, to the bytes that it
// has sent: each request begins with those of the one before, up to its last cache
// point, so that the vendor finds them. A compaction moves them once.
func promptCache(t *testing.T, p *Provider) {
	p.shows(t, PromptCache)
	if p.Prompt == nil {
		t.Fatal("nobody says how the cache sees a request: set Prompt, or name PromptCache in Without")
	}
	const turns, compacted = 40, 25
	list := make([]Answer, turns)
	for i := range list {
		var chunks []model.Chunk
		if p.has(SignedThinking) {
			chunks = join(pieces(model.ChunkThinking, 0, fmt.Sprint("Hm ", i)), pieces(model.ChunkSignature, 0, fmt.Sprint("c2ln", i)))
		}
		list[i] = Answer{
			Chunks: join(chunks, pieces(model.ChunkText, 1, "I look."), calling(2, fmt.Sprint("c", i), "add", fmt.Sprintf(`{"a":%d}`, i))),
			Stop:   event.StopToolUse, Usage: counted,
		}
	}
	m, peer := p.Open(t, list...)
	req := request(user(text("Add all.")))
	req.Tools = []model.ToolSpec{tool("add"), tool("mul")}
	var before []byte
	first := 0 // where the point behind tools and instructions stands
	for i := range turns {
		if i == compacted {
			req.Messages = append([]event.Message{user(text("So far: 1 + 2 = 3."))}, req.Messages[len(req.Messages)-2:]...)
		}
		r := mustAnswer(t, Call(t.Context(), m, req))
		all := bodies(t, peer)
		prompt, points := p.Prompt(all[len(all)-1])
		if len(points) == 0 || len(points) > maxPoints || !slices.IsSorted(points) || points[len(points)-1] > len(prompt) {
			t.Fatalf("turn %d: cache points at %v of %d bytes", i, points, len(prompt))
		}
		last := points[len(points)-1]
		switch {
		case i == compacted:
			if !bytes.HasPrefix(prompt, before[:first]) {
				t.Errorf("turn %d: a compaction changed what stands before the messages", i)
			}
			if bytes.HasPrefix(prompt, before) {
				t.Errorf("turn %d: the compaction is not in the request", i)
			}
		case i > 0 && !bytes.HasPrefix(prompt, before):
			t.Fatalf("turn %d: the request does not begin with the %d bytes that are cached:\n%s\n%s", i, len(before), before, prompt)
		case i > 0 && last <= len(before):
			t.Errorf("turn %d: the last cache point stays at %d", i, last)
		}
		if first = 0; len(points) > 1 {
			first = points[0]
		}
		before = bytes.Clone(prompt[:last])
		// Other tools' results, and sometimes a message that came meanwhile.
		next := []event.Block{result(fmt.Sprint("c", i), "add", text(fmt.Sprint("sum ", i)))}
		if i%5 == 4 {
			next = append(next, text("Go on."))
		}
		req.Messages = append(slices.Clip(req.Messages), assistant(r.Content...), user(next...))
	}
}
