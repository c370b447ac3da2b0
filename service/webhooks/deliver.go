package webhooks

import (
	"context"
	"errors"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/service/directory"
)

const (
	// lease is how long a claimed delivery belongs to a server. An attempt takes at most SendTimeout.
	lease = time.Minute
	// giveBackTime bounds how long the end of this process waits for the database.
	giveBackTime = 5 * time.Second
	// longFailure is how long no delivery to a webhook may succeed before the service disables it.
	longFailure = 5 * 24 * time.Hour
)

// These are the reasons for which the service disables a webhook.
const (
	reasonGone    = "the endpoint answered 410 Gone"
	reasonFailing = "no delivery has succeeded for 5 days"
)

// taken is what a process does for a tenant next.
type taken struct {
	// list are claimed deliveries.
	list []Delivery
	// more reports that there is more to do now.
	more bool
	// due is when the next row of the tenant is due; the zero time means never.
	due time.Time
}

// take settles the tenant's notices and claims up to most deliveries, or none without room.
func (o *Outbox) take(ctx context.Context, tenant string, busy []string, most int) (t taken, err error) {
	unread, err := o.settle(ctx, tenant)
	if err != nil {
		return taken{}, err
	}
	if most <= 0 { // the end of an attempt wakes the tenant
		return taken{more: true}, nil
	}
	err = o.db.WriteSoon(ctx, "claim webhook deliveries", tenant, func(tx *database.Tx) error {
		now := database.Now()
		void := now
		if !o.db.Shared() && o.began.Add(lease).After(now) {
			void = o.began.Add(lease) // the process that claimed it has died: no other uses this database
		}
		t.list, t.more, err = claim(tx, tenant, now, void, now.Add(lease+time.Microsecond), busy, most, mostOfOne)
		if err != nil {
			return err
		}
		if err := prune(tx, tenant, now); err != nil {
			return err
		}
		t.due, err = later(tx, tenant, now)
		return err
	})
	t.more = t.more || unread
	return t, err
}

// deliver makes one attempt of a claimed delivery and writes its outcome.
func (o *Outbox) deliver(ctx context.Context, tenant string, d *Delivery) {
	hook, out := o.attempt(ctx, tenant, d)
	if ctx.Err() != nil { // this process ends, and another one makes the attempt
		o.giveBack(context.WithoutCancel(ctx), tenant, d)
		return
	}
	now := database.Now()
	d.Code, d.Error = out.code, out.fault
	switch at, again := next(d.started, now, d.Attempts, out.notBefore); {
	case out.fault == "":
		d.Status, d.Finished = Delivered, now
	case out.gone() || hook == nil || !again:
		d.Status, d.Finished = Failed, now
	default:
		d.Next = at.Truncate(time.Microsecond)
	}
	reason := ""
	err := o.db.WriteSoon(ctx, "finish webhook delivery", tenant, func(tx *database.Tx) (err error) {
		if err := finish(tx, tenant, d); err != nil {
			return err
		}
		if reason, err = o.disabling(tx, tenant, hook, d, &out); err != nil {
			return err
		}
		if d.Status != Pending {
			return sooner(tx, tenant, now.Add(keep))
		}
		return sooner(tx, tenant, d.Next)
	})
	if err == nil && reason != "" {
		err = o.directory.DisableWebhook(ctx, hook, reason)
	}
	if err != nil { // the delivery is made again when its lease has run out
		o.log.Warn("the outcome of a webhook delivery was not written", "tenant", tenant, "webhook", d.Webhook, "delivery", d.ID, "error", err)
	}
}

// giveBack ends the claim of an attempt that was broken off. If that fails, the lease ends it.
func (o *Outbox) giveBack(ctx context.Context, tenant string, d *Delivery) {
	ctx, stop := context.WithTimeout(ctx, giveBackTime)
	defer stop()
	err := o.db.WriteSoon(ctx, "give webhook delivery back", tenant, func(tx *database.Tx) error {
		if err := unclaim(tx, tenant, d); err != nil {
			return err
		}
		return sooner(tx, tenant, database.Now())
	})
	if err != nil {
		o.log.Warn("a webhook delivery was not given back; it is made again in a minute", "tenant", tenant, "webhook", d.Webhook, "error", err)
	}
}

// attempt sends a delivery. hook is nil if the webhook no longer takes messages.
func (o *Outbox) attempt(ctx context.Context, tenant string, d *Delivery) (hook *directory.Webhook, out sent) {
	w, err := o.directory.GetWebhook(ctx, tenant, d.Webhook)
	switch {
	case errors.Is(err, event.ErrNotFound):
		return nil, sent{fault: "there is no such webhook"}
	case err != nil:
		return &w, sent{fault: "the webhook could not be read"}
	case w.Status != directory.Active:
		return nil, sent{fault: "the webhook is not active"}
	}
	secrets, err := o.directory.WebhookSecrets(ctx, &w)
	if err != nil {
		o.log.Warn("a webhook's secret cannot be used", "tenant", tenant, "webhook", w.ID, "error", err)
		return &w, sent{fault: "the webhook's secret cannot be used"}
	}
	return &w, o.sender.send(ctx, w.URL, d.ID, []byte(d.payload), secrets)
}

// disabling returns the reason for which the webhook is to be disabled after an attempt; empty for none.
func (o *Outbox) disabling(tx *database.Tx, tenant string, hook *directory.Webhook, d *Delivery, out *sent) (string, error) {
	switch {
	case hook == nil || out.fault == "":
		return "", nil
	case out.gone():
		return reasonGone, nil
	case d.Status != Failed:
		return "", nil
	}
	long := database.Now().Add(-longFailure)
	if hook.Updated.After(long) {
		return "", nil
	}
	since, err := failingSince(tx, tenant, hook.ID, long)
	if err != nil || since.IsZero() || since.After(long) {
		return "", err
	}
	return reasonFailing, nil
}
