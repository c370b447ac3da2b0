package directory

import (
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"time"

	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service/database"
)

// Sealer encrypts what is kept. context is what the value belongs to; it is not kept, and
// must be the same when the value is opened.
type Sealer interface {
	Seal(plain, context []byte) (sealed []byte, err error)
	Open(sealed, context []byte) (plain []byte, err error)
}

// Options are what a directory is made of. Database must be set; the directory does not close it.
type Options struct {
	Database *database.DB
	// Keys encrypts secrets; nil means that none can be kept.
	Keys Sealer
	// Environment looks variables up for [Credential].Env; nil means [os.Getenv].
	Environment func(name string) string
	// References checks what models and agents refer to when they are written.
	References References
	// Quota is the server's, for tenants that have none of their own. Its nil fields are no bounds.
	Quota Quota
	// RefusedEvery is how long refused requests are counted before the counts come into the audit; 0 or less
	// means [DefaultRefusedEvery].
	RefusedEvery time.Duration
}

// Directory knows who there is. All methods are safe for concurrent use and answer
// *event.Errors. Make it with [New].
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
	secrets cache[secretKey, secret.Secret]
	bearers cache[[sha256.Size]byte, bearer]
	watches watches

	refusedEvery time.Duration
	refusals     refusals
	uses         uses
}

// New makes a directory. It asks the database nothing.
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

// Close ends the watching: whoever watches is told that it is over. It writes what it has counted of refused
// requests and noted of the use of keys, so the database must still be open.
func (d *Directory) Close() error {
	d.watches.close()
	return errors.Join(d.closeRefusals(), d.closeUses())
}

// write is a transaction that changes something, and has every memory of it forgotten.
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
