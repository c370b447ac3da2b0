package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// resident returns a process's resident memory in bytes; 0 on systems without /proc.
func resident(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, ok := bytes.Cut(status, []byte("\nVmRSS:"))
	if !ok {
		return 0
	}
	fields := bytes.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kib, err := strconv.ParseInt(string(fields[0]), 10, 64)
	if err != nil {
		return 0
	}
	return kib << 10
}

// statOf returns the resources that another process has used.
func statOf(pid int) (sideStat, error) {
	used, err := cpuOf(pid)
	return sideStat{CPU: used, RSS: resident(pid)}, err
}
