package openai_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/openai/openaitest"
)

// client is the vendor's own, which asks the stand-in.
func client(t *testing.T, answers ...openaitest.Answer) (*sdk.Client, *openaitest.Server) {
	t.Helper()
	server := openaitest.Start(answers...)
	t.Cleanup(server.Close)
	c := sdk.NewClient(option.WithBaseURL(server.URL), option.WithAPIKey(openaitest.Key), option.WithHTTPClient(server.Client()), option.WithMaxRetries(0))
	return &c, server
}

func chatParams() sdk.ChatCompletionNewParams {
	return sdk.ChatCompletionNewParams{
		Model:         "gpt-4o",
		Messages:      []sdk.ChatCompletionMessageParamUnion{sdk.UserMessage("Hello.")},
		StreamOptions: sdk.ChatCompletionStreamOptionsParam{IncludeUsage: sdk.Bool(true)},
	}
}

func responsesParams() responses.ResponseNewParams {
	return responses.ResponseNewParams{
		Model: "gpt-5.4", Store: sdk.Bool(false),
		Input: responses.ResponseNewParamsInputUnion{OfInputItemList: responses.ResponseInputParam{
			responses.ResponseInputItemParamOfMessage("Hello.", responses.EasyInputMessageRoleUser),
		}},
	}
}

var said = []model.Chunk{
	{Kind: model.ChunkText, Text: "Let me "},
	{Kind: model.ChunkText, Text: "see."},
	{Kind: model.ChunkCall, Index: 1, ID: "call_1", Text: "add"},
	{Kind: model.ChunkCallInput, Index: 1, Text: `{"a":`},
	{Kind: model.ChunkCallInput, Index: 1, Text: `1}`},
}

// The SDK reads the stand-in's streams of both APIs as those of the vendor.
func TestTheSDKReadsTheStandInsStreams(t *testing.T) {
	t.Parallel()
	usage := event.Usage{Input: 5, CacheRead: 3, Output: 4, Reasoning: 2, Total: 12}
	c, _ := client(t, openaitest.Stream(openaitest.Chat, said, event.StopToolUse, usage))
	stream := c.Chat.Completions.NewStreaming(t.Context(), chatParams())
	var acc sdk.ChatCompletionAccumulator
	for stream.Next() {
		if !acc.AddChunk(stream.Current()) {
			t.Errorf("the SDK does not take %s", stream.Current().RawJSON())
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	m := acc.Choices[0]
	if m.Message.Content != "Let me see." || m.FinishReason != "tool_calls" || len(m.Message.ToolCalls) != 1 || m.Message.ToolCalls[0].ID != "call_1" ||
		m.Message.ToolCalls[0].Function.Arguments != `{"a":1}` || acc.Usage.PromptTokens != 8 || acc.Usage.PromptTokensDetails.CachedTokens != 3 ||
		acc.Usage.CompletionTokensDetails.ReasoningTokens != 2 {
		t.Errorf("%s", acc.RawJSON())
	}

	thought := append([]model.Chunk{{Kind: model.ChunkThinking, Index: 9, Text: "Hm."}, {Kind: model.ChunkSignature, Index: 9, Text: "gAA="}}, said...)
	c, _ = client(t, openaitest.Stream(openaitest.Responses, thought, event.StopToolUse, usage))
	items := c.Responses.NewStreaming(t.Context(), responsesParams())
	var text, args, summary, sealed, call string
	var last responses.ResponseStreamEventUnion
	for items.Next() {
		e := items.Current()
		last = e
		switch e.Type {
		case "response.output_text.delta":
			text += e.Delta
		case "response.function_call_arguments.delta":
			args += e.Delta
		case "response.reasoning_summary_text.delta":
			summary += e.Delta
		case "response.output_item.done":
			sealed += e.Item.EncryptedContent
			call += e.Item.CallID
		}
	}
	if err := items.Err(); err != nil {
		t.Fatal(err)
	}
	if text != "Let me see." || args != `{"a":1}` || summary != "Hm." || sealed != "gAA=" || call != "call_1" || last.Type != "response.completed" ||
		last.Response.Usage.InputTokens != 8 || last.Response.Usage.OutputTokensDetails.ReasoningTokens != 2 {
		t.Errorf("%q, %q, %q, %q, %q, %s", text, args, summary, sealed, call, last.RawJSON())
	}
}

// The SDK reads the stand-in's errors, whole and in a stream.
func TestTheSDKReadsTheStandInsErrors(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(*sdk.Client) error{
		"chat": func(c *sdk.Client) error {
			s := c.Chat.Completions.NewStreaming(t.Context(), chatParams())
			for s.Next() {
			}
			return s.Err()
		},
		"responses": func(c *sdk.Client) error {
			s := c.Responses.NewStreaming(t.Context(), responsesParams())
			for s.Next() {
			}
			return s.Err()
		},
	} {
		c, _ := client(t, openaitest.Error(http.StatusTooManyRequests, "requests", "rate_limit_exceeded", "Slow down."))
		err := ask(c)
		var e *sdk.Error
		if !errors.As(err, &e) || e.StatusCode != http.StatusTooManyRequests || e.Code != "rate_limit_exceeded" || e.Message != "Slow down." || e.Type != "requests" {
			t.Errorf("%s: %v", name, err)
		}
		c, _ = client(t)
		if err := ask(c); !errors.As(err, &e) || e.StatusCode != http.StatusInternalServerError {
			t.Errorf("%s, no answer: %v", name, err)
		}
		api := openaitest.API(map[string]openaitest.API{"chat": openaitest.Chat, "responses": openaitest.Responses}[name])
		c, _ = client(t, openaitest.Answer{Body: openaitest.Begun(api, said[:1], event.StopEndTurn) + openaitest.ErrorEvent(api, "server_error", "", "It broke.")})
		if err := ask(c); err == nil || !strings.Contains(err.Error(), "It broke.") {
			t.Errorf("%s, in the stream: %v", name, err)
		}
	}
}

// The SDK uploads to the stand-in, names the file, counts tokens and erases the file.
func TestTheSDKUsesTheStandInsFiles(t *testing.T) {
	t.Parallel()
	c, server := client(t)
	kept, err := c.Files.New(t.Context(), sdk.FileNewParams{File: sdk.File(strings.NewReader("%PDF-1.7"), "a.pdf", "application/pdf"), Purpose: sdk.FilePurposeUserData})
	if err != nil || kept.Filename != "a.pdf" || kept.Bytes != 8 || string(server.Files()[kept.ID].Content) != "%PDF-1.7" {
		t.Fatalf("%+v, %v", kept, err)
	}
	count, err := c.Responses.InputTokens.Count(t.Context(), responses.InputTokenCountParams{
		Model: sdk.String("gpt-5.4"), Reasoning: shared.ReasoningParam{Effort: "low"},
		Input: responses.InputTokenCountParamsInputUnion{OfResponseInputItemArray: responsesParams().Input.OfInputItemList},
	})
	if err != nil || count.InputTokens == 0 {
		t.Errorf("%+v, %v", count, err)
	}
	if gone, err := c.Files.Delete(t.Context(), kept.ID); err != nil || !gone.Deleted {
		t.Errorf("%+v, %v", gone, err)
	}
	_, err = c.Files.New(t.Context(), sdk.FileNewParams{File: io.NopCloser(strings.NewReader("x")), Purpose: "nothing"})
	if e := (*sdk.Error)(nil); !errors.As(err, &e) || e.StatusCode != http.StatusBadRequest {
		t.Errorf("%v", err)
	}
}
