// Package bedrock calls the models of every vendor that Amazon Bedrock serves,
// through its Converse API: Amazon's Nova, Meta, Mistral, DeepSeek, Claude and the
// rest.
//
//	cfg, err := config.LoadDefaultConfig(ctx) // of aws-sdk-go-v2
//	model, err := bedrock.New("us.amazon.nova-pro-v1:0", cfg)
//	agent := braid.New("helper", model, …)
//
// The package speaks the API over net/http. AWS's SDK (aws-sdk-go-v2) supplies the
// configuration, the credentials and the signatures; its generated client
// (service/bedrockruntime) is not used. Module test/vendors holds requests, answers,
// addresses and errors against that client and its types.
//
// The package does not retry calls ([model.Model] forbids it), with two exceptions. A
// signature that was refused because of clock skew is made again once, with the service's
// time. Thinking that the service refuses is left out once. The loop does all other
// retries, so that each attempt is in the log.
//
// family.go lists what each model supports. The package follows these pages of
// docs.aws.amazon.com:
//
//   - bedrock/latest/APIReference: API_runtime_Converse and ConverseStream, and the
//     pages of their types: requests, and the events of an answer.
//   - bedrock/latest/userguide: conversation-inference, prompt-caching,
//     guardrails-use-converse-api, structured-output, inference-profiles-support,
//     troubleshooting-api-error-codes.
//   - bedrock/latest/userguide: claude-messages-adaptive-thinking and count-tokens.
//   - nova/latest/userguide: tool-use and prompting-tool-troubleshooting; and
//     nova2-userguide: extended-thinking and web-grounding.
//
// Strands (its models/bedrock.py) fills the gaps of these pages.
//
// stream.go makes a call. Its request is encoded by request.go, head.go and tail.go, which use setup.go and cannot reach
// the API; messages by message.go over encoder.go. call.go sends it. event.go and whole.go read the answer, both with
// part.go over decoder.go.
package bedrock
