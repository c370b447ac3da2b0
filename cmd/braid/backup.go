package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"modernc.org/sqlite"

	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
)

func backupCommand(p *process) conf.Command {
	return conf.Command{
		Name: "backup", Args: "DIR", Short: "copy the data folder while a server works on it",
		About: `Copies the data folder into a new folder: conversations, tenants, agents and API keys.
Programs may use the data folder during the copy. To restore it, serve the copy:
braid serve --data DIR.

Each of the two files is copied in one consistent state. The conversations' logs come
first, so that each conversation of the copy has its log up to that state. The copy
does not include the keys that encrypt stored secrets, because anyone with both could
read the secrets. It also does not include the server's token and files that
conversations have made.

With PostgreSQL, use its own tools: pg_dump, or archiving.`,
		Examples: []conf.Example{
			{Line: `braid backup /backups/$(date +%F)`, Says: "copy the data folder into a new one"},
			{Line: `braid serve --data /backups/2026-11-21`, Says: "serve the copy"},
		},
		Options: true, Some: []string{"data"},
		Run: func(ctx context.Context, in *conf.Invocation) error { return backup(ctx, p, in) },
	}
}

// journalFile is the name of the journal in the data folder.
const journalFile = "journal.db"

// backedUp lists the files of a backup in the order of copying: the service's database refers to the
// journal, so the journal comes first. The second file is missing if no server ever used the folder.
var backedUp = []string{journalFile, serviceFile}

func backup(ctx context.Context, p *process, in *conf.Invocation) (err error) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(in.Args) != 1 {
		return term.Invalid("braid backup DIR", "braid backup needs the name of a new folder")
	}
	cfg, err := p.Config(in)
	if err != nil {
		return err
	}
	target, err := filepath.Abs(in.Args[0])
	if err != nil {
		return term.Invalid("name another one", "the folder cannot be made")
	}
	// Opening it reports an empty folder, an older version, or another program as an error.
	a, err := p.openArchive(cfg)
	if term.KindOf(err) == event.ErrNotFound {
		return &event.Error{
			Kind: event.ErrNotFound, Message: "the data folder holds no conversations, so there is nothing to copy",
			Hint: "name the server's folder with --data; what is kept in PostgreSQL is copied with pg_dump",
		}
	}
	if err != nil {
		return err
	}
	defer a.Close()
	unfinished, err := newFolder(target)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(unfinished)
		}
	}()
	size := int64(0)
	for _, name := range backedUp {
		from := filepath.Join(cfg.Data, name)
		if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) && name != journalFile {
			continue
		}
		to := filepath.Join(unfinished, name)
		if err := copyDatabase(ctx, from, to); err != nil {
			return backupError(p.spaceError(err, filepath.Dir(target)))
		}
		if info, err := os.Stat(to); err == nil {
			size += info.Size()
		}
	}
	if err := os.Rename(unfinished, target); err != nil {
		return backupError(err)
	}
	syncFolder(filepath.Dir(target))
	_, err = fmt.Fprintf(p.Stdout, "copied %s to %s\nnot in it: the keys of stored secrets, the server's token, files of conversations\n",
		sizeWords(size), term.CleanLine(in.Args[0]))
	return term.OutputError(err)
}

func sizeWords(n int64) string {
	const kib = 1 << 10
	if n < kib*kib {
		return fmt.Sprintf("%d KiB", (n+kib-1)/kib)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(kib*kib))
}

// newFolder creates a folder beside the target, which replaces the target when it is complete.
func newFolder(target string) (string, error) {
	entries, err := os.ReadDir(target)
	switch {
	case err == nil && len(entries) > 0:
		return "", &event.Error{
			Kind: event.ErrConflict, Message: "the folder is not empty",
			Hint: "name a folder that does not exist: a backup replaces nothing",
		}
	case err == nil:
		if err := os.Remove(target); err != nil {
			return "", backupError(err)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return "", backupError(err)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return "", backupError(err)
	}
	dir, err := os.MkdirTemp(filepath.Dir(target), filepath.Base(target)+".part")
	if err != nil {
		return "", backupError(err)
	}
	return dir, nil
}

// copyDatabase copies a consistent state of a database that another process may be writing.
func copyDatabase(ctx context.Context, from, to string) (err error) {
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if from, err = filepath.Abs(from); err != nil {
		return err
	}
	path := filepath.ToSlash(from)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive's letter
	}
	address := url.URL{Scheme: "file", Path: path, RawQuery: url.Values{
		"mode": {"rw"}, "_pragma": {"busy_timeout(10000)"}, "_dqs": {"0"},
	}.Encode()}
	db, err := sql.Open("sqlite", address.String())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, err := db.ExecContext(ctx, `VACUUM INTO ?`, to); err != nil {
		return err
	}
	// SQLite does not sync the copy to the disk.
	if f, err = os.OpenFile(to, os.O_RDWR, 0o600); err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// syncFolder syncs the names in a folder to the disk, if the system supports it.
func syncFolder(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync() // some systems cannot
		_ = d.Close()
	}
}

// Codes of SQLite for errors that a user can solve.
const (
	sqliteFull    = 13
	sqliteCorrupt = 11
)

func backupError(err error) error {
	if _, told := errors.AsType[*event.Error](err); told {
		return err
	}
	e := &event.Error{Kind: event.ErrUnavailable, Message: "the copy cannot be written", Hint: "look at the disk, and try again", Err: err}
	if s, ok := errors.AsType[*sqlite.Error](err); ok {
		switch s.Code() & 0xff {
		case sqliteFull:
			e.Kind, e.Message, e.Hint = event.ErrStorageFull, "there is no space left for the copy", "free some, or choose another disk"
		case sqliteCorrupt:
			e.Kind, e.Message = event.ErrInternal, "the data is damaged, so there is no copy of it"
			e.Hint = "keep the backups that you have; braid doctor looks at the folder"
		}
	}
	switch {
	case errors.Is(err, context.Canceled):
		e.Kind, e.Message, e.Hint = event.ErrCancelled, "the copy was broken off, and nothing of it is left", ""
	case errors.Is(err, fs.ErrPermission):
		e.Kind, e.Message, e.Hint = event.ErrPermission, "the copy cannot be written there", "choose a folder that this user may write in"
	}
	return e
}
