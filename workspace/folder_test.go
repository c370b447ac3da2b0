package workspace_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/workspace"
	"github.com/braidrun/braid/workspace/workspacetest"
)

// TestNoLinkLeadsOut has another program put links, pipes and odd names in the folder.
func TestNoLinkLeadsOut(t *testing.T) {
	t.Parallel()
	outside, dir := t.TempDir(), t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(filepath.Join(outside, "secret"), []byte("canary"), 0o600))
	must(os.Mkdir(filepath.Join(outside, "sub"), 0o700))
	must(os.WriteFile(filepath.Join(dir, "plain"), []byte("x"), 0o600))
	must(os.Symlink(filepath.Join(outside, "secret"), filepath.Join(dir, "link")))
	must(os.Symlink(outside, filepath.Join(dir, "linked")))
	must(os.Symlink("plain", filepath.Join(dir, "inside")))
	must(syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	must(os.WriteFile(filepath.Join(dir, "a\nb"), []byte("x"), 0o600))
	must(os.Mkdir(filepath.Join(dir, "odd\\folder"), 0o700))
	must(os.WriteFile(filepath.Join(dir, "odd\\folder", "x"), []byte("x"), 0o600))

	files, ctx := openFolder(t, dir, workspace.Quota{}), context.Background()
	if got := workspacetest.Paths(t, files, workspace.Query{}); !slices.Equal(got, []string{"plain"}) {
		t.Errorf("listed %q, want the plain file only", got)
	}
	for _, path := range []string{"link", "linked/secret", "linked/sub/new", "inside", "pipe"} {
		if r, err := files.Open(ctx, path); err == nil {
			_ = r.Close()
			t.Errorf("Open(%q) was allowed", path)
		}
		if _, err := files.Put(ctx, path, strings.NewReader("y"), workspace.Condition{}); err == nil {
			t.Errorf("Put(%q) was allowed", path)
		}
		if err := files.Remove(ctx, path); err == nil {
			t.Errorf("Remove(%q) was allowed", path)
		}
	}
	if data, _ := os.ReadFile(filepath.Join(outside, "secret")); string(data) != "canary" {
		t.Errorf("the file outside holds %q", data)
	}
	if left, _ := os.ReadDir(filepath.Join(outside, "sub")); len(left) != 0 {
		t.Errorf("files were written outside: %v", left)
	}
}

// TestFolderLeavesNoDrafts looks at the folder itself after writes that failed.
func TestFolderLeavesNoDrafts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files, ctx := openFolder(t, dir, workspace.Quota{File: 5}), context.Background()
	workspacetest.Write(t, files, "folder/x", "x")
	workspacetest.Write(t, files, "kept", "x")
	for path, c := range map[string]workspace.Condition{"folder": {}, "folder/x": {Absent: true}, "kept/x": {}} {
		if _, err := files.Put(ctx, path, strings.NewReader("y"), c); err == nil {
			t.Errorf("Put(%q) was allowed", path)
		}
	}
	if _, err := files.Put(ctx, "much", strings.NewReader("too much"), workspace.Condition{}); event.KindOf(err) != event.ErrTooLarge {
		t.Error(err)
	}
	if err := files.Remove(ctx, "folder/x"); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 || left[0].Name() != "kept" {
		t.Errorf("the folder holds %v, %v", left, err)
	}
}

func TestOpenFolderThatIsNotThere(t *testing.T) {
	t.Parallel()
	_, err := workspace.OpenFolder(filepath.Join(t.TempDir(), "none"), workspace.Quota{})
	if event.KindOf(err) != event.ErrNotFound || strings.Contains(err.Error(), string(filepath.Separator)) {
		t.Errorf("got %v", err)
	}
}

func TestAReplacedFileKeepsItsPermissions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := filepath.Join(dir, "script.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(script, 0o750); err != nil {
		t.Fatal(err)
	}
	workspacetest.Write(t, openFolder(t, dir, workspace.Quota{}), "script.sh", "#!/bin/bash")
	if info, err := os.Stat(script); err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("got %v, %v", info.Mode(), err)
	}
}
