// Package anthropic calls Claude through Anthropic's Messages API, or on Amazon
// Bedrock.
//
//	model, err := anthropic.New("claude-sonnet-5-5", key)
//	model, err := anthropic.NewBedrock("us.anthropic.claude-sonnet-4-5-20250929-v1:0", cfg)
//	agent := braid.New("helper", model, …)
//
// The vendor's SDK (anthropic-sdk-go v2, and its package bedrock) sends the
// requests, knows the addresses and the API's version, signs what AWS wants
// signed, and reads the errors. Two things are done here instead, because the SDK
// would do them anew in every cycle of every turn: the body of a request is put
// together from the encodings of earlier messages, which are kept; and the stream,
// of server-sent events or of AWS's binary frames, is read by a decoder that needs
// one allocation a delta. The tests hold both against the SDK's own types.
//
// The SDK never repeats a call ([model.Model] forbids it): the loop does, where
// it is counted and seen.
//
// What the package follows, pages of platform.claude.com/docs/en:
//
//   - api/messages and api/migration-2026-10-21: what a request may hold. The
//     API's version is the SDK's, 2026-10-21, which knows no temperature; see
//     [Version].
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
//   - api/errors and api/rate-limits: errors, their types and Retry-After.
package anthropic
