// Package openai embeds texts through OpenAI's API of embeddings, and every server that speaks the
// same: vLLM, LM Studio, llama.cpp, Mistral, and others.
//
// What the vendor takes is on developers.openai.com/api/docs/guides/embeddings and in its
// reference, api-reference/embeddings/create: 2,048 texts and 300,000 tokens in a call, no empty
// text, and dimensions for the models of text-embedding-3 and later.
package openai
