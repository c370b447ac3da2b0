package guardrail

// Place is what a guardrail checks.
type Place string

// The places.
const (
	// Input is what an agent receives.
	Input Place = "input"
	// Output is what an agent answers.
	Output Place = "output"
	// Result is what tools return.
	Result Place = "result"
)
