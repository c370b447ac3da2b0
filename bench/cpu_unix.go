//go:build unix

package main

import (
	"syscall"
	"time"
)

// cpuTime is what all threads of the process have used so far, in user and in
// system mode.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
