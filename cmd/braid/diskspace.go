package main

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/braidrun/braid/event"
)

const (
	// spaceEvery is the time between two checks.
	spaceEvery = time.Second
	// spaceBytes is the size of the test file: a small turn with its index pages.
	spaceBytes = 256 << 10
)

// space checks that a folder has space left. It is safe for concurrent use.
type space struct {
	folder string

	mu  sync.Mutex
	at  time.Time
	err error
}

// check returns an error of kind [event.ErrStorageFull] if a small file cannot be written into the folder.
// It writes one at most once a second, and removes it.
func (s *space) check() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); s.at.IsZero() || now.Sub(s.at) >= spaceEvery {
		s.at, s.err = now, nil
		if err := s.write(); err != nil {
			s.err = &event.Error{
				Op: "check space", Kind: event.ErrStorageFull, Message: "there is no space left to write", Hint: "free some space", Err: err,
			}
		}
	}
	return s.err
}

func (s *space) write() error {
	name := filepath.Join(s.folder, ".space")
	if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) { // a killed process may have left one
		return err
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, spaceBytes))
	return errors.Join(err, f.Close(), os.Remove(name))
}
