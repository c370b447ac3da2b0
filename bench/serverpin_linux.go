package main

import (
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// pinned calls begin with its thread on one core, so that the process it begins stays
// there, and puts this process on the others until undo is called. On a machine with
// one core, or where that is refused, nothing is pinned.
func pinned(begin func() error) (undo func(), err error) {
	var all unix.CPUSet
	undo = func() {}
	if unix.SchedGetaffinity(0, &all) != nil || all.Count() < 2 {
		return undo, begin()
	}
	first := 0
	for !all.IsSet(first) {
		first++
	}
	var server unix.CPUSet
	server.Set(first)
	others := all
	others.Clear(first)
	// The thread is not given back: it ends with the goroutine.
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		_ = unix.SchedSetaffinity(0, &server) // where it is refused nothing is pinned
		done <- begin()
	}()
	if err := <-done; err != nil {
		return undo, err
	}
	allThreads(&others)
	return func() { allThreads(&all) }, nil
}

// allThreads puts every thread of this process on a set of cores. A new thread inherits
// it from the one that makes it.
func allThreads(set *unix.CPUSet) {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	for _, t := range tasks {
		if id, err := strconv.Atoi(t.Name()); err == nil {
			_ = unix.SchedSetaffinity(id, set) // a thread that has ended needs none
		}
	}
}
