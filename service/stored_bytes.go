package service

import (
	"sync"
	"time"
)

const (
	// storageLook is how long a count is reused. It misses what other servers add and what runs
	// commit in this time.
	storageLook = time.Second
	// mostStored bounds how many tenants' counts are in memory.
	mostStored = 10_000
)

// storage caches how much tenants store. The zero value is ready for use.
type storage struct {
	mu sync.Mutex
	of map[string]*storedBytes
}

// storedBytes is how much one tenant stored at a time.
type storedBytes struct {
	life  string
	bytes int64
	// more is what this process has admitted since.
	more int64
	at   time.Time
}

// find returns how much the tenant stores if it was counted recently.
func (s *storage) find(tenant, life string, now time.Time) (bytes int64, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.of[tenant]
	if k == nil || k.life != life || now.Sub(k.at) >= storageLook {
		return 0, false
	}
	return k.bytes + k.more, true
}

// keep caches a count.
func (s *storage) keep(tenant, life string, bytes int64, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil || len(s.of) >= mostStored && s.of[tenant] == nil {
		s.of = make(map[string]*storedBytes) // all are counted again
	}
	s.of[tenant] = &storedBytes{life: life, bytes: bytes, at: now}
}

// add adds admitted bytes to the cached count.
func (s *storage) add(tenant string, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.of[tenant]; k != nil {
		k.more += bytes
	}
}
