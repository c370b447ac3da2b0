package artifact

import (
	"context"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/braidrun/braid/blob"
	"github.com/braidrun/braid/event"
)

const (
	// UserPrefix begins the names that belong to the user.
	UserPrefix = "user:"
	// MaxName bounds a name, in bytes.
	MaxName = 512
	// MaxBytes bounds a version.
	MaxBytes = 64 << 20
	// MostVersions bounds the versions of a name.
	MostVersions = 1000
	// MostNames bounds the names of a conversation and its user.
	MostNames = 1000
	// Latest is the newest version.
	Latest = -1

	// kind is that of the references.
	kind = "artifact"
	// maxMIME bounds a media type, in bytes.
	maxMIME = 100
	// codeMissing is the Code of the error for an artifact or a version that is not there.
	codeMissing = "ARTIFACT_NOT_FOUND"
)

// Owner is whose artifacts are meant. All fields but User are needed; Incarnation distinguishes conversations that reuse one
// id, and may be empty.
type Owner struct{ Tenant, User, Conversation, Incarnation string }

// Version describes one version of an artifact.
type Version struct {
	Name    string
	Version int
	// MIME is the type that the writer gave; empty is unknown.
	MIME    string
	Size    int64
	Digest  blob.Digest
	Created time.Time
}

// Files are the artifacts of one owner. All methods are safe for concurrent use and return *[event.Error]s:
// [event.ErrInvalid] for a name that no artifact may have, [event.ErrNotFound] for one that is not there.
type Files interface {
	// Save stores all bytes of r as the next version. More than MaxBytes are [event.ErrTooLarge]. After an error there is
	// no new version.
	Save(ctx context.Context, name, mime string, r io.Reader) (Version, error)
	// Load returns the bytes of a version, or of the newest one with [Latest]. The caller closes the reader.
	Load(ctx context.Context, name string, version int) (Version, io.ReadCloser, error)
	// List returns the newest version of each artifact, by name: those of the conversation and of its user.
	List(ctx context.Context) ([]Version, error)
	// Versions returns all versions of an artifact, the oldest first.
	Versions(ctx context.Context, name string) ([]Version, error)
	// Delete removes all versions of an artifact. One that is not there is removed already.
	Delete(ctx context.Context, name string) error
}

// CheckName returns [event.ErrInvalid] for a name that no artifact may have. Names may have folders, but lead nowhere else.
func CheckName(name string) error {
	bare := strings.TrimPrefix(name, UserPrefix)
	bad := bare == "" || len(name) > MaxName || !utf8.ValidString(name) || strings.ContainsRune(bare, '\\')
	for part := range strings.SplitSeq(bare, "/") {
		bad = bad || part == "" || part == "." || part == ".."
	}
	if bad || strings.ContainsFunc(name, unicode.IsControl) {
		return &event.Error{
			Op: "artifact", Kind: event.ErrInvalid, Message: "an artifact cannot have this name",
			Hint: "use at most " + strconv.Itoa(MaxName) + " bytes without control characters, backslashes, and parts such as ..",
		}
	}
	return nil
}

func checkMIME(mime string) error {
	for i := range len(mime) {
		if c := mime[i]; c <= ' ' && c != ' ' || c > '~' {
			return badMIME()
		}
	}
	if len(mime) > maxMIME {
		return badMIME()
	}
	return nil
}

func badMIME() error {
	return &event.Error{
		Op: "artifact", Kind: event.ErrInvalid, Message: "the media type cannot be used", Hint: "send one such as text/plain, of at most 100 bytes",
	}
}

func missing() error {
	return &event.Error{Op: "artifact", Kind: event.ErrNotFound, Code: codeMissing, Message: "there is no such artifact", Hint: "list the artifacts"}
}
