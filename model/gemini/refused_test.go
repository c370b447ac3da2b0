package gemini_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/gemini/geminitest"
)

// If the API cannot read a signature, for example from another project, the model repeats the
// request without signatures and logs that.
func TestRefusedSignaturesAreLeftOut(t *testing.T) {
	t.Parallel()
	signed := geminitest.Stream([]model.Chunk{{Kind: model.ChunkText, Text: "Yes."}, {Kind: model.ChunkSignature, Text: "c2lnbmVk"}}, "STOP", event.Usage{Input: 1, Output: 1})
	m, server := open(t, "gemini-3.6-flash", nil, signed,
		geminitest.Error(http.StatusBadRequest, "INVALID_ARGUMENT", "Thought signature is not valid."), signed)
	a := braid.New("a", m)
	conv := braid.NewConversation()
	for range 2 {
		if _, err := a.Run(t.Context(), "Hello.", braid.In(conv)); err != nil {
			t.Fatal(err)
		}
	}
	asked := server.Asked()
	if len(asked) != 3 || !strings.Contains(string(asked[1].Body), "c2lnbmVk") || strings.Contains(string(asked[2].Body), "c2lnbmVk") {
		t.Errorf("%d requests", len(asked))
	}
	dropped := 0
	for e, err := range conv.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := e.Body.(*event.AssistantMessage); ok && b.ThinkingRefused {
			dropped += b.ThinkingDropped
		}
	}
	if dropped != 1 {
		t.Errorf("the log says that %d blocks were left out", dropped)
	}
}
