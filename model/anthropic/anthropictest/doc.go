// Package anthropictest is a stand-in for Anthropic's Messages API, for tests and examples that must not cost
// anything. It is a loopback server that gives prepared answers and refuses what the vendor refuses.
//
//	server := anthropictest.Start(anthropictest.Text("Hello."))
//	defer server.Close()
//	model, err := anthropic.New("claude-sonnet-5-5", secret.New(anthropictest.Key), anthropic.BaseURL(server.URL))
//
// [StartBedrock] stands in for Claude on Amazon Bedrock, [StartVertex] for Claude on Vertex AI. The server also
// counts tokens, four bytes each, and stores files.
//
// It has no model and no conversations. The order and the form of the events are those of the vendor's page
// build-with-claude/streaming. The refusals and their texts follow the pages api/errors, api/messages,
// api/migration-2026-10-21, agents-and-tools/tool-use/overview, build-with-claude/thinking,
// build-with-claude/prompt-caching, build-with-claude/files and build-with-claude/claude-on-vertex-ai, and messages
// of the API that its users have published.
package anthropictest
