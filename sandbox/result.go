package sandbox

import "time"

// Result is how a command ended.
type Result struct {
	// Level is the level at which it ran.
	Level Level
	// Code is the command's exit code; -1 if it did not exit by itself.
	Code int
	// Signal is the number of the signal that ended it; 0 if none did.
	Signal int
	// Stopped says which limit ended it; empty means none.
	Stopped Stop
	// Output is what it wrote to standard output and standard error, in the order in which it wrote. Of a long output, it
	// is the beginning and the end, with a line between them that says how much is missing.
	Output []byte
	// Omitted counts the missing bytes.
	Omitted int64
	// CPU is the processor time that its processes used; 0 if the command was killed with its watcher.
	CPU time.Duration
}

// Stop names the limit that ended a command.
type Stop string

// The limits that end a command.
const (
	StoppedTime      Stop = "time"
	StoppedCPU       Stop = "cpu"
	StoppedMemory    Stop = "memory"
	StoppedProcesses Stop = "processes"
	StoppedFolder    Stop = "folder"
)

// Report says what the system can do.
type Report struct {
	// Level is the strongest level that works here.
	Level Level
	// Landlock is the version of the kernel's Landlock; 0 if there is none.
	Landlock int
	// Why says what keeps the level below [Full], and Next what would change that. Both are empty at Full.
	Why, Next string
}
