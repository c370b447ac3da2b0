// Package hook has the types that hooks are called with. A hook is a function that an agent calls at one point of its loop.
// The type of its argument names the point:
//
//	braid.On(func(ctx context.Context, e *hook.BeforeModel) error { … })
//
// A hook decides by writing the fields that are called writable. What it writes to other fields has no effect. What it
// decides is written to the log with the step that it decided about.
//
// Each type says what an error means. A panic counts as an error. The points of a run ([BeforeRun], [AfterRun]), of a drive
// ([BeforeDrive], [AfterDrive]) and of the stream ([EventSent]) belong to the root agent. The others belong to the agent at
// work, also where it is used as a tool.
package hook

// Event is one of the types of this package.
type Event interface {
	BeforeDrive | AfterDrive | BeforeRun | AfterRun | AfterAgent | BeforeModel | AfterModel | BeforeTools | BeforeTool | AfterTool | AfterTools |
		MessageAdded | QuestionAsked | BeforeCompaction | AfterCompaction | EventSent
}
