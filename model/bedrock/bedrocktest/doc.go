// Package bedrocktest is a stand-in for the Converse API of Amazon Bedrock, for tests and examples that must not cost
// anything. It is a loopback server that gives prepared answers and refuses what the vendor refuses. It really
// verifies signatures (Signature Version 4) and keys.
//
//	server := bedrocktest.Start(bedrocktest.Text("Hello."))
//	defer server.Close()
//	model, err := bedrock.New("us.amazon.nova-lite-v1:0", bedrocktest.Config(), bedrock.BaseURL(server.URL))
//
// It has no model and no conversations. The form of requests, events and errors follows the API's reference
// (bedrock/latest/APIReference: API_runtime_Converse, API_runtime_ConverseStream and their types) and the example of
// a stream in the user guide (conversation-inference-call, "ConverseStream response example"). Messages of the stream
// have the checksums of the event-stream specification. The refusals and their texts follow the same pages,
// nova/latest/userguide (tool-use-definition, prompting-tool-troubleshooting), bedrock/latest/userguide
// (conversation-inference-supported-models-features, prompt-caching, structured-output), and answers of the API that
// its users have published.
package bedrocktest
