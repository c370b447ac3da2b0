package workspace_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/braidrun/braid/blob"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/workspace"
	"github.com/braidrun/braid/workspace/workspacetest"
)

func inMemory(q workspace.Quota) workspace.Files {
	return workspace.NewStore(new(blob.Memory), q).Open("tenant", "conversation", "")
}

func TestArchiveKeepsTheFiles(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	want := map[string]string{"a.txt": "one", "folder/b": strings.Repeat("two ", 100_000), "日本/東京": "", "x y": "\x00\x01"}
	from := inMemory(workspace.Quota{})
	for path, text := range want {
		workspacetest.Write(t, from, path, text)
	}
	var archive bytes.Buffer
	if err := workspace.WriteArchive(ctx, &archive, from); err != nil {
		t.Fatal(err)
	}
	to := openFolder(t, t.TempDir(), workspace.Quota{})
	read, err := workspace.ReadArchive(ctx, to, bytes.NewReader(archive.Bytes()), int64(archive.Len()), workspace.Quota{})
	if err != nil || len(read) != len(want) {
		t.Fatalf("read %+v, %v", read, err)
	}
	if got := workspacetest.Paths(t, to, workspace.Query{}); !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
		t.Errorf("got %q", got)
	}
	for path, text := range want {
		if got := workspacetest.Read(t, to, path); got != text {
			t.Errorf("%s holds %d bytes, want %d", path, len(got), len(text))
		}
	}
}

// TestHostileArchives are refused before a file is stored.
func TestHostileArchives(t *testing.T) {
	t.Parallel()
	type entry struct {
		name, text string
		mode       fs.FileMode
	}
	for _, c := range []struct {
		name    string
		entries []entry
		kind    event.ErrorKind
	}{
		{"a path that leads out", []entry{{name: "ok"}, {name: "../../etc/passwd"}}, event.ErrInvalid},
		{"an absolute path", []entry{{name: "ok"}, {name: "/etc/passwd"}}, event.ErrInvalid},
		{"backslashes", []entry{{name: "ok"}, {name: `..\x`}}, event.ErrInvalid},
		{"a link", []entry{{name: "ok"}, {name: "link", text: "/etc/passwd", mode: fs.ModeSymlink | 0o777}}, event.ErrInvalid},
		{"a device", []entry{{name: "ok"}, {name: "dev", mode: fs.ModeDevice | 0o600}}, event.ErrInvalid},
		{"one path twice", []entry{{name: "ok"}, {name: "ok"}}, event.ErrInvalid},
		{"one large file", []entry{{name: "ok"}, {name: "large", text: strings.Repeat("x", 1001)}}, event.ErrTooLarge},
		{"many bytes", []entry{{name: "1", text: strings.Repeat("x", 900)}, {name: "2", text: strings.Repeat("x", 900)}, {name: "3", text: strings.Repeat("x", 900)}}, event.ErrQuota},
		{"many files", []entry{{name: "1"}, {name: "2"}, {name: "3"}, {name: "4"}, {name: "5"}, {name: "6"}}, event.ErrQuota},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var archive bytes.Buffer
			w := zip.NewWriter(&archive)
			for _, e := range c.entries {
				head := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
				head.SetMode(max(e.mode, 0o600))
				f, err := w.CreateHeader(head)
				if err == nil {
					_, err = f.Write([]byte(e.text))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			refuses(t, archive.Bytes(), c.kind)
		})
	}
	t.Run("no archive", func(t *testing.T) { refuses(t, []byte("this is no archive"), event.ErrInvalid) })
	t.Run("empty", func(t *testing.T) { refuses(t, nil, event.ErrInvalid) })
}

func refuses(t *testing.T, archive []byte, kind event.ErrorKind) {
	t.Helper()
	to := inMemory(workspace.Quota{})
	_, err := workspace.ReadArchive(context.Background(), to, bytes.NewReader(archive), int64(len(archive)), workspace.Quota{File: 1000, Bytes: 2000, Files: 5})
	if event.KindOf(err) != kind {
		t.Errorf("got %v, want kind %s", err, kind)
	}
	if got := workspacetest.Paths(t, to, workspace.Query{}); len(got) != 0 {
		t.Errorf("a refused archive left %q", got)
	}
}

// TestAnArchiveThatLies unpacks to more than its list says.
func TestAnArchiveThatLies(t *testing.T) {
	t.Parallel()
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	f, _ := w.Create("bomb")
	for range 1 << 10 {
		fmt.Fprintf(f, "%01024d", 0)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	data := archive.Bytes()
	head := bytes.LastIndex(data, []byte("PK\x01\x02"))
	if got := binary.LittleEndian.Uint32(data[head+24:]); got != 1<<20 {
		t.Fatalf("the list says %d bytes: this test does not change the right field", got)
	}
	binary.LittleEndian.PutUint32(data[head+24:], 100)
	refuses(t, data, event.ErrInvalid)
}

func TestChanges(t *testing.T) {
	t.Parallel()
	f := func(path, version string) workspace.File {
		return workspace.File{Path: path, Version: version, Size: 1}
	}
	got := workspace.Changes(
		[]workspace.File{f("a", "1"), f("b", "1"), f("c", "1"), f("e", "1")},
		[]workspace.File{f("0", "1"), f("b", "2"), f("c", "1"), f("d", "1"), f("f", "1")},
	)
	want := []workspace.Change{
		{Path: "0", Kind: workspace.Added, Size: 1},
		{Path: "a", Kind: workspace.Removed},
		{Path: "b", Kind: workspace.Changed, Size: 1},
		{Path: "d", Kind: workspace.Added, Size: 1},
		{Path: "e", Kind: workspace.Removed},
		{Path: "f", Kind: workspace.Added, Size: 1},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
