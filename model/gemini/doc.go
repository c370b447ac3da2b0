// Package gemini calls Gemini through Google's Gemini API, or through Vertex AI.
//
//	model, err := gemini.New("gemini-3.6-flash", key)
//	agent, err := braid.New("helper", model, …)
//
// The package uses net/http. It builds a request from cached encodings of earlier messages, and
// its stream decoder needs one allocation per delta. The vendor's SDK (google.golang.org/genai)
// is used only by tests in a separate module: they check requests and the answers of package
// geminitest against it.
//
// The package never retries a call ([model.Model] forbids it). The loop retries, so that each
// attempt is in the log. The package reads nothing from the environment; package models does.
//
// The package follows these pages of ai.google.dev/gemini-api/docs and of its reference,
// ai.google.dev/api:
//
//   - api/generate-content and api/caching: requests and answers.
//   - api/tokens and api/files: token counts and files.
//   - docs/function-calling: calls and results, tool choice, images in results.
//   - docs/thought-signatures: which signatures go back, and their placeholder.
//   - docs/thinking: budgets, levels, summaries. docs/openai: the budget of each effort.
//   - docs/google-search, docs/url-context, docs/code-execution, docs/file-search and
//     docs/tool-combination: server-side tools.
//   - docs/structured-output: schemas of answers, and the supported part of JSON Schema.
//   - docs/image-understanding, docs/document-processing, docs/audio: files.
//   - docs/caching: prompt prefixes are cached automatically.
//   - docs/priority-inference and docs/flex-inference: service tiers. On Vertex AI they are
//     pages of docs.cloud.google.com/vertex-ai/generative-ai/docs: priority-paygo and
//     flex-paygo.
//   - docs/troubleshooting: errors and their statuses.
package gemini
