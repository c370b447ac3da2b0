package sim

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/sqlite"
)

// disks holds the journals of a case.
type disks struct {
	// folder is the folder for the files of a case.
	folder string
	kind   string
	open   []*sqlite.Store
	at     map[*sqlite.Store]string
	err    error
}

func (d *disks) first(c Case) journal.Journal {
	if d.kind = c.Store; d.kind == "memory" {
		return journal.NewMemory(journal.MemoryOptions{Term: term})
	}
	d.at = map[*sqlite.Store]string{}
	return d.start(d.next())
}

func (d *disks) next() string { return filepath.Join(d.folder, fmt.Sprint("disk", len(d.open)+1)) }

func (d *disks) start(folder string) journal.Journal {
	s, err := sqlite.Open(folder, sqlite.Options{Term: term, Owner: folder, Relaxed: true})
	if err != nil {
		d.err = err
		return journal.NewMemory(journal.MemoryOptions{})
	}
	d.open = append(d.open, s)
	d.at[s] = folder
	return s
}

// reopen returns the journal as the next process finds it. For files that is the state on the
// disk after the crash. A journal in memory survives like a database server.
func (d *disks) reopen(base journal.Journal) journal.Journal {
	s, ok := base.(*sqlite.Store)
	if !ok {
		return base
	}
	from, to := d.at[s], d.next()
	if err := copyFiles(from, to); err != nil {
		d.err = err
		return base
	}
	return d.start(to)
}

func copyFiles(from, to string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	for _, name := range []string{"journal.db", "journal.db-wal"} {
		in, err := os.Open(filepath.Join(from, name)) //nolint:gosec // the test's own folder
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return err
		}
		out, err := os.OpenFile(filepath.Join(to, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) //nolint:gosec // the same
		if err == nil {
			_, err = io.Copy(out, in)
		}
		_ = in.Close()
		if err != nil {
			return err
		}
		if err := out.Close(); err != nil {
			return err
		}
	}
	return nil
}

func (d *disks) close() {
	for _, s := range d.open {
		_ = s.Close()
		_ = os.RemoveAll(d.at[s])
	}
}

// whole reads the journal's final state.
func whole(base journal.Journal) (map[string]journal.Run, error) {
	rows, err := base.Runs(context.Background(), talk, 0, 0)
	if err != nil {
		return nil, err
	}
	runs := map[string]journal.Run{}
	for _, r := range rows {
		runs[r.ID] = r
	}
	return runs, nil
}
