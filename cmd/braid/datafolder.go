package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/database"
)

// checkPrivate refuses a server's data folder that every user of the machine may write to: they could
// replace a token, keys or a database.
func checkPrivate(data string) error {
	info, err := os.Stat(data)
	if err != nil || runtime.GOOS == "windows" || info.Mode().Perm()&0o002 == 0 {
		return nil //nolint:nilerr // opening the folder reports it
	}
	return &event.Error{
		Kind: event.ErrPermission, Message: "every user of this machine may write into the data folder",
		Hint: "take the right away with chmod o-w, and look at what is in the folder, or name another one with --data",
	}
}

// checkJournal refuses a data folder without a journal, or with an empty one, if the server's database has
// conversations. An incomplete backup looks like this, and so does a folder after a power failure on some
// file systems. A new journal would show all these conversations as empty.
func checkJournal(data string) error {
	size := func(name string) int64 {
		info, err := os.Stat(filepath.Join(data, name))
		if err != nil {
			return 0
		}
		return info.Size()
	}
	if size(journalFile) > 0 || size(journalFile+"-wal") > 0 || size(serviceFile) == 0 {
		return nil
	}
	db, err := database.OpenSQLite(filepath.Join(data, serviceFile))
	if err != nil {
		return storeError(err)
	}
	defer db.Close()
	known := false
	err = db.Read(context.Background(), "check the data folder", "", func(tx *database.Tx) error {
		var one int
		known, err = tx.Get(`SELECT 1 FROM conversation LIMIT 1`, nil, &one)
		return err
	})
	if err != nil || !known {
		return err
	}
	return &event.Error{
		Kind: event.ErrInvalid, Message: "the data folder knows conversations, but their journal (" + journalFile + ") is missing or empty",
		Hint: "restore the whole folder from one backup; to start again, name an empty folder with --data",
	}
}
