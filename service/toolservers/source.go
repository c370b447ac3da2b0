package toolservers

import (
	"context"

	"github.com/braidrun/braid/event"
)

// source is where the tools of a connection are from. Its methods are safe for concurrent use.
type source interface {
	// lists counts the lists that were read: while it stays the same, tools returns the same.
	lists() int64
	tools() []listedTool
	// state returns connected, failed or needs-auth, the reason, and the tools that are left out.
	state() (status, reason string, skipped []event.SkippedTool)
	// instructions are what the server says about its use, in a frame.
	instructions() string
	// renew asks for the list again, or connects again.
	renew(ctx context.Context)
	// calm reports whether nothing is known to be wrong with the connection.
	calm() bool
	close()
}

// statusConnected is the status of a server whose tools can be used.
const (
	statusConnected = "connected"
	statusFailed    = "failed"
	// statusNeedsAuth is the status of a server that waits for its user to sign in.
	statusNeedsAuth = "needs-auth"
)
