package corpora

// exceptions are the recordings that a provider reads otherwise than they were recorded: a
// part of the name, and the reason. The first map is for whole answers, the other for streams.
var exceptions = map[bool]map[string]string{
	false: {
		"test_background_mode":                      "the answer comes later, which Braid never asks for",
		"test_openai/test_text_response.yaml":       "the recording holds no JSON",
		"test_openai/test_invalid_response.yaml":    "the recording holds no answer",
		"test_bedrock_nova_tool_result":             "Nova's <thinking> in the text becomes thinking, by design",
		"test_bedrock_model_structured_output.yaml": "Nova's <thinking> in the text becomes thinking, by design",
		"test_bedrock_model_retry.yaml":             "Nova's <thinking> in the text becomes thinking, by design",
	},
	true: {
		"anthropic-programmatic-tool-calling.1.chunks.txt": "made by hand, without message_delta and message_stop: a cut stream",
		"spliced-message-start.chunks.txt":                 "made by hand: two answers in one another; the reader here adds the names up",
		"openai-shell-container.1.chunks.txt":              "shortened by hand: the pieces hold less than the finished item",
		"openai-phase.1.chunks.txt":                        "shortened by hand: the pieces hold less than the finished item",
		"parallel-tool-call-wrapper.1.chunks.txt":          "a line of the recording is cut",
		"openai-error.1.chunks.txt":                        "the answer is an error",
		"test_openrouter_stream_error.yaml":                "the answer is an error",
		"test_tool_use_failed_error_streaming":             "the answer is an error",
		"gpustack_qwen3_streams_thinking_content":          "the recording has no finish_reason and no [DONE]: a cut stream",
		"test_bedrock_model_iter_stream.yaml":              "Nova's <thinking> in the text becomes thinking, by design",
	},
}

// requestExceptions are the conversations that a provider asks otherwise than they were asked.
var requestExceptions = map[string]string{
	"deepseek_deepseek-chat_respects_specific_tool_choice":                  deepSeekForces,
	"deepseek_deepseek-chat_respects_choice_required_for_unrelated_queries": deepSeekForces,
}

const deepSeekForces = "refused before it is sent: DeepSeek's models think unless told otherwise, and then force no tool (effort=none does)"
