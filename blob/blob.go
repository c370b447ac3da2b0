package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
)

const (
	// PieceSize is the size of the pieces in which stores write a blob. Stored pieces may have any size.
	PieceSize = 256 << 10
	// DefaultLimit bounds a blob if the caller of Put gives no limit.
	DefaultLimit = 1 << 30
	// UploadTime is how long a Put may wait for its next piece. After that, Sweep may remove what it has stored.
	UploadTime = time.Hour
	// CodeDamaged is the Code of the error for stored bytes that are not what was put.
	CodeDamaged = "STORAGE_DAMAGED"
)

// Store stores blobs of tenants. All methods are safe for concurrent use, honour ctx and return *[event.Error]s.
// A call that is refused changes nothing that can be seen. A name or an id that is not UTF-8, or holds a zero
// character, is refused with ErrInvalid. Every method sees the blobs of its tenant only: another tenant's digest is
// ErrNotFound.
type Store interface {
	// Put stores all bytes of r and has ref name them. A blob that ref named before loses this reference. If the
	// tenant has the same bytes already, they are stored once. More bytes than limit are ErrTooLarge; a limit of 0 or
	// less means DefaultLimit.
	//
	// An error of r ends Put and is the cause of its error. After any error ref is as it was before. Only after
	// ErrUnavailable it may name the new bytes, and repeating the call is safe. Put must not read from the same store
	// through r with a lock held by the caller.
	Put(ctx context.Context, tenant string, ref Ref, r io.Reader, limit int64) (Blob, error)
	// Get returns a reader of length bytes from an offset on, or of all bytes from there if length is below 0. A range
	// that goes beyond the end is cut; an offset below 0 is ErrInvalid. ctx is for the reads, too. The reader is for
	// one goroutine. It holds one piece in memory and nothing in the store. If the blob is removed meanwhile, its
	// next piece is ErrNotFound.
	Get(ctx context.Context, tenant string, digest Digest, offset, length int64) (io.ReadCloser, error)
	// Stat returns the blob with the digest, or ErrNotFound.
	Stat(ctx context.Context, tenant string, digest Digest) (Blob, error)
	// Link has ref name a blob that the tenant has, as a fork of a conversation does with the files of its origin.
	Link(ctx context.Context, tenant string, ref Ref, digest Digest) (Blob, error)
	// Lookup returns the blob that ref names, or ErrNotFound.
	Lookup(ctx context.Context, tenant string, ref Ref) (Blob, error)
	// List returns references in the order of their names.
	List(ctx context.Context, tenant string, q Query) ([]Entry, error)
	// Unlink removes a reference. One that is not there is removed already.
	Unlink(ctx context.Context, tenant string, ref Ref) error
	// RemoveConversation removes all references of a conversation.
	RemoveConversation(ctx context.Context, tenant, conversation string) error
	// RemoveTenant removes all blobs of a tenant, also what its unfinished calls of Put have stored.
	RemoveTenant(ctx context.Context, tenant string) error
	// Sweep removes from the store what cannot be reached: what is left of blobs without a reference, and of calls of
	// Put that have stored nothing for UploadTime. Unlink, Remove and Put do so by themselves; what a crash leaves
	// behind waits for one of them or for Sweep.
	Sweep(ctx context.Context) error
}

// Digest is the SHA-256 of a blob's bytes.
type Digest [sha256.Size]byte

// String returns the digest in hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// ParseDigest reads what String returns.
func ParseDigest(s string) (d Digest, err error) {
	if len(s) == hex.EncodedLen(len(d)) && s == strings.ToLower(s) {
		if _, err := hex.Decode(d[:], []byte(s)); err == nil {
			return d, nil
		}
	}
	return Digest{}, &event.Error{
		Op: "blob digest", Kind: event.ErrInvalid, Message: "the digest is not a SHA-256 in hexadecimal", Hint: "pass 64 lower-case digits",
	}
}

// Blob describes stored bytes.
type Blob struct {
	Digest Digest
	Size   int64
}

// Ref names a blob for its owner. A tenant has at most one blob for each Conversation, Kind and Name.
type Ref struct {
	// Conversation owns the reference, and takes it along when it is removed. Empty means the tenant.
	Conversation string
	// Incarnation distinguishes conversations that reuse one id. A journal refuses references of one that it has
	// buried with ErrNotFound. It is not stored; empty is not checked.
	Incarnation string
	// Kind is who uses the reference, such as "workspace" or "artifact".
	Kind string
	// Name is the blob's name among those of its kind, such as a path.
	Name string
}

// MaxName bounds the bytes of a reference's conversation, kind and name together, so that an index can hold them.
const MaxName = 2048

// Check returns ErrInvalid for a reference that no store takes.
func (r Ref) Check(op, tenant string) error {
	switch {
	case r.Kind == "" || r.Name == "":
		return invalid(op, "a reference needs a kind and a name", "pass both")
	case !isText(tenant, r.Conversation, r.Kind, r.Name, r.Incarnation):
		return notText(op)
	case len(r.Conversation)+len(r.Kind)+len(r.Name) > MaxName:
		return invalid(op, "a reference is too long", "use a shorter name")
	}
	return nil
}

// CheckText returns ErrInvalid for names that no store takes.
func CheckText(op string, names ...string) error {
	if !isText(names...) {
		return notText(op)
	}
	return nil
}

func isText(names ...string) bool {
	for _, s := range names {
		if !utf8.ValidString(s) || strings.IndexByte(s, 0) >= 0 {
			return false
		}
	}
	return true
}

// Query selects references.
type Query struct {
	Conversation string
	Kind         string
	// After is the Name of the last entry of the page before; empty begins.
	After string
	// Limit bounds the entries; 0 or less means all.
	Limit int
}

// Check returns ErrInvalid for a query that no store takes.
func (q Query) Check(op, tenant string) error {
	if q.Kind == "" {
		return invalid(op, "a list of references needs a kind", "pass it")
	}
	return CheckText(op, tenant, q.Conversation, q.Kind, q.After)
}

// Entry is a reference and the blob that it names.
type Entry struct {
	Ref  Ref
	Blob Blob
}
