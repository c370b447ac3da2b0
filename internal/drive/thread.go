package drive

import (
	"context"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/toolset"
)

// thread is what one driver knows of a scope beyond the log. The next driver of the run begins with an empty one and
// decides the same.
type thread struct {
	// running are the scope's steps that this driver runs. A step that the log has begun and that is not among them was
	// running when another driver died.
	running []string
	// offered is the tools of the scope's last model call; nil before the first one.
	offered *toolset.Offer
	// shown is the part of them that the model sees; nil for all.
	shown *toolset.Shown
	// visible is the part of them that no policy denies; nil without a policy.
	visible *visible
	// told is the last cycle for which this driver called the hooks after a batch.
	batchTold int
}

// childThread is what one driver knows of a scope below the root.
type childThread struct {
	thread
	// ctx is the context of the scope's steps, for a scope that a kind of agent opened; nil before its first step. stop ends
	// it.
	ctx  context.Context //nolint:containedctx // a scope lives for one run
	stop context.CancelFunc
	// ending is how the scope ends; nil while nobody has closed it. Its steps have until endBy to stop.
	ending *event.Error
	endBy  time.Time
}
