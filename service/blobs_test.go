package service_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid/blob"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
)

// Stored bytes count towards a tenant's quota. They go with their conversation, and with their tenant.
func TestBlobsBelongToTenantsAndConversations(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const large = 300_000
		h, d := billed(t, biller{text: "hi", usage: event.Usage{Input: 1, Output: 1, Total: 2}})
		setTenant(t, d, func(of *directory.Tenant) { of.Quota.Storage = new(int64(large)) })
		blobs := h.store.Blobs()
		put := func(conversation string) blob.Ref {
			t.Helper()
			ref := blob.Ref{Conversation: conversation, Kind: "file", Name: "a"}
			content := strings.NewReader(strings.Repeat("x", large) + conversation)
			if _, err := blobs.Put(t.Context(), "acme", ref, content, 0); err != nil {
				t.Fatal(err)
			}
			return ref
		}
		gone := func(what string, ref blob.Ref) {
			t.Helper()
			if _, err := blobs.Lookup(t.Context(), "acme", ref); !errors.Is(err, event.ErrNotFound) {
				t.Errorf("%s: %v", what, err)
			}
		}
		conv, empty := h.conversation(t), h.conversation(t)
		if end := h.run(t, conv); end.Status != event.RunCompleted {
			t.Fatalf("the run %s: %v", end.Status, end.Err)
		}
		file := put(conv)
		if u := h.use(t); u.Storage < large {
			t.Errorf("%d bytes are counted", u.Storage)
		}
		time.Sleep(2 * time.Second) // what was counted before is old
		if _, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "hello"}); !errors.Is(err, event.ErrQuota) {
			t.Errorf("a run beyond the quota: %v", err)
		}
		if err := h.DeleteConversation(t.Context(), ann, conv); err != nil {
			t.Fatal(err)
		}
		gone("the file of a deleted conversation", file)
		if u := h.use(t); u.Storage >= large {
			t.Errorf("after that %d bytes are counted", u.Storage)
		}
		// A conversation has files before it has a run.
		file = put(empty)
		if err := h.DeleteConversation(t.Context(), ann, empty); err != nil {
			t.Fatal(err)
		}
		gone("the file of a conversation without a run", file)

		file, own := put(h.conversation(t)), put("")
		setTenant(t, d, func(of *directory.Tenant) { of.Status = directory.Inactive })
		if _, err := h.EraseTenant(t.Context(), operator, "acme"); err != nil {
			t.Fatal(err)
		}
		gone("a file of a conversation of an erased tenant", file)
		gone("a file of an erased tenant", own)
		if n, err := h.store.StoredBytes(t.Context(), "acme"); err != nil || n != 0 {
			t.Errorf("an erased tenant stores %d bytes: %v", n, err)
		}
	})
}
