// Package workspacetest holds the contract that every [workspace.Files] passes.
package workspacetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/workspace"
)

// Run runs the contract. open returns an empty workspace with a quota.
func Run(t *testing.T, open func(tb testing.TB, q workspace.Quota) workspace.Files) {
	t.Helper()
	t.Run("StoresAndReads", func(t *testing.T) { storesAndReads(t, open(t, workspace.Quota{})) })
	t.Run("ListsInOrder", func(t *testing.T) { listsInOrder(t, open(t, workspace.Quota{})) })
	t.Run("RefusesPaths", func(t *testing.T) { refusesPaths(t, open(t, workspace.Quota{})) })
	t.Run("FoldersAreNoFiles", func(t *testing.T) { foldersAreNoFiles(t, open(t, workspace.Quota{})) })
	t.Run("Conditions", func(t *testing.T) { conditions(t, open(t, workspace.Quota{})) })
	t.Run("OneWriterWins", func(t *testing.T) { oneWriterWins(t, open(t, workspace.Quota{})) })
	t.Run("KeepsTheQuota", func(t *testing.T) { keepsTheQuota(t, open) })
	t.Run("AFailedWriteChangesNothing", func(t *testing.T) { failedWrite(t, open(t, workspace.Quota{})) })
	t.Run("Cancelled", func(t *testing.T) { cancelled(t, open(t, workspace.Quota{})) })
	t.Run("LikeAMap", func(t *testing.T) { likeAMap(t, open) })
}

// Write stores a text.
func Write(tb testing.TB, files workspace.Files, path, text string) workspace.File {
	tb.Helper()
	f, err := files.Put(context.Background(), path, strings.NewReader(text), workspace.Condition{})
	if err != nil {
		tb.Fatalf("write %q: %v", path, err)
	}
	return f
}

// Read returns the text of a file.
func Read(tb testing.TB, files workspace.Files, path string) string {
	tb.Helper()
	r, err := files.Open(context.Background(), path)
	if err != nil {
		tb.Fatalf("read %q: %v", path, err)
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		tb.Fatalf("read %q: %v", path, err)
	}
	return string(data)
}

// Paths returns the paths of a list.
func Paths(tb testing.TB, files workspace.Files, q workspace.Query) []string {
	tb.Helper()
	list, err := files.List(context.Background(), q)
	if err != nil {
		tb.Fatal(err)
	}
	paths := []string{}
	for _, f := range list {
		paths = append(paths, f.Path)
	}
	return paths
}

func wantKind(tb testing.TB, err error, kind event.ErrorKind) {
	tb.Helper()
	e, ok := err.(*event.Error) //nolint:errorlint // the contract promises this type
	if !ok || e.Kind != kind {
		tb.Errorf("got %T %v, want kind %s", err, err, kind)
	}
	if ok && (e.Op == "" || e.Message == "") {
		tb.Errorf("the error %#v does not say what happened", e)
	}
}

func storesAndReads(t *testing.T, files workspace.Files) {
	ctx := context.Background()
	large := strings.Repeat("0123456789abcdef", 1<<16)
	for path, text := range map[string]string{"a.txt": "one", "folder/in/b.bin": "\x00\xff", "empty": "", "日本/東京.md": "# 東京", "large": large} {
		put := Write(t, files, path, text)
		if put.Path != path || put.Size != int64(len(text)) || put.Version == "" {
			t.Errorf("Put returned %+v", put)
		}
		if got := Read(t, files, path); got != text {
			t.Errorf("%s holds %d bytes, want %d", path, len(got), len(text))
		}
		stat, err := files.Stat(ctx, path)
		if err != nil || stat.Size != int64(len(text)) || stat.Version != put.Version {
			t.Errorf("Stat returned %+v, %v, want what Put returned: %+v", stat, err, put)
		}
	}
	before, _ := files.Stat(ctx, "a.txt")
	Write(t, files, "a.txt", "two and more")
	if got := Read(t, files, "a.txt"); got != "two and more" {
		t.Errorf("after it was replaced, a.txt holds %q", got)
	}
	if after, _ := files.Stat(ctx, "a.txt"); after.Version == before.Version {
		t.Error("a new content has the version of the old one")
	}
	if err := files.Remove(ctx, "folder/in/b.bin"); err != nil {
		t.Fatal(err)
	}
	_, err := files.Stat(ctx, "folder/in/b.bin")
	wantKind(t, err, event.ErrNotFound)
	_, err = files.Open(ctx, "folder/in/b.bin")
	wantKind(t, err, event.ErrNotFound)
	wantKind(t, files.Remove(ctx, "folder/in/b.bin"), event.ErrNotFound)
	Write(t, files, "folder", "a name that was a folder")
}

func listsInOrder(t *testing.T, files workspace.Files) {
	all := []string{"a", "a-b", "a.b/c", "b/a/x", "b/a-x", "b0", "c/日本", "z"}
	for _, path := range all {
		Write(t, files, path, path)
	}
	slices.Sort(all)
	if got := Paths(t, files, workspace.Query{}); !slices.Equal(got, all) {
		t.Errorf("got %q, want %q", got, all)
	}
	for limit := 1; limit <= len(all)+1; limit++ {
		var got []string
		for after := ""; ; {
			page := Paths(t, files, workspace.Query{After: after, Limit: limit})
			if len(page) > limit {
				t.Fatalf("a page of %d has %d files", limit, len(page))
			}
			if len(page) == 0 {
				break
			}
			got = append(got, page...)
			after = page[len(page)-1]
		}
		if !slices.Equal(got, all) {
			t.Errorf("in pages of %d: %q", limit, got)
		}
	}
	for folder, want := range map[string][]string{
		"b": {"b/a-x", "b/a/x"}, "b/a": {"b/a/x"}, "a": {}, "none": {}, "a.b": {"a.b/c"},
	} {
		if got := Paths(t, files, workspace.Query{Folder: folder}); !slices.Equal(got, want) {
			t.Errorf("folder %q: got %q, want %q", folder, got, want)
		}
	}
}

func refusesPaths(t *testing.T, files workspace.Files) {
	ctx := context.Background()
	for _, path := range []string{
		"", "/", "/etc/passwd", ".", "..", "../x", "a/../../x", "a/..", "a//b", "a/", "a\x00b", "a\nb", "a\\b", "C:\\x", "C:x",
		"\xff", "a\u202Eb", "a\U000E0141",
		"a\u3164", "CON", "con.txt", "a/NUL", "Com1.log", "x.", "x ", " x", strings.Repeat("n", workspace.MaxName+1),
		strings.Repeat("a/", workspace.MaxDepth) + "a", ".braid-draft", "a/.braid-x/b",
	} {
		_, err := files.Put(ctx, path, strings.NewReader("x"), workspace.Condition{})
		wantKind(t, err, event.ErrInvalid)
		_, err = files.Open(ctx, path)
		wantKind(t, err, event.ErrInvalid)
		_, err = files.Stat(ctx, path)
		wantKind(t, err, event.ErrInvalid)
		wantKind(t, files.Remove(ctx, path), event.ErrInvalid)
		if path != "" {
			_, err = files.List(ctx, workspace.Query{Folder: path})
			wantKind(t, err, event.ErrInvalid)
		}
	}
	if got := Paths(t, files, workspace.Query{}); len(got) != 0 {
		t.Errorf("refused calls left %q", got)
	}
}

func foldersAreNoFiles(t *testing.T, files workspace.Files) {
	ctx := context.Background()
	Write(t, files, "file", "x")
	Write(t, files, "folder/in/x", "x")
	for _, path := range []string{"file/x", "file/a/b", "folder", "folder/in"} {
		_, err := files.Put(ctx, path, strings.NewReader("y"), workspace.Condition{})
		wantKind(t, err, event.ErrInvalid)
	}
	if got, want := Paths(t, files, workspace.Query{}), []string{"file", "folder/in/x"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func conditions(t *testing.T, files workspace.Files) {
	ctx := context.Background()
	put := func(text string, c workspace.Condition) (workspace.File, error) {
		return files.Put(ctx, "x", strings.NewReader(text), c)
	}
	_, err := put("a", workspace.Condition{Version: "none"})
	wantKind(t, err, event.ErrConflict)
	first, err := put("a", workspace.Condition{Absent: true})
	if err != nil {
		t.Fatal(err)
	}
	_, err = put("b", workspace.Condition{Absent: true})
	wantKind(t, err, event.ErrConflict)
	if _, err = put("bb", workspace.Condition{Version: first.Version}); err != nil {
		t.Fatal(err)
	}
	_, err = put("c", workspace.Condition{Version: first.Version})
	wantKind(t, err, event.ErrConflict)
	if got := Read(t, files, "x"); got != "bb" {
		t.Errorf("a refused write left %q", got)
	}
}

// oneWriterWins has many writers replace the same version.
func oneWriterWins(t *testing.T, files workspace.Files) {
	first := Write(t, files, "x", "begin")
	var (
		writers sync.WaitGroup
		mu      sync.Mutex
		won     []string
	)
	for i := range 8 {
		writers.Go(func() {
			text := fmt.Sprintf("writer number %d", i)
			_, err := files.Put(context.Background(), "x", strings.NewReader(text), workspace.Condition{Version: first.Version})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won = append(won, text)
			} else if event.KindOf(err) != event.ErrConflict {
				t.Error(err)
			}
		})
	}
	writers.Wait()
	if len(won) != 1 || Read(t, files, "x") != won[0] {
		t.Errorf("%q replaced the same version, and the file holds %q", won, Read(t, files, "x"))
	}
}

func keepsTheQuota(t *testing.T, open func(tb testing.TB, q workspace.Quota) workspace.Files) {
	ctx := context.Background()
	files := open(t, workspace.Quota{File: 10, Bytes: 25, Files: 4})
	put := func(path string, n int) error {
		_, err := files.Put(ctx, path, io.LimitReader(endless{}, int64(n)), workspace.Condition{})
		return err
	}
	for _, path := range []string{"a", "b"} {
		if err := put(path, 10); err != nil {
			t.Fatal(err)
		}
	}
	wantKind(t, put("c", 11), event.ErrTooLarge)
	wantKind(t, put("c", 1<<30), event.ErrTooLarge)
	wantKind(t, put("c", 6), event.ErrQuota)
	if err := put("c", 5); err != nil {
		t.Fatal(err)
	}
	wantKind(t, put("d", 1), event.ErrQuota)
	if err := put("d", 0); err != nil {
		t.Fatal(err)
	}
	wantKind(t, put("e", 0), event.ErrQuota)
	wantKind(t, put("c", 6), event.ErrQuota)
	if err := put("a", 9); err != nil {
		t.Fatal(err)
	}
	if err := put("c", 6); err != nil {
		t.Errorf("a replaced file counts twice: %v", err)
	}
	if err := files.Remove(ctx, "b"); err != nil {
		t.Fatal(err)
	}
	if err := put("e", 10); err != nil {
		t.Errorf("a removed file still counts: %v", err)
	}
}

// endless is a reader without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func failedWrite(t *testing.T, files workspace.Files) {
	ctx := context.Background()
	Write(t, files, "x", "before")
	broken := io.MultiReader(strings.NewReader("half of the"), iotest.ErrReader(errors.New("the client has gone")))
	_, err := files.Put(ctx, "x", broken, workspace.Condition{})
	wantKind(t, err, event.ErrStreamCut)
	_, err = files.Put(ctx, "new/y", io.MultiReader(strings.NewReader("half"), iotest.ErrReader(errors.New("gone"))), workspace.Condition{})
	wantKind(t, err, event.ErrStreamCut)
	if got, paths := Read(t, files, "x"), Paths(t, files, workspace.Query{}); got != "before" || len(paths) != 1 {
		t.Errorf("x holds %q; files: %q", got, paths)
	}
}

func cancelled(t *testing.T, files workspace.Files) {
	Write(t, files, "x", strings.Repeat("x", 1<<20))
	ctx, cancel := context.WithCancel(context.Background())
	r, err := files.Open(ctx, "x")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cancel()
	if _, err := io.ReadAll(r); err == nil {
		t.Error("a read goes on after it was cancelled")
	}
	_, err = files.Put(ctx, "y", strings.NewReader("y"), workspace.Condition{})
	wantKind(t, err, event.ErrCancelled)
	if got := Paths(t, files, workspace.Query{}); len(got) != 1 {
		t.Errorf("a cancelled write left %q", got)
	}
}

// likeAMap compares a workspace with a map over generated calls.
func likeAMap(t *testing.T, open func(tb testing.TB, q workspace.Quota) workspace.Files) {
	rapid.Check(t, func(r *rapid.T) {
		ctx := context.Background()
		files, model := open(t, workspace.Quota{}), map[string][]byte{}
		path := rapid.SampledFrom([]string{"a", "b", "a/b", "a/b/c", "d/e", "d", "a-b"})
		r.Repeat(map[string]func(*rapid.T){
			"put": func(r *rapid.T) {
				at, data := path.Draw(r, "path"), rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(r, "data")
				_, err := files.Put(ctx, at, bytes.NewReader(data), workspace.Condition{})
				blocked := false
				for other := range model {
					blocked = blocked || strings.HasPrefix(other, at+"/") || strings.HasPrefix(at, other+"/")
				}
				if (err != nil) != blocked {
					r.Fatalf("Put(%q) beside %q: %v", at, slices.Sorted(maps.Keys(model)), err)
				}
				if err == nil {
					model[at] = data
				}
			},
			"remove": func(r *rapid.T) {
				at := path.Draw(r, "path")
				err := files.Remove(ctx, at)
				if _, there := model[at]; there != (err == nil) {
					r.Fatalf("Remove(%q): %v", at, err)
				}
				delete(model, at)
			},
			"": func(r *rapid.T) {
				if got, want := Paths(t, files, workspace.Query{}), slices.Sorted(maps.Keys(model)); !slices.Equal(got, want) {
					r.Fatalf("files %q, want %q", got, want)
				}
				for at, want := range model {
					if got := Read(t, files, at); got != string(want) {
						r.Fatalf("%s holds %q, want %q", at, got, want)
					}
				}
			},
		})
	})
}
