package admin

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/client"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
)

// webhookFields returns a webhook's fields from file and flags.
func (a *admin) webhookFields() (client.Patch, error) {
	patch, err := a.fields(map[string]string{"name": "name", "url": "url"})
	if err != nil {
		return nil, err
	}
	if text, given := a.in.Flags["events"]; given {
		patch["events"] = conf.Words(text)
		if text == "all" {
			patch["events"] = nil
		}
	}
	return patch, nil
}

// signingSecret reads --signing-secret-file; empty without it.
func (a *admin) signingSecret() (secret.Secret, error) {
	file, given := a.in.Flags["signing-secret-file"]
	if !given {
		return secret.Secret{}, nil
	}
	raw, err := a.p.ReadInput("--signing-secret-file", file)
	if err != nil {
		return secret.Secret{}, err
	}
	text := strings.TrimSpace(string(raw))
	if text == "" {
		return secret.Secret{}, term.Invalid("put whsec_ and the secret in base64 into it", "--signing-secret-file: the file is empty")
	}
	return secret.New(text), nil
}

func (a *admin) createWebhook(ctx context.Context, id string) error {
	patch, err := a.webhookFields()
	if err != nil {
		return err
	}
	w, err := into[client.NewWebhook](patch)
	if err != nil {
		return err
	}
	w.ID = id
	if w.Secret, err = a.signingSecret(); err != nil {
		return err
	}
	made, shown, err := a.client.CreateWebhook(ctx, a.tenant, w)
	if err != nil {
		return err
	}
	return a.showSecret(made, shown)
}

// showSecret prints a new signing secret, alone on standard output unless it is JSON.
func (a *admin) showSecret(w client.Webhook, shown secret.Secret) error {
	if a.in.On("json") {
		return a.showOne(struct {
			client.Webhook

			Secret string `json:"secret"`
		}{w, shown.Reveal()})
	}
	if err := a.p.Print(shown.Reveal() + "\n"); err != nil {
		return err
	}
	fmt.Fprintf(a.p.Stderr, "This is the signing secret of the webhook %s. It is shown this once: keep it.\n", w.ID)
	return nil
}

func (a *admin) rotateWebhook(ctx context.Context, id string) error {
	read, err := a.revision()
	if err != nil {
		return err
	}
	chosen, err := a.signingSecret()
	if err != nil {
		return err
	}
	overlap := 24 * time.Hour
	if text, given := a.in.Flags["overlap"]; given {
		if overlap, err = time.ParseDuration(text); err != nil || overlap < 0 {
			return term.Invalid("write it as 24h, or 0s for none", "--overlap: %q is no duration", term.Fit(text, 40))
		}
	}
	w, shown, err := a.client.RotateWebhook(ctx, a.tenant, id, read, chosen, overlap)
	if err != nil {
		return err
	}
	return a.showSecret(w, shown)
}

func (a *admin) listWebhooks(ctx context.Context, _ string) error {
	return showList(a, a.client.Webhooks(ctx, a.tenant, a.listed()), []string{"ID", "STATUS", "EVENTS", "URL", "DISABLED"},
		func(w *client.Webhook) []string {
			events, disabled := "all", "-"
			if w.Events != nil {
				events = strings.Join(w.Events, ",")
			}
			if w.Disabled != nil {
				disabled = w.Disabled.Reason
			}
			return []string{w.ID, w.Status, events, w.URL, disabled}
		})
}

func (a *admin) showWebhook(ctx context.Context, id string) error {
	w, err := a.client.Webhook(ctx, a.tenant, id)
	if err != nil {
		return err
	}
	return a.showOne(w)
}

func (a *admin) updateWebhook(ctx context.Context, id string) error {
	patch, err := a.webhookFields()
	if err != nil {
		return err
	}
	return a.patchWebhook(ctx, id, patch)
}

func (a *admin) patchWebhook(ctx context.Context, id string, patch client.Patch) error {
	read, err := a.revision()
	if err != nil {
		return err
	}
	w, err := a.client.UpdateWebhook(ctx, a.tenant, id, read, patch)
	if err != nil {
		return err
	}
	return a.showOne(w)
}

func (a *admin) activateWebhook(ctx context.Context, id string) error {
	return a.patchWebhook(ctx, id, client.Patch{"status": client.Active})
}

func (a *admin) deactivateWebhook(ctx context.Context, id string) error {
	return a.patchWebhook(ctx, id, client.Patch{"status": client.Inactive})
}

func (a *admin) deleteWebhook(ctx context.Context, id string) error {
	read, err := a.revision()
	if err != nil {
		return err
	}
	return a.client.DeleteWebhook(ctx, a.tenant, id, read)
}

// testWebhook sends a test message. An endpoint that does not accept it is an error.
func (a *admin) testWebhook(ctx context.Context, id string) error {
	report, err := a.client.TestWebhook(ctx, a.tenant, id)
	if err != nil {
		return err
	}
	if err := a.showOne(report); err != nil || report.OK {
		return err
	}
	return &event.Error{
		Kind: event.ErrUnavailable, Message: "the webhook " + id + " did not accept the test message: " + report.Error,
		Hint: "Correct the endpoint or the address.",
	}
}

func (a *admin) listDeliveries(ctx context.Context, id string) error {
	return showList(a, a.client.Deliveries(ctx, a.tenant, id, a.in.Flags["status"], a.listed().Page),
		[]string{"ID", "TYPE", "STATUS", "ATTEMPTS", "RESPONSE", "CREATED", "NEXT", "ERROR"},
		func(d *client.Delivery) []string {
			response := "-"
			if d.ResponseStatus > 0 {
				response = strconv.Itoa(d.ResponseStatus)
			}
			return []string{
				d.ID, d.Type, d.Status, strconv.Itoa(d.Attempts), response, when(d.CreatedAt), when(d.NextAttemptAt), orDash(d.Error),
			}
		})
}

func (a *admin) showDelivery(ctx context.Context, id string) error {
	delivery, given := a.in.Flags["delivery"]
	if !given {
		return term.Invalid("braid admin webhook deliveries lists them", "--delivery is missing")
	}
	d, err := a.client.Delivery(ctx, a.tenant, id, delivery)
	if err != nil {
		return err
	}
	return a.showOne(d)
}

// replayWebhook sends one delivery again, or those since a time.
func (a *admin) replayWebhook(ctx context.Context, id string) error {
	delivery, one := a.in.Flags["delivery"]
	text, since := a.in.Flags["from"]
	switch {
	case one == since:
		return term.Invalid("--delivery ID sends one again, --from TIME the failed ones since then", "name either --delivery or --from")
	case one:
		d, err := a.client.ReplayDelivery(ctx, a.tenant, id, delivery)
		if err != nil {
			return err
		}
		return a.showOne(d)
	}
	from, err := moment("from", text)
	if err != nil {
		return err
	}
	n, err := a.client.ReplayDeliveries(ctx, a.tenant, id, from, a.in.On("all"))
	if err != nil {
		return err
	}
	return a.showOne(struct {
		Deliveries int `json:"deliveries"`
	}{n})
}
