package guardrail

// Place is where a guardrail looks.
type Place string

// The places.
const (
	// Input is what an agent is given.
	Input Place = "input"
	// Output is what an agent says.
	Output Place = "output"
	// Result is what tools return.
	Result Place = "result"
)
