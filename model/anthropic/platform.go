package anthropic

// platform is where Claude runs.
type platform uint8

// The platforms. They differ in what stands in the body, and in which tools of the vendor
// they run.
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
