// Package awserr turns Amazon Bedrock's errors into ours, before and inside a stream, for all of
// its operations. Its sources are bedrock/latest/userguide/troubleshooting-api-error-codes, the
// errors of API_runtime_ConverseStream and API_runtime_InvokeModelWithResponseStream, and messages
// that users have published.
package awserr
