package webhooks

import (
	"context"
	"errors"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/service/directory"
)

// uncertain is how long a notice without an event is kept. No driver repeats a commit for so long: its
// lease has run out before.
const uncertain = 10 * time.Minute

// settle turns the tenant's notices into deliveries. more reports that there are more notices than it
// has read.
func (o *Outbox) settle(ctx context.Context, tenant string) (more bool, err error) {
	const op = "settle webhook notices"
	var list []notice
	err = o.db.Read(ctx, op, tenant, func(tx *database.Tx) error {
		list, err = someNotices(tx, tenant)
		return err
	})
	if err != nil || len(list) == 0 {
		return false, err
	}
	hooks, err := o.directory.Webhooks(ctx, tenant)
	if err != nil {
		return false, err
	}
	settled := 0
	for _, n := range list {
		messages, known, err := o.read(ctx, tenant, n)
		if err != nil {
			return false, err
		}
		if !known {
			continue
		}
		err = o.db.WriteSoon(ctx, op, tenant, func(tx *database.Tx) error {
			if err := fanOut(tx, tenant, n, hooks, messages); err != nil {
				return err
			}
			return removeNotice(tx, tenant, n)
		})
		if err != nil {
			return false, err
		}
		settled++
	}
	return len(list) == atOnce && settled > 0, nil
}

// read returns the messages of a notice. known is false while the event may still be committed.
func (o *Outbox) read(ctx context.Context, tenant string, n notice) (list []message, known bool, err error) {
	events, err := o.journal.Read(ctx, n.conversation, n.seq-1, 1)
	if err != nil && !errors.Is(err, event.ErrNotFound) {
		return nil, false, err
	}
	if len(events) == 0 {
		return nil, time.Since(n.created) > uncertain, nil
	}
	e := events[0]
	if e.Seq != n.seq || e.Run != n.run || !matters(e) { // another driver has written something else
		return nil, true, nil
	}
	list, err = messagesOf(tenant, e)
	return list, true, err
}

// fanOut adds a delivery of each message for each webhook that wants it.
func fanOut(tx *database.Tx, tenant string, n notice, hooks []directory.Webhook, messages []message) error {
	room, err := roomFor(tx, tenant)
	if err != nil {
		return err
	}
	now := database.Now()
	for i := range hooks {
		for _, m := range messages {
			if !hooks[i].Wants(m.of) {
				continue
			}
			d := Delivery{
				ID: m.id, Webhook: hooks[i].ID, Type: m.of, Conversation: n.conversation, Run: n.run, Status: Pending,
				Created: now, started: now, Next: now, payload: string(m.payload),
			}
			if room--; room < 0 {
				d.Status, d.Error, d.Finished = Failed, queueFull, now
			}
			if err := addDelivery(tx, tenant, &d); err != nil {
				return err
			}
		}
	}
	return nil
}
