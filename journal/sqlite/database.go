package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"io/fs"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"modernc.org/sqlite"

	"github.com/braidrun/braid/event"
)

// applicationID marks a SQLite file as a journal ("Brai"), so that other programs' files are
// refused.
const applicationID = 0x42726169

// pragmas are the settings of every connection.
var pragmas = []string{
	// Someone with a SQLite tool may lock the file for a moment.
	"busy_timeout(5000)",
	// A burst may make the write-ahead log long; truncate it afterwards.
	"journal_size_limit(67108864)",
	"temp_store(memory)",
	// Overwrite what a redaction or a removal deletes.
	"secure_delete(1)",
	// macOS syncs to the disk only on request.
	"fullfsync(1)", "checkpoint_fullfsync(1)",
}

// connect opens a pool of connections to an existing file.
func connect(path string, connections int, writable bool, more ...string) (*sql.DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive letter
	}
	query := url.Values{"_pragma": slices.Concat(pragmas, more), "_dqs": {"0"}, "mode": {"ro"}}
	if writable {
		query.Set("mode", "rw")
	}
	dsn := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: query.Encode()}
	connector, err := sqlite.NewConnector(dsn.String())
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db, nil
}

//go:embed migrations/*.sql
var migrationFiles embed.FS

// embedded returns the migrations in order. A file's schema version is the number of migrations
// applied.
//
// The journal needs no more of a migration tool: one direction, one process, one dialect, the
// version in the file's own header. A library would add a megabyte to every program that links
// the journal.
func embedded() []string {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		return nil // the pattern is valid
	}
	slices.Sort(names)
	scripts := make([]string, 0, len(names))
	for _, name := range names {
		script, err := migrationFiles.ReadFile(name)
		if err != nil {
			return nil // the file is embedded
		}
		scripts = append(scripts, string(script))
	}
	return scripts
}

// selectHeader reads the application and schema version of a file, and whether the file is empty.
const selectHeader = `SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)
	FROM pragma_application_id, pragma_user_version`

func foreign(op string) error {
	return invalid(op, "the file where the journal should be belongs to another program", "choose another folder for the data")
}

func newer(op string, version, known int) error {
	return &event.Error{
		Op: op, Kind: event.ErrNewer,
		Message: "the journal was written by a newer version of Braid (its schema is " + strconv.Itoa(version) +
			", this version knows up to " + strconv.Itoa(known) + ")",
		Hint: "run the newer version, or restore a copy from before the upgrade",
	}
}

// prepare migrates the file to this version and refuses files that it does not know. It changes
// nothing before it has checked the file.
func prepare(ctx context.Context, conn *sql.Conn, migrations []string) error {
	const op = "journal open"
	var application, version, tables int
	err := conn.QueryRowContext(ctx, selectHeader).Scan(&application, &version, &tables)
	if err != nil {
		return err
	}
	fresh := application == 0 && version == 0 && tables == 0
	switch {
	case !fresh && application != applicationID:
		return foreign(op)
	case version > len(migrations):
		return newer(op, version, len(migrations))
	}
	var mode string
	if err := conn.QueryRowContext(ctx, `PRAGMA journal_mode = WAL`).Scan(&mode); err != nil {
		return err
	}
	if mode != "wal" {
		return &event.Error{
			Op: op, Kind: event.ErrUnsupported, Message: "the disk cannot hold a journal: it lacks shared memory files",
			Hint: "put the data on a local disk",
		}
	}
	for ; version < len(migrations); version++ {
		if err := migrate(ctx, conn, migrations[version], version+1); err != nil {
			return err
		}
	}
	return nil
}

// migrate applies at most one migration.
func migrate(ctx context.Context, conn *sql.Conn, script string, version int) error {
	for _, part := range []string{
		"BEGIN IMMEDIATE", script,
		"PRAGMA application_id = " + strconv.Itoa(applicationID),
		"PRAGMA user_version = " + strconv.Itoa(version), "COMMIT",
	} {
		if _, err := conn.ExecContext(ctx, part); err != nil {
			_, _ = conn.ExecContext(ctx, "ROLLBACK")
			return err
		}
	}
	return nil
}
