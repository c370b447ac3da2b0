//go:build amd64 || arm64

package sandbox

import (
	"context"
	"errors"

	"github.com/braidrun/braid/event"
)

// Probe starts a sandbox with a command that does nothing, and reports what the system can give. It takes some
// milliseconds.
func Probe(ctx context.Context) Report {
	r := Report{Landlock: landlockVersion()}
	result, err := Run(ctx, Options{Args: []string{"/bin/sh", "-c", ":"}, Least: Namespaces})
	if err == nil {
		r.Level = result.Level
	}
	if e, ok := errors.AsType[*event.Error](err); ok {
		r.Why, r.Next = e.Message, e.Hint
	} else if r.Level < Full {
		r.Why, r.Next = "the kernel has no Landlock", "use Linux 5.13 or later with Landlock among its security modules"
	}
	return r
}
