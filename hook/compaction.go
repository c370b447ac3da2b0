package hook

import (
	"time"

	"github.com/braidrun/braid/event"
)

// BeforeCompaction is called before the model is shown less of the conversation. A driver that takes the run over calls it
// again if nothing of the compaction is in the log. An error fails the run.
type BeforeCompaction struct {
	// Agent is the name of the agent whose view is compacted: read only.
	Agent string
	// Scope is the agent's scope; "" for the root agent's: read only.
	Scope string
	// Why is [event.WhyLimit], or [event.WhyOverflow] after a provider refused the request: read only.
	Why event.Why
	// Messages are the messages that the model will no longer see, oldest first, and summaries of earlier ones. There are
	// none if only tool results are cut. They are shared with the conversation: read only.
	Messages []event.Message
	// Summary is writable: its blocks replace the messages, and no model is called to summarize them.
	Summary []event.Block
	// Instructions are the instructions of the summary call; empty if there is none. They are writable.
	Instructions string
	// Cancel is writable: the conversation stays as it is. If the provider refused it, the run ends.
	Cancel bool
}

// AfterCompaction is called when the outcome of a compaction is known, before it is written. It is also called if the
// compaction failed or was cancelled. When the run is stopped, the context lasts for the grace period. An error fails the
// run.
type AfterCompaction struct {
	// Scope is that of [BeforeCompaction]: read only.
	Scope string
	// Why is that of [BeforeCompaction]: read only.
	Why event.Why
	// Summary replaces the messages. It is writable. It is empty if only tool results are cut, and if there is an error.
	Summary []event.Block
	// Err is why the conversation stays as it is; nil if it was compacted: read only.
	Err error
	// Model is the name of the model that wrote the summary; empty for none: read only.
	Model string
	// Usage is what the summary call used: read only.
	Usage event.Usage
	// Duration is how long the summary call took: read only.
	Duration time.Duration
}
