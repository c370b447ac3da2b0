// Package geminitest is the Gemini API on this machine, for tests and examples
// that must not cost anything: a loopback server that gives the answers it was
// told to give, and refuses what the vendor refuses.
//
//	server := geminitest.Start(geminitest.Text("Hello."))
//	defer server.Close()
//	model, err := gemini.New("gemini-3.6-flash", secret.New(geminitest.Key), gemini.BaseURL(server.URL))
//
// It counts four bytes of a request as a token, and it keeps the files that it is sent.
//
// It understands no language and keeps no conversation. It also stands where
// Vertex AI does, which has other addresses and the same bodies. The form of the
// events is that of recorded answers of gemini-2.5 and gemini-3 (blanks, line ends
// and order of members too); what it refuses, and in which words, is taken from
// ai.google.dev/api/generate-content and api/caching, docs/function-calling,
// docs/thought-signatures, docs/thinking, docs/structured-output, docs/caching,
// docs/troubleshooting, docs/tool-combination, api/tokens and api/files, and from messages of the API that its users have published.
package geminitest
