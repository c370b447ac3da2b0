// Package nodes runs several real braid serve processes on one private PostgreSQL server. Clients use all of them,
// while the tests kill, stop and drain servers, and restart the database, fill its disk and revoke rights. At the end
// the tests compare the tools' effects and what the clients saw with the journal.
//
// It needs PostgreSQL's binaries, and takes minutes:
//
//	scripts/test-peers service
package nodes
