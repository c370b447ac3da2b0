package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/braidrun/braid/secret"
)

// Webhook is an address of a tenant to which the server sends messages about its runs.
type Webhook struct {
	Tenant string `json:"tenant"`
	ID     string `json:"id"`
	Status string `json:"status"`

	WebhookSpec //nolint:embeddedstructfieldcheck // the order of the JSON

	// SigningSecret describes the secret, whose value only its creation returns.
	SigningSecret SigningSecret `json:"signing_secret"`
	// Disabled says why the server made the webhook inactive. nil means that it did not.
	Disabled  *WebhookDisabled `json:"disabled,omitempty"`
	Revision  int64            `json:"revision"`
	CreatedAt time.Time        `json:"created_at"`
	UpdatedAt time.Time        `json:"updated_at"`
}

// WebhookSpec holds the settings of a webhook.
type WebhookSpec struct {
	Name string `json:"name,omitempty"`
	URL  string `json:"url,omitempty"`
	// Events are run.ended, question.asked and run.limit_reached. nil means all.
	Events []string `json:"events,omitzero"`
}

// SigningSecret describes a signing secret.
type SigningSecret struct {
	EndsIn string    `json:"ends_in"`
	SetAt  time.Time `json:"set_at"`
	// PreviousUntil is until when the previous secret signs too. The zero time means that none does.
	PreviousUntil time.Time `json:"previous_until,omitzero"`
}

// WebhookDisabled says why the server made a webhook inactive.
type WebhookDisabled struct {
	Reason string    `json:"reason"`
	At     time.Time `json:"at"`
}

// NewWebhook holds the settings of a new webhook.
type NewWebhook struct {
	WebhookSpec

	ID     string `json:"id"`
	Status string `json:"status,omitempty"`
	// Secret is whsec_ and 24 to 64 bytes in base64. Empty means a new one.
	Secret secret.Secret `json:"-"`
}

// Delivery is one message to a webhook.
type Delivery struct {
	// ID is the webhook-id of the message.
	ID             string `json:"id"`
	WebhookID      string `json:"webhook_id"`
	Type           string `json:"type"`
	ConversationID string `json:"conversation_id"`
	RunID          string `json:"run_id"`
	// Status is pending, delivered or failed.
	Status   string `json:"status"`
	Attempts int    `json:"attempts"`
	// ResponseStatus is the status code of the last response; 0 if there was none.
	ResponseStatus int `json:"response_status"`
	// Error says why the last attempt failed.
	Error         string    `json:"error,omitempty"`
	CreatedAt     time.Time `json:"created_at"`
	NextAttemptAt time.Time `json:"next_attempt_at,omitzero"`
	FinishedAt    time.Time `json:"finished_at,omitzero"`
	// Payload is what is sent. Only [Admin.Delivery] returns it.
	Payload json.RawMessage `json:"payload,omitempty"`
}

// WebhookReport says how an endpoint answers a test.
type WebhookReport struct {
	OK bool `json:"ok"`
	// ID is the webhook-id of the message.
	ID             string `json:"id"`
	ResponseStatus int    `json:"response_status"`
	// Error says why the endpoint did not accept the message.
	Error      string `json:"error,omitempty"`
	DurationMS int64  `json:"duration_ms"`
}

// secretly is a webhook with its secret.
type secretly struct {
	Webhook

	Secret string `json:"secret"`
}

// CreateWebhook creates a webhook of a tenant and returns its signing secret, which cannot be read
// later.
func (a Admin) CreateWebhook(ctx context.Context, tenant string, w NewWebhook) (Webhook, secret.Secret, error) {
	in := struct {
		NewWebhook

		Secret string `json:"secret,omitempty"`
	}{w, w.Secret.Reveal()}
	var out secretly
	err := a.ask(ctx, http.MethodPost, once(), in, &out, tenant, "webhooks")
	return out.Webhook, secret.New(out.Secret), err
}

// Webhooks yields a tenant's webhooks.
func (a Admin) Webhooks(ctx context.Context, tenant string, o ListOptions) iter.Seq2[Webhook, error] {
	return all[Webhook](ctx, a, o.query(), tenant, "webhooks")
}

// Webhook returns a webhook.
func (a Admin) Webhook(ctx context.Context, tenant, id string) (out Webhook, err error) {
	return out, a.ask(ctx, http.MethodGet, nil, nil, &out, tenant, "webhooks", id)
}

// UpdateWebhook changes a webhook, as [Admin.UpdateTenant] does.
func (a Admin) UpdateWebhook(ctx context.Context, tenant, id string, revision int64, patch Patch) (out Webhook, err error) {
	return out, a.ask(ctx, http.MethodPatch, ifAt(revision), patch, &out, tenant, "webhooks", id)
}

// RotateWebhook gives a webhook another signing secret and returns it. An empty chosen secret means a
// new one. For the time overlap, in whole seconds, messages are signed with the previous secret too.
func (a Admin) RotateWebhook(ctx context.Context, tenant, id string, revision int64, chosen secret.Secret, overlap time.Duration) (Webhook,
	secret.Secret, error,
) {
	in := struct {
		Secret  string `json:"secret,omitempty"`
		Overlap int64  `json:"overlap_seconds"`
	}{chosen.Reveal(), int64(overlap / time.Second)}
	var out secretly
	err := a.ask(ctx, http.MethodPost, ifAt(revision), in, &out, tenant, "webhooks", id, "rotate")
	return out.Webhook, secret.New(out.Secret), err
}

// DeleteWebhook removes a webhook with its secret and its deliveries.
func (a Admin) DeleteWebhook(ctx context.Context, tenant, id string, revision int64) error {
	return a.ask(ctx, http.MethodDelete, ifAt(revision), nil, nil, tenant, "webhooks", id)
}

// TestWebhook sends a message of the type webhook.ping. An endpoint that does not accept it is a
// report and no error.
func (a Admin) TestWebhook(ctx context.Context, tenant, id string) (out WebhookReport, err error) {
	return out, a.ask(ctx, http.MethodPost, nil, nil, &out, tenant, "webhooks", id, "test")
}

// Deliveries yields the deliveries of a webhook, newest first. A status lists those with that status;
// empty lists all.
func (a Admin) Deliveries(ctx context.Context, tenant, webhook, status string, page int) iter.Seq2[Delivery, error] {
	query := url.Values{}
	if status != "" {
		query.Set("status", status)
	}
	if page > 0 {
		query.Set("limit", strconv.Itoa(page))
	}
	return all[Delivery](ctx, a, query, tenant, "webhooks", webhook, "deliveries")
}

// Delivery returns a delivery with its payload.
func (a Admin) Delivery(ctx context.Context, tenant, webhook, id string) (out Delivery, err error) {
	return out, a.ask(ctx, http.MethodGet, nil, nil, &out, tenant, "webhooks", webhook, "deliveries", id)
}

// ReplayDelivery sends a delivery again, with the same webhook-id.
func (a Admin) ReplayDelivery(ctx context.Context, tenant, webhook, id string) (out Delivery, err error) {
	return out, a.ask(ctx, http.MethodPost, nil, nil, &out, tenant, "webhooks", webhook, "deliveries", id, "replay")
}

// ReplayDeliveries sends the failed deliveries of a webhook again that were made since a time, or all
// of them, and returns how many.
func (a Admin) ReplayDeliveries(ctx context.Context, tenant, webhook string, since time.Time, all bool) (int, error) {
	in := struct {
		Since time.Time `json:"since"`
		All   bool      `json:"all,omitempty"`
	}{since, all}
	var out struct {
		Deliveries int `json:"deliveries"`
	}
	err := a.ask(ctx, http.MethodPost, nil, in, &out, tenant, "webhooks", webhook, "replay")
	return out.Deliveries, err
}
