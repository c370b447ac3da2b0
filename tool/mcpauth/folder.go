package mcpauth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/braidrun/braid/event"
)

// Sealer encrypts stored entries. context says where a value belongs; it is not stored, and the same one opens the value.
// A [github.com/braidrun/braid/secret/keyset.Keyset] is one.
type Sealer interface {
	Seal(plain, context []byte) (sealed []byte, err error)
	Open(sealed, context []byte) (plain []byte, err error)
}

// largest bounds a stored entry.
const largest = 1 << 20

// Folder is a store of encrypted files in a folder. Several processes may use it at once. Make it with [OpenFolder].
type Folder struct {
	root *os.Root
	keys Sealer
	// saving makes the check of the newest version and the write of the next one step of this process.
	saving sync.Mutex
}

// OpenFolder opens a folder, or creates it for its owner only. Close it when it is no longer needed.
func OpenFolder(path string, keys Sealer) (*Folder, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, folderFault(err)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, folderFault(err)
	}
	return &Folder{root: root, keys: keys}, nil
}

// Close releases the folder.
func (f *Folder) Close() error { return f.root.Close() }

func folderFault(err error) error {
	return &event.Error{
		Op: "mcp sign-in", Kind: event.ErrUnavailable, Message: "the folder of grants cannot be used",
		Hint: "see that it can be written, and that its disk is not full", Err: err,
	}
}

// nameOf is the beginning of the names of a key's files. What follows is the version.
func nameOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:16]) + "."
}

// Load implements [Store].
func (f *Folder) Load(_ context.Context, key string) (*Entry, int64, error) {
	for range 10 {
		version, err := f.newest(key)
		if err != nil || version == 0 {
			return &Entry{}, 0, err
		}
		data, err := f.read(nameOf(key) + strconv.FormatInt(version, 10))
		if errors.Is(err, fs.ErrNotExist) {
			continue // a newer version has replaced it
		}
		if err != nil {
			return nil, 0, folderFault(err)
		}
		plain, err := f.keys.Open(data, []byte("mcp grant|"+key))
		if err != nil {
			return nil, 0, err
		}
		e, err := Decode(plain)
		return e, version, err
	}
	return nil, 0, conflict()
}

func (f *Folder) read(name string) ([]byte, error) {
	file, err := f.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, largest))
}

// newest returns the newest version of a key; 0 if there is none.
func (f *Folder) newest(key string) (newest int64, err error) {
	versions, err := f.versions(key)
	for _, v := range versions {
		newest = max(newest, v)
	}
	return newest, err
}

func (f *Folder) versions(key string) (list []int64, err error) {
	dir, err := f.root.Open(".")
	if err != nil {
		return nil, folderFault(err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, folderFault(err)
	}
	for _, name := range names {
		if text, ok := strings.CutPrefix(name, nameOf(key)); ok {
			if v, err := strconv.ParseInt(text, 10, 64); err == nil && v > 0 {
				list = append(list, v)
			}
		}
	}
	return list, nil
}

// Save implements [Store]. A version is a file that only one process can create, so that of two writers one is refused.
func (f *Folder) Save(_ context.Context, key string, e *Entry, version int64) error {
	plain, err := e.Encode()
	if err != nil {
		return err
	}
	sealed, err := f.keys.Seal(plain, []byte("mcp grant|"+key))
	if err != nil {
		return err
	}
	f.saving.Lock()
	defer f.saving.Unlock()
	now, err := f.newest(key)
	if err != nil {
		return err
	}
	if now != version {
		return conflict()
	}
	name := nameOf(key) + strconv.FormatInt(version+1, 10)
	if err := f.write(name, sealed); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return conflict()
		}
		return folderFault(err)
	}
	old, err := f.versions(key)
	if err != nil {
		return nil // the entry is stored; older versions are removed next time
	}
	for _, v := range old {
		if v <= version {
			_ = f.root.Remove(nameOf(key) + strconv.FormatInt(v, 10)) // the newest version counts in any case
		}
	}
	return nil
}

// write creates a file that must not exist, whole or not at all.
func (f *Folder) write(name string, data []byte) (err error) {
	temporary := "." + rand.Text()
	file, err := f.root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = f.root.Remove(temporary) }()
	_, err = file.Write(data)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return f.root.Link(temporary, name)
}
