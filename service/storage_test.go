package service_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
)

// A run that has stored more than its tenant may ends before its next model call, and what it has committed stays. New runs,
// conversations and forks are refused until something is deleted; a repeated request still gets its run.
func TestStorageIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const large = 300_000
		tool := braid.Func("look", "", func(context.Context, struct{}) (string, error) {
			time.Sleep(5 * time.Second) // so that what was counted before is old
			return strings.Repeat("x", large), nil
		})
		h, d := billed(t, biller{text: "hi", usage: event.Usage{Input: 1, Output: 1, Total: 2}, tool: "look"}, tool)
		bound := func(bytes int64) {
			setTenant(t, d, func(of *directory.Tenant) { of.Quota.Storage = new(bytes) })
		}
		bound(large)
		conv, small := h.conversation(t), h.conversation(t)
		if u := h.use(t); u.Storage != 0 {
			t.Errorf("nothing is stored, and %d bytes are counted", u.Storage)
		}
		request := service.RunRequest{Input: "hello", Key: "once"}
		started, err := h.StartRun(t.Context(), ann, conv, request)
		if err != nil {
			t.Fatal(err)
		}
		end := h.wait(t, conv, started)
		if e := end.Err; end.Status != event.RunFailed || e == nil || e.Kind != event.ErrQuota || e.Code != "QUOTA_STORAGE" || e.Hint == "" {
			t.Fatalf("the run %s: %v", end.Status, end.Err)
		}
		events, err := h.Events(t.Context(), ann, conv, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		kept := false
		for _, e := range events {
			if s, ok := e.Body.(*event.StepEnded); ok && s.Result != nil {
				kept = kept || len(event.TextOf(s.Result.Content)) == large
			}
		}
		if u := h.use(t); !kept || u.Storage < large {
			t.Errorf("%d bytes are counted, and the result of the tool is in the log: %t", u.Storage, kept)
		}

		again, err := h.StartRun(t.Context(), ann, conv, request)
		if err != nil || again.Run.ID != started.Run.ID {
			t.Errorf("the request again: %v, %+v", err, again.Run)
		}
		for what, refused := range map[string]func() error{
			"a run": func() error {
				_, err := h.StartRun(t.Context(), ann, small, service.RunRequest{Input: "hello"})
				return err
			},
			"a conversation": func() error {
				_, err := h.CreateConversation(t.Context(), ann, service.NewConversation{Title: "one more"})
				return err
			},
			"a fork": func() error {
				_, err := h.ForkConversation(t.Context(), ann, conv, 0)
				return err
			},
		} {
			e, _ := errors.AsType[*event.Error](refused())
			if e == nil || e.Kind != event.ErrQuota || e.Code != "QUOTA_STORAGE" || e.RetryAfter <= 0 {
				t.Errorf("%s: %v", what, e)
			}
		}
		// What is deleted is free at once.
		if err := h.DeleteConversation(t.Context(), ann, conv); err != nil {
			t.Fatal(err)
		}
		if u := h.use(t); u.Storage >= 1000 {
			t.Errorf("%d bytes are left", u.Storage)
		}
		if _, err := h.CreateConversation(t.Context(), ann, service.NewConversation{}); err != nil {
			t.Error(err)
		}
		started, err = h.StartRun(t.Context(), ann, small, service.RunRequest{Input: "hello"})
		if err != nil {
			t.Fatal(err)
		}
		bound(0)
		if end := h.wait(t, small, started); end.Status != event.RunCompleted {
			t.Errorf("without a bound the run %s: %v", end.Status, end.Err)
		}
	})
}

// countedLog is a journal that counts how often it is asked what a tenant stores.
type countedLog struct {
	*journal.Memory

	asked int
}

func (c *countedLog) StoredBytes(ctx context.Context, tenant string) (int64, error) {
	c.asked++
	return c.Memory.StoredBytes(ctx, tenant)
}

// Requests do not ask the journal each time, and inputs that come together do not pass the bound together.
func TestStorageIsNotCountedForEachRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		logs := &countedLog{Memory: &journal.Memory{}}
		d := people(t)
		h := tenants(t, d, func(o *service.Options) { o.Journal = logs })
		setTenant(t, d, func(of *directory.Tenant) { of.Quota.Storage = new(int64(1 << 20)) })
		for range 20 {
			conv := h.conversation(t)
			if _, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "hello"}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if logs.asked != 1 {
			t.Errorf("20 runs at once ask %d times", logs.asked)
		}
		conv := h.conversation(t)
		var err error
		for n := 0; n < 10 && err == nil; n++ {
			_, err = h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: strings.Repeat("x", 300_000), Policy: braid.Queue})
		}
		if !errors.Is(err, event.ErrQuota) {
			t.Errorf("ten inputs of 300,000 bytes: %v", err)
		}
	})
}
