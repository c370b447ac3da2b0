package workspace_test

import (
	"testing"

	"github.com/braidrun/braid/blob"
	"github.com/braidrun/braid/workspace"
	"github.com/braidrun/braid/workspace/workspacetest"
)

func TestFolder(t *testing.T) {
	t.Parallel()
	workspacetest.Run(t, func(tb testing.TB, q workspace.Quota) workspace.Files { return openFolder(tb, tb.TempDir(), q) })
}

func TestBlobs(t *testing.T) {
	t.Parallel()
	workspacetest.Run(t, func(_ testing.TB, q workspace.Quota) workspace.Files {
		return workspace.NewStore(new(blob.Memory), q).Open("tenant", "conversation", "")
	})
}

// TestALinkedWorkspaceIsItsOwn forks a workspace.
func TestALinkedWorkspaceIsItsOwn(t *testing.T) {
	t.Parallel()
	store := workspace.NewStore(new(blob.Memory), workspace.Quota{})
	first, fork := store.Open("tenant", "first", ""), store.Open("tenant", "fork", "")
	workspacetest.Write(t, first, "a/b", "one")
	workspacetest.Write(t, first, "c", "two")
	if err := first.LinkTo(t.Context(), fork); err != nil {
		t.Fatal(err)
	}
	workspacetest.Write(t, fork, "c", "changed")
	if err := first.Remove(t.Context(), "a/b"); err != nil {
		t.Fatal(err)
	}
	if got := workspacetest.Read(t, first, "c"); got != "two" {
		t.Errorf("the first workspace holds %q", got)
	}
	if got := workspacetest.Read(t, fork, "a/b"); got != "one" {
		t.Errorf("the fork holds %q", got)
	}
	other := store.Open("other", "first", "")
	if got := workspacetest.Paths(t, other, workspace.Query{}); len(got) != 0 {
		t.Errorf("another tenant sees %q", got)
	}
}

func openFolder(tb testing.TB, dir string, q workspace.Quota) *workspace.Folder {
	tb.Helper()
	files, err := workspace.OpenFolder(dir, q)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = files.Close() })
	return files
}
