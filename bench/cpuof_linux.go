package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuOf returns the processor time of all threads of another process so far. Each process has a clock, whose number
// is computed from the process id.
func cpuOf(pid int) (time.Duration, error) {
	const sched = 2 // CPUCLOCK_SCHED: nanoseconds instead of ticks
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|sched), &t); err != nil {
		return 0, err
	}
	return time.Duration(t.Nano()), nil
}
