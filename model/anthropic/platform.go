package anthropic

// platform is where Claude runs.
type platform uint8

// The platforms. They differ in the members of the body, and in the server-side tools that they
// have.
const (
	onAPI platform = iota
	onBedrock
	onVertex
)

func (m *Model) platform() platform {
	switch {
	case m.aws != nil:
		return onBedrock
	case m.google != nil:
		return onVertex
	default:
		return onAPI
	}
}
