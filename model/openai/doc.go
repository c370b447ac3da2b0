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
// The vendor's SDK (openai-go v3) sends the requests of both. Its package for
// Chat Completions makes a program 10 MB larger than the one for Responses, so
// the latter sends both, and the path is changed on the way. Two things are done
// here instead of there, because the SDK would do them anew in every cycle of
// every turn: the body of a request is put together from the encodings of
// earlier messages, which are kept; and the stream is read by a decoder that
// needs one allocation a delta. The tests hold both against the SDK's own types.
//
// The SDK never repeats a call ([model.Model] forbids it): the loop does, where
// it is counted and seen.
//
// What the package follows, pages of platform.openai.com/docs:
//
//   - api-reference/responses and api-reference/responses-streaming.
//   - api-reference/chat and api-reference/chat-streaming.
//   - guides/reasoning: encrypted reasoning for requests that are not stored.
//   - guides/function-calling: calls and results, strict mode.
//   - guides/structured-outputs: answers that are held to a schema.
//   - guides/prompt-caching: what is cached, and the key that groups calls.
//   - guides/images-vision and guides/pdf-files: what may be sent.
//   - guides/error-codes and guides/rate-limits: errors.
package openai
