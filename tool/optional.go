package tool

// Optional is a [Tool] that an agent can do without, such as one of another party's server. The agent leaves it out
// and goes on in these cases:
//
//   - Its schema or its name is invalid.
//   - Another tool of the agent has its name. Of two optional tools the first stays; a tool that is not optional
//     always stays.
//   - A model does not accept its schema. Then only that model does not get it.
//
// Any other tool would be an error of the agent.
type Optional interface {
	Tool
	// Server returns the name of the tool's server. The first event of a run lists the server's tools that were left out.
	Server() string
	// LeftOut is called with the reason. model is the model that does not get the tool; it is empty if the whole agent
	// does not get it. LeftOut may be called often, and concurrently.
	LeftOut(model string, why error)
}
