//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"os"
	"strings"
	"syscall"

	"github.com/braidrun/braid/event"
)

// unavailable describes why no keeper could be started.
func unavailable(err error) error {
	e := &event.Error{
		Op: "sandbox", Kind: event.ErrUnsupported, Message: "this system refuses the namespaces of a sandbox", Hint: namespaceHint(), Err: err,
	}
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.ENOMEM) {
		e.Kind, e.Message, e.Hint = event.ErrUnavailable, "this system has no room for one more process", "try again later"
	}
	return e
}

// refused describes what the system refused while a sandbox was made.
func refused(r *report) error {
	if r.Missing {
		return &event.Error{
			Op: "sandbox", Kind: event.ErrNotFound, Message: "the sandbox cannot be made: " + r.Failed, Hint: "name files and folders that exist",
		}
	}
	return &event.Error{
		Op: "sandbox", Kind: event.ErrUnsupported, Message: "the sandbox cannot be made: " + r.Failed, Hint: namespaceHint(),
	}
}

// namespaceHint says what usually keeps a system from giving namespaces.
func namespaceHint() string {
	if value("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1" && os.Geteuid() != 0 {
		return "AppArmor keeps users from namespaces: give this program an AppArmor profile that allows userns"
	}
	if value("/proc/sys/user/max_user_namespaces") == "0" || value("/proc/sys/kernel/unprivileged_userns_clone") == "0" {
		return "allow user namespaces with sysctl (user.max_user_namespaces, kernel.unprivileged_userns_clone)"
	}
	return "use Linux 5.13 or later; in a container, allow it user namespaces, mounts and an unmasked /proc"
}

func value(file string) string {
	text, err := os.ReadFile(file) //nolint:gosec // names from this file only
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
