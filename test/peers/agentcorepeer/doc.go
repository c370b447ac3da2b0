// Package agentcorepeer holds the AgentCore doors against programs that others wrote: AWS's
// client for JavaScript asks the built command, a real browser shows its page, and the
// built command asks AWS's runtime app with a Strands agent inside. The tests need npm and
// are built with the tag "peers"; test/peers/agentcore runs them.
package agentcorepeer
