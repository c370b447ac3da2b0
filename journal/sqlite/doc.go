// Package sqlite stores the journal in one SQLite file, for one process on one machine. There is nothing to set up.
//
// # Promises
//
// A call that has returned survives a crash of the process, a crash of the system and a power cut; [Options].Relaxed gives
// up the last two. Two kinds of writes do not wait for the disk. Taking or renewing a lease need not survive, because
// a lease ends with its process. [Store.Start] documents what it may lose.
//
// A folder belongs to one process at a time. A second process gets [event.ErrConflict] with the first one's process
// number. The operating system holds the lock and frees it when the process ends. The next process to open the folder
// voids all earlier leases at once.
//
// A full disk refuses each write with [event.ErrStorageFull], and a refused write leaves no trace. Reads continue, and writes
// succeed again once there is space. Files that are damaged, of another program or of a newer version are refused with their
// own errors. A row that cannot be read affects its own conversation only.
//
// Other processes may read: [View] opens the file without owning it, while its owner writes or after it has ended.
//
// # How it writes
//
// One call at a time writes. It takes all waiting calls, executes them in one transaction and waits for the disk once,
// so throughput rises with load. A refused call does not affect the others. Readers have their own connections and never
// wait. A commit's events are one row.
//
// The schema is in the folder migrations and can be read with any SQLite tool. Do not write with one while a process has
// the folder.
package sqlite
