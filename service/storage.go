package service

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/directory"
)

// This file enforces the tenants' storage quota. Beyond it new conversations, runs and messages are
// refused, and a run ends before its next model call. Committed data stays, and deleting always
// works.

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

// stored counts what the tenant stores: the rows of its conversations and their data in the
// journal.
func (s *Service) stored(ctx context.Context, tenant string) (int64, error) {
	bytes, err := s.options.Rows.Bytes(ctx, tenant)
	if err != nil {
		return 0, err
	}
	logs, err := s.options.Journal.StoredBytes(ctx, tenant)
	return bytes + logs, err
}

// stores returns an error if the tenant may not store so many bytes more. It counts again before it
// refuses, so that deleting frees space at once.
func (s *Service) stores(ctx context.Context, tenant string, more int64) error {
	q, life, err := s.Quota(ctx, tenant)
	most := directory.Bound(q.Storage)
	if err != nil || most == 0 {
		return err
	}
	now := time.Now()
	if bytes, known := s.storage.find(tenant, life, now); known && bytes+more < most {
		s.storage.add(tenant, more)
		return nil
	}
	bytes, err := s.stored(ctx, tenant)
	if err != nil {
		return err
	}
	s.storage.keep(tenant, life, bytes, now)
	if bytes+more >= most {
		return noRoom(most)
	}
	s.storage.add(tenant, more)
	return nil
}

func noRoom(most int64) error {
	return directory.OverQuota("quota", "QUOTA_STORAGE",
		"the conversations of the tenant take as many bytes as they may, "+strconv.FormatInt(most, 10),
		"delete conversations that you do not need, or ask the operator of this service for more")
}

// holds refuses a run whose input the tenant may not store, unless the run was accepted before.
func (s *Service) holds(ctx context.Context, in *admission) error {
	var more int64
	for i := range in.run.Input {
		more += sizeOfBlocks(in.run.Input[i].Content)
	}
	err := s.stores(ctx, in.row.Tenant, more)
	if err == nil {
		return nil
	}
	if again, look := s.repeats(ctx, in); again || look != nil {
		return look
	}
	return err
}

// full returns an error if the tenant may not store the output of a model call. If that cannot be
// checked the call is made: the run could not commit either.
func (s *Service) full(ctx context.Context, tenant string) error {
	if err := s.stores(ctx, tenant, 0); errors.Is(err, event.ErrQuota) {
		return err
	}
	return nil
}
