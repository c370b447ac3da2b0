// Package gemini calls Gemini through Google's Gemini API, or through Vertex AI.
//
//	model, err := gemini.New("gemini-3.6-flash", key)
//	agent, err := braid.New("helper", model, …)
//
// It speaks both APIs over net/http. The body of a request is put together from the
// encodings of earlier messages, which are kept, and a decoder that needs one allocation a
// delta reads the stream. The vendor's SDK (google.golang.org/genai) is used by tests alone:
// in a module of their own they let it read what package geminitest answers and what this
// package sends.
//
// A call is never repeated here ([model.Model] forbids it): the loop does that, where it
// is counted and seen. Nothing in the environment changes a call; package models looks
// there.
//
// What the package follows, pages of ai.google.dev/gemini-api/docs and of its
// reference, ai.google.dev/api:
//
//   - api/generate-content and api/caching: what requests and answers hold.
//   - api/tokens and api/files: token counts and files.
//   - docs/function-calling: calls and results, the modes of a choice, images in
//     results.
//   - docs/thought-signatures: what goes back, and what stands in for it.
//   - docs/thinking: budgets, levels, summaries. docs/openai: which budget an effort is.
//   - docs/google-search, docs/url-context, docs/code-execution, docs/file-search and
//     docs/tool-combination: tools that the vendor runs.
//   - docs/structured-output: schemas of answers, and which parts of JSON Schema.
//   - docs/image-understanding, docs/document-processing, docs/audio: files.
//   - docs/caching: prompts are cached by their beginning, without being asked to.
//   - docs/priority-inference and docs/flex-inference: service tiers. On Vertex AI they are
//     pages of docs.cloud.google.com/vertex-ai/generative-ai/docs: priority-paygo and
//     flex-paygo.
//   - docs/troubleshooting: errors and their statuses.
package gemini
