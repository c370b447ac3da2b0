package demotool

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool"
)

// box is a temporary folder with its tools by name.
type box struct {
	t     *testing.T
	dir   string
	tools map[string]braid.Tool
}

func newBox(t *testing.T) *box {
	t.Helper()
	b := &box{t: t, dir: t.TempDir(), tools: map[string]braid.Tool{}}
	tools, err := Files(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		b.tools[tool.Spec().Name] = tool
	}
	return b
}

func (b *box) call(tool string, in any) (string, error) {
	b.t.Helper()
	args, err := json.Marshal(in)
	if err != nil {
		b.t.Fatal(err)
	}
	out, err := b.tools[tool].Call(b.t.Context(), args)
	return event.TextOf(out.Content), err
}

func (b *box) put(name, content string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte(content), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

func (b *box) names() string {
	b.t.Helper()
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		b.t.Fatal(err)
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return strings.Join(names, " ")
}

func TestFilesAreWrittenReadAndListed(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	for _, step := range []struct {
		tool string
		in   any
		want string
	}{
		{"list_files", nothing{}, "(no files)"},
		{"write_file", fileContent{"list.txt", "milk"}, "Wrote 4 bytes to list.txt."},
		{"read_file", fileName{"list.txt"}, "milk"},
		{"write_file", fileContent{"list.txt", "x"}, "Wrote 1 byte to list.txt."},
		{"read_file", fileName{"list.txt"}, "x"},
		{"write_file", fileContent{"買い物 メモ.txt", "牛乳\n"}, "Wrote 7 bytes to 買い物 メモ.txt."},
		{"write_file", fileContent{"empty", ""}, "Wrote 0 bytes to empty."},
		{"read_file", fileName{"empty"}, "(empty is empty)"},
		{"list_files", nothing{}, "empty (0 bytes)\nlist.txt (1 byte)\n買い物 メモ.txt (7 bytes)"},
	} {
		got, err := b.call(step.tool, step.in)
		if err != nil || got != step.want {
			t.Errorf("%s %v: %q, %v; want %q", step.tool, step.in, got, err, step.want)
		}
	}
	if got := b.names(); got != "empty list.txt 買い物 メモ.txt" {
		t.Errorf("the folder holds %s", got)
	}
}

func TestNamesStayInsideTheFolder(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	outside := filepath.Join(filepath.Dir(b.dir), "outside.txt")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"", ".", "..", "../outside.txt", outside, "a/b", `a\b`, ".hidden", "a\x00b", "a\nb", "end.", " a", "a ", "a:b", "a*b",
		strings.Repeat("x", 101), "\xff", "a\u202eb", "~", "$HOME", "🙂",
	} {
		for _, tool := range []string{"write_file", "read_file", "delete_file"} {
			var in any = fileName{name}
			if tool == "write_file" {
				in = fileContent{name, "x"}
			}
			if got, err := b.call(tool, in); !errors.Is(err, event.ErrInvalid) && name != "\xff" || err == nil {
				t.Errorf("%s %q: %q, %v", tool, name, got, err)
			}
		}
	}
	if data, err := os.ReadFile(outside); err != nil || string(data) != "secret" {
		t.Errorf("outside: %q, %v", data, err)
	}
	if got := b.names(); got != "" {
		t.Errorf("the folder holds %s", got)
	}
}

func TestLinksAndFoldersAreNotFollowed(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.put("real.txt", "inside")
	for link, target := range map[string]string{"out.txt": "/etc/hostname", "in.txt": "real.txt"} {
		if err := os.Symlink(target, filepath.Join(b.dir, link)); err != nil {
			t.Skip("no symbolic links here")
		}
	}
	if err := os.Mkdir(filepath.Join(b.dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"out.txt", "in.txt", "folder"} {
		for _, tool := range []string{"read_file", "write_file", "delete_file"} {
			var in any = fileName{name}
			if tool == "write_file" {
				in = fileContent{name, "x"}
			}
			if got, err := b.call(tool, in); !errors.Is(err, event.ErrInvalid) {
				t.Errorf("%s %s: %q, %v", tool, name, got, err)
			}
		}
	}
	if got, err := b.call("list_files", nothing{}); err != nil || got != "real.txt (6 bytes)" {
		t.Errorf("list: %q, %v", got, err)
	}
}

func TestFilesAreBounded(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	if _, err := b.call("write_file", fileContent{"a", strings.Repeat("x", MaxFile+1)}); !errors.Is(err, event.ErrTooLarge) {
		t.Errorf("a large text: %v", err)
	}
	if _, err := b.call("write_file", fileContent{"a", strings.Repeat("x", MaxFile)}); err != nil {
		t.Errorf("the largest text: %v", err)
	}
	b.put("large", strings.Repeat("x", MaxFile+1))
	if _, err := b.call("read_file", fileName{"large"}); !errors.Is(err, event.ErrTooLarge) {
		t.Errorf("a large file: %v", err)
	}
	b.put("binary", "\xff\xfe")
	if _, err := b.call("read_file", fileName{"binary"}); !errors.Is(err, event.ErrInvalid) {
		t.Errorf("a file that is no text: %v", err)
	}
	for i := range MaxFiles - 3 {
		b.put("f"+strconv.Itoa(i), "")
	}
	if _, err := b.call("write_file", fileContent{"one-more", ""}); !errors.Is(err, event.ErrTooLarge) {
		t.Errorf("one file too many: %v", err)
	}
	if _, err := b.call("write_file", fileContent{"f1", "again"}); err != nil {
		t.Errorf("a file that is there already: %v", err)
	}
	b.put("g1", "")
	b.put("g2", "")
	if got, err := b.call("list_files", nothing{}); err != nil || strings.Count(got, "\n") != MaxFiles || !strings.HasSuffix(got, "(and more)") {
		t.Errorf("a long list: %v\n%s", err, got)
	}
}

func TestTheFolderFillsUpOnce(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	var wg sync.WaitGroup
	for i := range 2 * MaxFiles {
		wg.Go(func() { _, _ = b.call("write_file", fileContent{"f" + strconv.Itoa(i), "x"}) })
	}
	wg.Wait()
	if n := len(strings.Fields(b.names())); n != MaxFiles {
		t.Errorf("%d files", n)
	}
}

func TestErrorsSayNoPaths(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	_, missing := b.call("read_file", fileName{"none.txt"})
	_, gone := b.call("delete_file", fileName{"none.txt"})
	_, nowhere := Files(filepath.Join(b.dir, "nowhere"))
	b.put("file", "")
	_, noFolder := Files(filepath.Join(b.dir, "file"))
	for name, err := range map[string]error{"missing": missing, "gone": gone, "nowhere": nowhere} {
		if !errors.Is(err, event.ErrNotFound) || strings.Contains(err.Error(), b.dir) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if noFolder == nil || strings.Contains(noFolder.Error(), b.dir) {
		t.Errorf("no folder: %v", noFolder)
	}
	if err := os.RemoveAll(b.dir); err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"write_file", "list_files"} {
		if _, err := b.call(tool, map[string]string{}); err == nil || strings.Contains(err.Error(), b.dir) {
			t.Errorf("%s in a folder that is gone: %v", tool, err)
		}
	}
}

func TestFilesInAnOpenFolder(t *testing.T) {
	t.Parallel()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for range 2 { // the first call must not close the caller's folder
		out, err := FilesIn(root)[0].Call(t.Context(), json.RawMessage(`{"name":"a","content":"b"}`))
		if err != nil || event.TextOf(out.Content) != "Wrote 1 byte to a." {
			t.Errorf("%+v, %v", out, err)
		}
	}
}

func TestADeletionInFlightIsLookedUp(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.put("there", "x")
	reconcile := tool.TraitsOf(b.tools["delete_file"]).Reconcile
	for args, want := range map[string]bool{`{"name":"there"}`: false, `{"name":"gone"}`: true, `{"name":"../x"}`: false, `[`: false} {
		out, known, err := reconcile(context.Background(), json.RawMessage(args))
		if err != nil || known != want || known && event.TextOf(out.Content) != "gone is deleted." {
			t.Errorf("%s: %+v, %v, %v", args, out, known, err)
		}
	}
}

func TestEachCallClosesTheFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var opened []*os.Root
	f := &folder{open: func(context.Context) (*os.Root, error) {
		root, err := os.OpenRoot(dir)
		opened = append(opened, root)
		return root, err
	}}
	if _, err := f.write(t.Context(), "a", "b"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.read(t.Context(), "none"); err == nil {
		t.Fatal("there is no such file")
	}
	for _, root := range opened {
		if _, err := root.Lstat("a"); !errors.Is(err, os.ErrClosed) {
			t.Errorf("the folder is still open: %v", err)
		}
	}
}
