package main

import (
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// pinned calls begin with its thread on one core, so that the started process stays there. It moves this process to
// the other cores until undo is called. With one core, or without permission, it pins nothing.
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
	// The thread ends with the goroutine.
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		_ = unix.SchedSetaffinity(0, &server) // without permission nothing is pinned
		done <- begin()
	}()
	if err := <-done; err != nil {
		return undo, err
	}
	allThreads(&others)
	return func() { allThreads(&all) }, nil
}

// allThreads moves every thread of this process to a set of cores. New threads inherit it.
func allThreads(set *unix.CPUSet) {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	for _, t := range tasks {
		if id, err := strconv.Atoi(t.Name()); err == nil {
			_ = unix.SchedSetaffinity(id, set) // the thread may have ended
		}
	}
}
