package workspace_test

import (
	"testing"

	"github.com/braidrun/braid/blob"
	"github.com/braidrun/braid/workspace"
	"github.com/braidrun/braid/workspace/workspacetest"
)

func TestFolder(t *testing.T) {
	workspacetest.Run(t, func(t testing.TB, q workspace.Quota) workspace.Files { return openFolder(t, t.TempDir(), q) })
}

func TestBlobs(t *testing.T) {
	workspacetest.Run(t, func(_ testing.TB, q workspace.Quota) workspace.Files {
		return workspace.InBlobs(new(blob.Memory), "tenant", "conversation", "", q)
	})
}

func openFolder(t testing.TB, dir string, q workspace.Quota) *workspace.Folder {
	t.Helper()
	files, err := workspace.OpenFolder(dir, q)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = files.Close() })
	return files
}
