package directory

import (
	"context"
	"crypto/sha256"
	"os"
	"time"

	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service/database"
)

// Options configure a directory. Database is required. The directory does not close it.
type Options struct {
	Database *database.DB
	// Keys encrypts secrets. nil means that none can be stored.
	Keys Sealer
	// Environment looks up variables for [Credential].Env. nil means [os.Getenv].
	Environment func(name string) string
	// References check what models and agents refer to when they are written.
	References References
	// Quota is the server's default for tenants. Its nil fields mean no bound.
	Quota Quota
	// RefusedEvery is how often the counts of refused requests are written to the audit. 0 or less
	// means [DefaultRefusedEvery].
	RefusedEvery time.Duration
}

// Directory has the tenants with their agents, models and keys. All methods are safe for concurrent
// use and return *event.Errors. Make it with [New].
type Directory struct {
	db   *database.DB
	keys Sealer
	env  func(string) string
	refs References
	// quota is the server's default.
	quota Quota

	changes changes
	tenants cache[string, Tenant]
	agents  cache[agentKey, Agent]
	models  cache[modelKey, Model]
	// mcpServers are those of each tenant.
	mcpServers cache[string, []MCPServer]
	// webhooks are those of each tenant.
	webhooks cache[string, []Webhook]
	// skills are those of each tenant.
	skills  cache[string, []Skill]
	secrets cache[secretKey, secret.Secret]
	bearers cache[[sha256.Size]byte, bearer]
	watches watches

	refusedEvery time.Duration
	refusals     refusals
	uses         uses
}

// New returns a directory. It does not query the database.
func New(o Options) *Directory {
	d := &Directory{db: o.Database, keys: o.Keys, env: o.Environment, refs: o.References, quota: o.Quota, refusedEvery: o.RefusedEvery}
	if d.refusedEvery <= 0 {
		d.refusedEvery = DefaultRefusedEvery
	}
	if d.env == nil {
		d.env = os.Getenv
	}
	if d.db.Shared() {
		d.changes.ask = d.db.Changes
	}
	return d
}

// write runs a transaction that changes something, and invalidates the caches.
func (d *Directory) write(ctx context.Context, op, tenant string, body func(tx *database.Tx) error) error {
	var n int64
	err := d.db.Write(ctx, op, tenant, func(tx *database.Tx) error {
		if err := body(tx); err != nil {
			return err
		}
		var err error
		n, err = tx.Changed()
		return err
	})
	if err == nil {
		d.changes.moved(n)
	} else {
		d.changes.doubt()
	}
	d.watches.changed()
	return err
}
