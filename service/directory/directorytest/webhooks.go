package directorytest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service/directory"
)

func webhook(id string) directory.Webhook {
	return directory.Webhook{Tenant: "acme", ID: id, WebhookSpec: directory.WebhookSpec{URL: "https://hooks.example/" + id}}
}

// A webhook's secret is shown once, rotates with an overlap, and is bound to its webhook.
func webhooks(t *testing.T, h Harness) {
	d, ctx := h.Directory, t.Context()
	tenant(t, d, "acme")
	made, shown, err := d.CreateWebhook(ctx, of("acme"), webhook("office"), secret.Secret{}, "once")
	done(t, err)
	if !strings.HasPrefix(shown.Reveal(), "whsec_") || made.Revision != 1 || made.Status != directory.Active || made.Secret.Ends == "" {
		t.Errorf("made as %+v", made)
	}
	if text := fmt.Sprintf("%+v %s", made, jsonOf(t, made)); strings.Contains(text, shown.Reveal()) {
		t.Errorf("the secret is shown: %s", text)
	}
	again, none, err := d.CreateWebhook(ctx, of("acme"), webhook("office"), secret.Secret{}, "once")
	if diff := cmp.Diff(made, again); err != nil || !none.Empty() || diff != "" {
		t.Error(err, diff)
	}
	_, _, err = d.CreateWebhook(ctx, of("acme"), webhook("office"), secret.Secret{}, "")
	want(t, "made twice", err, event.ErrConflict, "WEBHOOK_EXISTS")
	signs := func(w directory.Webhook, secrets ...string) {
		t.Helper()
		var got []string
		for _, s := range must[directory.SigningSecrets](t)(d.WebhookSecrets(ctx, &w)) {
			got = append(got, s.Reveal())
		}
		if diff := cmp.Diff(secrets, got); diff != "" {
			t.Error(diff)
		}
	}
	signs(made, shown.Reveal())
	rotated, next, err := d.RotateWebhook(ctx, of("acme"), "acme", "office", 1, secret.Secret{}, time.Hour)
	done(t, err)
	signs(rotated, next.Reveal(), shown.Reveal())
	last, chosen, err := d.RotateWebhook(ctx, of("acme"), "acme", "office", 0, secret.New("whsec_"+strings.Repeat("YWFh", 10)), 0)
	done(t, err)
	signs(last, chosen.Reveal())
	_, _, err = d.RotateWebhook(ctx, of("acme"), "acme", "office", 1, secret.Secret{}, 0)
	want(t, "rotated too late", err, event.ErrConflict, "REVISION_CONFLICT")

	done(t, d.DisableWebhook(ctx, &made, "too late")) // it was changed since
	if w := must[directory.Webhook](t)(d.GetWebhook(ctx, "acme", "office")); w.Status != directory.Active {
		t.Errorf("disabled as %+v", w)
	}
	done(t, d.DisableWebhook(ctx, &last, "it is gone"))
	off := must[directory.Webhook](t)(d.GetWebhook(ctx, "acme", "office"))
	if off.Status != directory.Inactive || off.Disabled == nil || off.Disabled.Reason != "it is gone" || off.Wants(directory.WebhookRunEnded) {
		t.Errorf("disabled as %+v", off)
	}
	if diff := cmp.Diff([]directory.Webhook{off}, must[[]directory.Webhook](t)(d.Webhooks(ctx, "acme"))); diff != "" {
		t.Errorf("an old list is remembered: %s", diff)
	}
	on := must[directory.Webhook](t)(d.UpdateWebhook(ctx, of("acme"), "acme", "office", 0, func(w *directory.Webhook) error {
		w.Status = directory.Active
		return nil
	}))
	if on.Disabled != nil || !on.Wants(directory.WebhookLimitReached) {
		t.Errorf("active again as %+v", on)
	}
	done(t, d.DeleteWebhook(ctx, of("acme"), "acme", "office", on.Revision))
	want(t, "removed twice", d.DeleteWebhook(ctx, of("acme"), "acme", "office", 0), event.ErrNotFound, "WEBHOOK_NOT_FOUND")
	reborn, _, err := d.CreateWebhook(ctx, of("acme"), webhook("office"), secret.Secret{}, "")
	done(t, err)
	if reborn.Life == made.Life {
		t.Error("a life is used twice")
	}
	_, err = d.WebhookSecrets(ctx, &made)
	want(t, "the secret of another life", err, event.ErrNotFound, "WEBHOOK_NOT_FOUND")
}

// What is no webhook is refused, and so is another tenant.
func webhooksRefused(t *testing.T, h Harness) {
	d, ctx := h.Directory, t.Context()
	tenant(t, d, "acme")
	tenant(t, d, "zeta")
	for name, change := range map[string]func(w *directory.Webhook){
		"no slug":       func(w *directory.Webhook) { w.ID = "../x" },
		"no url":        func(w *directory.Webhook) { w.URL = "" },
		"a file":        func(w *directory.Webhook) { w.URL = "file:///etc/passwd" },
		"a user":        func(w *directory.Webhook) { w.URL = "https://u:p@hooks.example/" },
		"a long url":    func(w *directory.Webhook) { w.URL = "https://hooks.example/" + strings.Repeat("x", 3000) },
		"a line":        func(w *directory.Webhook) { w.URL = "https://hooks.example/\r\nX: y" },
		"no events":     func(w *directory.Webhook) { w.Events = []directory.WebhookEvent{} },
		"a test":        func(w *directory.Webhook) { w.Events = []directory.WebhookEvent{directory.WebhookPing} },
		"an event":      func(w *directory.Webhook) { w.Events = []directory.WebhookEvent{"run.begun"} },
		"one twice":     func(w *directory.Webhook) { w.Events = []directory.WebhookEvent{"run.ended", "run.ended"} },
		"a status":      func(w *directory.Webhook) { w.Status = "odd" },
		"a long name":   func(w *directory.Webhook) { w.Name = strings.Repeat("x", 300) },
		"no UTF-8 name": func(w *directory.Webhook) { w.Name = "\xff" },
	} {
		w := webhook("office")
		change(&w)
		_, _, err := d.CreateWebhook(ctx, of("acme"), w, secret.Secret{}, "")
		want(t, name, err, event.ErrInvalid, "")
	}
	for name, text := range map[string]string{
		"short": "whsec_YWFh", "odd": "whsec_!", "without its prefix": strings.Repeat("YWFh", 10), "long": "whsec_" + strings.Repeat("YWFh", 40),
	} {
		_, _, err := d.CreateWebhook(ctx, of("acme"), webhook("office"), secret.New(text), "")
		want(t, "a secret that is "+name, err, event.ErrInvalid, "")
	}
	for i := range directory.MostWebhooks {
		_, _, err := d.CreateWebhook(ctx, of("acme"), webhook(fmt.Sprint("hook-", i)), secret.Secret{}, "")
		done(t, err)
	}
	_, _, err := d.CreateWebhook(ctx, of("acme"), webhook("more"), secret.Secret{}, "")
	want(t, "too many", err, event.ErrQuota, "QUOTA_WEBHOOKS")
	_, _, err = d.CreateWebhook(ctx, of("zeta"), webhook("theirs"), secret.Secret{}, "")
	want(t, "for another tenant", err, event.ErrNotFound, "TENANT_NOT_FOUND")
	_, err = d.GetWebhook(ctx, "zeta", "hook-1")
	want(t, "another tenant's", err, event.ErrNotFound, "WEBHOOK_NOT_FOUND")
	_, err = d.UpdateWebhook(ctx, of("zeta"), "zeta", "hook-1", 0, func(*directory.Webhook) error { return nil })
	want(t, "another tenant's", err, event.ErrNotFound, "WEBHOOK_NOT_FOUND")
	_, _, err = d.RotateWebhook(ctx, of("acme"), "acme", "hook-1", 0, secret.Secret{}, directory.MostOverlap+1)
	want(t, "a long overlap", err, event.ErrInvalid, "")
	_, _, err = d.RotateWebhook(ctx, of("acme"), "acme", "hook\x00", 0, secret.Secret{}, 0)
	want(t, "no id", err, event.ErrNotFound, "WEBHOOK_NOT_FOUND")

	idle(t, d, "acme")
	erased := must[directory.Erased](t)(d.EraseTenant(ctx, Operator(), "acme"))
	if erased.Webhooks != directory.MostWebhooks {
		t.Errorf("erased: %+v", erased)
	}
}
