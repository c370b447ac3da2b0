// Package keyset encrypts secrets in a database with keys in a file beside it. Neither of the two
// reveals a secret without the other.
//
// The file is a cleartext keyset of Tink in JSON, with AES-256-GCM keys: the newest encrypts, all
// decrypt. Whoever can read it can read every secret, so only its owner may read it (0600), and it
// must not be in a backup of the database.
package keyset

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/braidrun/braid/event"
)

// Keyset encrypts and decrypts. It is safe for concurrent use. Make it with [Open] or [Load]. It
// reads its file again when that changes, so it knows keys that are added while a server runs.
type Keyset struct {
	file string

	mu   sync.Mutex
	keys keys
}

// keys are the content of a key file.
type keys struct {
	// all are the keys, the encrypting one first.
	all []opener
	// info is the file's state when it was read.
	info fs.FileInfo
}

// largest bounds the size of a key file.
const largest = 1 << 20

// Open reads the key file, or creates one with a new key. It is for a file in the data folder of
// one server. If several processes call it at once, one creates the file and the others read it.
func Open(file string) (*Keyset, error) {
	k, err := Load(file)
	if !errors.Is(err, event.ErrNotFound) {
		return k, err
	}
	const op = "make a file of keys"
	if err := write(file, newRing(), false); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fault(op, err)
	}
	return Load(file)
}

// Load reads an existing key file, for example one that several servers share. It returns
// ErrNotFound if there is none, ErrPermission if it cannot be read, or if others than its owner and
// group can read it or others can write it, and ErrInvalid if it is not a key file.
func Load(file string) (*Keyset, error) {
	k, err := load(file)
	if err != nil {
		return nil, err
	}
	return &Keyset{file: file, keys: k}, nil
}

func load(file string) (keys, error) {
	const op = "read the file of keys"
	info, err := os.Stat(file) // before reading: later changes are then noticed
	if err != nil {
		return keys{}, fault(op, err)
	}
	r, err := read(file)
	if err != nil {
		return keys{}, fault(op, err)
	}
	all, err := r.openers()
	if err != nil {
		return keys{}, noKeys(err)
	}
	return keys{all: all, info: info}, nil
}

// current returns the keys of the file. If it cannot be read now, it returns the previous keys.
func (k *Keyset) current() keys {
	k.mu.Lock()
	defer k.mu.Unlock()
	info, err := os.Stat(k.file)
	if err != nil || os.SameFile(info, k.keys.info) && info.ModTime().Equal(k.keys.info.ModTime()) && info.Size() == k.keys.info.Size() {
		return k.keys
	}
	if now, err := load(k.file); err == nil {
		k.keys = now
	}
	return k.keys
}

// Newest reports whether a value was encrypted with the newest key, the only one that Prune keeps.
func (k *Keyset) Newest(sealed []byte) bool {
	return len(sealed) >= prefixSize && sealed[0] == versionTink && binary.BigEndian.Uint32(sealed[1:]) == k.current().all[0].id
}

// Rotate adds a new key to the file, which encrypts from now on. The older keys still decrypt.
func Rotate(file string) error {
	return change("rotate the keys", file, func(r *ring) { r.rotate() })
}

// Prune removes all keys but the newest and returns their number. Values that were encrypted with a
// removed key cannot be decrypted any more.
func Prune(file string) (gone int, err error) {
	err = change("remove old keys", file, func(r *ring) { gone = r.prune() })
	return gone, err
}

func change(op, file string, how func(r *ring)) error {
	r, err := read(file)
	if err != nil {
		return fault(op, err)
	}
	how(r)
	return fault(op, write(file, r, true))
}

// Seal encrypts a value. context says where the value belongs. It is not stored, and Open needs the
// same one.
func (k *Keyset) Seal(plain, context []byte) (sealed []byte, err error) {
	return seal(k.current().all, plain, context), nil
}

// Open decrypts a result of Seal with the same context and one of the file's keys. It returns
// ErrInvalid for anything else.
func (k *Keyset) Open(sealed, context []byte) (plain []byte, err error) {
	plain, err = open(k.current().all, sealed, context)
	if err != nil {
		return nil, &event.Error{
			Op: "decrypt", Kind: event.ErrInvalid, Message: "a secret cannot be decrypted", Err: err,
			Hint: "use the keys that it was encrypted with, or set it again",
		}
	}
	return plain, nil
}

func read(file string) (*ring, error) {
	const op = "read the file of keys"
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if info.IsDir() || info.Size() > largest {
		return nil, noKeys(nil)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o027 != 0 {
		return nil, &event.Error{
			Op: op, Kind: event.ErrPermission, Message: "other users may read or write the key file", Hint: "restrict it: chmod 600",
		}
	}
	data, err := os.ReadFile(file) //nolint:gosec // the operator's own file
	if err != nil {
		return nil, err
	}
	r, err := parse(data)
	if err != nil {
		return nil, noKeys(err)
	}
	return r, nil
}

// write replaces the whole file atomically. Without over it keeps an existing file and returns an
// error.
func write(file string, r *ring, over bool) (err error) {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".keys-*") // 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if over {
		return os.Rename(f.Name(), file)
	}
	return os.Link(f.Name(), file)
}

func noKeys(err error) error {
	return &event.Error{
		Op: "read the file of keys", Kind: event.ErrInvalid, Message: "the file is no file of keys",
		Hint: "name another one, or restore a backup of it", Err: err,
	}
}

func fault(op string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*event.Error](err); ok {
		return e
	}
	e := &event.Error{
		Op: op, Kind: event.ErrUnavailable, Message: "the file of keys cannot be used", Hint: "check the disk, then try again", Err: err,
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Kind, e.Message, e.Hint = event.ErrNotFound, "there is no file of keys", "make one, or correct its name"
	case errors.Is(err, fs.ErrPermission):
		e.Kind, e.Message = event.ErrPermission, "the file of keys cannot be read or written"
		e.Hint = "let only the user that runs this program read and write it"
	}
	return e
}
