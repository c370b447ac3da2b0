package database

import (
	"context"
	"database/sql"
	"embed"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"modernc.org/sqlite"

	"github.com/braidrun/braid/event"
)

//go:embed sqlite/*.sql
var sqliteFiles embed.FS

// OpenSQLite opens or creates the file and migrates it. Only one process at a time may use it;
// the journal holds the lock on the data folder.
//
// It returns ErrNewer if a newer version of Braid wrote the file, ErrInvalid for another
// program's file, ErrPermission, ErrStorageFull, and ErrUnavailable if the disk cannot be used.
func OpenSQLite(file string) (*DB, error) {
	const op = "open the service's database"
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, fault(op, err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // the folder is the operator's own
	if err != nil {
		return nil, fault(op, err)
	}
	if err := f.Close(); err != nil {
		return nil, fault(op, err)
	}
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive letter
	}
	return openSQLite(op, path, "rw")
}

// OpenMemory creates a database that lasts until it is closed, for tests and for servers that
// store nothing.
func OpenMemory() (*DB, error) {
	return openSQLite("open the service's database", ":memory:", "memory")
}

func openSQLite(op, path, mode string) (*DB, error) {
	query := url.Values{"_pragma": {
		"busy_timeout(5000)", "cache_size(-8192)", "journal_mode(wal)", "synchronous(full)", "fullfsync(1)", "journal_size_limit(16777216)",
		// Overwrite what an erasure deletes.
		"secure_delete(1)",
	}, "_dqs": {"0"}, "_txlock": {"immediate"}, "mode": {mode}}
	dsn := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: query.Encode()}
	if mode == "memory" {
		dsn = url.URL{Scheme: "file", Opaque: path, RawQuery: query.Encode()}
	}
	connector, err := sqlite.NewConnector(dsn.String())
	if err != nil {
		return nil, fault(op, err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1) // one writer; reads are single rows and short pages
	if err := upSQLite(context.Background(), op, db); err != nil {
		_ = db.Close()
		return nil, fault(op, err)
	}
	return ofSQLite(op, db)
}

// ofSQLite returns the database with its only connection.
func ofSQLite(op string, db *sql.DB) (*DB, error) {
	one, err := newConnection(context.Background(), db)
	if err != nil {
		_ = db.Close()
		return nil, fault(op, err)
	}
	return &DB{sql: db, one: one}, nil
}

// ViewSQLite opens an existing file for reading and does not change it. It returns
// [event.ErrUnsupported] for a file of an older version of Braid, which [OpenSQLite] migrates,
// and [event.ErrNewer] for one of a newer version.
func ViewSQLite(file string) (*DB, error) {
	const op = "look at the service's database"
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, fault(op, err)
	}
	if path = filepath.ToSlash(path); !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive letter
	}
	query := url.Values{"_pragma": {"busy_timeout(5000)"}, "_dqs": {"0"}, "mode": {"ro"}}
	dsn := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: query.Encode()}
	connector, err := sqlite.NewConnector(dsn.String())
	if err != nil {
		return nil, fault(op, err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	version, known, err := versionOf(context.Background(), op, db)
	if err == nil && version < known {
		err = sharedTables.Older(op, int64(version), int64(known))
	}
	if err != nil {
		_ = db.Close()
		return nil, fault(op, err)
	}
	return ofSQLite(op, db)
}

// sqliteScripts returns the migrations in order. A file's version is the number of migrations
// applied.
func sqliteScripts() []string {
	names, err := fs.Glob(sqliteFiles, "sqlite/*.sql")
	if err != nil {
		return nil // the pattern is valid
	}
	slices.Sort(names)
	scripts := make([]string, 0, len(names))
	for _, name := range names {
		script, err := sqliteFiles.ReadFile(name)
		if err != nil {
			return nil // the file is embedded
		}
		scripts = append(scripts, string(script))
	}
	return scripts
}

// versionOf returns the version of a file's schema and the version that this program knows. It
// refuses a newer file and another program's file.
func versionOf(ctx context.Context, op string, db *sql.DB) (version, known int, err error) {
	known = len(sqliteScripts())
	var tables int
	err = db.QueryRowContext(ctx, `SELECT user_version, (SELECT count(*) FROM sqlite_schema) FROM pragma_user_version`).Scan(&version, &tables)
	switch {
	case err != nil:
	case version > known:
		err = sharedTables.Newer(op, int64(version), int64(known))
	case version == 0 && tables > 0:
		err = &event.Error{
			Op: op, Kind: event.ErrInvalid, Message: "the file where the service's database should be is another program's",
			Hint: "choose another data folder",
		}
	}
	return version, known, err
}

// upSQLite migrates the file. It changes nothing before it has checked the file.
func upSQLite(ctx context.Context, op string, db *sql.DB) error {
	scripts := sqliteScripts()
	version, _, err := versionOf(ctx, op, db)
	if err != nil {
		return err
	}
	for ; version < len(scripts); version++ {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, scripts[version]+";\nPRAGMA user_version = "+strconv.Itoa(version+1))
		if err != nil {
			_ = tx.Rollback()
			return err
		}
		if err := tx.Commit(); err != nil {
			return err
		}
	}
	return nil
}
