// Package openaitest is OpenAI's two APIs on this machine, for tests: a server
// that gives the answers it is told to give, as the vendor streams them, and
// refuses what the vendor refuses. With [Server.Compatible] it is one of the
// servers that speak Chat Completions only, want no key, and know no files.
//
// The bytes of its streams follow the examples of api-reference/chat-streaming
// and api-reference/responses-streaming, and what the vendor really sent where
// the two differ (charmbracelet/fantasy, providertests/testdata, commit f6d4d1e).
// Its refusals are in the vendor's words, as users have published them; the
// rules stand in api-reference/chat, api-reference/responses, guides/reasoning
// and guides/function-calling of platform.openai.com/docs.
package openaitest
