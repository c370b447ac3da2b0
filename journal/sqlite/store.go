package sqlite

import (
	"sync"
	"time"

	"github.com/braidrun/braid/journal"
)

// Options are the settings of a [Store]. The zero value suits most programs.
type Options struct {
	// Term is how long a lease lasts; 0 or less means [journal.DefaultTerm].
	Term time.Duration
	// Now is the store's clock; nil means time.Now. Leases ignore it when it goes back. If it is time.Now, they also ignore
	// that the system's clock is set forward. It must not call the store.
	Now func() time.Time
	// Owner is the name in which leases are held. Opening a folder under another name than before voids the leases in it.
	// Empty means a random name for this process: leases survive when it closes and opens the store, and end with it.
	Owner string
	// Relaxed lets a commit return before it is on the disk. A power cut or a crash of the operating system may then lose
	// the last commits, but never their order. A crash of the process alone loses nothing.
	Relaxed bool
}

// Store is the [journal.Store] in one SQLite file. [Open] makes it.
type Store struct {
	term       time.Duration
	clock      *clock
	generation int64
	// began is when the store was opened, in microseconds on the wall.
	began int64

	lock   *folderLock
	writer *writer
	reader *reader

	closing sync.Once
	closed  error
}

var _ journal.Journal = (*Store)(nil)

const (
	fileName = "journal.db"
	lockName = "journal.lock"
)
