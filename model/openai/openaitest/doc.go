// Package openaitest is a stand-in for OpenAI's two APIs in tests. It is a server that streams prepared answers as
// the vendor does, and refuses what the vendor refuses. With [Server.Compatible] it stands in for servers that have
// only Chat Completions, no keys and no files.
//
// The bytes of its streams follow the examples of api-reference/chat-streaming and api-reference/responses-streaming.
// Where the vendor really sends something else, they follow that (charmbracelet/fantasy, providertests/testdata,
// commit f6d4d1e). Its refusals have the vendor's words, as users have published them. The rules follow
// api-reference/chat, api-reference/responses, guides/reasoning and guides/function-calling of
// platform.openai.com/docs.
package openaitest
