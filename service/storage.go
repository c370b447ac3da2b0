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

// This file holds tenants to the bytes that they store. New conversations, runs and messages are refused beyond the bound,
// and a run ends before its next model call. What is committed stays, and deleting always works.

const (
	// storageLook is how long a counted number of bytes is used again. What other servers add in this time is not seen, and
	// neither is what runs commit.
	storageLook = time.Second
	// mostStored bounds how many tenants' numbers are in memory.
	mostStored = 10_000
)

// storage holds what tenants stored when it was last counted. The zero value is ready for use.
type storage struct {
	mu sync.Mutex
	of map[string]*storedBytes
}

// storedBytes is what one tenant stored at a time.
type storedBytes struct {
	life  string
	bytes int64
	// more is what this process has let in since.
	more int64
	at   time.Time
}

// find returns what the tenant stored not long ago.
func (s *storage) find(tenant, life string, now time.Time) (bytes int64, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.of[tenant]
	if k == nil || k.life != life || now.Sub(k.at) >= storageLook {
		return 0, false
	}
	return k.bytes + k.more, true
}

// keep notes what the tenant stores.
func (s *storage) keep(tenant, life string, bytes int64, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil || len(s.of) >= mostStored && s.of[tenant] == nil {
		s.of = make(map[string]*storedBytes) // all are counted again
	}
	s.of[tenant] = &storedBytes{life: life, bytes: bytes, at: now}
}

// add notes bytes that were let in.
func (s *storage) add(tenant string, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.of[tenant]; k != nil {
		k.more += bytes
	}
}

// stored counts what the tenant stores: its conversations' rows and what the journal has of them.
func (s *Service) stored(ctx context.Context, tenant string) (int64, error) {
	bytes, err := s.options.Rows.Bytes(ctx, tenant)
	if err != nil {
		return 0, err
	}
	logs, err := s.options.Journal.StoredBytes(ctx, tenant)
	return bytes + logs, err
}

// stores returns an error if the tenant may not store so many bytes more. It refuses only after it has counted, so that
// what was deleted is free at once.
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

// holds refuses a run whose input the tenant may not store, unless it is one that was accepted before.
func (s *Service) holds(ctx context.Context, in *entry) error {
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

// full reports whether a model call of the tenant is to be refused: its answer could not be stored. Where that cannot be
// found out the call is made: a run that reaches no database commits nothing.
func (s *Service) full(ctx context.Context, tenant string) error {
	if err := s.stores(ctx, tenant, 0); errors.Is(err, event.ErrQuota) {
		return err
	}
	return nil
}
