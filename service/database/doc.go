// Package database is the service's own database: what stands beside the journal.
// It opens it, brings it up to date, and gives transactions that see one tenant.
//
// There are two kinds. [OpenSQLite] is a file in the data folder, which one process
// at a time uses. [OpenPostgres] is for many processes; there, row-level security is
// forced on every table, and the role that is used can neither bypass it nor own the
// tables. Who forgets to name a tenant finds nothing.
//
// The statements are the same for both: marks are "?", times are microseconds
// since 1970, what is open is JSON in text. What they cannot share stands in [Tx].
package database
