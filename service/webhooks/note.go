package webhooks

import (
	"context"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/database"
)

// noticeAge is how old a notice is when a server looks at it on its own. The process that wrote it
// looks right after the commit ([Outbox.Committed]).
const noticeAge = 2 * time.Second

// noticePause is how long a notice without an event rests until it is looked at again.
const noticePause = 10 * time.Second

// Note writes a notice for each of the events that becomes a message, if the tenant has a webhook for
// it. Call it before the events are committed, and again if the commit is repeated: what it writes is
// on the disk when it returns nil. An error means that the commit must wait, or the message may be
// lost.
func (o *Outbox) Note(ctx context.Context, tenant string, events []*event.Event) error {
	var list []notice
	for _, e := range events {
		if !matters(e) {
			continue
		}
		wanted, err := o.wanted(ctx, tenant, e)
		if err != nil {
			return err
		}
		if wanted {
			list = append(list, notice{conversation: e.Conversation, run: e.Run, seq: e.Seq, created: database.Now()})
		}
	}
	if len(list) == 0 {
		return nil
	}
	err := o.db.Write(ctx, "note for webhooks", tenant, func(tx *database.Tx) error {
		for _, n := range list {
			if err := addNotice(tx, tenant, n); err != nil {
				return err
			}
		}
		return sooner(tx, tenant, list[0].created.Add(noticeAge))
	})
	if err == nil {
		o.noted.Store(list[0].conversation, true)
	}
	return err
}

// wanted reports whether a webhook of the tenant wants a message about the event.
func (o *Outbox) wanted(ctx context.Context, tenant string, e *event.Event) (bool, error) {
	hooks, err := o.directory.Webhooks(ctx, tenant)
	if err != nil || len(hooks) == 0 {
		return false, err
	}
	messages, err := messagesOf(tenant, e)
	if err != nil {
		return false, err
	}
	for i := range hooks {
		for _, m := range messages {
			if hooks[i].Wants(m.of) {
				return true, nil
			}
		}
	}
	return false, nil
}

// Committed tells the outbox that an event of the tenant is in the journal. It returns at once.
func (o *Outbox) Committed(tenant string, e *event.Event) {
	if !matters(e) {
		return
	}
	if _, ours := o.noted.LoadAndDelete(e.Conversation); ours {
		o.work.look(tenant)
	}
}
