//go:build !linux || (!amd64 && !arm64)

package sandbox

import (
	"context"
	"runtime"

	"github.com/braidrun/braid/event"
)

// Init does nothing on this system.
func Init() {}

const (
	missing = "this version of Braid has no sandbox for " + runtime.GOOS + " on " + runtime.GOARCH
	instead = "run it on Linux, on x86-64 or ARM64"
)

// Run returns [event.ErrUnsupported]: this system has no sandbox.
func Run(_ context.Context, o Options) (Result, error) {
	if err := o.check(); err != nil {
		return Result{}, err
	}
	return Result{}, &event.Error{Op: "sandbox", Kind: event.ErrUnsupported, Message: missing, Hint: instead}
}

// Probe reports that this system has no sandbox.
func Probe(context.Context) Report { return Report{Level: None, Why: missing, Next: instead} }
