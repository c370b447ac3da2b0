//go:build unix

package failpoint

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// Variable names the point and the visit at which the process kills itself:
// "drive/committed:3" is the third time that it comes by.
const Variable = "BRAID_FAILPOINT"

var (
	point  string
	visits atomic.Int64
)

func init() { //nolint:gochecknoinits // a point must be known before anything comes by
	name, n, ok := strings.Cut(os.Getenv(Variable), ":")
	if !ok {
		return
	}
	if count, err := strconv.ParseInt(n, 10, 64); err == nil {
		point = name
		visits.Store(count)
	}
}

// Hit kills the process if this is the visit that the environment asked for.
func Hit(name string) {
	if name != point || visits.Add(-1) != 0 {
		return
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // the signal is on its way
}
