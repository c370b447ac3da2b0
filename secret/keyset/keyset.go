// Package keyset encrypts what is to be kept secret in a database, with keys in a file
// beside it: who has the one without the other reads nothing.
//
// The file is one of Tink's cleartext keysets in JSON, with AES-256-GCM keys: the
// newest encrypts, all decrypt. Whoever may read it may read every secret, so it is
// its owner's alone (0600), and belongs into no backup of the database.
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

// Keyset encrypts and decrypts. It is safe for concurrent use. Make it with [Open] or [Load]. It reads its
// file again where that has changed: a key that was added while a server works is known to it.
type Keyset struct {
	file string

	mu   sync.Mutex
	keys keys
}

// keys are what a file of keys holds.
type keys struct {
	// all has the one that encrypts first.
	all []opener
	// info is the file as it was.
	info fs.FileInfo
}

// largest is how large a file of keys may be.
const largest = 1 << 20

// Open reads the file of keys, or makes one with a new key where there is none: for a file in
// the data folder of one server. Of several who make it at once one does, and the others read it.
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

// Load reads a file of keys that is there: for one that the operator gives to several servers.
//
// Errors are of these kinds: ErrNotFound where there is none, ErrPermission where it cannot be read,
// or where others than its owner's group could read it or anybody else write it, ErrInvalid where it
// is no file of keys.
func Load(file string) (*Keyset, error) {
	k, err := load(file)
	if err != nil {
		return nil, err
	}
	return &Keyset{file: file, keys: k}, nil
}

func load(file string) (keys, error) {
	const op = "read the file of keys"
	info, err := os.Stat(file) // before it is read: what is written after that is read again
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

// current gives the keys as the file has them now; where it cannot be read, as it had them.
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

// Newest reports whether it is the newest key of the file that a value was encrypted with: Prune keeps
// that one alone.
func (k *Keyset) Newest(sealed []byte) bool {
	return len(sealed) >= prefixSize && sealed[0] == versionTink && binary.BigEndian.Uint32(sealed[1:]) == k.current().all[0].id
}

// Rotate adds a new key to the file, which encrypts from now on; the older ones go on to decrypt.
func Rotate(file string) error {
	return change("rotate the keys", file, func(r *ring) { r.rotate() })
}

// Prune takes all keys out of the file but the newest: what was encrypted with another one can then be read
// by nobody. It says how many went.
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

// Seal encrypts. context is what the value belongs to: it is not kept, and the value is opened
// with the same one alone.
func (k *Keyset) Seal(plain, context []byte) (sealed []byte, err error) {
	return seal(k.current().all, plain, context), nil
}

// Open decrypts what Seal has made with the same context and one of the file's keys. Everything
// else is ErrInvalid.
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
			Op: op, Kind: event.ErrPermission, Message: "others may read the file of keys, or write it", Hint: "take that from them: chmod 600",
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

// write puts the whole file in its place at once, or nothing. Without over it leaves a file
// that is there alone, and says so.
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
		e.Hint = "let the user that runs this program, and nobody else, read and write it"
	}
	return e
}
