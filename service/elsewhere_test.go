package service_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid/blob"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/workspace"
	"github.com/braidrun/braid/workspace/workspacetest"
)

// elsewhere stores workspaces outside of the journal.
type elsewhere struct {
	*workspace.Store

	seen map[workspace.Owner]bool
	// down is the error of each removal.
	down error
}

func (e *elsewhere) Files(o workspace.Owner) workspace.Files {
	e.seen[o] = true
	return e.Store.Files(o)
}

func (e *elsewhere) Remove(ctx context.Context, o workspace.Owner) error {
	if e.down != nil {
		return e.down
	}
	files := e.Files(o)
	list, err := files.List(ctx, workspace.Query{})
	for _, f := range list {
		err = errors.Join(err, files.Remove(ctx, f.Path))
	}
	return err
}

func (e *elsewhere) RemoveTenant(ctx context.Context, tenant string) (err error) {
	for o := range e.seen {
		if o.Tenant == tenant {
			err = errors.Join(err, e.Remove(ctx, o))
		}
	}
	return err
}

func (e *elsewhere) Stored(ctx context.Context, tenant string) (n int64, err error) {
	for o := range e.seen {
		if o.Tenant != tenant {
			continue
		}
		list, err := e.Store.Files(o).List(ctx, workspace.Query{})
		if err != nil {
			return 0, err
		}
		for _, f := range list {
			n += f.Size
		}
	}
	return n, nil
}

// Files elsewhere count towards the tenant's quota, follow a fork, and go with their conversation and their tenant.
func TestWorkspacesElsewhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const large = 300_000
		d := people(t)
		away := &elsewhere{Store: workspace.NewStore(new(blob.Memory), workspace.Quota{}), seen: map[workspace.Owner]bool{}}
		h := tenants(t, d, func(o *service.Options) { o.WorkspaceBackend = away })
		open := func(conv string) workspace.Files {
			t.Helper()
			files, err := h.Files(t.Context(), ann, conv)
			if err != nil {
				t.Fatal(err)
			}
			return files
		}
		conv := h.conversation(t)
		workspacetest.Write(t, open(conv), "a", strings.Repeat("x", large))
		if n, err := h.store.StoredBytes(t.Context(), "acme"); err != nil || n >= large {
			t.Errorf("the journal stores %d bytes, %v", n, err)
		}
		setTenant(t, d, func(of *directory.Tenant) { of.Quota.Storage = new(int64(large + 200_000)) })
		time.Sleep(2 * time.Second) // what was counted before is old
		if _, err := open(conv).Put(t.Context(), "b", strings.NewReader(strings.Repeat("x", large)), workspace.Condition{}); !errors.Is(err, event.ErrQuota) {
			t.Errorf("a file beyond the tenant's quota: %v", err)
		}
		setTenant(t, d, func(of *directory.Tenant) { of.Quota.Storage = nil })

		fork, err := h.ForkConversation(t.Context(), ann, conv, 0)
		if err != nil {
			t.Fatal(err)
		}
		forked := open(fork.ID)
		if got := workspacetest.Paths(t, forked, workspace.Query{}); len(got) != 1 {
			t.Errorf("the fork has %q", got)
		}

		// A deletion that cannot remove the files can be repeated, and then removes them.
		gone := open(conv)
		away.down = &event.Error{Kind: event.ErrUnavailable, Message: "down"}
		if err := h.DeleteConversation(t.Context(), ann, conv); !errors.Is(err, event.ErrUnavailable) {
			t.Errorf("a deletion while the files cannot be removed: %v", err)
		}
		away.down = nil
		if err := h.DeleteConversation(t.Context(), ann, conv); err != nil {
			t.Fatal(err)
		}
		if got := workspacetest.Paths(t, gone, workspace.Query{}); len(got) != 0 {
			t.Errorf("a deleted conversation has %q", got)
		}

		// A file that arrives while its conversation is deleted goes with it.
		late := h.conversation(t)
		slow := open(late)
		from, to := io.Pipe()
		done := make(chan error, 1)
		go func() {
			_, err := slow.Put(t.Context(), "late", from, workspace.Condition{})
			done <- err
		}()
		_, _ = to.Write([]byte("half "))
		if err := h.DeleteConversation(t.Context(), ann, late); err != nil {
			t.Fatal(err)
		}
		_, _ = to.Write([]byte("of it"))
		_ = to.Close()
		if err := <-done; !errors.Is(err, event.ErrNotFound) {
			t.Errorf("a file of a deleted conversation: %v", err)
		}
		if got := workspacetest.Paths(t, slow, workspace.Query{}); len(got) != 0 {
			t.Errorf("a deleted conversation has %q", got)
		}

		// So does a file that no conversation has any more, such as after a crash.
		workspacetest.Write(t, away.Files(workspace.Owner{Tenant: "acme", Conversation: "gone", Incarnation: "1"}), "left", "x")
		setTenant(t, d, func(of *directory.Tenant) { of.Status = directory.Inactive })
		if _, err := h.EraseTenant(t.Context(), operator, "acme"); err != nil {
			t.Fatal(err)
		}
		if n, err := away.Stored(t.Context(), "acme"); err != nil || n != 0 {
			t.Errorf("an erased tenant stores %d bytes, %v", n, err)
		}
	})
}
