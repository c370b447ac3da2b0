package directory

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service/database"
)

// MostWebhooks bounds the webhooks of a tenant, including inactive ones.
const MostWebhooks = 20

// CreateWebhook creates a webhook and returns its secret, which nobody can read later. An empty
// chosen secret means a new one. idem is an idempotency key as in [Directory.CreateTenant]; a
// repeated call with it returns the webhook without a secret. It returns [event.ErrQuota] if the
// tenant has [MostWebhooks].
func (d *Directory) CreateWebhook(ctx context.Context, by By, w Webhook, chosen secret.Secret, idem string) (made Webhook, shown secret.Secret,
	err error,
) {
	const op = "create webhook"
	if err := by.may(op, w.Tenant); err != nil {
		return Webhook{}, shown, err
	}
	if w.Status == "" {
		w.Status = Active
	}
	w.Life, w.Revision, w.Created, w.Secret, w.Disabled = "", 1, time.Time{}, StoredSecret{}, nil
	asked := w
	w.Life, w.Created = newLife(), database.Now()
	w.Updated = w.Created
	text, err := webhookSecret(op, chosen)
	if err != nil {
		return Webhook{}, shown, err
	}
	w.Secret = StoredSecret{Ends: lastLetters(secret.New(text)), Set: w.Created}
	if err := w.check(op); err != nil {
		return Webhook{}, shown, err
	}
	if err := d.refs.webhook(&w); err != nil {
		return Webhook{}, shown, err
	}
	sealed, err := d.sealWebhook(op, &w, webhookSecrets{Now: text})
	if err != nil {
		return Webhook{}, shown, err
	}
	err = d.write(ctx, op, w.Tenant, func(tx *database.Tx) error {
		made, shown = w, secret.New(text)
		if err := needTenant(tx, op, w.Tenant); err != nil {
			return err
		}
		if err := lockAgents(tx, w.Tenant); err != nil { // of two writers at once one counts the other's webhook
			return err
		}
		done, err := repeated(tx, op, w.Tenant, idem, "webhook/"+w.ID, asked, chosen.Reveal())
		if err != nil {
			return err
		}
		if done != "" {
			shown = secret.Secret{}
			made, err = getWebhook(tx, op, w.Tenant, w.ID, "")
			return err
		}
		if err := addWebhook(tx, op, &w, sealed); err != nil {
			return err
		}
		return record(tx, w.Tenant, by, "webhook.create", "webhook/"+w.ID, nil)
	})
	if err != nil {
		return Webhook{}, secret.Secret{}, err
	}
	return made, shown, nil
}

func addWebhook(tx *database.Tx, op string, w *Webhook, sealed []byte) error {
	doc, err := encode(webhookDoc{w.WebhookSpec, w.Secret, w.Disabled})
	if err != nil {
		return err
	}
	n, err := tx.Exec(`INSERT INTO webhook (tenant, id, life, status, revision, created, updated, doc, secret)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		w.Tenant, w.ID, w.Life, w.Status, w.Revision, database.Micros(w.Created), database.Micros(w.Updated), doc, sealed)
	if err != nil {
		return err
	}
	if n == 0 {
		return taken(op, "webhook")
	}
	var count int64
	if _, err := tx.Get(`SELECT count(*) FROM webhook WHERE tenant = ?`, []any{w.Tenant}, &count); err != nil || count <= MostWebhooks {
		return err
	}
	return OverQuota(op, "QUOTA_WEBHOOKS", "the tenant has "+strconv.Itoa(MostWebhooks)+" webhooks, the most that it may have",
		"change one that is there, or delete one")
}

func getWebhook(tx *database.Tx, op, tenant, id, lock string) (Webhook, error) {
	w, err := one(tx, op, "webhook", selectWebhook+` WHERE tenant = ? AND id = ?`+lock, []any{tenant, id}, scanWebhook)
	if isNotFound(err) {
		err = WebhookNotFound(op)
	}
	return w, err
}

// GetWebhook returns a webhook, active or not.
func (d *Directory) GetWebhook(ctx context.Context, tenant, id string) (w Webhook, err error) {
	const op = "webhook"
	if !isSlug(tenant) || !isSlug(id) {
		return Webhook{}, WebhookNotFound(op)
	}
	err = d.db.Read(ctx, op, tenant, func(tx *database.Tx) error {
		w, err = getWebhook(tx, op, tenant, id, "")
		return err
	})
	return w, err
}

// Webhooks returns all webhooks of a tenant, by id, from the cache. The caller must not change the
// list.
func (d *Directory) Webhooks(ctx context.Context, tenant string) ([]Webhook, error) {
	const op = "webhooks"
	if !isSlug(tenant) {
		return nil, nil
	}
	return lookup(ctx, &d.changes, &d.webhooks, tenant, func(ctx context.Context) (list []Webhook, err error) {
		err = d.db.Read(ctx, op, tenant, func(tx *database.Tx) error {
			list = nil
			return tx.List(selectWebhook+` WHERE tenant = ? ORDER BY id`, []any{tenant}, func(scan func(...any) error) error {
				w, err := scanWebhook(scan)
				list = append(list, w)
				return err
			})
		})
		return list, err
	})
}

// ListWebhooks lists a tenant's webhooks.
func (d *Directory) ListWebhooks(ctx context.Context, tenant string, q Query) (list []Webhook, next string, err error) {
	return page(ctx, d.db, tenant, false, q, listing[Webhook]{
		op: "list webhooks", from: selectWebhook + ` WHERE tenant = ?`, args: []any{tenant}, scan: scanWebhook,
		place: func(w Webhook) (string, time.Time) { return w.ID, w.Created },
	})
}

// UpdateWebhook changes a webhook as [Directory.UpdateTenant] does. One that becomes active again is
// no longer disabled.
func (d *Directory) UpdateWebhook(ctx context.Context, by By, tenant, id string, revision int64, change func(w *Webhook) error) (w Webhook,
	err error,
) {
	const op = "update webhook"
	if err := by.may(op, tenant); err != nil {
		return Webhook{}, err
	}
	if !isSlug(id) {
		return Webhook{}, WebhookNotFound(op)
	}
	err = d.write(ctx, op, tenant, func(tx *database.Tx) error {
		old, err := getWebhook(tx, op, tenant, id, tx.ForUpdate())
		if err != nil {
			return err
		}
		if revision != 0 && revision != old.Revision {
			return outrun(op)
		}
		if w, err = copied(old); err != nil {
			return err
		}
		if err := change(&w); err != nil {
			return err
		}
		w.Tenant, w.ID, w.Life, w.Revision, w.Created, w.Updated = old.Tenant, old.ID, old.Life, old.Revision, old.Created, old.Updated
		w.Secret, w.Disabled = old.Secret, old.Disabled
		if w.Status == Active {
			w.Disabled = nil
		}
		what, err := differences(old, w)
		if err != nil || len(what) == 0 {
			return err
		}
		if err := w.check(op); err != nil {
			return err
		}
		if w.URL != old.URL {
			if err := d.refs.webhook(&w); err != nil {
				return err
			}
		}
		if err := saveWebhook(tx, &w); err != nil {
			return err
		}
		return record(tx, tenant, by, "webhook.update", "webhook/"+id, what)
	})
	if err != nil {
		return Webhook{}, err
	}
	return w, nil
}

// saveWebhook stores a changed webhook as its next revision.
func saveWebhook(tx *database.Tx, w *Webhook) error {
	w.Revision++
	w.Updated = database.Now()
	doc, err := encode(webhookDoc{w.WebhookSpec, w.Secret, w.Disabled})
	if err != nil {
		return err
	}
	_, err = tx.Exec(`UPDATE webhook SET status = ?, revision = ?, updated = ?, doc = ? WHERE tenant = ? AND id = ?`,
		w.Status, w.Revision, database.Micros(w.Updated), doc, w.Tenant, w.ID)
	return err
}

// RotateWebhook gives a webhook another secret and returns it. An empty chosen secret means a new
// one. For the time overlap, at most [MostOverlap], messages are signed with the previous secret too.
func (d *Directory) RotateWebhook(ctx context.Context, by By, tenant, id string, revision int64, chosen secret.Secret, overlap time.Duration) (
	w Webhook, shown secret.Secret, err error,
) {
	const op = "rotate webhook secret"
	if err := by.may(op, tenant); err != nil {
		return Webhook{}, shown, err
	}
	if !isSlug(id) {
		return Webhook{}, shown, WebhookNotFound(op)
	}
	if overlap < 0 || overlap > MostOverlap {
		return Webhook{}, shown, invalid(op, "the overlap is out of bounds", "use seconds from 0 to 2592000")
	}
	text, err := webhookSecret(op, chosen)
	if err != nil {
		return Webhook{}, shown, err
	}
	err = d.write(ctx, op, tenant, func(tx *database.Tx) error {
		var sealed []byte
		if _, err := tx.Get(`SELECT secret FROM webhook WHERE tenant = ? AND id = ?`+tx.ForUpdate(), []any{tenant, id}, &sealed); err != nil {
			return err
		}
		if w, err = getWebhook(tx, op, tenant, id, ""); err != nil {
			return err
		}
		if revision != 0 && revision != w.Revision {
			return outrun(op)
		}
		old, err := d.openWebhook(op, &w, sealed)
		if err != nil && !errors.Is(err, errSealed) { // a new secret replaces one that no key opens
			return err
		}
		next, now := webhookSecrets{Now: text}, database.Now()
		w.Secret = StoredSecret{Ends: lastLetters(secret.New(text)), Set: now}
		if until := now.Add(overlap); overlap > 0 && old.Now != "" && old.Now != text {
			next.Before, next.Until, w.Secret.PreviousUntil = old.Now, database.Micros(until), until
		}
		if sealed, err = d.sealWebhook(op, &w, next); err != nil {
			return err
		}
		if _, err := tx.Exec(`UPDATE webhook SET secret = ? WHERE tenant = ? AND id = ?`, sealed, tenant, id); err != nil {
			return err
		}
		if err := saveWebhook(tx, &w); err != nil {
			return err
		}
		return record(tx, tenant, by, "webhook.rotate", "webhook/"+id, nil)
	})
	if err != nil {
		return Webhook{}, secret.Secret{}, err
	}
	return w, secret.New(text), nil
}

// DisableWebhook makes a webhook inactive for a reason that its tenant sees. It changes nothing if
// the webhook was changed or removed since the caller looked it up.
func (d *Directory) DisableWebhook(ctx context.Context, w *Webhook, reason string) error {
	const op = "disable webhook"
	return d.write(ctx, op, w.Tenant, func(tx *database.Tx) error {
		now, err := getWebhook(tx, op, w.Tenant, w.ID, tx.ForUpdate())
		if isNotFound(err) || err == nil && (now.Life != w.Life || now.Revision != w.Revision || now.Status != Active) {
			return nil
		}
		if err != nil {
			return err
		}
		now.Status, now.Disabled = Inactive, &WebhookDisabled{Reason: reason, At: database.Now()}
		if err := saveWebhook(tx, &now); err != nil {
			return err
		}
		return record(tx, w.Tenant, By{}, "webhook.disable", "webhook/"+w.ID, map[string]string{"reason": reason})
	})
}

// DeleteWebhook removes a webhook with its secret and its deliveries. revision is as in
// [Directory.UpdateTenant].
func (d *Directory) DeleteWebhook(ctx context.Context, by By, tenant, id string, revision int64) error {
	const op = "delete webhook"
	if err := by.may(op, tenant); err != nil {
		return err
	}
	if !isSlug(id) {
		return WebhookNotFound(op)
	}
	return d.write(ctx, op, tenant, func(tx *database.Tx) error {
		old, err := getWebhook(tx, op, tenant, id, tx.ForUpdate())
		if err != nil {
			return err
		}
		if revision != 0 && revision != old.Revision {
			return outrun(op)
		}
		for _, statement := range []string{
			`DELETE FROM webhook_delivery WHERE tenant = ? AND webhook = ?`, `DELETE FROM webhook WHERE tenant = ? AND id = ?`,
		} {
			if _, err := tx.Exec(statement, tenant, id); err != nil {
				return err
			}
		}
		if err := forgetRepeats(tx, tenant, "webhook/"+id); err != nil {
			return err
		}
		return record(tx, tenant, by, "webhook.delete", "webhook/"+id, nil)
	})
}
