// Package bedrock calls the models of every vendor that Amazon Bedrock serves,
// through its Converse API: Amazon's Nova, Meta, Mistral, DeepSeek, Claude and the
// rest.
//
//	cfg, err := config.LoadDefaultConfig(ctx) // of aws-sdk-go-v2
//	model, err := bedrock.New("us.amazon.nova-pro-v1:0", cfg)
//	agent := braid.New("helper", model, …)
//
// AWS's SDK (aws-sdk-go-v2, bedrockruntime) knows the addresses and the
// credentials, and signs. Two things are done here instead, because the SDK would
// do them anew in every cycle of every turn: the body of a request is put together
// from the encodings of earlier messages, which are kept; and the stream is read
// by a decoder without a goroutine that needs one allocation a delta. The tests
// hold both against the SDK's own types.
//
// The SDK never repeats a call ([model.Model] forbids it): the loop does, where it
// is counted and seen.
//
// What a model can and cannot is in one table, family.go. What the package follows,
// pages of docs.aws.amazon.com:
//
//   - bedrock/latest/APIReference: API_runtime_Converse and ConverseStream, and the
//     pages of their types: what a request may hold, and the events of an answer.
//   - bedrock/latest/userguide: conversation-inference, prompt-caching,
//     guardrails-use-converse-api, structured-output, inference-profiles-support,
//     troubleshooting-api-error-codes.
//   - nova/latest/userguide: tool-use and prompting-tool-troubleshooting; and
//     nova2-userguide/extended-thinking.
//
// and, where these do not say it, what Strands has learned (its models/bedrock.py).
package bedrock
