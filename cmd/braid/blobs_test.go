package main

import (
	"database/sql"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/braidrun/braid/blob"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/journal/sqlite"
)

// putBlob stores bytes in the process's data folder.
func putBlob(t *testing.T, p *process, name, content string) (folder string, stored blob.Blob) {
	t.Helper()
	folder, err := p.DataDir()
	if err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(folder, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ref := blob.Ref{Conversation: "talk", Kind: "file", Name: name}
	stored, err = s.Blobs().Put(t.Context(), conf.Tenant, ref, strings.NewReader(content), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return folder, stored
}

// damageBlob stores two blobs and damages the one that the doctor reads last.
func damageBlob(t *testing.T, p *process) {
	folder, _ := putBlob(t, p, "damaged", "hello")
	db, err := sql.Open("sqlite", filepath.Join(folder, "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), `UPDATE blob_piece SET data = CAST('hallo' AS BLOB)`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	putBlob(t, p, "whole", "good bye")
}

// A backup contains the stored bytes.
func TestABackupHasBlobs(t *testing.T) {
	t.Parallel()
	p, _, errs := testProcess(t, nil)
	folder, stored := putBlob(t, p, "a", strings.Repeat("hello ", 100_000))
	copied := filepath.Join(t.TempDir(), "copy")
	p.Args = []string{"backup", "--data", folder, copied}
	if code := p.run(t.Context()); code != 0 {
		t.Fatalf("backup: %d, %s", code, errs)
	}
	s, err := sqlite.Open(copied, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, err := s.Blobs().Get(t.Context(), conf.Tenant, stored.Digest, 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, r); err != nil || n != stored.Size {
		t.Errorf("%d of %d bytes are in the copy: %v", n, stored.Size, err)
	}
}
