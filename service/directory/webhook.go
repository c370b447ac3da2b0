package directory

import (
	"slices"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service/database"
)

// Webhook is an address of a tenant to which the service sends messages about its runs.
type Webhook struct {
	Tenant string `json:"tenant"`
	ID     string `json:"id"`
	// Life distinguishes webhooks that reuse one id. It is not shown.
	Life   string `json:"-"`
	Status Status `json:"status"`

	WebhookSpec //nolint:embeddedstructfieldcheck // the order of the JSON

	// Secret describes the signing secret, which is shown once.
	Secret StoredSecret `json:"signing_secret"`
	// Disabled says why the service made the webhook inactive. nil means that it did not.
	Disabled *WebhookDisabled `json:"disabled,omitempty"`
	Revision int64            `json:"revision"`
	Created  time.Time        `json:"created_at"`
	Updated  time.Time        `json:"updated_at"`
}

// WebhookEvent is the type of a message.
type WebhookEvent string

// These are the types.
const (
	// WebhookRunEnded says that a run has completed, failed or been cancelled.
	WebhookRunEnded WebhookEvent = "run.ended"
	// WebhookQuestionAsked says that a run waits for an answer.
	WebhookQuestionAsked WebhookEvent = "question.asked"
	// WebhookLimitReached says that a limit of a run, or a quota of its tenant, has ended it.
	WebhookLimitReached WebhookEvent = "run.limit_reached"
	// WebhookPing is a test. It is sent on request only.
	WebhookPing WebhookEvent = "webhook.ping"
)

// WebhookEvents returns the types that a webhook can choose.
func WebhookEvents() []WebhookEvent {
	return []WebhookEvent{WebhookRunEnded, WebhookQuestionAsked, WebhookLimitReached}
}

// WebhookSpec is what a tenant sets of a [Webhook].
type WebhookSpec struct {
	// Name is the name for users.
	Name string `json:"name,omitempty"`
	// URL is the address. The service may refuse it: see [References].Webhook.
	URL string `json:"url"`
	// Events are the types of messages to send. nil means all.
	Events []WebhookEvent `json:"events,omitzero"`
}

// StoredSecret describes a signing secret.
type StoredSecret struct {
	// Ends are the last characters of the secret.
	Ends string `json:"ends_in"`
	// Set is when the secret was made.
	Set time.Time `json:"set_at"`
	// PreviousUntil is until when messages are signed with the previous secret too. The zero time means
	// that there is none.
	PreviousUntil time.Time `json:"previous_until,omitzero"`
}

// WebhookDisabled says why the service made a webhook inactive.
type WebhookDisabled struct {
	Reason string    `json:"reason"`
	At     time.Time `json:"at"`
}

// Wants reports whether the webhook gets messages of a type now.
func (w *Webhook) Wants(e WebhookEvent) bool {
	return w.Status == Active && (w.Events == nil || slices.Contains(w.Events, e))
}

// SigningSecrets are the secrets that sign a message: the present one, and the previous one while
// it is accepted.
type SigningSecrets []secret.Secret

// webhookDoc is the part of a webhook in its column doc.
type webhookDoc struct {
	WebhookSpec

	Secret   StoredSecret     `json:"secret"`
	Disabled *WebhookDisabled `json:"disabled,omitempty"`
}

const selectWebhook = `SELECT tenant, id, life, status, revision, created, updated, doc FROM webhook`

func scanWebhook(scan func(...any) error) (Webhook, error) {
	var w Webhook
	var created, updated int64
	var text string
	if err := scan(&w.Tenant, &w.ID, &w.Life, &w.Status, &w.Revision, &created, &updated, &text); err != nil {
		return Webhook{}, err
	}
	var doc webhookDoc
	err := decode(text, &doc)
	w.WebhookSpec, w.Secret, w.Disabled = doc.WebhookSpec, doc.Secret, doc.Disabled
	w.Created, w.Updated = database.Time(created), database.Time(updated)
	return w, err
}

// WebhookNotFound returns the error for a webhook that the tenant does not have.
func WebhookNotFound(op string) error {
	return &event.Error{Op: op, Kind: event.ErrNotFound, Code: "WEBHOOK_NOT_FOUND", Message: "there is no such webhook", Hint: "check the id"}
}
