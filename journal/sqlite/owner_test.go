package sqlite_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/braidrun/braid/journal/sqlite"
)

func TestWhoOwnsTheFolder(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "data")
	if pid, owned := sqlite.Owner(folder); owned || pid != 0 {
		t.Errorf("a folder that is not there is owned by %d", pid)
	}
	s, err := sqlite.Open(folder, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if pid, owned := sqlite.Owner(folder); !owned || pid != os.Getpid() {
		t.Errorf("owned %t by %d, want by this process", owned, pid)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if pid, owned := sqlite.Owner(folder); owned || pid != 0 {
		t.Errorf("a folder that was given back is owned by %d", pid)
	}
}

// A reader blocks nobody.
func TestLookingWhoOwnsKeepsNobodyOut(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	stop := make(chan struct{})
	var looking sync.WaitGroup
	looking.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				sqlite.Owner(folder)
			}
		}
	})
	defer looking.Wait()
	defer close(stop)
	for range 50 {
		s, err := sqlite.Open(folder, sqlite.Options{Relaxed: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
