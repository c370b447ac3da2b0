package directory

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service/database"
)

// WebhookSecretPrefix begins the text of a signing secret. Base64 of 24 to 64 bytes follows
// (Standard Webhooks, "Signature scheme").
const WebhookSecretPrefix = "whsec_"

const (
	newWebhookSecret   = 32
	leastWebhookSecret = 24
	mostWebhookSecret  = 64
	// MostOverlap bounds how long a previous secret signs beside the new one.
	MostOverlap = 30 * 24 * time.Hour
)

// webhookSecrets are the secrets of a webhook. They are encrypted together, for one place: tenant,
// webhook, column and life.
type webhookSecrets struct {
	Now string `json:"now"`
	// Before is the previous secret, and Until the time in microseconds until which it signs.
	Before string `json:"before,omitempty"`
	Until  int64  `json:"until,omitempty"`
}

// webhookSecret returns a chosen secret, or a new one.
func webhookSecret(op string, chosen secret.Secret) (string, error) {
	if chosen.Empty() {
		var raw [newWebhookSecret]byte
		_, _ = rand.Read(raw[:]) // never fails
		return WebhookSecretPrefix + base64.StdEncoding.EncodeToString(raw[:]), nil
	}
	text, ok := strings.CutPrefix(chosen.Reveal(), WebhookSecretPrefix)
	raw, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil || len(raw) < leastWebhookSecret || len(raw) > mostWebhookSecret {
		return "", invalid(op, "the secret cannot be used", "send whsec_ and 24 to 64 bytes in base64, or leave it out for a new one")
	}
	return chosen.Reveal(), nil
}

func (d *Directory) sealWebhook(op string, w *Webhook, s webhookSecrets) ([]byte, error) {
	if d.keys == nil {
		return nil, noKeyset(op)
	}
	plain, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	sealed, err := d.keys.Seal(plain, webhookPlace(w.Tenant, w.ID, w.Life))
	if err != nil {
		return nil, &event.Error{Op: op, Kind: event.ErrInternal, Message: "the secret could not be encrypted", Err: err}
	}
	return sealed, nil
}

func (d *Directory) openWebhook(op string, w *Webhook, sealed []byte) (s webhookSecrets, err error) {
	if d.keys == nil {
		return s, noKeyset(op)
	}
	plain, err := d.keys.Open(sealed, webhookPlace(w.Tenant, w.ID, w.Life))
	if err == nil {
		err = json.Unmarshal(plain, &s)
	}
	if err != nil {
		return s, &event.Error{
			Op: op, Kind: event.ErrModelAuth, Message: "the secret of the webhook " + w.ID + " cannot be decrypted", Hint: "rotate it",
			Err: errors.Join(errSealed, err),
		}
	}
	return s, nil
}

// WebhookSecrets returns the secrets that sign a message of a webhook now. It returns
// [event.ErrNotFound] if the webhook was removed since the caller looked it up.
func (d *Directory) WebhookSecrets(ctx context.Context, w *Webhook) (SigningSecrets, error) {
	const op = "webhook secret"
	var sealed []byte
	err := d.db.Read(ctx, op, w.Tenant, func(tx *database.Tx) error {
		there, err := tx.Get(`SELECT secret FROM webhook WHERE tenant = ? AND id = ? AND life = ?`, []any{w.Tenant, w.ID, w.Life}, &sealed)
		if err == nil && !there {
			return WebhookNotFound(op)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	s, err := d.openWebhook(op, w, sealed)
	if err != nil {
		return nil, err
	}
	list := SigningSecrets{secret.New(s.Now)}
	if s.Before != "" && time.Now().UnixMicro() < s.Until {
		list = append(list, secret.New(s.Before))
	}
	return list, nil
}
