package meter

import (
	"syscall"
	"time"
	"unsafe"
)

var (
	memoryInfo  = syscall.NewLazyDLL("psapi.dll").NewProc("GetProcessMemoryInfo")
	handleCount = syscall.NewLazyDLL("kernel32.dll").NewProc("GetProcessHandleCount")
)

// mostHandles is how many handles Windows lets a process have.
const mostHandles = 16 << 20

// memoryCounters is PROCESS_MEMORY_COUNTERS_EX of psapi.h.
type memoryCounters struct {
	size, faults                         uint32
	peakWorkingSet, workingSet           uintptr
	peakPaged, paged                     uintptr
	peakNonPaged, nonPaged               uintptr
	pagefile, peakPagefile, privateUsage uintptr
}

// used asks Windows. What it calls handles are the files and connections, and more.
func used() (u usage) {
	self, err := syscall.GetCurrentProcess()
	if err != nil {
		return u
	}
	var begun, ended, kernel, user syscall.Filetime
	if err := syscall.GetProcessTimes(self, &begun, &ended, &kernel, &user); err == nil {
		u.started = new(float64(begun.Nanoseconds()) / 1e9)
		u.cpu = new((span(kernel) + span(user)).Seconds())
	}
	var m memoryCounters
	m.size = uint32(unsafe.Sizeof(m))
	if ok, _, _ := memoryInfo.Call(uintptr(self), uintptr(unsafe.Pointer(&m)), unsafe.Sizeof(m)); ok != 0 {
		u.resident, u.virtual = new(float64(m.workingSet)), new(float64(m.privateUsage))
	}
	var n uint32
	if ok, _, _ := handleCount.Call(uintptr(self), uintptr(unsafe.Pointer(&n))); ok != 0 {
		u.open, u.mostOpen = new(float64(n)), new(float64(mostHandles))
	}
	return u
}

// span is a time between two, which Windows counts in steps of 100 ns.
func span(t syscall.Filetime) time.Duration {
	return time.Duration(int64(t.HighDateTime)<<32|int64(t.LowDateTime)) * 100
}
