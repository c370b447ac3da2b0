package telemetry

import (
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"github.com/braidrun/braid/event"
)

// Conventions is the version of OpenTelemetry's semantic conventions for spans and metrics: the
// last version of the common repository that contains GenAI. They are all in development. A later
// version changes this file and is noted in the changelog.
const Conventions = "1.41.0"

// schemaURL identifies the conventions.
const schemaURL = "https://opentelemetry.io/schemas/" + Conventions

// These are the operations.
const (
	opAgent = "invoke_agent"
	opChat  = "chat"
	opTool  = "execute_tool"
)

// These are the attributes of the conventions.
const (
	keyOperation     = "gen_ai.operation.name"
	keyProvider      = "gen_ai.provider.name"
	keyConversation  = "gen_ai.conversation.id"
	keyAgent         = "gen_ai.agent.name"
	keyRequestModel  = "gen_ai.request.model"
	keyRequestStream = "gen_ai.request.stream"
	keyResponseModel = "gen_ai.response.model"
	keyResponseID    = "gen_ai.response.id"
	keyFinish        = "gen_ai.response.finish_reasons"
	keyFirstChunk    = "gen_ai.response.time_to_first_chunk"
	keyInput         = "gen_ai.usage.input_tokens"
	keyOutput        = "gen_ai.usage.output_tokens"
	keyCacheRead     = "gen_ai.usage.cache_read.input_tokens"
	keyCacheCreation = "gen_ai.usage.cache_creation.input_tokens"
	keyReasoning     = "gen_ai.usage.reasoning.output_tokens"
	keyTool          = "gen_ai.tool.name"
	keyToolCall      = "gen_ai.tool.call.id"
	keyToolType      = "gen_ai.tool.type"
	keyTokenType     = "gen_ai.token.type" //nolint:gosec // tokens of models
	keyError         = "error.type"

	// These hold content and are set with Options.Content.
	keyInputMessages  = "gen_ai.input.messages"
	keyOutputMessages = "gen_ai.output.messages"
	keyToolArguments  = "gen_ai.tool.call.arguments"
	keyToolResult     = "gen_ai.tool.call.result"
)

// These attributes are not in the conventions.
const (
	keyRun        = "braid.run.id"
	keyResumed    = "braid.run.resumed"
	keyTurn       = "braid.run.turn"
	keyStatus     = "braid.run.status"
	keyCycles     = "braid.run.cycles"
	keyStop       = "braid.stop"
	keyWhy        = "braid.why"
	keyScope      = "braid.scope"
	keyCycle      = "braid.cycle"
	keyAttempt    = "braid.attempt"
	keyOutcome    = "braid.outcome"
	keyEffect     = "braid.tool.effect"
	keyRetry      = "braid.retry"
	keyCompaction = "braid.compaction"
	keyCost       = "braid.cost.usd"
	keySimulated  = "braid.simulated"
	keyCache      = "braid.cache"
)

// These are the instruments. Those of the conventions come first.
const (
	metricDuration   = "gen_ai.client.operation.duration"
	metricTokens     = "gen_ai.client.token.usage" //nolint:gosec // tokens of models
	metricFirstChunk = "gen_ai.client.operation.time_to_first_chunk"
	metricCycles     = "braid.run.cycles"
	metricCache      = "braid.cache.tokens"
	metricCost       = "braid.cost"
	metricStragglers = "braid.stragglers"
)

// These are the bucket bounds that the conventions recommend.
var (
	durationBounds = [...]float64{.01, .02, .04, .08, .16, .32, .64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	tokenBounds    = [...]float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
	cycleBounds    = [...]float64{1, 2, 3, 5, 8, 13, 21, 34, 55, 100, 200, 500}
)

// providerOf splits the reference of a model into the conventions' name of its provider and the
// model's own name.
func providerOf(model string) (provider, name string) {
	provider, name, found := strings.Cut(model, ":")
	if !found {
		return "_OTHER", model
	}
	switch provider {
	case "anthropic", "openai":
	case "bedrock":
		provider = "aws.bedrock"
	case "gemini":
		provider = "gcp.gemini"
	case "vertex":
		provider = "gcp.vertex_ai"
	case "mistral":
		provider = "mistral_ai"
	case "xai":
		provider = "x_ai"
	case "demo":
		provider = "braid.demo"
	}
	name, _, _ = strings.Cut(name, "?") // an address may follow
	return provider, name
}

// finishReason returns the conventions' name of a stop reason. It returns others unchanged.
func finishReason(s event.StopReason) string {
	switch s {
	case event.StopEndTurn, event.StopSequence:
		return "stop"
	case event.StopToolUse:
		return "tool_call"
	case event.StopMaxTokens:
		return "length"
	case event.StopContentFiltered, event.StopGuardrail, event.StopRefusal:
		return "content_filter"
	case event.StopError:
		return "error"
	default:
		return string(s)
	}
}

// errorType returns a low-cardinality attribute for an error: its kind, never its message, which
// may contain content.
func errorType(err *event.Error) attribute.KeyValue {
	if err == nil || err.Kind == "" {
		return attribute.String(keyError, "_OTHER")
	}
	return attribute.String(keyError, string(err.Kind))
}

// toolError is the error of a call whose result reports a failure without a kind.
const toolError event.ErrorKind = "tool_error"

// usageOf returns the tokens of a call or a run. Cache reads and cache writes count as input, as
// the conventions say.
func usageOf(u event.Usage) []attribute.KeyValue {
	list := []attribute.KeyValue{
		attribute.Int64(keyInput, inputOf(u)), attribute.Int64(keyOutput, u.Output),
	}
	for _, one := range [...]struct {
		key string
		n   int64
	}{{keyCacheRead, u.CacheRead}, {keyCacheCreation, u.CacheWrite}, {keyReasoning, u.Reasoning}} {
		if one.n > 0 {
			list = append(list, attribute.Int64(one.key, one.n))
		}
	}
	return list
}

func inputOf(u event.Usage) int64 { return u.Input + u.CacheRead + u.CacheWrite }

// costOf returns a cost if it is known. Unknown is not zero.
func costOf(nano *int64) []attribute.KeyValue {
	if nano == nil {
		return nil
	}
	return []attribute.KeyValue{attribute.Float64(keyCost, float64(*nano)/1e9)}
}
