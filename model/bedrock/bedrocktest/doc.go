// Package bedrocktest is the Converse API of Amazon Bedrock on this machine, for
// tests and examples that must not cost anything: a loopback server that gives the
// answers it was told to give, and refuses what the vendor refuses. It verifies
// signatures (Signature Version 4) and keys for real.
//
//	server := bedrocktest.Start(bedrocktest.Text("Hello."))
//	defer server.Close()
//	model, err := bedrock.New("us.amazon.nova-lite-v1:0", bedrocktest.Config(), bedrock.BaseURL(server.URL))
//
// It understands no language and keeps no conversation. The form of requests,
// events and errors is that of the API's reference (bedrock/latest/APIReference:
// API_runtime_Converse, API_runtime_ConverseStream and their types) and of the
// example of a stream in the user guide (conversation-inference-call, "ConverseStream
// response example"); messages of the stream have the checksums of the event-stream
// specification. What is refused, and in which words, is taken from the same pages,
// from nova/latest/userguide (tool-use-definition, prompting-tool-troubleshooting)
// and bedrock/latest/userguide (conversation-inference-supported-models-features,
// prompt-caching, structured-output), and from answers of the API that its users
// have published.
package bedrocktest
