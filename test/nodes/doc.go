// Package nodes runs several real braid serve processes on one private PostgreSQL server, has
// clients work on all of them, and kills, stops and drains them meanwhile; the database goes
// away, is full and takes rights back. At the end, what the tools did outside and what the
// clients saw is held against the journal.
//
// It needs PostgreSQL's binaries, and minutes:
//
//	scripts/test-peers service
package nodes
