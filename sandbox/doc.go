// Package sandbox runs a command that nobody has checked, such as one that a model wrote.
//
//	func main() {
//		sandbox.Init()
//		…
//		result, err := sandbox.Run(ctx, sandbox.Options{Folder: "work", Args: []string{"/bin/sh", "-c", "make test"}})
//
// The command sees one folder, the system's programs and nothing else. It has no network, no capabilities and no way to
// gain any. All its processes end with it, also those that it left in the background, and also if this program is killed.
// [Limits] bound its time, memory, processes, files and output.
//
// # How it works
//
// [Run] starts this program again, in new namespaces of users, mounts, processes, networks, IPC, host names and control
// groups. That process is the first of its process namespace: it builds a file system of mounts, starts the command and
// watches it. When it ends, the kernel ends all other processes of the namespace. It ends as soon as the program that
// called Run does. The command itself runs without capabilities, under a seccomp filter, resource limits and Landlock.
//
// So a program must call [Init] first in main. In every other process Init returns at once.
//
// # Levels
//
// [Level] says how strong a sandbox is. Run starts nothing if the system cannot give the level that [Options.Least] asks
// for; [Probe] says which one it can give and what is missing. Only Linux on x86-64 and ARM64 has a level other than
// [None].
//
// # What it does not do
//
// The command has the user id of this program outside. It can read all of Folder and, unless ReadOnly is set, change it:
// whatever runs programs from there later must not trust them. Memory of the kernel that no process has mapped, such as
// socket buffers, is not counted. A hole in the kernel is a hole in the sandbox.
package sandbox
