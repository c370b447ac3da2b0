package service_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/workspace"
)

// trickle is a source that waits between its bytes.
type trickle struct {
	left, piece int
	pause       time.Duration
}

func (s *trickle) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	time.Sleep(s.pause)
	n := min(len(p), s.piece, s.left)
	s.left -= n
	for i := range n {
		p[i] = byte(s.left + i) // no two files are equal
	}
	return n, nil
}

func withFiles(t *testing.T, bytes int64) (*house, *directory.Directory) {
	t.Helper()
	d, logs := people(t), &journal.Memory{}
	h := tenants(t, d, func(o *service.Options) {
		o.Journal, o.Workspaces = logs, &workspace.Quota{}
	})
	h.store = logs
	setTenant(t, d, func(of *directory.Tenant) { of.Quota.Storage = new(bytes) })
	return h, d
}

func wantFull(t *testing.T, what string, err error) {
	t.Helper()
	e, _ := errors.AsType[*event.Error](err)
	if e == nil || e.Kind != event.ErrQuota || e.Code != "QUOTA_STORAGE" || e.Hint == "" || !strings.Contains(e.Message, "as many bytes as they may, 1000000") {
		t.Errorf("%s: %v", what, err)
	}
}

// Two uploads that run for a while, at the same time and in two conversations, do not exceed the tenant's quota together, however
// often it is counted meanwhile. The one that is refused leaves nothing.
func TestUploadsAtOnceKeepTheQuota(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, _ := withFiles(t, 1_000_000)
		ended := make(chan error)
		var places []workspace.Files
		for range 2 {
			files, err := h.Files(t.Context(), ann, h.conversation(t))
			if err != nil {
				t.Fatal(err)
			}
			places = append(places, files)
		}
		for i, files := range places {
			go func() {
				_, err := files.Put(t.Context(), "large", &trickle{left: 600_000 + i, piece: 10_000, pause: 300 * time.Millisecond}, workspace.Condition{})
				ended <- err
			}()
		}
		first, second := <-ended, <-ended
		wantFull(t, "the upload that reached the quota", first)
		if second != nil {
			t.Errorf("the other one: %v", second)
		}
		n := 0
		for _, files := range places {
			list, err := files.List(t.Context(), workspace.Query{})
			if err != nil {
				t.Fatal(err)
			}
			n += len(list)
		}
		if u := h.use(t); n != 1 || u.Storage < 600_000 || u.Storage > 601_000 {
			t.Fatalf("there are %d files, and %d bytes are counted", n, u.Storage)
		}
		if pieces := h.store.Blobs().(interface{ Bytes(tenant string) int64 }).Bytes("acme"); pieces < 600_000 || pieces > 600_001 {
			t.Errorf("%d bytes are stored", pieces)
		}
		// What is left is free, to the byte; one more is refused.
		left := 1_000_000 - h.use(t).Storage
		_, err := places[0].Put(t.Context(), "more", bytes.NewReader(make([]byte, left)), workspace.Condition{})
		wantFull(t, "a file that fills the quota", err)
		if _, err := places[0].Put(t.Context(), "more", bytes.NewReader(make([]byte, left-1)), workspace.Condition{}); err != nil {
			t.Errorf("a file below the quota: %v", err)
		}
		_, err = places[1].Put(t.Context(), "again", strings.NewReader("x"), workspace.Condition{})
		wantFull(t, "one byte more", err)
		for _, files := range places {
			_ = files.Remove(t.Context(), "large") // one has it
		}
		if _, err := places[1].Put(t.Context(), "again", strings.NewReader("x"), workspace.Condition{}); err != nil {
			t.Errorf("after a file was removed: %v", err)
		}
	})
}

// An upload that fails or is cut gives back what it held, and one under no quota is counted when the tenant gets one.
func TestUploadsGiveBackWhatTheyHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, d := withFiles(t, 0)
		files, err := h.Files(t.Context(), ann, h.conversation(t))
		if err != nil {
			t.Fatal(err)
		}
		broken := errors.New("the client has gone")
		for range 3 {
			_, err := files.Put(t.Context(), "a", io.MultiReader(bytes.NewReader(make([]byte, 400_000)), cut{broken}), workspace.Condition{})
			if !errors.Is(err, broken) {
				t.Errorf("a cut upload: %v", err)
			}
		}
		ended := make(chan error)
		go func() {
			_, err := files.Put(t.Context(), "slow", &trickle{left: 700_000, piece: 10_000, pause: 100 * time.Millisecond}, workspace.Condition{})
			ended <- err
		}()
		time.Sleep(5 * time.Second)
		setTenant(t, d, func(of *directory.Tenant) { of.Quota.Storage = new(int64(1_000_000)) })
		_, err = files.Put(t.Context(), "other", bytes.NewReader(make([]byte, 600_000)), workspace.Condition{})
		wantFull(t, "an upload beside one that has read 500,000 bytes", err)
		if err := <-ended; err != nil {
			t.Errorf("the slow one: %v", err)
		}
		if _, err := files.Put(t.Context(), "small", bytes.NewReader(make([]byte, 290_000)), workspace.Condition{}); err != nil {
			t.Errorf("a file of what is left: %v", err)
		}
	})
}

type cut struct{ err error }

func (f cut) Read([]byte) (int, error) { return 0, f.err }

// A tool that writes beyond the quota gets an error for its model, leaves no file, and the run goes on.
func TestAToolReachesTheQuota(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var written error
		tool := braid.Func("look", "", func(ctx context.Context, _ struct{}) (string, error) {
			files, err := service.WorkspaceOf(ctx)
			if err != nil {
				return "", err
			}
			if _, err := files.Put(ctx, "small", strings.NewReader("small"), workspace.Condition{}); err != nil {
				return "", err
			}
			_, written = files.Put(ctx, "large", bytes.NewReader(make([]byte, 2_000_000)), workspace.Condition{})
			return "", written
		})
		d, logs := people(t), &journal.Memory{}
		h := tenants(t, d, func(o *service.Options) {
			o.Journal, o.Workspaces = logs, &workspace.Quota{}
			o.Agent = func(context.Context, service.AgentRequest) (*braid.Agent, error) {
				return braid.New("assistant", biller{text: "hi", usage: event.Usage{Input: 1, Output: 1, Total: 2}, tool: "look"}, tool), nil
			}
		})
		h.store = logs
		setTenant(t, d, func(of *directory.Tenant) { of.Quota.Storage = new(int64(1_000_000)) })
		conv := h.conversation(t)
		if end := h.run(t, conv); end.Status != event.RunCompleted {
			t.Errorf("the run %s: %v", end.Status, end.Err)
		}
		wantFull(t, "the tool", written)
		events, err := h.Events(t.Context(), ann, conv, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		said := ""
		for _, e := range events {
			if s, ok := e.Body.(*event.StepEnded); ok && s.Result != nil {
				said += event.TextOf(s.Result.Content)
			}
		}
		files, err := h.Files(t.Context(), ann, conv)
		if err != nil {
			t.Fatal(err)
		}
		list, err := files.List(t.Context(), workspace.Query{})
		if err != nil || len(list) != 1 || list[0].Path != "small" || !strings.Contains(said, "as many bytes as they may") {
			t.Errorf("the files are %v, and the model is told %q: %v", list, said, err)
		}
	})
}
