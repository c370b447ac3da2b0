package openai_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/openai"
	"github.com/braidrun/braid/model/openai/openaitest"
	"github.com/braidrun/braid/secret"
)

// Reasoning that OpenAI cannot verify, such as that of another organization, is left out,
// and the request is sent once more. The log says so.
func TestRefusedReasoningIsLeftOut(t *testing.T) {
	t.Parallel()
	answer := openaitest.Stream(openaitest.Responses, []model.Chunk{
		{Kind: model.ChunkThinking, Text: "Hm."}, {Kind: model.ChunkSignature, Text: "c2VhbGVk"}, {Kind: model.ChunkText, Index: 1, Text: "Yes."},
	}, event.StopEndTurn, event.Usage{Input: 1, Output: 1})
	m, server := open(t, reasoner, nil, answer,
		openaitest.Error(http.StatusBadRequest, "invalid_request_error", "invalid_encrypted_content",
			"The encrypted content gAAA...5bw= could not be verified. Reason: Encrypted content could not be decrypted or parsed."), answer)
	a := braid.New("a", m)
	conv := braid.NewConversation()
	for range 2 {
		if _, err := a.Run(t.Context(), "Hello.", braid.In(conv)); err != nil {
			t.Fatal(err)
		}
	}
	asked := server.Asked()
	if len(asked) != 3 || !strings.Contains(string(asked[1].Body), "c2VhbGVk") || strings.Contains(string(asked[2].Body), "c2VhbGVk") {
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

// The same behind servers that speak Chat Completions: OpenRouter with Claude, and Google's
// compatible address, which takes a placeholder for a signature.
func TestRefusedThoughtsAreLeftOut(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]string{
		"OpenRouter with Claude": `{"error":{"message":"Provider returned error","code":400,"metadata":{"provider_name":"Anthropic","raw":"{\"type\":\"error\",\"error\":{` +
			`\"message\":\"messages.1.content.0: Invalid ` + "`signature` in `thinking`" + ` block. The block is bound to a different conversation.\"}}"}}}`,
		"Google": `[{"error":{"code":400,"message":"Thought signature is not valid.","status":"INVALID_ARGUMENT"}}]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var bodies []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return
				}
				if bodies = append(bodies, string(body)); len(bodies) == 1 {
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(http.StatusBadRequest)
					_, _ = io.WriteString(w, refusal)
					return
				}
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Yes.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
			}))
			defer server.Close()
			m, err := openai.New("x", secret.Secret{}, openai.BaseURL(server.URL), openai.HTTPClient(server.Client()))
			if err != nil {
				t.Fatal(err)
			}
			host := strings.TrimPrefix(server.URL, "http://")
			req := &model.Request{Messages: []event.Message{
				{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "Add."}}},
				{Role: event.RoleAssistant, Content: []event.Block{
					&event.Thinking{Text: "Hm.", Signature: "chat.details." + host + ` [{"type":"reasoning.text","text":"Hm.","signature":"c2ln"}]`},
					&event.ToolCall{ID: "call_1", Name: "add", Args: []byte(`{}`), Signature: "chat.google." + host + " signed-call"},
				}},
				{Role: event.RoleUser, Content: []event.Block{&event.ToolResult{Call: "call_1", Name: "add", Content: []event.Block{&event.Text{Text: "3"}}}}},
			}, Tools: []model.ToolSpec{{Name: "add", Schema: []byte(`{"type":"object"}`)}}}
			dropped := 0
			for c, err := range m.Stream(t.Context(), req) {
				if err != nil {
					t.Fatal(err)
				}
				if c.Kind == model.ChunkThinkingDropped && c.Text == "refused" {
					dropped = c.Index
				}
			}
			if dropped != 2 || len(bodies) != 2 {
				t.Fatalf("%d requests, %d blocks are left out", len(bodies), dropped)
			}
			if !strings.Contains(bodies[0], "reasoning_details") || !strings.Contains(bodies[0], "signed-call") {
				t.Errorf("the first request: %s", bodies[0])
			}
			if strings.Contains(bodies[1], "reasoning_details") || strings.Contains(bodies[1], "signed-call") ||
				!strings.Contains(bodies[1], "skip_thought_signature_validator") {
				t.Errorf("the second request: %s", bodies[1])
			}
		})
	}
}
