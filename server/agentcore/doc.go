// Package agentcore lets agents answer as programs inside Amazon Bedrock AgentCore
// Runtime do, and as AgentCore itself does to its callers.
//
// A [Handler] has two doors. The container's is what the platform calls: POST
// /invocations, GET /ping and the WebSocket /ws. The front door is what AWS's SDKs call:
// POST /runtimes/{ARN}/invocations, /runtimes/{ARN}/stopruntimesession and the agent's
// card, with signatures (SigV4) or a bearer token. Both answer with the stream of
// [github.com/braidrun/braid/wire/agentcore], or with one JSON value.
//
// A runtime session is a conversation of a [service.Service]: its turns are kept where
// that keeps them. A reader who leaves cancels the run, as it does in AgentCore, and a
// request that an SDK repeats does not run twice.
//
// [ForAgent] makes a handler of an agent alone; [New] takes a service that is there.
package agentcore
