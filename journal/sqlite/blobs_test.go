package sqlite_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/braidrun/braid/blob"
	"github.com/braidrun/braid/blob/blobtest"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal/sqlite"
)

// blobs returns a harness for the blobs of a store, which reopen opens again.
func blobs(t *testing.T, s *sqlite.Store, reopen func() *sqlite.Store) blobtest.Harness {
	t.Helper()
	return blobtest.Harness{
		Store: s.Blobs(), Journal: s,
		Bytes: func(tenant string) int64 {
			n, err := s.StoredBytes(t.Context(), tenant)
			if err != nil {
				t.Error(err)
			}
			return n
		},
		Pieces: func() int {
			n, err := s.Pieces()
			if err != nil {
				t.Error(err)
			}
			return n
		},
		Damage: func(tenant string, digest blob.Digest, offset int64) {
			if err := s.Damage(tenant, digest[:], offset); err != nil {
				t.Error(err)
			}
		},
		Reopen: func() blob.Store {
			s = reopen()
			return s.Blobs()
		},
	}
}

func TestBlobs(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, func(t *testing.T) blobtest.Harness {
		folder := fresh(t)
		s := open(t, folder, sqlite.Options{})
		return blobs(t, s, func() *sqlite.Store {
			shut(t, s)
			return open(t, folder, sqlite.Options{})
		})
	})
}

func TestBlobsAreAMap(t *testing.T) {
	t.Parallel()
	s := open(t, fresh(t), sqlite.Options{Relaxed: true})
	blobtest.Model(t, blobs(t, s, nil))
}

// paused is a source that calls then after its first piece.
type paused struct {
	io.Reader

	left int
	then func()
}

func (p *paused) Read(b []byte) (int, error) {
	if p.left == 0 && p.then != nil {
		p.then()
		p.then = nil
	}
	if p.left > 0 {
		b = b[:min(len(b), p.left)]
	}
	n, err := p.Reader.Read(b)
	p.left -= n
	return n, err
}

// An upload that pauses for longer than UploadTime is swept, a slower but steady one is not.
func TestSlowUploads(t *testing.T) {
	t.Parallel()
	for wait, kind := range map[time.Duration]event.ErrorKind{blob.UploadTime - time.Second: "", blob.UploadTime: event.ErrGone} {
		t.Run(wait.String(), func(t *testing.T) {
			t.Parallel()
			c := newManual()
			s := open(t, fresh(t), sqlite.Options{Now: c.Now})
			data := make([]byte, 3*blob.PieceSize)
			source := &paused{Reader: bytes.NewReader(data), left: 2 * blob.PieceSize, then: func() {
				c.Advance(wait)
				if err := s.Blobs().Sweep(t.Context()); err != nil {
					t.Error(err)
				}
			}}
			_, err := s.Blobs().Put(t.Context(), "acme", blob.Ref{Kind: "file", Name: "a"}, source, 0)
			if event.KindOf(err) != kind {
				t.Fatalf("after %v: %v", wait, err)
			}
			want := 3
			if kind != "" {
				want = 0
			}
			if n, err := s.Pieces(); err != nil || n != want {
				t.Errorf("%d pieces are stored, want %d: %v", n, want, err)
			}
		})
	}
}

// After a scrub, unlinked bytes are neither in the file nor in its journal.
func TestScrubTakesBlobsOutOfTheFiles(t *testing.T) {
	t.Parallel()
	folder := fresh(t)
	s := open(t, folder, sqlite.Options{})
	secret := bytes.Repeat([]byte("<a secret of sixty-four letters, which nothing else here says.>\n"), 20_000)
	ref := blob.Ref{Conversation: "talk", Kind: "file", Name: "a"}
	holds := func() (found bool) {
		for _, name := range []string{"journal.db", "journal.db-wal"} {
			data, err := os.ReadFile(filepath.Join(folder, name))
			if err != nil {
				t.Fatal(err)
			}
			found = found || bytes.Contains(data, secret[:64])
		}
		return found
	}
	if _, err := s.Blobs().Put(t.Context(), "acme", ref, bytes.NewReader(secret), 0); err != nil {
		t.Fatal(err)
	}
	if !holds() {
		t.Fatal("what is stored is in no file")
	}
	if err := s.Tombstone(t.Context(), "acme", "talk", "one"); err != nil {
		t.Fatal(err)
	}
	if err := s.Scrub(t.Context()); err != nil {
		t.Fatal(err)
	}
	if holds() {
		t.Error("what was removed is still in the files")
	}
}

// A large blob is written and removed in parts. Other calls write in between, and memory stays small.
func TestALargeBlobHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	s := open(t, fresh(t), sqlite.Options{Relaxed: true})
	const pieces = 20
	written := 0
	source := &counted{size: pieces * blob.PieceSize, each: func() {
		// This call runs between two pieces.
		ref := blob.Ref{Kind: "file", Name: fmt.Sprint(written)}
		if _, err := s.Blobs().Put(t.Context(), "other", ref, bytes.NewReader([]byte("x")), 0); err != nil {
			t.Error(err)
		}
		written++
	}}
	b, err := s.Blobs().Put(t.Context(), "acme", blob.Ref{Kind: "file", Name: "large"}, source, 0)
	if err != nil || b.Size != pieces*blob.PieceSize {
		t.Fatal(b, err)
	}
	if written < pieces {
		t.Errorf("%d others wrote meanwhile", written)
	}
	r, err := s.Blobs().Get(t.Context(), "acme", b.Digest, 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, r)
	if err != nil || n != b.Size {
		t.Errorf("%d bytes: %v", n, err)
	}
}

// counted is a source of zeros that calls each before each piece.
type counted struct {
	size, read int
	each       func()
}

func (c *counted) Read(b []byte) (int, error) {
	if c.read == c.size {
		return 0, io.EOF
	}
	if c.read%blob.PieceSize == 0 {
		c.each()
	}
	n := min(len(b), c.size-c.read, blob.PieceSize-c.read%blob.PieceSize)
	clear(b[:n])
	c.read += n
	return n, nil
}

// uploadSize is large enough that some pieces are on disk before the last one is read.
const uploadSize = 12*blob.PieceSize - 5

// uploadForEver stores blobs until the process is killed, and prints the name of each half-stored one.
func uploadForEver(s *sqlite.Store) error {
	for i := 0; ; i++ {
		name := fmt.Sprint(i)
		data := bytes.Repeat([]byte(name), uploadSize)[:uploadSize]
		ref := blob.Ref{Conversation: "talk", Kind: "file", Name: name}
		source := &paused{Reader: bytes.NewReader(data), left: 9 * blob.PieceSize, then: func() { fmt.Println(name) }}
		if _, err := s.Blobs().Put(context.Background(), "acme", ref, source, 0); err != nil {
			return err
		}
	}
}

// A process that is killed while it stores leaves complete blobs and garbage, and a sweep removes the garbage.
func TestAKilledUpload(t *testing.T) {
	t.Parallel()
	garbage := 0
	for round := range 4 {
		folder := fresh(t)
		p := start(t, "upload", folder)
		for range round + 1 {
			p.next()
		}
		p.kill()
		s := open(t, folder, sqlite.Options{})
		list, err := s.Blobs().List(t.Context(), "acme", blob.Query{Conversation: "talk", Kind: "file"})
		if err != nil || len(list) < round {
			t.Fatalf("%d were stored, and the list is %v: %v", round, list, err)
		}
		pieces := 0
		for _, e := range list {
			r, err := s.Blobs().Get(t.Context(), "acme", e.Blob.Digest, 0, -1)
			if err != nil {
				t.Fatal(err)
			}
			if n, err := io.Copy(io.Discard, r); err != nil || n != e.Blob.Size {
				t.Errorf("%s: %d bytes of %d: %v", e.Ref.Name, n, e.Blob.Size, err)
			}
			pieces += int((e.Blob.Size + blob.PieceSize - 1) / blob.PieceSize)
		}
		if n, err := s.Pieces(); err == nil {
			garbage += n - pieces
		}
		if err := s.Blobs().Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n, err := s.Pieces(); err != nil || n != pieces {
			t.Errorf("%d pieces are stored, want %d: %v", n, pieces, err)
		}
		if bytes, err := s.StoredBytes(t.Context(), "acme"); err != nil || bytes != int64(len(list))*uploadSize {
			t.Errorf("%d bytes are counted: %v", bytes, err)
		}
		if result, err := s.Integrity(); err != nil || result != "ok" {
			t.Error(result, err)
		}
		shut(t, s)
	}
	if garbage == 0 {
		t.Error("no upload was cut")
	}
}
