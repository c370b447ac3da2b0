// Package gemini calls Gemini through Google's Gemini API, or through Vertex AI.
//
//	model, err := gemini.New("gemini-3.6-flash", key)
//	agent, err := braid.New("helper", model, …)
//
// The vendor's SDK (google.golang.org/genai) knows the addresses, the version of
// the API and its headers, sends the requests and reads the errors. Two things
// are done here instead, because the SDK turns every struct into maps and back,
// in every cycle of every turn: the body of a request is put together from the
// encodings of earlier messages, which are kept; and the stream is read by a
// decoder that needs one allocation a delta. Both meet the SDK in its HTTP client
// ([Model]): the request passes with our body in the place of the SDK's, and a
// stream is taken out before the SDK reads it. The tests hold both against the
// SDK's own types.
//
// The SDK never repeats a call ([model.Model] forbids it): the loop does, where it
// is counted and seen. It looks at the environment when a model is made, and
// nothing of that counts: everything that it would take from there is given.
//
// What the package follows, pages of ai.google.dev/gemini-api/docs and of its
// reference, ai.google.dev/api:
//
//   - api/generate-content and api/caching: what requests and answers hold.
//   - docs/function-calling: calls and results, the modes of a choice, images in
//     results.
//   - docs/thought-signatures: what goes back, and what stands in for it.
//   - docs/thinking: budgets, levels, summaries.
//   - docs/structured-output: schemas of answers, and which parts of JSON Schema.
//   - docs/image-understanding, docs/document-processing, docs/audio: files.
//   - docs/caching: prompts are cached by their beginning, without being asked to.
//   - docs/troubleshooting: errors and their statuses.
package gemini
