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

// storage caches how much tenants store, and counts what their running uploads have read. The zero
// value is ready for use.
type storage struct {
	mu sync.Mutex
	of map[string]*storedBytes
	// uploads are of the tenants with a running upload, or with a count that has begun.
	uploads map[string]*uploads
}

// storedBytes is how much one tenant stored at a time.
type storedBytes struct {
	life  string
	bytes int64
	// more is what this process has admitted since.
	more int64
	at   time.Time
}

// uploads are the running uploads of a tenant in this process.
type uploads struct {
	// held are the bytes that they have read. No count of stored bytes includes them yet.
	held int64
	// landed are the bytes of those that have become files. A count that began before may miss them.
	landed int64
	// users are the running uploads and counts.
	users int
}

// storageAnswer says what became of a request for bytes.
type storageAnswer int

const (
	// storageUnknown means that the tenant's bytes must be counted first.
	storageUnknown storageAnswer = iota
	storageAdmitted
	storageFull
)

// admit admits bytes below a bound, if the tenant was counted recently. upload says that they belong to a running upload.
func (s *storage) admit(tenant, life string, more, most int64, upload bool, now time.Time) storageAnswer {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.of[tenant]
	if k == nil || k.life != life || now.Sub(k.at) >= storageLook {
		return storageUnknown
	}
	total := k.bytes + k.more + more
	if u := s.uploads[tenant]; u != nil {
		total += u.held
	}
	if total >= most {
		return storageFull
	}
	if upload {
		s.use(tenant).held += more
	} else {
		k.more += more
	}
	return storageAdmitted
}

// use returns the uploads of a tenant. The caller holds s.mu.
func (s *storage) use(tenant string) *uploads {
	u := s.uploads[tenant]
	if u == nil {
		if s.uploads == nil {
			s.uploads = make(map[string]*uploads)
		}
		u = &uploads{}
		s.uploads[tenant] = u
	}
	return u
}

// begin notes that an upload or a count begins. It returns how many bytes have landed; end is called for each begin.
func (s *storage) begin(tenant string) (landed int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.use(tenant)
	u.users++
	return u.landed
}

// end notes the end of an upload that held bytes and has stored some of them, or of a count.
func (s *storage) end(tenant string, held, stored int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.use(tenant)
	u.held -= held
	u.landed += stored
	if k := s.of[tenant]; k != nil {
		k.more += stored
	}
	if u.users--; u.users == 0 {
		delete(s.uploads, tenant)
	}
}

// keep caches a count that began when landed bytes had landed.
func (s *storage) keep(tenant, life string, bytes, landed int64, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil || len(s.of) >= mostStored && s.of[tenant] == nil {
		s.of = make(map[string]*storedBytes) // all are counted again
	}
	s.of[tenant] = &storedBytes{life: life, bytes: bytes, more: s.use(tenant).landed - landed, at: now}
}

// hold adds bytes of a running upload of a tenant without a bound: it may get one meanwhile.
func (s *storage) hold(tenant string, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.use(tenant).held += bytes
}
