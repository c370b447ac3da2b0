package keyset_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret/keyset"
)

func must[T any](t *testing.T) func(v T, err error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestSecretsAreBoundToTheirPlace(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "keys.json")
	k := must[*keyset.Keyset](t)(keyset.Open(file))
	sealed := must[[]byte](t)(k.Seal([]byte("planted"), []byte("acme|model|big|secret")))
	if bytes.Contains(sealed, []byte("planted")) {
		t.Error("it is not encrypted")
	}
	if again := must[[]byte](t)(k.Seal([]byte("planted"), []byte("acme|model|big|secret"))); bytes.Equal(again, sealed) {
		t.Error("the same value is seen to be the same")
	}
	same := must[*keyset.Keyset](t)(keyset.Open(file))
	if plain := must[[]byte](t)(same.Open(sealed, []byte("acme|model|big|secret"))); string(plain) != "planted" {
		t.Errorf("it is %q", plain)
	}
	other := must[*keyset.Keyset](t)(keyset.Open(filepath.Join(t.TempDir(), "keys.json")))
	for name, open := range map[string]func() ([]byte, error){
		"another row": func() ([]byte, error) { return k.Open(sealed, []byte("evil|model|big|secret")) },
		"other keys":  func() ([]byte, error) { return other.Open(sealed, []byte("acme|model|big|secret")) },
		"changed": func() ([]byte, error) {
			return k.Open(append(sealed[:len(sealed)-1:len(sealed)-1], sealed[len(sealed)-1]^1), []byte("acme|model|big|secret"))
		},
		"cut":            func() ([]byte, error) { return k.Open(sealed[:3], []byte("acme|model|big|secret")) },
		"nothing at all": func() ([]byte, error) { return k.Open(nil, nil) },
	} {
		if plain, err := open(); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%s: %q, %v", name, plain, err)
		}
	}
}

func TestKeysAreRotated(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "keys.json")
	old := must[*keyset.Keyset](t)(keyset.Open(file))
	before := must[[]byte](t)(old.Seal([]byte("x"), nil))
	if err := keyset.Rotate(file); err != nil {
		t.Fatal(err)
	}
	now := must[*keyset.Keyset](t)(keyset.Load(file))
	if plain := must[[]byte](t)(now.Open(before, nil)); string(plain) != "x" {
		t.Errorf("what was there is %q", plain)
	}
	// Who has had the file open since before knows the new key, too, and encrypts with it.
	if plain := must[[]byte](t)(old.Open(must[[]byte](t)(now.Seal([]byte("y"), nil)), nil)); string(plain) != "y" {
		t.Errorf("what is new is %q", plain)
	}
	after := must[[]byte](t)(old.Seal([]byte("z"), nil))
	if old.Newest(before) || !old.Newest(after) || !now.Newest(after) || now.Newest(nil) {
		t.Error("they do not know which key is the newest")
	}
	if gone := must[int](t)(keyset.Prune(file)); gone != 1 {
		t.Errorf("%d keys went, want the old one", gone)
	}
	for _, k := range []*keyset.Keyset{old, now, must[*keyset.Keyset](t)(keyset.Load(file))} {
		if _, err := k.Open(before, nil); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("what the old key has encrypted is read: %v", err)
		}
		if plain := must[[]byte](t)(k.Open(after, nil)); string(plain) != "z" {
			t.Errorf("what the newest has encrypted is %q", plain)
		}
	}
	if gone := must[int](t)(keyset.Prune(file)); gone != 0 {
		t.Errorf("%d more keys went", gone)
	}
	// Without its file it goes on with what it has.
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if plain := must[[]byte](t)(now.Open(after, nil)); string(plain) != "z" {
		t.Errorf("without the file it is %q", plain)
	}
}

func TestTheFileIsItsOwnersAlone(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there are no such rights here")
	}
	file := filepath.Join(t.TempDir(), "keys.json")
	must[*keyset.Keyset](t)(keyset.Open(file))
	if err := keyset.Rotate(file); err != nil {
		t.Fatal(err)
	}
	if mode := must[os.FileInfo](t)(os.Stat(file)).Mode().Perm(); mode != 0o600 {
		t.Errorf("its mode is %o", mode)
	}
	for mode, want := range map[os.FileMode]error{0o400: nil, 0o440: nil, 0o644: event.ErrPermission, 0o660: event.ErrPermission, 0o602: event.ErrPermission} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := keyset.Load(file); !errors.Is(err, want) {
			t.Errorf("%o: %v, want %v", mode, err, want)
		}
	}
}

func TestFilesThatAreNone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := keyset.Load(filepath.Join(dir, "none")); !errors.Is(err, event.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	for name, text := range map[string]string{"empty": "", "text": "hello", "other": `{"a":1}`, "no keys": `{"primaryKeyId":1,"key":[]}`} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := keyset.Open(file)
		if !errors.Is(err, event.ErrInvalid) || strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", name, err)
		}
		if got := must[[]byte](t)(os.ReadFile(file)); string(got) != text {
			t.Errorf("%s was overwritten", name)
		}
	}
	if _, err := keyset.Open(dir); !errors.Is(err, event.ErrInvalid) && !errors.Is(err, event.ErrPermission) {
		t.Errorf("a folder: %v", err)
	}
}

func TestManyMakeOneFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "keys.json")
	var wg sync.WaitGroup
	sets := make([]*keyset.Keyset, 8)
	for i := range sets {
		wg.Go(func() {
			var err error
			if sets[i], err = keyset.Open(file); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	sealed := must[[]byte](t)(sets[0].Seal([]byte("x"), nil))
	for _, k := range sets {
		if _, err := k.Open(sealed, nil); err != nil {
			t.Error(err)
		}
	}
	if left := must[[]os.DirEntry](t)(os.ReadDir(dir)); len(left) != 1 {
		t.Errorf("there are %d files", len(left))
	}
}
