// Package openai calls models of OpenAI and of servers with OpenAI's protocol, such as
// vLLM, Ollama, LM Studio, llama.cpp and OpenRouter.
//
//	model, err := openai.New("gpt-6.1-sol", key)
//	model, err := openai.New("qwen3", secret.Secret{}, openai.BaseURL("http://127.0.0.1:11434/v1"))
//
// The package has two APIs. It calls OpenAI with Responses, which returns reasoning and takes
// it back. It calls every other server with Chat Completions, which all of them have. [Use]
// overrides this.
//
// It uses net/http. Two things make it fast: it builds a request from cached encodings of
// earlier messages, and its stream decoder needs one allocation per delta. The tests in
// test/vendors/openai check requests and answers against the vendor's SDK.
//
// A server may answer a request for a stream with one JSON object. The package never retries
// a call ([model.Model] forbids it). The loop retries, so that each attempt is in the log.
//
// The package follows these pages of platform.openai.com/docs:
//
//   - api-reference/responses and api-reference/responses-streaming.
//   - api-reference/chat and api-reference/chat-streaming.
//   - guides/reasoning: encrypted reasoning for requests that are not stored.
//   - guides/function-calling: calls and results, strict mode.
//   - guides/structured-outputs: answers that are held to a schema.
//   - guides/prompt-caching: what is cached, and the key that groups calls.
//   - guides/images-vision and guides/file-inputs: what may be sent.
//   - api-reference/files and api-reference/responses/input_tokens: kept files, counts.
//   - guides/error-codes and guides/rate-limits: errors.
package openai
