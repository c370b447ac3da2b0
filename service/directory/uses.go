package directory

import (
	"sync"
	"time"
)

// usedEvery is how often the use of a key is written at most.
const usedEvery = time.Minute

// uses holds when keys were used until that is written, so that using a key costs no write. The
// zero value is ready for use.
type uses struct {
	mu    sync.Mutex
	last  map[usedKey]time.Time
	timer *time.Timer
	shut  bool
	// writing is held while uses are written.
	writing sync.Mutex
}

type usedKey struct{ tenant, id string }
