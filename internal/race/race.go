// Package race reports whether the race detector is on. A test with many cases on one
// goroutine shows that detector nothing and takes five times as long under it. Such a test
// runs a few cases there, and all of them without the detector in make test-long.
package race
