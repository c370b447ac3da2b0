//go:build !linux

package main

import "time"

// cpuOf is unknown on this system; the column stays empty.
func cpuOf(int) (time.Duration, error) { return 0, nil }
