// Package models opens a model by its name, or by what the environment offers.
//
//	model, err := models.Open("")           // detected; without anything else the simulated one
//	model, err := models.Open("demo:tour")  // this one
//
// A name is a provider and, after a colon, the provider's name of the model:
//
//   - anthropic: Claude; see package model/anthropic. The key is ANTHROPIC_API_KEY.
//     ANTHROPIC_BASE_URL may have another address.
//   - openai: OpenAI, or any server with its protocols; see package model/openai. The key is
//     OPENAI_API_KEY. OPENAI_BASE_URL may have another address, which may need no key.
//   - gemini: see package model/gemini. The key is GEMINI_API_KEY or GOOGLE_API_KEY.
//     GOOGLE_GEMINI_BASE_URL may have another address.
//   - bedrock: Amazon Bedrock by AWS's ids; see package model/bedrock, and for Claude
//     model/anthropic. The key is AWS_BEARER_TOKEN_BEDROCK, or the credentials of AWS's tools. The
//     region comes from AWS_REGION or from the name.
//   - ollama: the Ollama server on this machine.
//   - demo: models that follow a script; see package model/demo.
//
// Settings follow a "?": "bedrock:amazon.nova-pro-v1:0?region=eu-west-1". The guide to models
// lists them.
//
// Without a name, [Detect] uses BRAID_MODEL, a provider's key in the environment, or else demo, in
// this order. It never chooses a local server by itself: [Detection.Offer] looks for one and
// reports it. Names of keys are shown, keys never.
//
// An [Opener] opens models that share prices and, for each provider's key, [Limits].
// [Opener.Survey] reports what can be used now, and why the rest cannot.
//
// opener.go opens a reference: providers.go lists the providers, open_provider.go calls the file that opens a provider's
// model (anthropic.go, openai.go, vendor.go and others), and these use opening.go, settings.go and chat_settings.go. What
// no provider's file uses stands above them: detect.go, named.go, own.go, survey.go.
package models
