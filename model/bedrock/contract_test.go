package bedrock_test

import (
	"bytes"
	"net/http"
	"slices"
	"strconv"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/bedrock"
	"github.com/braidrun/braid/model/bedrock/bedrocktest"
	"github.com/braidrun/braid/model/modeltest"
	"github.com/braidrun/braid/test/wires"
)

const (
	sonnet = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
	opus   = "us.anthropic.claude-opus-4-6-v1"
	pro    = "amazon.nova-pro-v1:0"
	nova2  = "us.amazon.nova-2-lite-v1:0"
	qwen   = "qwen.qwen3-235b-a22b-2507-v1:0"
	scout  = "us.meta.llama4-scout-17b-instruct-v1:0"
)

// open makes a model and a server with these answers.
func open(tb testing.TB, name string, opts []bedrock.Option, answers ...bedrocktest.Answer) (*bedrock.Model, *bedrocktest.Server) {
	tb.Helper()
	server := bedrocktest.Start(answers...)
	tb.Cleanup(server.Close)
	opts = append([]bedrock.Option{bedrock.BaseURL(server.URL), bedrock.HTTPClient(server.Client())}, opts...)
	m, err := bedrock.New(name, bedrocktest.Config(), opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return m, server
}

type peer struct{ *bedrocktest.Server }

func (p peer) Asked() int { return len(p.Server.Asked()) }

func TestContract(t *testing.T) {
	t.Parallel()
	// Converse reports no reasoning tokens, and takes neither audio nor web addresses.
	never := []modeltest.Feature{modeltest.ReasoningUsage, modeltest.ImageURLs, modeltest.Media}
	for _, tc := range []struct {
		model, column string
		own           string
		largest       int
		without       []modeltest.Feature
	}{
		{sonnet, "Bedrock Converse", "", 3_932_160, nil},
		{opus, "Bedrock Converse", "", 3_932_160, nil},
		{latest, "Bedrock Converse", "", 3_932_160, []modeltest.Feature{modeltest.ToolChoice}}, // it cannot be forced to call a tool
		{pro, "Nova", "bedrock.", 25_000_000, []modeltest.Feature{
			modeltest.SignedThinking, modeltest.RedactedThinking, modeltest.StructuredOutput, modeltest.PromptCache, modeltest.ImageLimit,
		}},
		{nova2, "Nova", "bedrock.", 25_000_000, []modeltest.Feature{
			modeltest.SignedThinking, modeltest.RedactedThinking, modeltest.StructuredOutput, modeltest.PromptCache, modeltest.ImageLimit,
		}},
		{qwen, "Bedrock Converse, other vendors", "bedrock.", 3_932_160, []modeltest.Feature{modeltest.RedactedThinking, modeltest.PromptCache}},
	} {
		t.Run(tc.model, func(t *testing.T) {
			t.Parallel()
			modeltest.Run(t, modeltest.Provider{
				Name: tc.column, Loop: wires.Loop, Table: "../../docs/guide/models.md", Own: tc.own, LargestImage: tc.largest, Prompt: prompt,
				Without:   slices.Concat(never, tc.without),
				Signature: func(given string) string { return tc.own + given },
				Stops: []event.StopReason{
					event.StopEndTurn, event.StopToolUse, event.StopSequence, event.StopMaxTokens, event.StopGuardrail, event.StopContentFiltered,
					event.StopContextOverflow,
				},
				Open: func(tb testing.TB, answers ...modeltest.Answer) (model.Model, modeltest.Peer) {
					tb.Helper()
					list := modeltest.Each(answers, onWire)
					m, server := open(tb, tc.model, []bedrock.Option{
						bedrock.Stall(modeltest.Silence), bedrock.Guard(bedrock.Guardrail{ID: "gr-1", Version: "1", RedactOutput: true}),
					}, list...)
					return m, peer{server}
				},
			})
		})
	}
}

// prompt returns the body that the cache compares.
func prompt(body []byte) (seen []byte, points []int) {
	end := bytes.LastIndex(body, []byte("]}]"))
	body = body[:end+3]
	point := []byte(`{"cachePoint":{"type":"default"}}`)
	for {
		i := bytes.Index(body, point)
		if i < 0 {
			return append(seen, body...), points
		}
		seen = append(seen, body[:i-1]...) // the comma before it
		points = append(points, len(seen))
		body = body[i+len(point):]
	}
}

// The API's messages for the errors that the contract asks for (troubleshooting-api-error-codes,
// and messages that users published).
var faults = map[modeltest.Fault]struct {
	status        int
	kind, message string
}{
	modeltest.Throttled:   {http.StatusTooManyRequests, "ThrottlingException", "Too many requests, please wait before trying again."},
	modeltest.Overloaded:  {http.StatusServiceUnavailable, "ServiceUnavailableException", "Bedrock is unable to process your request."},
	modeltest.Unavailable: {http.StatusInternalServerError, "InternalServerException", "The system encountered an unexpected error during processing. Try your request again."},
	modeltest.ContextOverflow: {
		http.StatusBadRequest, "ValidationException",
		"The model returned the following errors: prompt is too long: 200049 tokens > 200000 maximum",
	},
	modeltest.Unauthenticated: {http.StatusForbidden, "UnrecognizedClientException", "The security token included in the request is invalid."},
	modeltest.Forbidden: {
		http.StatusForbidden, "AccessDeniedException",
		"User: arn:aws:iam::123456789012:user/bob is not authorized to perform: bedrock:InvokeModelWithResponseStream on resource: " +
			"arn:aws:bedrock:us-east-1::foundation-model/x because no identity-based policy allows the action",
	},
	modeltest.UnknownModel: {http.StatusBadRequest, "ValidationException", "The provided model identifier is invalid."},
	modeltest.Refused: {
		http.StatusBadRequest, "ValidationException",
		"The text field in the ContentBlock object at messages.0.content.0 is blank. Add text to the text field, and try again.",
	},
	modeltest.TooLarge: {http.StatusRequestEntityTooLarge, "RequestEntityTooLargeException", "Request size limit exceeded"},
}

func onWire(a *modeltest.Answer) bedrocktest.Answer {
	stop := string(a.Stop)
	if a.Stop == event.StopContextOverflow {
		stop = "model_context_window_exceeded"
	}
	if f, ok := faults[a.Fault]; ok {
		e := bedrocktest.Error(f.status, f.kind, f.message)
		if a.RetryAfter > 0 {
			e.Header["Retry-After"] = strconv.Itoa(int(a.RetryAfter.Seconds()))
		}
		return e
	}
	begun := bedrocktest.Begun(a.Chunks)
	s := bedrocktest.Stream(a.Chunks, stop, a.Usage)
	redacts := slices.ContainsFunc(a.Chunks, func(c model.Chunk) bool {
		return c.Kind == model.ChunkRedactInput || c.Kind == model.ChunkRedactOutput
	})
	if a.Stop == event.StopGuardrail && !redacts {
		s.Body = begun + bedrocktest.Stopped(stop) + bedrocktest.Watched(a.Usage) // a guardrail masked something
	}
	s.Slow = a.Slow
	switch a.Fault {
	case modeltest.Silent:
		s.Silent = true
	case modeltest.Cut:
		s.Cut = len(begun)
	case modeltest.NoEnd:
		s.Body = begun
	case modeltest.Stalled:
		s.Body, s.Stall = begun, true
	case modeltest.Overloads:
		s.Body = begun + bedrocktest.Exception("serviceUnavailableException", "Bedrock is unable to process your request.")
	case modeltest.FailsLater:
		s.Body = begun + bedrocktest.Exception("internalServerException", "The system encountered an unexpected error during processing. Try your request again.")
	default:
	}
	return s
}
