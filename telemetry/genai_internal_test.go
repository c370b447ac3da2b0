package telemetry

import (
	"testing"

	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/semconv/v1.41.0/genaiconv"

	"github.com/braidrun/braid/event"
)

func TestNamesAreThoseOfTheConventions(t *testing.T) {
	t.Parallel()
	for ours, theirs := range map[string]string{
		schemaURL:         semconv.SchemaURL,
		opAgent:           semconv.GenAIOperationNameInvokeAgent.Value.AsString(),
		opChat:            semconv.GenAIOperationNameChat.Value.AsString(),
		opTool:            semconv.GenAIOperationNameExecuteTool.Value.AsString(),
		keyOperation:      string(semconv.GenAIOperationNameKey),
		keyProvider:       string(semconv.GenAIProviderNameKey),
		keyConversation:   string(semconv.GenAIConversationIDKey),
		keyAgent:          string(semconv.GenAIAgentNameKey),
		keyRequestModel:   string(semconv.GenAIRequestModelKey),
		keyRequestStream:  string(semconv.GenAIRequestStreamKey),
		keyResponseModel:  string(semconv.GenAIResponseModelKey),
		keyResponseID:     string(semconv.GenAIResponseIDKey),
		keyFinish:         string(semconv.GenAIResponseFinishReasonsKey),
		keyFirstChunk:     string(semconv.GenAIResponseTimeToFirstChunkKey),
		keyInput:          string(semconv.GenAIUsageInputTokensKey),
		keyOutput:         string(semconv.GenAIUsageOutputTokensKey),
		keyCacheRead:      string(semconv.GenAIUsageCacheReadInputTokensKey),
		keyCacheCreation:  string(semconv.GenAIUsageCacheCreationInputTokensKey),
		keyReasoning:      string(semconv.GenAIUsageReasoningOutputTokensKey),
		keyTool:           string(semconv.GenAIToolNameKey),
		keyToolCall:       string(semconv.GenAIToolCallIDKey),
		keyToolType:       string(semconv.GenAIToolTypeKey),
		keyTokenType:      string(semconv.GenAITokenTypeKey),
		keyError:          string(semconv.ErrorTypeKey),
		keyInputMessages:  string(semconv.GenAIInputMessagesKey),
		keyOutputMessages: string(semconv.GenAIOutputMessagesKey),
		keyToolArguments:  string(semconv.GenAIToolCallArgumentsKey),
		keyToolResult:     string(semconv.GenAIToolCallResultKey),
		metricDuration:    genaiconv.ClientOperationDuration{}.Name(),
		metricTokens:      genaiconv.ClientTokenUsage{}.Name(),
		metricFirstChunk:  genaiconv.ClientOperationTimeToFirstChunk{}.Name(),
	} {
		if ours != theirs {
			t.Errorf("%q is %q in the conventions", ours, theirs)
		}
	}
}

func TestProvidersOfModels(t *testing.T) {
	t.Parallel()
	for model, want := range map[string][2]string{
		"anthropic:claude-opus":                 {"anthropic", "claude-opus"},
		"openai:gpt?base=http://127.0.0.1:1/v1": {string(genaiconv.ProviderNameOpenAI), "gpt"},
		"bedrock:anthropic.claude-v1:0":         {string(genaiconv.ProviderNameAWSBedrock), "anthropic.claude-v1:0"},
		"gemini:flash":                          {string(genaiconv.ProviderNameGCPGemini), "flash"},
		"vertex:flash":                          {string(genaiconv.ProviderNameGCPVertexAI), "flash"},
		"ollama:qwen:7b":                        {"ollama", "qwen:7b"},
		"demo:tour":                             {"braid.demo", "tour"},
		"mine":                                  {"_OTHER", "mine"},
		"":                                      {"_OTHER", ""},
	} {
		if provider, name := providerOf(model); provider != want[0] || name != want[1] {
			t.Errorf("%s is %s of %s, want %v", model, name, provider, want)
		}
	}
}

func TestReasonsOfTheConventions(t *testing.T) {
	t.Parallel()
	for stop, want := range map[event.StopReason]string{
		event.StopEndTurn: "stop", event.StopSequence: "stop", event.StopToolUse: "tool_call", event.StopMaxTokens: "length",
		event.StopRefusal: "content_filter", event.StopGuardrail: "content_filter", event.StopError: "error",
		event.StopLimitCycles: string(event.StopLimitCycles), "": "",
	} {
		if got := finishReason(stop); got != want {
			t.Errorf("%q is %q, want %q", stop, got, want)
		}
	}
}
