package pg

import (
	"io/fs"

	"github.com/braidrun/braid/event"
)

// Database describes one set of tables, and what errors say about it.
type Database struct {
	// Name is part of the lock that migrations take.
	Name string
	// Files is the folder of the migrations, and Versions the table of those that were applied.
	Files    fs.FS
	Versions string
	// Revokes are taken from the role before it is given Grants. "%schema%" stands for the schema.
	Revokes, Grants []string

	// Self is what messages call it, such as "the journal"; Tables its tables, Role its role, Users who logs in as that.
	Self, Tables, Role, Users string
	// Missing is the message for a database without the tables.
	Missing string
	// Words for errors of which each set of tables says something of its own.
	Full, Stale, TooLarge, BadText, Unexpected Words
}

// Words are what an error says to users.
type Words struct{ Message, Hint string }

// Latest returns the schema version that this program knows: the number of migrations.
func (d *Database) Latest() int64 {
	names, err := fs.Glob(d.Files, "*.sql")
	if err != nil {
		return 0 // the pattern is right
	}
	return int64(len(names))
}

// Error returns the error for one of PostgreSQL's codes, without Op and Err.
func (d *Database) Error(code string) *event.Error {
	say := func(kind event.ErrorKind, w Words) *event.Error {
		return &event.Error{Kind: kind, Message: w.Message, Hint: w.Hint}
	}
	switch code {
	case DiskFull:
		return say(event.ErrStorageFull, d.Full)
	case permission:
		return say(event.ErrPermission, Words{"the database does not let " + d.Role + " do this", "migrate the database for this role"})
	case ReadOnly:
		return say(event.ErrUnavailable, Words{"the database can only be read", "ask the one that can be written, not its copy"})
	case noDatabase:
		return say(event.ErrNotFound, Words{"there is no such database", "make it, or correct its name"})
	case noTable, noColumn, noFunction, noSchema:
		return say(event.ErrUnsupported, d.Stale)
	case noSetting:
		return say(event.ErrInvalid, Words{
			"the database's address has a parameter that the database does not take",
			"correct or remove it; what stands behind the ? of an address is a parameter",
		})
	case NoConnections:
		return say(event.ErrUnavailable, Words{
			"the database has no connection left", "raise its max_connections, or lower --postgres-connections of the servers that use it",
		})
	case tooLarge:
		return say(event.ErrTooLarge, d.TooLarge)
	case BadText:
		return say(event.ErrInvalid, d.BadText)
	case lockWait, cancelled, deadlock, serialize:
		return say(event.ErrUnavailable, Words{"the database is too busy", "try again"})
	}
	switch code[:min(2, len(code))] {
	case "28":
		return say(event.ErrPermission, Words{"the database does not let " + d.Role + " log in", "check the role and its password"})
	case "08", "53", "57", "58", "25":
		return say(event.ErrUnavailable, Words{"the database went away or is starting", "try again; what was asked for last may have been done"})
	case "XX":
		return say(event.ErrInternal, Words{"the database found itself damaged", "see its log, and restore a backup"})
	}
	return say(event.ErrInternal, d.Unexpected)
}
