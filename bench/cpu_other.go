//go:build !unix

package main

import "time"

// cpuTime is unknown on this system; the column stays empty.
func cpuTime() time.Duration { return 0 }
