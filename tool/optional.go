package tool

// Optional is a [Tool] that an agent does without where it cannot have it, such as one that a server of somebody
// else offers. An agent leaves such a tool out, and goes on, where
//
//   - its schema or its name cannot be used,
//   - another tool of the agent has its name: of two optional ones the first stays, and one that is not optional always does,
//   - a model cannot be told of its schema: then it is left out for that model alone.
//
// Any other tool is an error of the agent.
type Optional interface {
	Tool
	// Server names where the tool is from. The first event of a run lists there what is left out.
	Server() string
	// LeftOut is called with the reason. model is the name of the model that is not told of the tool; it is empty where the
	// agent does not have it at all. It may be called often, and concurrently.
	LeftOut(model string, why error)
}
