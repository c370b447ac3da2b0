package webhooks

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/service/directory"
)

// Status is the state of a delivery.
type Status string

// These are the states.
const (
	Pending   Status = "pending"
	Delivered Status = "delivered"
	Failed    Status = "failed"
)

// Delivery is one message to one webhook.
type Delivery struct {
	// ID is the webhook-id of the message.
	ID           string                 `json:"id"`
	Webhook      string                 `json:"webhook_id"`
	Type         directory.WebhookEvent `json:"type"`
	Conversation string                 `json:"conversation_id"`
	Run          string                 `json:"run_id"`
	Status       Status                 `json:"status"`
	// Attempts counts the attempts since Created, or since the last replay.
	Attempts int `json:"attempts"`
	// Code is the status code of the last response; 0 if there was none.
	Code int `json:"response_status"`
	// Error says why the last attempt failed.
	Error   string    `json:"error,omitempty"`
	Created time.Time `json:"created_at"`
	// Next is when a pending delivery is tried again.
	Next time.Time `json:"next_attempt_at,omitzero"`
	// Finished is when the last attempt of a delivery that is not pending ended.
	Finished time.Time `json:"finished_at,omitzero"`

	// started is when the attempts began.
	started time.Time
	payload string
}

const (
	deliveryColumns = `webhook, message, type, conversation, run, created, started, status, attempts, next_at, finished, code, error, payload`
	selectDelivery  = `SELECT ` + deliveryColumns + ` FROM webhook_delivery`
)

func scanDelivery(scan func(...any) error) (Delivery, error) {
	var d Delivery
	var created, started, nextAt, finished int64
	err := scan(&d.Webhook, &d.ID, &d.Type, &d.Conversation, &d.Run, &created, &started, &d.Status, &d.Attempts, &nextAt, &finished, &d.Code,
		&d.Error, &d.payload)
	d.Created, d.started, d.Finished = database.Time(created), database.Time(started), database.Time(finished)
	if d.Status == Pending {
		d.Next = database.Time(nextAt)
	}
	return d, err
}

// These bound what a tenant has in the database.
const (
	// MostPending bounds the pending deliveries of a tenant. Beyond it a delivery fails at once and can be
	// replayed.
	MostPending = 10_000
	// keep is how long a finished delivery is listed.
	keep = 7 * 24 * time.Hour
	// mostFinished bounds the finished deliveries of a tenant. The oldest go first.
	mostFinished = 20_000
	// atOnce bounds the rows of one transaction.
	atOnce = 200
)

// notice is the place of an event that was about to be committed.
type notice struct {
	conversation, run string

	seq     int64
	created time.Time
}

func addNotice(tx *database.Tx, tenant string, n notice) error {
	_, err := tx.Exec(`INSERT INTO webhook_notice (tenant, conversation, seq, run, created) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (tenant, conversation, seq) DO UPDATE SET run = excluded.run, created = excluded.created`,
		tenant, n.conversation, n.seq, n.run, database.Micros(n.created))
	return err
}

func someNotices(tx *database.Tx, tenant string) (list []notice, err error) {
	err = tx.List(`SELECT conversation, run, seq, created FROM webhook_notice WHERE tenant = ? ORDER BY created LIMIT ?`, []any{tenant, atOnce},
		func(scan func(...any) error) error {
			var n notice
			var created int64
			err := scan(&n.conversation, &n.run, &n.seq, &created)
			n.created = database.Time(created)
			list = append(list, n)
			return err
		})
	return list, err
}

// removeNotice removes a notice unless another commit has renewed it.
func removeNotice(tx *database.Tx, tenant string, n notice) error {
	_, err := tx.Exec(`DELETE FROM webhook_notice WHERE tenant = ? AND conversation = ? AND seq = ? AND run = ?`,
		tenant, n.conversation, n.seq, n.run)
	return err
}

// roomFor returns how many more pending deliveries the tenant may have.
func roomFor(tx *database.Tx, tenant string) (int, error) {
	var n int
	_, err := tx.Get(`SELECT count(*) FROM (SELECT 1 FROM webhook_delivery WHERE tenant = ? AND status = ? LIMIT ?) AS pending`,
		[]any{tenant, Pending, MostPending}, &n)
	return MostPending - n, err
}

// queueFull is the error of a delivery that had no room.
const queueFull = "the tenant has too many pending deliveries"

func addDelivery(tx *database.Tx, tenant string, d *Delivery) error {
	_, err := tx.Exec(`INSERT INTO webhook_delivery (tenant, leased, `+deliveryColumns+`) VALUES (?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (tenant, webhook, message) DO NOTHING`,
		tenant, d.Webhook, d.ID, d.Type, d.Conversation, d.Run, database.Micros(d.Created), database.Micros(d.started), d.Status, d.Attempts,
		database.Micros(d.Next), database.Micros(d.Finished), d.Code, d.Error, d.payload)
	return err
}

// claim leases due deliveries until the time until, and counts an attempt of each. It leaves out the
// webhooks of busy. void is the end of leases that count no more. more reports that it left out due
// ones.
func claim(tx *database.Tx, tenant string, now, void, until time.Time, busy []string, most, each int) (list []Delivery, more bool, err error) {
	statement := selectDelivery + ` WHERE tenant = ? AND status = ? AND next_at <= ? AND leased <= ?`
	args := []any{tenant, Pending, database.Micros(now), database.Micros(void)}
	if len(busy) > 0 {
		statement += ` AND webhook NOT IN (?` + strings.Repeat(`, ?`, len(busy)-1) + `)`
		for _, id := range busy {
			args = append(args, id)
		}
	}
	statement += ` ORDER BY next_at, message LIMIT ` + strconv.Itoa(4*most)
	if lock := tx.ForUpdate(); lock != "" {
		statement += lock + ` SKIP LOCKED`
	}
	of := map[string]int{}
	err = tx.List(statement, args, func(scan func(...any) error) error {
		d, err := scanDelivery(scan)
		if len(list) == most || of[d.Webhook] == each {
			more = true
			return err
		}
		of[d.Webhook]++
		d.Attempts++
		list = append(list, d)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	for i := range list {
		if _, err := tx.Exec(`UPDATE webhook_delivery SET leased = ?, attempts = ? WHERE tenant = ? AND webhook = ? AND message = ?`,
			database.Micros(until), list[i].Attempts, tenant, list[i].Webhook, list[i].ID); err != nil {
			return nil, false, err
		}
	}
	return list, more, nil
}

// finish writes the outcome of an attempt. It changes nothing if the delivery was replayed or claimed
// again meanwhile.
func finish(tx *database.Tx, tenant string, d *Delivery) error {
	_, err := tx.Exec(`UPDATE webhook_delivery SET status = ?, next_at = ?, leased = 0, finished = ?, code = ?, error = ?
		WHERE tenant = ? AND webhook = ? AND message = ? AND status = ? AND attempts = ? AND started = ?`,
		d.Status, database.Micros(d.Next), database.Micros(d.Finished), d.Code, d.Error,
		tenant, d.Webhook, d.ID, Pending, d.Attempts, database.Micros(d.started))
	return err
}

// unclaim ends the claim of a delivery, and uncounts its attempt.
func unclaim(tx *database.Tx, tenant string, d *Delivery) error {
	_, err := tx.Exec(`UPDATE webhook_delivery SET leased = 0, attempts = attempts - 1
		WHERE tenant = ? AND webhook = ? AND message = ? AND status = ? AND attempts = ? AND started = ?`,
		tenant, d.Webhook, d.ID, Pending, d.Attempts, database.Micros(d.started))
	return err
}

// failingSince returns when the oldest delivery was made that has failed or been tried, if none was
// delivered after the time after. It returns the zero time if there is none.
func failingSince(tx *database.Tx, tenant, webhook string, after time.Time) (time.Time, error) {
	var delivered, oldest int64
	_, err := tx.Get(`SELECT count(*) FROM (SELECT 1 FROM webhook_delivery WHERE tenant = ? AND webhook = ? AND status = ? AND finished >= ? LIMIT 1)
		AS delivered`, []any{tenant, webhook, Delivered, database.Micros(after)}, &delivered)
	if err != nil || delivered > 0 {
		return time.Time{}, err
	}
	_, err = tx.Get(`SELECT coalesce(min(started), 0) FROM webhook_delivery WHERE tenant = ? AND webhook = ? AND status <> ? AND attempts > 0`,
		[]any{tenant, webhook, Delivered}, &oldest)
	return database.Time(oldest), err
}

// sooner has the tenant looked at by the time at.
func sooner(tx *database.Tx, tenant string, at time.Time) error {
	_, err := tx.Exec(`INSERT INTO webhook_due (tenant, due) VALUES (?, ?)
		ON CONFLICT (tenant) DO UPDATE SET due = excluded.due WHERE webhook_due.due > excluded.due`, tenant, database.Micros(at))
	return err
}

// later has the tenant looked at when the next of its rows is due, and returns that time; the zero
// time means never. It locks the tenant's row first, so that the statements after see what others
// have committed, and others wait to change it. A notice that was looked at is due again after a
// pause.
func later(tx *database.Tx, tenant string, now time.Time) (time.Time, error) {
	if _, err := tx.Get(`SELECT due FROM webhook_due WHERE tenant = ?`+tx.ForUpdate(), []any{tenant}, new(int64)); err != nil {
		return time.Time{}, err
	}
	due := int64(math.MaxInt64)
	for _, q := range []struct {
		statement string
		status    Status
		plus      time.Duration
	}{
		{`SELECT coalesce(min(CASE WHEN leased > next_at THEN leased ELSE next_at END), 0)`, Pending, 0},
		{`SELECT coalesce(min(finished), 0)`, Delivered, keep},
		{`SELECT coalesce(min(finished), 0)`, Failed, keep},
	} {
		var at int64
		if _, err := tx.Get(q.statement+` FROM webhook_delivery WHERE tenant = ? AND status = ?`, []any{tenant, q.status}, &at); err != nil {
			return time.Time{}, err
		}
		if at > 0 {
			due = min(due, at+q.plus.Microseconds())
		}
	}
	var noted int64
	if _, err := tx.Get(`SELECT coalesce(max(created), 0) FROM webhook_notice WHERE tenant = ?`, []any{tenant}, &noted); err != nil {
		return time.Time{}, err
	}
	if noted > 0 {
		again := database.Time(noted).Add(noticeAge)
		if !again.After(now) {
			again = now.Add(noticePause)
		}
		due = min(due, database.Micros(again))
	}
	if _, err := tx.Exec(`UPDATE webhook_due SET due = ? WHERE tenant = ?`, due, tenant); err != nil || due == math.MaxInt64 {
		return time.Time{}, err
	}
	return database.Time(due), nil
}

// prune removes finished deliveries that are old, or more than a tenant may have.
func prune(tx *database.Tx, tenant string, now time.Time) error {
	for _, status := range []Status{Delivered, Failed} {
		if _, err := tx.Exec(`DELETE FROM webhook_delivery WHERE tenant = ? AND status = ? AND finished <= ?`,
			tenant, status, database.Micros(now.Add(-keep))); err != nil {
			return err
		}
		var oldest int64
		there, err := tx.Get(`SELECT finished FROM webhook_delivery WHERE tenant = ? AND status = ? ORDER BY finished DESC LIMIT 1 OFFSET ?`,
			[]any{tenant, status, mostFinished}, &oldest)
		if err == nil && there {
			_, err = tx.Exec(`DELETE FROM webhook_delivery WHERE tenant = ? AND status = ? AND finished <= ?`, tenant, status, oldest)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
