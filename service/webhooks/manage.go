package webhooks

import (
	"context"
	"strconv"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/cursor"
	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/service/directory"
)

// Query selects a part of the list of deliveries.
type Query struct {
	// Status lists deliveries with that status. Empty lists all.
	Status Status
	// Cursor is the next cursor of the previous page; empty means the first page.
	Cursor string
	// Limit is at most [directory.MostPage]. 0 means [directory.DefaultPage].
	Limit int
}

// Deliveries lists the deliveries of a webhook, newest first.
func (o *Outbox) Deliveries(ctx context.Context, tenant, webhook string, q Query) (list []Delivery, next string, err error) {
	const op = "list webhook deliveries"
	if q.Status != "" && q.Status != Pending && q.Status != Delivered && q.Status != Failed {
		return nil, "", invalid(op, "there is no such status", "ask for pending, delivered or failed")
	}
	if q.Limit < 0 || q.Limit > directory.MostPage {
		return nil, "", invalid(op, "the limit is out of bounds", "ask for 1 to 100 at a time")
	}
	if q.Limit == 0 {
		q.Limit = directory.DefaultPage
	}
	if _, err := o.directory.GetWebhook(ctx, tenant, webhook); err != nil {
		return nil, "", err
	}
	statement, args := selectDelivery+` WHERE tenant = ? AND webhook = ?`, []any{tenant, webhook}
	if q.Status != "" {
		statement, args = statement+` AND status = ?`, append(args, q.Status)
	}
	name := op + "/" + tenant + "/" + webhook + "/" + string(q.Status)
	if q.Cursor != "" {
		place, ok := cursor.Decode(name, q.Cursor, 2)
		if !ok {
			return nil, "", invalid(op, "the cursor does not belong to this list", "begin again without one")
		}
		created, err := strconv.ParseInt(place[0], 10, 64)
		if err != nil {
			return nil, "", invalid(op, "the cursor does not belong to this list", "begin again without one")
		}
		statement, args = statement+` AND (created, message) < (?, ?)`, append(args, created, place[1])
	}
	args = append(args, q.Limit+1)
	err = o.db.Read(ctx, op, tenant, func(tx *database.Tx) error {
		list = nil
		return tx.List(statement+` ORDER BY created DESC, message DESC LIMIT ?`, args, func(scan func(...any) error) error {
			d, err := scanDelivery(scan)
			list = append(list, d)
			return err
		})
	})
	if err != nil || len(list) <= q.Limit {
		return list, "", err
	}
	list = list[:q.Limit]
	last := &list[len(list)-1]
	return list, cursor.Encode(name, strconv.FormatInt(database.Micros(last.Created), 10), last.ID), nil
}

// Delivery returns one delivery of a webhook with its payload, a JSON object.
func (o *Outbox) Delivery(ctx context.Context, tenant, webhook, id string) (d Delivery, payload []byte, err error) {
	const op = "webhook delivery"
	if err := checkID(op, id); err != nil {
		return Delivery{}, nil, err
	}
	if _, err := o.directory.GetWebhook(ctx, tenant, webhook); err != nil {
		return Delivery{}, nil, err
	}
	err = o.db.Read(ctx, op, tenant, func(tx *database.Tx) error {
		d, err = getDelivery(tx, op, tenant, webhook, id)
		return err
	})
	return d, []byte(d.payload), err
}

func getDelivery(tx *database.Tx, op, tenant, webhook, id string) (d Delivery, err error) {
	there := false
	err = tx.List(selectDelivery+` WHERE tenant = ? AND webhook = ? AND message = ?`, []any{tenant, webhook, id},
		func(scan func(...any) error) (err error) {
			there = true
			d, err = scanDelivery(scan)
			return err
		})
	if err == nil && !there {
		err = deliveryNotFound(op)
	}
	return d, err
}

// Replay sends a delivery again, whatever its status, with the same webhook-id. Its attempts begin
// anew. It returns [event.ErrConflict] with the code WEBHOOK_INACTIVE if the webhook is not active.
func (o *Outbox) Replay(ctx context.Context, by directory.By, tenant, webhook, id string) (d Delivery, err error) {
	const op = "replay webhook delivery"
	if err := checkID(op, id); err != nil {
		return Delivery{}, err
	}
	if err := o.needActive(ctx, op, tenant, webhook); err != nil {
		return Delivery{}, err
	}
	err = o.db.Write(ctx, op, tenant, func(tx *database.Tx) error {
		if d, err = getDelivery(tx, op, tenant, webhook, id); err != nil {
			return err
		}
		if err := restart(tx, tenant, webhook, []string{id}); err != nil {
			return err
		}
		d, err = getDelivery(tx, op, tenant, webhook, id)
		return err
	})
	if err != nil {
		return Delivery{}, err
	}
	o.work.look(tenant)
	return d, o.directory.Record(ctx, by, tenant, "webhook.replay", "webhook/"+webhook, map[string]string{"delivery": id})
}

// ReplaySince sends the failed deliveries of a webhook again that were made since a time, or all that
// are not pending. It returns how many. The errors are those of [Outbox.Replay], and [event.ErrQuota]
// if the tenant would have more than [MostPending] pending deliveries.
func (o *Outbox) ReplaySince(ctx context.Context, by directory.By, tenant, webhook string, since time.Time, all bool) (n int, err error) {
	const op = "replay webhook deliveries"
	if since.IsZero() {
		return 0, invalid(op, "since is missing", "send the time from which on deliveries are sent again")
	}
	if err := o.needActive(ctx, op, tenant, webhook); err != nil {
		return 0, err
	}
	statement, args := ` AND status = ?`, []any{tenant, webhook, database.Micros(since), Failed}
	if all {
		statement, args[3] = ` AND status <> ?`, Pending
	}
	err = o.db.Write(ctx, op, tenant, func(tx *database.Tx) error {
		room, err := roomFor(tx, tenant)
		if err != nil {
			return err
		}
		var ids []string
		err = tx.List(`SELECT message FROM webhook_delivery WHERE tenant = ? AND webhook = ? AND created >= ?`+statement+` ORDER BY created LIMIT ?`,
			append(args, max(room, 0)+1), func(scan func(...any) error) error {
				var id string
				err := scan(&id)
				ids = append(ids, id)
				return err
			})
		if err != nil {
			return err
		}
		if n = len(ids); n > room {
			return directory.OverQuota(op, "QUOTA_WEBHOOK_DELIVERIES", queueFull, "begin at a later time, or wait until some were delivered")
		}
		return restart(tx, tenant, webhook, ids)
	})
	if err != nil {
		return 0, err
	}
	o.work.look(tenant)
	return n, o.directory.Record(ctx, by, tenant, "webhook.replay", "webhook/"+webhook, map[string]any{"since": since, "deliveries": n})
}

// restart makes deliveries due now.
func restart(tx *database.Tx, tenant, webhook string, ids []string) error {
	now := database.Now()
	for _, id := range ids {
		if _, err := tx.Exec(`UPDATE webhook_delivery SET status = ?, attempts = 0, started = ?, next_at = ?, leased = 0, finished = 0, code = 0,
			error = '' WHERE tenant = ? AND webhook = ? AND message = ?`,
			Pending, database.Micros(now), database.Micros(now), tenant, webhook, id); err != nil {
			return err
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return sooner(tx, tenant, now)
}

// Report is the outcome of a test.
type Report struct {
	// OK reports that the endpoint accepted the message.
	OK bool `json:"ok"`
	// ID is the webhook-id of the message.
	ID string `json:"id"`
	// Code is the status code of the response; 0 if there was none.
	Code int `json:"response_status"`
	// Error says why the attempt failed.
	Error string `json:"error,omitempty"`
	// Millis is how long the attempt took.
	Millis int64 `json:"duration_ms"`
}

// Test sends a message of the type webhook.ping now, once, whether or not the webhook is active. An
// endpoint that does not accept it is a report and no error.
func (o *Outbox) Test(ctx context.Context, tenant, webhook string) (Report, error) {
	w, err := o.directory.GetWebhook(ctx, tenant, webhook)
	if err != nil {
		return Report{}, err
	}
	secrets, err := o.directory.WebhookSecrets(ctx, &w)
	if err != nil {
		return Report{}, err
	}
	m, err := ping(&w)
	if err != nil {
		return Report{}, err
	}
	out := o.sender.send(ctx, w.URL, m.id, m.payload, secrets)
	if err := ctx.Err(); err != nil {
		return Report{}, &event.Error{Op: "test webhook", Kind: event.ErrCancelled, Message: "the request was given up", Err: err}
	}
	return Report{out.fault == "", m.id, out.code, out.fault, out.took.Milliseconds()}, nil
}

func (o *Outbox) needActive(ctx context.Context, op, tenant, webhook string) error {
	w, err := o.directory.GetWebhook(ctx, tenant, webhook)
	if err != nil || w.Status == directory.Active {
		return err
	}
	return &event.Error{
		Op: op, Kind: event.ErrConflict, Code: "WEBHOOK_INACTIVE", Message: "the webhook is not active", Hint: "make it active first",
	}
}

// ForgetConversation removes what is to be sent, and was sent, about a conversation.
func (o *Outbox) ForgetConversation(ctx context.Context, tenant, conversation string) error {
	return o.db.Write(ctx, "forget webhook deliveries", tenant, func(tx *database.Tx) error {
		_, err := tx.Exec(`DELETE FROM webhook_notice WHERE tenant = ? AND conversation = ?`, tenant, conversation)
		if err == nil {
			_, err = tx.Exec(`DELETE FROM webhook_delivery WHERE tenant = ? AND conversation = ?`, tenant, conversation)
		}
		return err
	})
}

func checkID(op, id string) error {
	if len(id) > 100 {
		return deliveryNotFound(op)
	}
	for _, c := range []byte(id) {
		if c != '_' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return deliveryNotFound(op)
		}
	}
	return nil
}

func deliveryNotFound(op string) error {
	return &event.Error{
		Op: op, Kind: event.ErrNotFound, Code: "WEBHOOK_DELIVERY_NOT_FOUND", Message: "there is no such delivery",
		Hint: "check the id; finished deliveries are kept for 7 days",
	}
}

func invalid(op, message, hint string) error {
	return &event.Error{Op: op, Kind: event.ErrInvalid, Message: message, Hint: hint}
}
