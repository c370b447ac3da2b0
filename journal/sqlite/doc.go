// Package sqlite keeps the journal in one SQLite file: the store of one
// process on one machine, with nothing to set up.
//
// # What it promises
//
// What a call has acknowledged survives a crash of the process, of the
// system and a power cut ([Options] Relaxed gives up the last two). Two kinds of
// writes need no such care and cost no wait for the disk: taking or renewing a
// lease, because a lease dies with the process that holds it, and
// [Store.Start], which says so.
//
// A folder belongs to one process at a time. A second one is refused with
// [event.ErrConflict] and told the first one's process number; the lock is the
// operating system's and goes with its process, however that ends. Who opens
// the folder next holds all leases of the one before it void at once.
//
// A full disk refuses writes with [event.ErrStorageFull], one by one and
// without a trace; reads go on, and writes succeed again as soon as there is
// space. A file that is damaged, of another program or of a newer version is
// refused in words; a row that cannot be read spoils its own conversation only.
//
// Everybody else may look: [View] reads the same file without owning it, also
// while its owner writes and after it has died.
//
// # How it writes
//
// One call at a time writes. It takes all others that wait with it, carries them
// out in one transaction, and waits for the disk once: so the store is fastest
// when it is busiest. A call that is refused leaves no trace in what the others
// do. Readers have connections of their own and wait for nobody. All of a
// commit's events stand in one row.
//
// The schema is in the folder migrations, and made to be read with any SQLite
// tool; do not write with one while a process has the folder.
package sqlite
