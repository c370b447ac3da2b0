package gemini_test

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/gemini/geminitest"
)

// client is the vendor's client of a stand-in.
func client(t *testing.T, vertex bool, answers ...geminitest.Answer) (*genai.Client, *geminitest.Server) {
	t.Helper()
	server := geminitest.Start(answers...)
	t.Cleanup(server.Close)
	config := &genai.ClientConfig{
		Backend: genai.BackendGeminiAPI, APIKey: geminitest.Key, HTTPClient: server.Client(), HTTPOptions: genai.HTTPOptions{BaseURL: server.URL},
	}
	if vertex {
		config.Backend = genai.BackendVertexAI
	}
	c, err := genai.NewClient(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	return c, server
}

// The SDK reads the stand-in's streams, and the stand-in takes what the SDK sends.
func TestTheSDKReadsStreams(t *testing.T) {
	t.Parallel()
	for _, vertex := range []bool{false, true} {
		c, server := client(t, vertex, geminitest.Stream([]model.Chunk{
			{Kind: model.ChunkThinking, Text: "Hm."},
			{Kind: model.ChunkText, Index: 1, Text: "I "},
			{Kind: model.ChunkText, Index: 1, Text: "add."},
			{Kind: model.ChunkBlock, Index: 2, Block: &event.Code{Language: "python", Code: "1", ID: "c", Signature: "c2ln"}},
			{Kind: model.ChunkBlock, Index: 3, Block: &event.CodeResult{Output: "2", ID: "c"}},
			{Kind: model.ChunkCall, Index: 4, ID: "t1", Text: "add"},
			{Kind: model.ChunkCallInput, Index: 4, Text: `{"a":1}`},
			{Kind: model.ChunkSignature, Index: 4, Text: "c2lnMg=="},
		}, "STOP", event.Usage{Input: 5, CacheRead: 3, Output: 4, Reasoning: 1}))
		var text, thoughts string
		var call *genai.FunctionCall
		var code *genai.ExecutableCode
		var result *genai.CodeExecutionResult
		var last *genai.GenerateContentResponse
		signatures := 0
		for r, err := range c.Models.GenerateContentStream(t.Context(), "gemini-3.6-flash", genai.Text("Hello."), nil) {
			if err != nil {
				t.Fatal(err)
			}
			last = r
			for _, p := range r.Candidates[0].Content.Parts {
				switch {
				case p.FunctionCall != nil:
					call = p.FunctionCall
				case p.ExecutableCode != nil:
					code = p.ExecutableCode
				case p.CodeExecutionResult != nil:
					result = p.CodeExecutionResult
				case p.Thought:
					thoughts += p.Text
				default:
					text += p.Text
				}
				if len(p.ThoughtSignature) > 0 {
					signatures++
				}
			}
		}
		u := last.UsageMetadata
		if text != "I add." || thoughts != "Hm." || call == nil || call.ID != "t1" || call.Args["a"] != 1.0 || code == nil || code.ID != "c" || code.Language != genai.LanguagePython ||
			result == nil || result.Outcome != genai.OutcomeOK || signatures != 2 || last.Candidates[0].FinishReason != genai.FinishReasonStop ||
			u.PromptTokenCount != 8 || u.CachedContentTokenCount != 3 || u.CandidatesTokenCount != 3 || u.ThoughtsTokenCount != 1 || len(server.Asked()) != 1 {
			t.Errorf("vertex %t: %q, %q, %+v, %+v, %+v, %d signatures, %+v", vertex, text, thoughts, call, code, result, signatures, u)
		}
	}
}

// The SDK reads the stand-in's errors.
func TestTheSDKReadsErrors(t *testing.T) {
	t.Parallel()
	c, _ := client(t, false, geminitest.Error(429, "RESOURCE_EXHAUSTED", "slow down", geminitest.RetryIn(17)),
		geminitest.Answer{Body: geminitest.ErrorEvent(503, "UNAVAILABLE", "overloaded")})
	for _, want := range []int{429, 503} {
		var e genai.APIError
		for _, err := range c.Models.GenerateContentStream(t.Context(), "gemini-3.6-flash", genai.Text("Hello."), nil) {
			if !errors.As(err, &e) {
				t.Fatal(err)
			}
		}
		if e.Code != want || e.Message == "" || want == 429 && len(e.Details) != 1 {
			t.Errorf("%+v", e)
		}
	}
	for _, err := range c.Models.GenerateContentStream(t.Context(), "gemini-2.5-pro", genai.Text("Hello."), &genai.GenerateContentConfig{
		ThinkingConfig: &genai.ThinkingConfig{ThinkingBudget: genai.Ptr[int32](0)},
	}) {
		if e := (genai.APIError{}); !errors.As(err, &e) || e.Code != 400 || !strings.Contains(e.Message, "thinking mode") {
			t.Error(err)
		}
	}
}

// The SDK counts tokens, and keeps and deletes files, at the stand-in.
func TestTheSDKCountsAndKeepsFiles(t *testing.T) {
	t.Parallel()
	c, server := client(t, false)
	server.Looks = 1
	file, err := c.Files.Upload(t.Context(), strings.NewReader("a text"), &genai.UploadFileConfig{MIMEType: "text/plain", DisplayName: "a"})
	if err != nil || file.State != genai.FileStateProcessing {
		t.Fatal(file, err)
	}
	if kept, kind, ok := server.File(file.URI); !ok || string(kept) != "a text" || kind != "text/plain" {
		t.Errorf("%q of %s", kept, kind)
	}
	if file, err = c.Files.Get(t.Context(), file.Name, nil); err != nil || file.State != genai.FileStateActive {
		t.Error(file, err)
	}
	if _, err := c.Files.Delete(t.Context(), file.Name, nil); err != nil {
		t.Error(err)
	}
	if _, err := c.Files.Get(t.Context(), file.Name, nil); err == nil {
		t.Error("it is still there")
	}
	vertex, _ := client(t, true)
	n, err := vertex.Models.CountTokens(t.Context(), "gemini-3.6-flash", genai.Text("Hello, how many tokens is this?"), &genai.CountTokensConfig{
		SystemInstruction: &genai.Content{Parts: []*genai.Part{{Text: "Be brief."}}},
	})
	if err != nil || n.TotalTokens < 10 {
		t.Error(n, err)
	}
}
