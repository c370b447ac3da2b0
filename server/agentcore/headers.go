package agentcore

import "github.com/braidrun/braid/internal/hostcheck"

// AgentCore's headers, in Go's canonical form.
const (
	sessionHeader = "X-Amzn-Bedrock-Agentcore-Runtime-Session-Id"
	userHeader    = "X-Amzn-Bedrock-Agentcore-Runtime-User-Id"
	requestHeader = "X-Amzn-Bedrock-Agentcore-Runtime-Request-Id"
	customHeader  = "X-Amzn-Bedrock-Agentcore-Runtime-Custom-"
	retryHeader   = "Amz-Sdk-Invocation-Id"
	awsRequestID  = "X-Amzn-Requestid"
	awsErrorType  = "X-Amzn-Errortype"
)

// echoed are the headers that the response repeats. The caller's SDK shows them in its output.
var echoed = [...]string{"Mcp-Session-Id", "Mcp-Protocol-Version", "X-Amzn-Trace-Id", "Traceparent", "Tracestate", "Baggage"}

// echoBytes is the maximum length of each of them.
const echoBytes = 8 << 10

// crossing allows what pages of other permitted origins may do.
func crossing(origins []string) hostcheck.Cross {
	return hostcheck.Cross{
		Origins: origins, Methods: "GET, POST",
		Headers: "Authorization, Content-Type, Baggage, Traceparent, Tracestate, " + sessionHeader + ", " + userHeader + ", " +
			requestHeader + ", " + customHeader + "Braid-Stream",
		Expose: "RateLimit, RateLimit-Policy, Retry-After, " + sessionHeader + ", " + requestHeader,
	}
}
