// Package agentcore serves agents over the protocols of Amazon Bedrock AgentCore Runtime: the
// container's protocol and AWS's API.
//
// A [Handler] serves two sets of endpoints. The platform calls the container endpoints: POST
// /invocations, GET /ping and the WebSocket /ws. AWS's SDKs call the AWS endpoints with
// signatures (SigV4) or a bearer token: POST /runtimes/{ARN}/invocations,
// /runtimes/{ARN}/stopruntimesession and the agent's card. Both respond with the stream of
// [github.com/braidrun/braid/wire/agentcore], or with one JSON value.
//
// A runtime session is a conversation of a [service.Service], which stores its turns. A reader
// that disconnects cancels the run, as in AgentCore. A request that an SDK repeats does not run
// twice.
//
// [ForAgent] makes a handler for one agent; [New] uses an existing service.
//
// routes.go lists the routes. invoke.go, stop.go, socket.go, ping.go and agent_card.go handle them;
// they use begin.go, leave.go and turn.go, which start, leave and read a run. Below are the request
// (credential.go, parse.go, session.go, refuse.go over exchange.go) and the [Handler], which knows
// no request. payload.go, stream.go, fault.go, health.go, headers.go and runtime.go are pure.
package agentcore
