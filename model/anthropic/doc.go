// Package anthropic calls Claude through Anthropic's Messages API, on Amazon Bedrock, or on
// Google Cloud's Vertex AI.
//
//	model, err := anthropic.New("claude-sonnet-5-5", key)
//	model, err := anthropic.NewBedrock("us.anthropic.claude-sonnet-4-5-20250929-v1:0", cfg)
//	model, err := anthropic.NewVertex("claude-sonnet-5-5", "my-project", "global", token)
//	agent := braid.New("helper", model, …)
//
// The package uses net/http. It builds a request from cached encodings of earlier messages, and
// its stream decoder needs one allocation per delta. The decoder reads server-sent events,
// AWS's binary frames, or a complete answer from a server without streaming. AWS's SDK signs
// requests to Bedrock. The tests in test/vendors check requests and answers against the
// vendor's SDK.
//
// The package never retries a call ([model.Model] forbids it). The loop retries, so that each
// attempt is in the log.
//
// A [Model] also counts the tokens of a request ([model.Count]) and stores files at Anthropic
// ([model.Files]).
//
// The package follows these pages of platform.claude.com/docs/en:
//
//   - api/messages and api/migration-2026-10-21: requests. The default API version is that of
//     the vendor's SDKs, 2026-10-21, which has no temperature; see [Version].
//   - build-with-claude/streaming: the events of an answer.
//   - build-with-claude/thinking: thinking and its signatures. The log stores Claude's
//     signatures unchanged, as base64. Signatures of other providers begin with a mark that
//     contains a dot; this package leaves their thinking out.
//   - build-with-claude/structured-outputs: answers that follow a schema.
//   - build-with-claude/vision: size limits of images.
//   - build-with-claude/prompt-caching: cache points; see [Cache].
//   - agents-and-tools/tool-use/overview: tool calls and results.
//   - build-with-claude/claude-on-amazon-bedrock, and AWS's pages
//     model-parameters-anthropic-claude-messages and
//     API_runtime_InvokeModelWithResponseStream: differences on Bedrock.
//   - build-with-claude/claude-on-vertex-ai: differences on Vertex AI.
//   - build-with-claude/token-counting and api/messages-count-tokens; AWS's page
//     API_runtime_CountTokens.
//   - build-with-claude/files: uploaded files, and which blocks may name them.
//   - api/errors and api/rate-limits: errors, their types and Retry-After.
package anthropic
