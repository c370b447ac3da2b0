package agentcore

// Card describes the agent to other agents, in the form of A2A's agent card (A2A 0.3, section
// 5.5). Empty fields get generic texts.
type Card struct {
	Name, Description, Version string
	Skills                     []Skill
}

// Skill is a capability that the agent advertises.
type Skill struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
}
