// Package pg holds what Braid's two sets of tables on PostgreSQL share: the journal's and the service's. It settles
// connections, migrates and inspects a schema, and turns PostgreSQL's error codes into errors for users.
package pg
