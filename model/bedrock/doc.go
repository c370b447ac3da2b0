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
// A call is never repeated ([model.Model] forbids it): the loop does that, where it is
// counted and seen. There are two exceptions. A signature that was refused because the
// clocks are apart is made again once, by the service's clock; and thinking that the
// service refuses is left out once.
//
// What a model can and cannot is in one table, family.go. What the package follows,
// pages of docs.aws.amazon.com:
//
//   - bedrock/latest/APIReference: API_runtime_Converse and ConverseStream, and the
//     pages of their types: what a request may hold, and the events of an answer.
//   - bedrock/latest/userguide: conversation-inference, prompt-caching,
//     guardrails-use-converse-api, structured-output, inference-profiles-support,
//     troubleshooting-api-error-codes.
//   - bedrock/latest/userguide: claude-messages-adaptive-thinking and count-tokens.
//   - nova/latest/userguide: tool-use and prompting-tool-troubleshooting; and
//     nova2-userguide: extended-thinking and web-grounding.
//
// and, where these do not say it, what Strands has learned (its models/bedrock.py).
package bedrock
