// Package anthropic calls Claude through Anthropic's Messages API.
//
//	model, err := anthropic.New("claude-sonnet-5-5", key)
//	agent, err := braid.New("helper", model, …)
//
// The vendor's SDK (anthropic-sdk-go v2) sends the requests, knows the
// addresses and the API's version, and reads the errors. Two things are done
// here instead, because the SDK would do them anew in every cycle of every
// turn: the body of a request is put together from the encodings of earlier
// messages, which are kept; and the stream is read by a decoder that needs one
// allocation a delta. The tests hold both against the SDK's own types.
//
// The SDK never repeats a call ([braid.Model] forbids it): the loop does, where
// it is counted and seen.
//
// What the package follows, pages of platform.claude.com/docs/en:
//
//   - api/messages and api/migration-2026-10-21: what a request may hold. The
//     API's version is the SDK's, 2026-10-21, which knows no temperature; see
//     [Version].
//   - build-with-claude/streaming: the events of an answer.
//   - build-with-claude/thinking: thinking and its signatures.
//   - build-with-claude/prompt-caching: cache points; see [Cache].
//   - agents-and-tools/tool-use/overview: calls and results.
//   - api/errors and api/rate-limits: errors, their types and Retry-After.
package anthropic
