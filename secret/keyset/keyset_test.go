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
			return k.Open(append(sealed[:len(sealed)-1:len(sealed)-1], 0), []byte("acme|model|big|secret"))
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
	if _, err := old.Open(must[[]byte](t)(now.Seal([]byte("y"), nil)), nil); !errors.Is(err, event.ErrInvalid) {
		t.Errorf("the old keys read what is new: %v", err)
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
