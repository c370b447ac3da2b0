package skillpack

import (
	"archive/zip"
	"context"
	"errors"
	"io"
	"io/fs"
	"sync"

	"github.com/braidrun/braid/blob"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/directory"
)

// BlobKind is the Kind of the references of skills' archives. They belong to the tenant.
const BlobKind = "skill"

// UploadTime is how long an upload may take before what it has stored may be removed.
const UploadTime = blob.UploadTime

// Store stores the archives of skills. It is safe for concurrent use.
type Store struct{ blobs blob.Store }

// NewStore returns a Store over a store of bytes.
func NewStore(blobs blob.Store) *Store { return &Store{blobs} }

// Put stores a skill's archive at a place, and returns what it has. After an error nothing is stored there.
func (s *Store) Put(ctx context.Context, tenant, place string, of *Skill) (directory.SkillSpec, error) {
	reader, writer := io.Pipe()
	written := make(chan struct{})
	go func() {
		defer close(written)
		_ = writer.CloseWithError(of.Write(writer)) // never fails
	}()
	stored, err := s.blobs.Put(ctx, tenant, ref(place), reader, 2*MostBytes)
	_ = reader.Close() // ends the writer if the store gave up
	<-written
	if err != nil {
		return directory.SkillSpec{}, err
	}
	spec := of.spec
	spec.SHA256, spec.ArchiveBytes = stored.Digest.String(), stored.Size
	return spec, nil
}

func ref(place string) blob.Ref { return blob.Ref{Kind: BlobKind, Name: place} }

// Remove removes what is stored at a place.
func (s *Store) Remove(ctx context.Context, tenant, place string) error {
	return s.blobs.Unlink(ctx, tenant, ref(place))
}

// Archive returns the archive of a version. It returns [event.ErrNotFound] if the skill was removed.
func (s *Store) Archive(ctx context.Context, tenant string, of *directory.SkillSpec) (io.ReadCloser, error) {
	digest, err := blob.ParseDigest(of.SHA256)
	if err != nil {
		return nil, err
	}
	return s.blobs.Get(ctx, tenant, digest, 0, -1)
}

// Open returns the files of a version by their paths in the skill's folder. It reads parts of the archive
// when they are needed, with ctx. It returns [event.ErrNotFound] if the skill was removed.
func (s *Store) Open(ctx context.Context, of *directory.Skill) (fs.FS, error) {
	digest, err := blob.ParseDigest(of.SHA256)
	if err != nil {
		return nil, err
	}
	at := &archiveReader{ctx: ctx, blobs: s.blobs, tenant: of.Tenant, digest: digest, size: of.ArchiveBytes}
	r, err := zip.NewReader(at, of.ArchiveBytes)
	if e, ok := errors.AsType[*event.Error](err); ok {
		if e.Kind == event.ErrNotFound {
			return nil, &event.Error{
				Op: "skill", Kind: event.ErrNotFound, Message: "the skill is no longer there", Hint: "go on without this skill", Err: e,
			}
		}
		return nil, e
	}
	if err != nil {
		return nil, &event.Error{Op: "skill", Kind: event.ErrInternal, Code: blob.CodeDamaged, Message: "the stored skill is damaged", Err: err}
	}
	return fs.Sub(r, of.ID)
}

// archiveReader reads a stored archive in pieces. It keeps the last piece, because archive/zip reads
// little at a time.
type archiveReader struct {
	ctx    context.Context //nolint:containedctx // it is for one call of the tool
	blobs  blob.Store
	tenant string
	digest blob.Digest
	size   int64

	mu    sync.Mutex
	begin int64
	piece []byte
}

var _ io.ReaderAt = (*archiveReader)(nil)

// ReadAt implements io.ReaderAt.
func (a *archiveReader) ReadAt(p []byte, offset int64) (n int, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for n < len(p) {
		at := offset + int64(n)
		if at >= a.size {
			return n, io.EOF
		}
		if at < a.begin || at >= a.begin+int64(len(a.piece)) {
			if err := a.load(at - at%blob.PieceSize); err != nil {
				return n, err
			}
		}
		n += copy(p[n:], a.piece[at-a.begin:])
	}
	return n, nil
}

func (a *archiveReader) load(begin int64) error {
	r, err := a.blobs.Get(a.ctx, a.tenant, a.digest, begin, blob.PieceSize)
	if err != nil {
		return err
	}
	defer r.Close()
	piece, err := io.ReadAll(r)
	if err == nil && int64(len(piece)) != min(blob.PieceSize, a.size-begin) {
		err = &event.Error{Op: "skill", Kind: event.ErrInternal, Code: blob.CodeDamaged, Message: "the stored skill is damaged"}
	}
	if err != nil {
		return err
	}
	a.begin, a.piece = begin, piece
	return nil
}
