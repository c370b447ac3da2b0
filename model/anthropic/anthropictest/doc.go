// Package anthropictest is Anthropic's Messages API on this machine, for tests
// and examples that must not cost anything: a loopback server that gives the
// answers it was told to give, and refuses what the vendor refuses.
//
//	server := anthropictest.Start(anthropictest.Text("Hello."))
//	defer server.Close()
//	model, err := anthropic.New("claude-sonnet-5-5", secret.New(anthropictest.Key), anthropic.BaseURL(server.URL))
//
// [StartBedrock] is Claude on Amazon Bedrock, [StartVertex] on Vertex AI. The server also
// counts tokens, four bytes each, and keeps files.
//
// It understands no language and keeps no conversation. The order and the form
// of the events are those of the vendor's page build-with-claude/streaming; what
// it refuses, and in which words, is taken from the pages api/errors,
// api/messages, api/migration-2026-10-21, agents-and-tools/tool-use/overview,
// build-with-claude/thinking, build-with-claude/prompt-caching, build-with-claude/files and
// build-with-claude/claude-on-vertex-ai, and from
// messages of the API that its users have published.
package anthropictest
