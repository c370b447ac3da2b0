package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid/event"
)

// A folder that cannot be written counts as full, for at least a second. The probe file is removed.
func TestSpace(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "data")
	synctest.Test(t, func(t *testing.T) {
		s := &space{folder: folder}
		if err := s.check(); !errors.Is(err, event.ErrStorageFull) {
			t.Errorf("a folder that cannot be written: %v", err)
		}
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, ".space"), nil, 0o600); err != nil { // left by a killed process
			t.Fatal(err)
		}
		if err := s.check(); err == nil {
			t.Error("it looked again within a second")
		}
		time.Sleep(spaceEvery)
		if err := s.check(); err != nil {
			t.Errorf("a folder with space: %v", err)
		}
		if list, err := os.ReadDir(folder); err != nil || len(list) > 0 {
			t.Errorf("it leaves %v: %v", list, err)
		}
	})
}
