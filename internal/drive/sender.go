package drive

import (
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/internal/hooks"
)

// sender sends events to the reader.
type sender struct {
	// sink takes an event to the reader. It reports whether the reader wants more.
	sink func(event.Event) bool
	// stopped is set once the reader wants no more.
	stopped bool
	// reading is set while the reader has an event.
	reading bool
	// watchers are the hooks over the stream.
	watchers []hooks.Hook
	// sent is what the watchers are called with.
	sent *hook.EventSent
	// live counts the live events of this drive.
	live int64
}
