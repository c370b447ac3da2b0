package postgres_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/braidrun/braid/blob"
	"github.com/braidrun/braid/blob/blobtest"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal/postgres"
)

// blobs returns a harness for the blobs of a store. The owner's connection sees all tenants.
func blobs(t *testing.T, s *postgres.Store, watch *pgx.Conn, reopen func() *postgres.Store) blobtest.Harness {
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
		Pieces: func() (n int) {
			// Row-level security also applies to the owner.
			for _, tenant := range []string{"acme", "other", ""} {
				var more int
				var batch pgx.Batch
				batch.Queue(`SELECT set_config('braid.tenant', $1, true)`, "="+tenant)
				batch.Queue(`SELECT count(*) FROM blob_piece`).QueryRow(func(row pgx.Row) error { return row.Scan(&more) })
				if err := watch.SendBatch(t.Context(), &batch).Close(); err != nil {
					t.Error(err)
				}
				n += more
			}
			return n
		},
		Damage: func(tenant string, digest blob.Digest, offset int64) {
			var batch pgx.Batch
			batch.Queue(`SELECT set_config('braid.tenant', $1, true)`, "="+tenant)
			batch.Queue(`UPDATE blob_piece p SET data = set_byte(p.data, ($2 - p.first)::int, get_byte(p.data, ($2 - p.first)::int) # 1)
				FROM blob b WHERE b.digest = $1 AND p.blob = b.key AND $2 >= p.first AND $2 < p.first + octet_length(p.data)`, digest[:], offset)
			if err := watch.SendBatch(t.Context(), &batch).Close(); err != nil {
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
	server := server(t)
	blobtest.Run(t, func(t *testing.T) blobtest.Harness {
		o := migrated(t, server)
		o.Connections = 4
		s := open(t, o)
		advance := hold(t, server, o)
		h := blobs(t, s, login(t, server, owner, o), func() *postgres.Store {
			shut(t, s)
			return open(t, o)
		})
		h.Later = func() { advance(blob.UploadTime) }
		return h
	})
}

func TestBlobsAreAMap(t *testing.T) {
	t.Parallel()
	server := server(t)
	o := migrated(t, server)
	s := open(t, o)
	h := blobs(t, s, login(t, server, owner, o), nil)
	h.Pieces = nil // each check of them takes six round trips
	blobtest.Model(t, h)
}

// paused is a source that calls then after some bytes.
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

// An unfinished upload of another process is swept after UploadTime, and not before. The upload itself then ends with an
// error.
func TestSlowUploads(t *testing.T) {
	t.Parallel()
	server := server(t)
	o := migrated(t, server)
	s, sweeper := open(t, o), open(t, o)
	advance := hold(t, server, o)
	h := blobs(t, s, login(t, server, owner, o), nil)
	put := func(size int, then func()) error {
		source := &paused{Reader: bytes.NewReader(make([]byte, size)), left: 2 * blob.PieceSize, then: func() {
			then()
			if err := sweeper.Blobs().Sweep(t.Context()); err != nil {
				t.Error(err)
			}
		}}
		_, err := s.Blobs().Put(t.Context(), "acme", blob.Ref{Kind: "file", Name: "a"}, source, 0)
		return err
	}
	if err := put(3*blob.PieceSize, func() { advance(blob.UploadTime / 2) }); err != nil {
		t.Errorf("an upload that pauses for half of the time: %v", err)
	}
	if err := put(4*blob.PieceSize, func() { advance(blob.UploadTime) }); event.KindOf(err) != event.ErrGone {
		t.Errorf("an upload that pauses for all of the time: %v", err)
	}
	if n := h.Pieces(); n != 3 {
		t.Errorf("%d pieces are stored, want those of the first", n)
	}
}

// A database of an earlier version is migrated, and stores blobs beside its rows.
func TestBlobsAfterAnUpgrade(t *testing.T) {
	t.Parallel()
	server := server(t)
	o := migrated(t, server)
	s := open(t, o)
	fill(t, s, "acme")
	before, err := s.StoredBytes(t.Context(), "acme")
	if err != nil || before == 0 {
		t.Fatal(before, err)
	}
	shut(t, s)
	as(t, server, owner, o, `DROP TRIGGER usage_people_add ON usage_logs`, `DROP FUNCTION usage_people_add`,
		`DROP TABLE blob, blob_piece, blob_ref, stored_fold, stored_fold_part, usage_people`,
		`DROP FUNCTION tenants_with_loose_blobs, blob_counted, blob_lost, blob_ref_changed`,
		`DELETE FROM journal_version WHERE version_id >= 13`)
	_, err = postgres.Open(t.Context(), o)
	refused(t, "Open of an older journal", err, event.ErrUnsupported)
	at := o
	at.URL = server.URL(owner, "postgres")
	if err := postgres.Migrate(t.Context(), at, guest); err != nil {
		t.Fatal(err)
	}
	s = open(t, o)
	if _, err := s.Blobs().Put(t.Context(), "acme", blob.Ref{Kind: "file", Name: "a"}, bytes.NewReader(make([]byte, 1000)), 0); err != nil {
		t.Fatal(err)
	}
	if n, err := s.StoredBytes(t.Context(), "acme"); err != nil || n != before+1000 {
		t.Errorf("%d bytes are counted, want %d: %v", n, before+1000, err)
	}
}
