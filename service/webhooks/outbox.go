package webhooks

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/service/directory"
)

// Journal reads committed events. A journal.Journal is one.
type Journal interface {
	Read(ctx context.Context, conversation string, after int64, max int) ([]*event.Event, error)
}

// Options configure an [Outbox]. All but Log are required.
type Options struct {
	// Database has the deliveries. It is the directory's.
	Database  *database.DB
	Directory *directory.Directory
	Journal   Journal
	Sender    *Sender
	// Log receives what no caller learns. nil discards it.
	Log *slog.Logger
}

// Outbox has the messages that are to be sent. Its methods are safe for concurrent use and return
// *[event.Error]s. Make it with [New].
type Outbox struct {
	db        *database.DB
	directory *directory.Directory
	journal   Journal
	sender    *Sender
	log       *slog.Logger
	// began is when this process began.
	began time.Time
	work  *dispatcher
	// noted are the conversations with a notice that this process has written and not looked at since.
	noted sync.Map
}

// New returns an outbox. It sends nothing before [Outbox.Start].
func New(o Options) *Outbox {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	x := &Outbox{db: o.Database, directory: o.Directory, journal: o.Journal, sender: o.Sender, log: o.Log, began: database.Now()}
	x.work = newDispatcher(x)
	return x
}

// Start begins to send what is due. The end of ctx does not end it; call [Outbox.Stop]. Call it once.
func (o *Outbox) Start(ctx context.Context) { o.work.start(context.WithoutCancel(ctx)) }

// Stop ends the attempts in progress and waits for them. They are made again by the next process that
// starts. It may be called again, and without Start.
func (o *Outbox) Stop() { o.work.stop() }

// dueTenants returns tenants that are due, the longest first, and when the next one is. all includes
// those that are not due.
func (o *Outbox) dueTenants(ctx context.Context, all bool) (list []string, nextDue time.Time, err error) {
	now := time.Now()
	err = o.db.ReadTenants(ctx, "due webhooks", func(tx *database.Tx) error {
		list, nextDue = nil, time.Time{}
		return tx.List(`SELECT tenant, due FROM webhook_due ORDER BY due LIMIT ?`, []any{mostTenants}, func(scan func(...any) error) error {
			var tenant string
			var due int64
			if err := scan(&tenant, &due); err != nil {
				return err
			}
			if at := time.UnixMicro(due); !all && at.After(now) {
				if nextDue.IsZero() {
					nextDue = at
				}
				return nil
			}
			list = append(list, tenant)
			return nil
		})
	})
	return list, nextDue, err
}
