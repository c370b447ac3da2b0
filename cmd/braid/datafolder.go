package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/database"
)

// checkPrivate refuses a data folder of a server that every user of the machine may write: each of them could
// put a token, keys or a database there.
func checkPrivate(data string) error {
	info, err := os.Stat(data)
	if err != nil || runtime.GOOS == "windows" || info.Mode().Perm()&0o002 == 0 {
		return nil //nolint:nilerr // what cannot be looked at is said by what opens it
	}
	return &event.Error{
		Kind: event.ErrPermission, Message: "every user of this machine may write into the data folder",
		Hint: "take the right away with chmod o-w, and look at what is in the folder, or name another one with --data",
	}
}

// checkJournal refuses a data folder whose journal is missing or empty beside a server's database that
// knows conversations. A restored half of a backup looks so, and so does what some file systems leave after
// a power cut. A journal made anew would show all these conversations as empty.
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
		Hint: "restore the whole folder from one backup; to begin anew name an empty folder with --data",
	}
}
