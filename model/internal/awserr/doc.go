// Package awserr makes errors of ours out of what Amazon Bedrock says, before a
// stream or inside of one, whichever of its operations was called
// (bedrock/latest/userguide/troubleshooting-api-error-codes, the errors of
// API_runtime_ConverseStream and API_runtime_InvokeModelWithResponseStream, and
// messages that its users have published).
package awserr
