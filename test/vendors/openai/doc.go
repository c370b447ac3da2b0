// Package openai holds tests alone: OpenAI's SDK reads what the stand-in of package
// model/openai answers, and what the provider sends.
package openai
