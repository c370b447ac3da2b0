// Package geminitest is a stand-in for the Gemini API, for tests and examples that must not cost anything. It is a
// loopback server that gives prepared answers and refuses what the vendor refuses.
//
//	server := geminitest.Start(geminitest.Text("Hello."))
//	defer server.Close()
//	model, err := gemini.New("gemini-3.6-flash", secret.New(geminitest.Key), gemini.BaseURL(server.URL))
//
// It counts four bytes of a request as a token, and it stores uploaded files.
//
// It has no model and no conversations. It also serves as Vertex AI, which has other addresses and the same bodies.
// The form of the events is that of recorded answers of gemini-2.5 and gemini-3, including blanks, line ends and the
// order of members. The refusals and their texts follow ai.google.dev/api/generate-content and api/caching,
// docs/function-calling, docs/thought-signatures, docs/thinking, docs/structured-output, docs/caching,
// docs/troubleshooting, docs/tool-combination, api/tokens and api/files, and messages of the API that its users have
// published.
package geminitest
