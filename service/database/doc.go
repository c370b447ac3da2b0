// Package database opens and migrates the service's own database, which holds all data beside the
// journal. Its transactions see one tenant.
//
// [OpenSQLite] opens a file in the data folder, which one process at a time uses. [OpenPostgres]
// opens a database for many processes. There every table has forced row-level security, and the
// role can neither bypass it nor own the tables. A query that names no tenant finds nothing.
//
// Both kinds use the same statements: marks are "?", times are microseconds since 1970, and
// structured values are JSON in text. [Tx] has methods for the differences.
package database
