// Package openai embeds texts through OpenAI's embeddings API, and through every server with the
// same API: vLLM, LM Studio, llama.cpp, Mistral, and others.
//
// The API is described on developers.openai.com/api/docs/guides/embeddings and in its reference,
// api-reference/embeddings/create. It takes 2,048 texts and 300,000 tokens in a call, no empty
// text, and dimensions for the models of text-embedding-3 and later.
package openai
