// Package models finds a model by its name, or by what the environment offers.
//
//	model, err := models.Open("")           // whatever there is; at last the simulated one
//	model, err := models.Open("demo:tour")  // this one
//
// A name is a provider and, behind a colon, what that provider calls its
// model. This build has these:
//
//   - demo, whose models follow a script: see package model/demo.
//   - anthropic, which is Claude: see package model/anthropic. The key is
//     ANTHROPIC_API_KEY; another address stands in ANTHROPIC_BASE_URL.
//   - openai, which is OpenAI, or any server that speaks its protocol: see
//     package model/openai. The key is OPENAI_API_KEY; another address stands in
//     OPENAI_BASE_URL, and may need no key.
//   - ollama, which is the Ollama on this machine.
//
// The names bedrock and gemini are kept for the others.
//
// Where no name is given, [Detect] decides in this order: BRAID_MODEL; a
// provider's key in the environment; otherwise demo. A local server is never
// taken without being asked for: [Detection.Offer] looks for one and says so.
// Keys are named and never shown.
package models
