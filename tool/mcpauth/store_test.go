package mcpauth_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret/keyset"
	"github.com/braidrun/braid/tool/mcpauth"
	"github.com/braidrun/braid/tool/mcpauth/mcpauthtest"
)

func folder(t *testing.T, path string) *mcpauth.Folder {
	t.Helper()
	keys, err := keyset.Open(filepath.Join(filepath.Dir(path), "keys"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := mcpauth.OpenFolder(path, keys)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// All stores keep entries by version, and one of many writers at once wins.
func TestStores(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) mcpauth.Store{
		"memory": func(*testing.T) mcpauth.Store { return mcpauth.Memory() },
		"folder": func(t *testing.T) mcpauth.Store { return folder(t, filepath.Join(t.TempDir(), "grants")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, ctx := open(t), t.Context()
			e, version, err := store.Load(ctx, "a")
			if err != nil || version != 0 || e.Grant != nil || e.Login != nil {
				t.Fatalf("%v, %d, %v", e, version, err)
			}
			e.Login = &mcpauth.Login{ID: "one"}
			if err := store.Save(ctx, "a", e, 0); err != nil {
				t.Fatal(err)
			}
			if err := store.Save(ctx, "a", e, 0); !errors.Is(err, event.ErrConflict) {
				t.Errorf("an older version is replaced: %v", err)
			}
			if err := store.Save(ctx, "a", e, 7); !errors.Is(err, event.ErrConflict) {
				t.Errorf("a version that never was is replaced: %v", err)
			}
			var won atomic.Int64
			var wait sync.WaitGroup
			for range 8 {
				wait.Go(func() {
					switch err := store.Save(ctx, "a", &mcpauth.Entry{Login: &mcpauth.Login{ID: "two"}}, 1); {
					case err == nil:
						won.Add(1)
					case !errors.Is(err, event.ErrConflict):
						t.Error(err)
					}
				})
			}
			wait.Wait()
			e, version, err = store.Load(ctx, "a")
			if won.Load() != 1 || version != 2 || err != nil || e.Login.ID != "two" {
				t.Errorf("%d writers won, version %d, %v", won.Load(), version, err)
			}
			if _, version, err := store.Load(ctx, "b"); version != 0 || err != nil {
				t.Errorf("another key has version %d, %v", version, err)
			}
		})
	}
}

// A folder holds no token that can be read, survives a restart, keeps only the newest version, and belongs to its key.
func TestFolder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "grants")
	s := mcpauthtest.Start(t, mcpauthtest.Rules{Registers: true})
	c := newClient(t, s, func(o *mcpauth.Options) { o.Store = folder(t, path) })
	back := signIn(t, s, c, "ann")
	again := newClient(t, s, func(o *mcpauth.Options) { o.Store = folder(t, path) })
	wantUse(t, s, again, whoami, http.StatusOK)
	files, err := os.ReadDir(path)
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	file := filepath.Join(path, files[0].Name())
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range append(s.Tokens(), back, "docs", "127.0.0.1") {
		if strings.Contains(string(data), token) {
			t.Errorf("%q is in the file", token)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}

	other := newClient(t, s, func(o *mcpauth.Options) { o.Store, o.Key = folder(t, path), "other" })
	if g, err := other.Granted(t.Context()); g != nil || err != nil {
		t.Errorf("another key has a grant: %v, %v", g, err)
	}
	if err := os.WriteFile(file, data[:len(data)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := again.Granted(t.Context()); !errors.Is(err, event.ErrInvalid) {
		t.Errorf("a damaged file: %v", err)
	}
}

// Printing an entry shows no secrets.
func TestPrinting(t *testing.T) {
	t.Parallel()
	s := mcpauthtest.Start(t, mcpauthtest.Rules{Registers: true})
	store := mcpauth.Memory()
	c := newClient(t, s, func(o *mcpauth.Options) { o.Store = store })
	signIn(t, s, c, "ann")
	e, _, err := store.Load(t.Context(), s.URL)
	if err != nil || e.Grant == nil {
		t.Fatalf("%v, %v", e, err)
	}
	wantQuiet(t, s, e, *e, e.Grant, *e.Grant)
}
