// Package anthropic calls Claude through Anthropic's Messages API, on Amazon Bedrock, or on
// Google Cloud's Vertex AI.
//
//	model, err := anthropic.New("claude-sonnet-5-5", key)
//	model, err := anthropic.NewBedrock("us.anthropic.claude-sonnet-4-5-20250929-v1:0", cfg)
//	model, err := anthropic.NewVertex("claude-sonnet-5-5", "my-project", "global", token)
//	agent := braid.New("helper", model, …)
//
// The package speaks HTTP itself. The body of a request is put together from the encodings
// of earlier messages, which are kept. A decoder that needs one allocation a delta reads the
// stream: server-sent events, or AWS's binary frames. A server that knows no streaming may
// answer at once. AWS's SDK signs requests to Bedrock. Module test/vendors holds requests and
// answers against the vendor's SDK.
//
// The package never repeats a call ([model.Model] forbids it): the loop does, where
// it is counted and seen.
//
// A [Model] also counts the tokens of a request ([model.Count]) and keeps files at
// Anthropic ([model.Files]).
//
// What the package follows, pages of platform.claude.com/docs/en:
//
//   - api/messages and api/migration-2026-10-21: what a request may hold. The
//     API's version is that of the vendor's SDKs, 2026-10-21, which knows no
//     temperature; see [Version].
//   - build-with-claude/streaming: the events of an answer.
//   - build-with-claude/thinking: thinking and its signatures. A signature is base64
//     and stands bare in the log, wherever Claude runs; other providers put a mark
//     with a dot in front of theirs. What they have signed is left out here.
//   - build-with-claude/structured-outputs: answers that are held to a schema.
//   - build-with-claude/vision: how large an image may be.
//   - build-with-claude/prompt-caching: cache points; see [Cache].
//   - agents-and-tools/tool-use/overview: calls and results.
//   - build-with-claude/claude-on-amazon-bedrock, and AWS's pages
//     model-parameters-anthropic-claude-messages and
//     API_runtime_InvokeModelWithResponseStream: what is otherwise on Bedrock.
//   - build-with-claude/claude-on-vertex-ai: what is otherwise on Vertex AI.
//   - build-with-claude/token-counting and api/messages-count-tokens; AWS's page
//     API_runtime_CountTokens.
//   - build-with-claude/files: files that are kept, and which blocks may name them.
//   - api/errors and api/rate-limits: errors, their types and Retry-After.
package anthropic
