// Package models finds a model by its name, or by what the environment offers.
//
//	model, err := models.Open("")           // whatever there is; at last the simulated one
//	model, err := models.Open("demo:tour")  // this one
//
// A name is a provider and, behind a colon, what that provider calls its
// model:
//
//   - anthropic, which is Claude: see package model/anthropic. The key is
//     ANTHROPIC_API_KEY; another address stands in ANTHROPIC_BASE_URL.
//   - openai, which is OpenAI, or any server that speaks its protocols: see
//     package model/openai. The key is OPENAI_API_KEY; another address stands in
//     OPENAI_BASE_URL, and may need no key.
//   - gemini: see package model/gemini. The key is GEMINI_API_KEY or
//     GOOGLE_API_KEY; another address stands in GOOGLE_GEMINI_BASE_URL.
//   - bedrock, which is Amazon Bedrock by AWS's ids: see package model/bedrock,
//     and for Claude model/anthropic. The key is AWS_BEARER_TOKEN_BEDROCK, or what
//     AWS's tools take; the region stands in AWS_REGION, or in the name.
//   - ollama, which is the Ollama on this machine.
//   - demo, whose models follow a script: see package model/demo.
//
// Settings stand behind a "?": "bedrock:amazon.nova-pro-v1:0?region=eu-west-1".
// The guide to models lists them.
//
// Where no name is given, [Detect] decides in this order: BRAID_MODEL; a
// provider's key in the environment; otherwise demo. A local server is never
// taken without being asked for: [Detection.Offer] looks for one and says so.
// Keys are named and never shown.
//
// An [Opener] opens models that belong together: with prices of one's own, and
// with [Limits] that all calls with one provider's key share. [Opener.Survey] says
// what can be used now and why the rest cannot.
package models
