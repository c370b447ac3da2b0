package webhooks_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/service/webhooks"
)

// verified reports whether the reference library accepts a request with a secret.
func verified(t *testing.T, r *request, secret string) bool {
	t.Helper()
	hook, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	return hook.Verify(r.body, r.header) == nil
}

// Every kind of message reaches the webhooks that want it, signed as Standard Webhooks' own library
// verifies, and without a text of the run.
func TestMessages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := memory(t)
		w.hook("acme", "all")
		w.hook("acme", "limits", directory.WebhookLimitReached)
		w.hook("zeta", "other")
		o := w.process()
		o.Start(t.Context())
		w.happen(o, "acme", w.ended("c1"))
		limit := w.ended("c1")
		limit.Body = &event.RunEnded{Status: event.RunCompleted, Stop: event.StopLimitCost, Err: &event.Error{
			Kind: event.ErrLimit, Message: "canary", Code: "LIMIT_COST",
		}}
		w.happen(o, "acme", limit)
		asked := w.ended("c2")
		asked.Body = &event.Asked{Token: "question_1", Ask: event.AskApproval, Prompt: "canary", Tool: "mail", Args: []byte(`{"to":"canary"}`)}
		w.happen(o, "acme", asked)
		w.happen(o, "acme", &event.Event{Header: event.Header{Seq: 9, Conversation: "c3", Run: "r"}, Body: &event.StepBegun{}})
		synctest.Wait()
		var types []string
		for _, r := range w.web.got("https://acme.example/all") {
			if !verified(t, &r, w.secrets["all"]) || verified(t, &r, w.secrets["limits"]) {
				t.Errorf("the signature of %s is wrong", r.body)
			}
			if strings.Contains(string(r.body), "canary") || len(r.body) > 4096 || r.header.Get("Content-Type") != "application/json" {
				t.Errorf("sent as %s", r.body)
			}
			var m struct {
				Type string `json:"type"`
				Data struct {
					Conversation string `json:"conversation_id"`
				} `json:"data"`
			}
			if err := json.Unmarshal(r.body, &m); err != nil || m.Data.Conversation == "" {
				t.Errorf("%s: %v", r.body, err)
			}
			types = append(types, m.Type)
		}
		slices.Sort(types)
		if got := strings.Join(types, " "); got != "question.asked run.ended run.ended run.limit_reached" {
			t.Errorf("sent: %s", got)
		}
		if n := len(w.web.got("https://acme.example/limits")); n != 1 {
			t.Errorf("%d messages about limits", n)
		}
		if n := len(w.web.got("https://zeta.example/")); n != 0 {
			t.Errorf("%d messages reached another tenant", n)
		}
	})
}

// While a secret is rotated, messages verify with both.
func TestRotation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := memory(t)
		w.hook("acme", "h")
		o := w.process()
		o.Start(t.Context())
		before := w.secrets["h"]
		rotated, shown, err := w.people.RotateWebhook(t.Context(), of("acme"), "acme", "h", 1, secret.Secret{}, time.Hour)
		if err != nil || rotated.Secret.PreviousUntil.IsZero() || shown.Reveal() == before {
			t.Fatal(rotated, err)
		}
		last := func() *request {
			w.happen(o, "acme", w.ended("c"))
			synctest.Wait()
			all := w.web.got("https://acme.example/h")
			return &all[len(all)-1]
		}
		if r := last(); !verified(t, r, before) || !verified(t, r, shown.Reveal()) || strings.Count(r.header.Get("webhook-signature"), "v1,") != 2 {
			t.Errorf("signed as %v", r.header)
		}
		time.Sleep(time.Hour)
		if r := last(); verified(t, r, before) || !verified(t, r, shown.Reveal()) {
			t.Errorf("an old secret still signs: %v", r.header)
		}
	})
}

// A delivery that fails is tried at the times of the specification, for a day.
func TestRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := memory(t)
		w.hook("acme", "h")
		o := w.process()
		o.Start(t.Context())
		w.web.set(always(500))
		began := time.Now()
		w.happen(o, "acme", w.ended("c"))
		time.Sleep(3 * 24 * time.Hour)
		tries := w.web.got("https://acme.example/h")
		if len(tries) != len(webhooks.Schedule())+2 {
			t.Fatalf("%d attempts", len(tries))
		}
		for i, delay := range webhooks.Schedule() {
			took := tries[i+1].at.Sub(tries[i].at)
			if took < delay || took > delay+delay/10+time.Second {
				t.Errorf("attempt %d came %s after the one before, not %s", i+2, took, delay)
			}
			if tries[i+1].id() != tries[0].id() || !verifiedThen(t, &tries[i+1], w.secrets["h"]) {
				t.Errorf("attempt %d is %v", i+2, tries[i+1].header)
			}
		}
		if took := tries[len(tries)-1].at.Sub(began); took < 24*time.Hour || took > 24*time.Hour+time.Second {
			t.Errorf("the last attempt came after %s", took)
		}
		d := w.deliveries(o, "acme", "h")[0]
		if d.Status != webhooks.Failed || d.Code != 500 || d.Attempts != len(tries) || d.Finished.IsZero() || d.Error == "" {
			t.Errorf("listed as %+v", d)
		}

		w.web.set(always(204))
		if n, err := o.ReplaySince(t.Context(), of("acme"), "acme", "h", began, false); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		synctest.Wait()
		again := w.web.got("https://acme.example/h")
		if d := w.deliveries(o, "acme", "h")[0]; d.Status != webhooks.Delivered || d.Code != 204 || d.Attempts != 1 {
			t.Errorf("replayed as %+v", d)
		}
		if len(again) != len(tries)+1 || again[len(tries)].id() != tries[0].id() {
			t.Errorf("%d attempts", len(again))
		}
		if n, err := o.ReplaySince(t.Context(), of("acme"), "acme", "h", began, false); n != 0 || err != nil {
			t.Error(n, err)
		}
		if _, err := o.Replay(t.Context(), of("acme"), "acme", "h", d.ID); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if n := len(w.web.got("https://acme.example/h")); n != len(tries)+2 {
			t.Errorf("%d attempts", n)
		}
		time.Sleep(webhooks.Keep + time.Minute)
		if list := w.deliveries(o, "acme", "h"); len(list) != 0 {
			t.Errorf("kept: %+v", list)
		}
	})
}

// verifiedThen is verified for a request of the past.
func verifiedThen(t *testing.T, r *request, secret string) bool {
	t.Helper()
	hook, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	return hook.VerifyIgnoringTimestamp(r.body, r.header) == nil
}

// An endpoint that asks for time gets it, within bounds.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"600": 10 * time.Minute, "0": 5 * time.Second, "-1": 5 * time.Second, "99999999999999": 5 * time.Second, "soon": 5 * time.Second,
		"2147483647": 12 * time.Hour,
	} {
		synctest.Test(t, func(t *testing.T) {
			w := memory(t)
			w.hook("acme", "h")
			o := w.process()
			o.Start(t.Context())
			w.web.set(func(*request, context.Context) (*http.Response, error) {
				r := status(503)
				r.Header.Set("Retry-After", text)
				return r, nil
			})
			w.happen(o, "acme", w.ended("c"))
			time.Sleep(13 * time.Hour)
			all := w.web.got("https://acme.example/h")
			if len(all) < 2 {
				t.Fatalf("%s: %d attempts", text, len(all))
			}
			if took := all[1].at.Sub(all[0].at); took < want || took > want+want/10+time.Second {
				t.Errorf("%s: the next attempt came after %s", text, took)
			}
		})
	}
}

// The service disables an endpoint that is gone, or that has failed for long, and says why.
func TestDisabling(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := memory(t)
		w.hook("acme", "gone")
		o := w.process()
		o.Start(t.Context())
		w.web.set(always(410))
		w.happen(o, "acme", w.ended("c"))
		synctest.Wait()
		h, err := w.people.GetWebhook(t.Context(), "acme", "gone")
		if err != nil || h.Status != directory.Inactive || h.Disabled == nil || !strings.Contains(h.Disabled.Reason, "410") {
			t.Fatalf("%+v %v", h, err)
		}
		d := w.deliveries(o, "acme", "gone")[0]
		if d.Status != webhooks.Failed {
			t.Errorf("listed as %+v", d)
		}
		w.happen(o, "acme", w.ended("c"))
		synctest.Wait()
		if n := len(w.web.got("https://acme.example/gone")); n != 1 {
			t.Errorf("%d attempts", n)
		}
		_, err = o.Replay(t.Context(), of("acme"), "acme", "gone", d.ID)
		if e, ok := errors.AsType[*event.Error](err); !ok || e.Code != "WEBHOOK_INACTIVE" {
			t.Error(err)
		}
		on, err := w.people.UpdateWebhook(t.Context(), of("acme"), "acme", "gone", 0, func(h *directory.Webhook) error {
			h.Status = directory.Active
			return nil
		})
		if err != nil || on.Disabled != nil || on.Status != directory.Active {
			t.Errorf("%+v %v", on, err)
		}

		w.web.set(always(500))
		for range 7 {
			w.happen(o, "acme", w.ended("c"))
			time.Sleep(24 * time.Hour)
		}
		h, err = w.people.GetWebhook(t.Context(), "acme", "gone")
		if err != nil || h.Status != directory.Inactive || h.Disabled == nil || !strings.Contains(h.Disabled.Reason, "5 days") {
			t.Fatalf("%+v %v", h, err)
		}
		if age := h.Disabled.At.Sub(on.Updated); age < webhooks.LongFailure || age > webhooks.LongFailure+48*time.Hour {
			t.Errorf("disabled after %s", age)
		}
	})
}

// What a process has noted and committed is delivered by the next process, and what it has not
// committed is not.
func TestProcessesThatDie(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := memory(t)
		w.hook("acme", "h")
		first := w.process() // it never runs: it dies right after each of its calls
		committed, lost, other := w.ended("c1"), w.ended("c2"), w.ended("c3")
		for _, e := range []*event.Event{committed, lost, other} {
			if err := first.Note(t.Context(), "acme", []*event.Event{e}); err != nil {
				t.Fatal(err)
			}
		}
		w.logs.commit(committed)
		taken := *other // the next driver writes something else in its place
		taken.Run = "another"
		w.logs.commit(&taken)
		next := w.process()
		next.Start(t.Context())
		time.Sleep(time.Minute)
		all := w.web.got("https://acme.example/")
		if len(all) != 1 || !strings.Contains(string(all[0].body), `"c1"`) {
			t.Fatalf("sent: %d", len(all))
		}
		if n := w.count("webhook_notice"); n != 1 {
			t.Errorf("%d notices are left, and one may still be committed", n)
		}
		time.Sleep(webhooks.Uncertain)
		if n := w.count("webhook_notice"); n != 0 || len(w.web.got("https://acme.example/")) != 1 {
			t.Errorf("%d notices are left", n)
		}
	})
}

// A delivery whose process dies while it is sent is sent again with the same id.
func TestAProcessThatDiesWhileItSends(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := memory(t)
		w.hook("acme", "h")
		first := w.process()
		first.Start(t.Context())
		dead := make(chan struct{})
		w.web.set(func(*request, context.Context) (*http.Response, error) {
			<-dead
			return nil, errors.New("killed")
		})
		w.happen(first, "acme", w.ended("c"))
		synctest.Wait()
		w.web.set(always(200))
		time.Sleep(time.Second)
		second := w.process()
		second.Start(t.Context())
		synctest.Wait()
		all := w.web.got("https://acme.example/h")
		if len(all) != 2 || all[0].id() != all[1].id() {
			t.Fatalf("%d attempts", len(all))
		}
		close(dead) // its outcome no longer counts
		synctest.Wait()
		if d := w.deliveries(second, "acme", "h")[0]; d.Status != webhooks.Delivered || d.Attempts != 2 {
			t.Errorf("listed as %+v", d)
		}
	})
}

// A process that ends gives its attempts back.
func TestAProcessThatEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := memory(t)
		w.hook("acme", "h")
		first := w.process()
		first.Start(t.Context())
		w.web.set(func(_ *request, ctx context.Context) (*http.Response, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		w.happen(first, "acme", w.ended("c"))
		synctest.Wait()
		first.Stop()
		if d := w.deliveries(first, "acme", "h")[0]; d.Status != webhooks.Pending || d.Attempts != 0 {
			t.Errorf("listed as %+v", d)
		}
		first.Stop()
	})
}

// A tenant with many messages for slow endpoints does not delay another one, nor its own other
// endpoint.
func TestFairness(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := memory(t)
		w.hook("acme", "slow")
		o := w.process()
		w.web.set(func(r *request, _ context.Context) (*http.Response, error) {
			if strings.HasSuffix(r.url, "slow") {
				time.Sleep(15 * time.Second)
			}
			return status(200), nil
		})
		for range 300 {
			w.happen(o, "acme", w.ended("c"))
		}
		w.hook("acme", "quick")
		w.hook("zeta", "other")
		o.Start(t.Context())
		time.Sleep(time.Second)
		w.happen(o, "zeta", w.ended("z"))
		w.happen(o, "acme", w.ended("c"))
		time.Sleep(time.Minute)
		slow := w.web.got("https://acme.example/slow")
		if n := len(slow); n < 8 || n > 12 { // two at once, four times a minute
			t.Errorf("%d messages to the slow endpoint", n)
		}
		for _, url := range []string{"https://zeta.example/", "https://acme.example/quick"} {
			list := w.web.got(url)
			if len(list) == 0 {
				t.Errorf("%s got nothing", url)
			} else if late := list[0].at.Sub(slow[0].at); late > 20*time.Second {
				t.Errorf("%s waited %s", url, late)
			}
		}
		o.Stop()
	})
}

// A tenant whose queue is full keeps a list of what was not sent, and can replay it.
func TestAFullQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := memory(t)
		w.hook("acme", "h")
		err := w.db.Write(t.Context(), "fill", "acme", func(tx *database.Tx) error {
			_, err := tx.Exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
				INSERT INTO webhook_delivery (tenant, webhook, message, type, conversation, run, created, started, status, attempts, next_at, leased,
				finished, code, error, payload) SELECT 'acme', 'h', 'msg_' || i, '', 'c', 'r', 1, 1, 'pending', 0, 9000000000000000, 0, 0, 0, '', '{}'
				FROM n`, webhooks.MostPending)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		o := w.process()
		o.Start(t.Context())
		w.happen(o, "acme", w.ended("c"))
		synctest.Wait()
		d := w.deliveries(o, "acme", "h")[0]
		if d.Status != webhooks.Failed || d.Attempts != 0 || !strings.Contains(d.Error, "too many") {
			t.Errorf("listed as %+v", d)
		}
		_, err = o.ReplaySince(t.Context(), of("acme"), "acme", "h", time.Unix(1, 0), false)
		if e, ok := errors.AsType[*event.Error](err); !ok || e.Code != "QUOTA_WEBHOOK_DELIVERIES" {
			t.Error(err)
		}
		o.Stop()
	})
}

// The list has pages, and belongs to its tenant.
func TestLists(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := memory(t)
		w.hook("acme", "h")
		o := w.process()
		o.Start(t.Context())
		for range 5 {
			w.happen(o, "acme", w.ended("c"))
			time.Sleep(time.Second)
		}
		w.happen(o, "acme", w.ended("d"))
		synctest.Wait()
		ctx := t.Context()
		page, next, err := o.Deliveries(ctx, "acme", "h", webhooks.Query{Limit: 4})
		if err != nil || len(page) != 4 || next == "" || page[0].Conversation != "d" {
			t.Fatal(page, next, err)
		}
		rest, end, err := o.Deliveries(ctx, "acme", "h", webhooks.Query{Limit: 4, Cursor: next})
		if err != nil || len(rest) != 2 || end != "" || rest[0].ID == page[3].ID {
			t.Fatal(rest, end, err)
		}
		d, payload, err := o.Delivery(ctx, "acme", "h", rest[0].ID)
		if err != nil || d.ID != rest[0].ID || !json.Valid(payload) {
			t.Error(d, err)
		}
		for name, err := range map[string]error{
			"another tenant": second(o.Deliveries(ctx, "zeta", "h", webhooks.Query{})),
			"no webhook":     second(o.Deliveries(ctx, "acme", "none", webhooks.Query{})),
			"no delivery":    second(o.Delivery(ctx, "acme", "h", "msg_none")),
			"a hostile id":   second(o.Delivery(ctx, "acme", "h", "msg\x00'; DROP")),
			"another's":      second(o.Delivery(ctx, "zeta", "h", d.ID)),
		} {
			if !errors.Is(err, event.ErrNotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if failed, _, err := o.Deliveries(ctx, "acme", "h", webhooks.Query{Status: webhooks.Failed}); err != nil || len(failed) != 0 {
			t.Error(failed, err)
		}
		for _, q := range []webhooks.Query{{Status: "odd"}, {Limit: 101}, {Limit: -1}, {Cursor: "odd"}, {Cursor: next, Status: webhooks.Failed}} {
			if _, _, err := o.Deliveries(ctx, "acme", "h", q); !errors.Is(err, event.ErrInvalid) {
				t.Errorf("%+v: %v", q, err)
			}
		}
		if err := o.ForgetConversation(ctx, "acme", "c"); err != nil {
			t.Fatal(err)
		}
		if list := w.deliveries(o, "acme", "h"); len(list) != 1 || list[0].Conversation != "d" {
			t.Errorf("left: %+v", list)
		}
		if err := w.people.DeleteWebhook(ctx, of("acme"), "acme", "h", 0); err != nil {
			t.Fatal(err)
		}
		if n := w.count("webhook_delivery"); n != 0 {
			t.Errorf("%d deliveries of a removed webhook", n)
		}
	})
}

func second[A, B any](_ A, _ B, err error) error { return err }

// count returns how many rows acme has in a table.
func (w *world) count(table string) (n int) {
	w.t.Helper()
	err := w.db.Read(w.t.Context(), "count", "acme", func(tx *database.Tx) error {
		_, err := tx.Get(`SELECT count(*) FROM `+table+` WHERE tenant = ?`, []any{"acme"}, &n)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}
