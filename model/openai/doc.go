// Package openai calls OpenAI's models, and the many servers that speak
// OpenAI's protocol: vLLM, Ollama, LM Studio, llama.cpp, OpenRouter.
//
//	model, err := openai.New("gpt-6.1-sol", key)
//	model, err := openai.New("qwen3", secret.Secret{}, openai.BaseURL("http://127.0.0.1:11434/v1"))
//
// There are two APIs. The vendor's own address is asked by Responses, which
// gives reasoning back and takes it again; every other one by Chat Completions,
// which they all know. [Use] chooses otherwise.
//
// The package speaks both over net/http. Two things matter for its speed: the body of a
// request is put together from the encodings of earlier messages, which are kept; and the
// stream is read by a decoder that needs one allocation a delta. The vendor's SDK proves both
// sides in test/vendors/openai: it reads the stand-in's answers, and knows what is sent.
//
// A server that answers with one object where a stream was asked for is read too. No call is
// repeated here ([model.Model] forbids it): the loop does, where it is counted and seen.
//
// What the package follows, pages of platform.openai.com/docs:
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
