package event

// Snapshot is all that a step in flight has said so far. It stands for the live
// events of the step up to N: those that come later go on from it. It is shared:
// nobody changes it.
type Snapshot struct {
	// Header is that of the step's beginning, so Seq is where that stands in the
	// log and Time when it was. Epoch and N are of the last live event of the
	// driver that the snapshot covers; both are 0 where it has sent none.
	Header

	// Kind says what the step does. Call and Tool name the tool call; they are
	// empty for a model's step.
	Kind StepKind
	Call string
	Tool string

	// Blocks are what a model has said, by Block. What an answer that comes in
	// pieces has committed already is not repeated.
	Blocks []SnapshotBlock
	// Progress is the last that a running tool told, nil if nothing.
	Progress *ToolProgress

	// Truncated is set where something is missing: the step said more than the
	// bus keeps, or events were lost before they reached it. What comes
	// later does not join on; the event that ends the step has everything.
	Truncated bool
}

// SnapshotBlock is one block of an answer as far as it has come.
type SnapshotBlock struct {
	// Block is its place in the answer, as in the deltas.
	Block int
	// Kind is [BlockText], [BlockThinking] or [BlockToolCall].
	Kind BlockKind
	// Text is all the deltas of the block in a row: text, thinking, or the
	// arguments of a call, which are not JSON before they are whole.
	Text string
	// Call and Tool go with a tool call.
	Call string
	Tool string
}
