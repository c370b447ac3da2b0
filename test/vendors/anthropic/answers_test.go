package anthropic_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/bedrock"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/anthropics/anthropic-sdk-go/v2/vertex"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/anthropic/anthropictest"
)

// client is the SDK, asking a stand-in of the API.
func client(s *anthropictest.Server) sdk.Client {
	return sdk.NewClient(option.WithoutEnvironmentDefaults(), option.WithAPIKey(anthropictest.Key), option.WithBaseURL(s.URL),
		option.WithHTTPClient(s.Client()), option.WithMaxRetries(0))
}

// amazon is the SDK, asking a stand-in of Bedrock.
func amazon(s *anthropictest.Server) sdk.Client {
	return sdk.NewClient(bedrock.WithConfig(s.Signed()), option.WithBaseURL(s.URL), option.WithHTTPClient(s.Client()), option.WithMaxRetries(0),
		option.WithHeader("anthropic-version", "bedrock-2023-05-31"))
}

// onGoogle is the SDK, asking a stand-in of Vertex AI.
func onGoogle(t *testing.T, s *anthropictest.Server) sdk.Client {
	t.Helper()
	credentials := &google.Credentials{TokenSource: oauth2.StaticTokenSource(&oauth2.Token{AccessToken: anthropictest.VertexToken})}
	return sdk.NewClient(option.WithHTTPClient(s.Client()),
		vertex.WithCredentials(t.Context(), anthropictest.VertexLocation, anthropictest.VertexProject, credentials), option.WithBaseURL(s.URL),
		option.WithMaxRetries(0), option.WithHeader("anthropic-version", "vertex-2023-10-16"))
}

func question(name string) sdk.MessageNewParams {
	return sdk.MessageNewParams{Model: name, MaxTokens: 100, Messages: []sdk.MessageParam{sdk.NewUserMessage(sdk.NewTextBlock("Hello."))}}
}

var (
	chunks = []model.Chunk{
		{Kind: model.ChunkThinking, Text: "Hm."},
		{Kind: model.ChunkSignature, Text: "c2ln"},
		{Kind: model.ChunkText, Index: 1, Text: "So "},
		{Kind: model.ChunkText, Index: 1, Text: "it is."},
		{Kind: model.ChunkCall, Index: 2, ID: "t1", Text: "add"},
		{Kind: model.ChunkCallInput, Index: 2, Text: `{"a":`},
		{Kind: model.ChunkCallInput, Index: 2, Text: `1}`},
	}
	usage = event.Usage{Input: 12, Output: 7, CacheRead: 3, CacheWrite: 2}
)

// The SDK reads the stand-ins' streams.
func TestTheSDKReadsTheStandIns(t *testing.T) {
	t.Parallel()
	api := anthropictest.Start(anthropictest.Stream(chunks, "tool_use", usage))
	t.Cleanup(api.Close)
	aws := anthropictest.StartBedrock(anthropictest.BedrockStream(chunks, "tool_use", usage))
	t.Cleanup(aws.Close)
	vertexAI := anthropictest.StartVertex(anthropictest.Stream(chunks, "tool_use", usage))
	t.Cleanup(vertexAI.Close)
	for name, tc := range map[string]struct {
		client sdk.Client
		model  string
	}{
		"vertex": {onGoogle(t, vertexAI), "claude-haiku-4-5@20251001"},
		"api":    {client(api), "claude-sonnet-5-5"}, "bedrock": {amazon(aws), "us.anthropic.claude-haiku-4-5-20251001-v1:0"},
	} {
		var m sdk.Message
		s := tc.client.Messages.NewStreaming(t.Context(), question(tc.model))
		for s.Next() {
			if err := m.Accumulate(s.Current()); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if err := s.Err(); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(m.Content) != 3 || m.Content[0].Thinking != "Hm." || m.Content[0].Signature != "c2ln" || m.Content[1].Text != "So it is." ||
			m.Content[2].Name != "add" || string(m.Content[2].Input) != `{"a":1}` || m.StopReason != "tool_use" {
			t.Errorf("%s: %+v", name, m)
		}
		if u := m.Usage; u.InputTokens != 12 || u.OutputTokens != 7 || u.CacheReadInputTokens != 3 || u.CacheCreationInputTokens != 2 {
			t.Errorf("%s: %+v", name, u)
		}
	}
}

// The SDK reads the stand-ins' errors, instead of a stream and inside one.
func TestTheSDKReadsTheErrors(t *testing.T) {
	t.Parallel()
	limited := anthropictest.Error(http.StatusTooManyRequests, "rate_limit_error", "slow down")
	limited.Header["Retry-After"] = "7"
	for _, tc := range []struct {
		answer  anthropictest.Answer
		status  int
		kind    string
		message string
	}{
		{limited, 429, "rate_limit_error", "slow down"},
		{anthropictest.Error(529, "overloaded_error", "Overloaded"), 529, "overloaded_error", "Overloaded"},
		{anthropictest.Error(400, "invalid_request_error", "prompt is too long"), 400, "invalid_request_error", "prompt is too long"},
	} {
		server := anthropictest.Start(tc.answer)
		t.Cleanup(server.Close)
		c := client(server)
		s := c.Messages.NewStreaming(t.Context(), question("claude-sonnet-5-5"))
		for s.Next() {
			t.Error("an event")
		}
		var e *sdk.Error
		if !errors.As(s.Err(), &e) || e.StatusCode != tc.status || string(e.Type()) != tc.kind || e.Message != tc.message || e.RequestID == "" {
			t.Errorf("%s: %v", tc.kind, s.Err())
		}
	}
	server := anthropictest.Start(anthropictest.Answer{Body: anthropictest.Begun(chunks[:1], usage) + anthropictest.ErrorEvent("overloaded_error", "Overloaded")})
	t.Cleanup(server.Close)
	c := client(server)
	s := c.Messages.NewStreaming(t.Context(), question("claude-sonnet-5-5"))
	for s.Next() { //nolint:revive // the end counts
	}
	if s.Err() == nil || !strings.Contains(s.Err().Error(), "Overloaded") {
		t.Errorf("%v", s.Err())
	}
	aws := anthropictest.StartBedrock(anthropictest.BedrockError(400, "ValidationException", "Input is too long for requested model."))
	t.Cleanup(aws.Close)
	c = amazon(aws)
	s = c.Messages.NewStreaming(t.Context(), question("us.anthropic.claude-haiku-4-5-20251001-v1:0"))
	for s.Next() {
		t.Error("an event")
	}
	var e *sdk.Error
	if !errors.As(s.Err(), &e) || e.StatusCode != 400 || !strings.Contains(e.RawJSON(), "too long") {
		t.Errorf("%v", s.Err())
	}
}

// The SDK asks the stand-in for a count, and keeps files there.
func TestTheSDKCountsAndKeepsFiles(t *testing.T) {
	t.Parallel()
	server := anthropictest.Start(anthropictest.Text("a"))
	t.Cleanup(server.Close)
	c := client(server)
	n, err := c.Messages.CountTokens(t.Context(), sdk.MessageCountTokensParams{Model: "claude-sonnet-5-5", Messages: question("").Messages})
	if err != nil || n.InputTokens < 5 {
		t.Errorf("%+v, %v", n, err)
	}
	vertexAI := anthropictest.StartVertex()
	t.Cleanup(vertexAI.Close)
	google := onGoogle(t, vertexAI)
	n, err = google.Messages.CountTokens(t.Context(), sdk.MessageCountTokensParams{Model: "claude-haiku-4-5@20251001", Messages: question("").Messages})
	if err != nil || n.InputTokens < 5 {
		t.Errorf("%+v, %v", n, err)
	}
	f, err := c.Files.Upload(t.Context(), sdk.FileUploadParams{File: sdk.File(strings.NewReader("words"), "a.txt", "text/plain")})
	if err != nil || f.Filename != "a.txt" || f.MimeType != "text/plain" || f.SizeBytes != 5 || f.CreatedAt.Before(time.Unix(1, 0)) {
		t.Fatalf("%+v, %v", f, err)
	}
	p := question("claude-sonnet-5-5")
	p.Messages = []sdk.MessageParam{sdk.NewUserMessage(sdk.NewDocumentBlock(sdk.FileDocumentSourceParam{FileID: f.ID}))}
	s := c.Messages.NewStreaming(t.Context(), p)
	for s.Next() { //nolint:revive // the end counts
	}
	if s.Err() != nil {
		t.Error(s.Err())
	}
	gone, err := c.Files.Delete(t.Context(), f.ID, sdk.FileDeleteParams{})
	if err != nil || gone.Type != sdk.DeletedFileTypeFileDeleted {
		t.Errorf("%+v, %v", gone, err)
	}
	var e *sdk.Error
	if _, err := c.Files.Delete(t.Context(), f.ID, sdk.FileDeleteParams{}); !errors.As(err, &e) || e.StatusCode != 404 || e.Type() != "not_found_error" {
		t.Errorf("%v", err)
	}
}
