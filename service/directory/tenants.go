package directory

import (
	"context"
	"time"

	"github.com/braidrun/braid/service/database"
)

// CreateTenant creates a tenant. Only the operator may call it. idem is an idempotency key: a
// repeated call with the same key returns the object that the first one created. Empty means none.
func (d *Directory) CreateTenant(ctx context.Context, by By, t Tenant, idem string) (Tenant, error) {
	const op = "create tenant"
	if err := by.mustOperate(op); err != nil {
		return Tenant{}, err
	}
	if t.Status == "" {
		t.Status = Active
	}
	t.Life, t.Revision, t.Created = newLife(), 1, database.Now()
	t.Updated = t.Created
	if err := t.check(op); err != nil {
		return Tenant{}, err
	}
	made := t
	made.Revision, made.Created, made.Updated = 0, time.Time{}, time.Time{}
	err := d.write(ctx, op, "", func(tx *database.Tx) error {
		done, err := repeated(tx, op, "", idem, "tenant/"+t.ID, made)
		if err != nil {
			return err
		}
		if err := tx.For(t.ID); err != nil {
			return err
		}
		if done != "" {
			t, err = getTenant(tx, op, t.ID)
			return err
		}
		if err := newReferrer(tx, op, &t, &d.refs).checkTenant(&Tenant{}); err != nil {
			return err
		}
		doc, err := encode(t)
		if err != nil {
			return err
		}
		n, err := tx.Exec(`INSERT INTO tenant (`+tenantColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			t.ID, t.Life, t.Status, t.Revision, database.Micros(t.Created), database.Micros(t.Updated), doc)
		if err != nil {
			return err
		}
		if n == 0 {
			return taken(op, "tenant")
		}
		if err := record(tx, t.ID, by, "tenant.create", "tenant/"+t.ID, nil); err != nil {
			return err
		}
		if err := tx.For(""); err != nil {
			return err
		}
		return record(tx, "", by, "tenant.create", "tenant/"+t.ID, nil)
	})
	if err != nil {
		return Tenant{}, err
	}
	return t, nil
}

// EnsureTenant creates the tenant if there is none with its id, and otherwise changes nothing. A
// server calls it for its first tenant.
func (d *Directory) EnsureTenant(ctx context.Context, by By, t Tenant) error {
	_, err := d.GetTenant(ctx, t.ID)
	if !isNotFound(err) {
		return err
	}
	_, err = d.CreateTenant(ctx, by, t, "")
	if isConflict(err) {
		return nil
	}
	return err
}

// GetTenant returns a tenant, active or not. Runs use [Directory.Tenant].
func (d *Directory) GetTenant(ctx context.Context, id string) (t Tenant, err error) {
	const op = "tenant"
	if !isSlug(id) {
		return Tenant{}, notFound(op, "tenant")
	}
	err = d.db.Read(ctx, op, id, func(tx *database.Tx) error {
		t, err = getTenant(tx, op, id)
		return err
	})
	return t, err
}

// Tenant returns a tenant for a request or a run, from the cache. For an inactive tenant it returns
// the tenant and an error with the code TENANT_INACTIVE.
func (d *Directory) Tenant(ctx context.Context, id string) (Tenant, error) {
	t, err := lookup(ctx, &d.changes, &d.tenants, id, func(ctx context.Context) (Tenant, error) { return d.GetTenant(ctx, id) })
	if err == nil && t.Status != Active {
		return t, tenantInactive("tenant")
	}
	return t, err
}

// ListTenants lists all tenants. It is for the operator.
func (d *Directory) ListTenants(ctx context.Context, q Query) (list []Tenant, next string, err error) {
	return page(ctx, d.db, "", true, q, listing[Tenant]{
		op: "list tenants", from: `SELECT ` + tenantColumns + ` FROM tenant WHERE true`, scan: scanTenant,
		place: func(t Tenant) (string, time.Time) { return t.ID, t.Created },
	})
}

// UpdateTenant calls change with the tenant and stores the result. If change returns an error,
// UpdateTenant returns it and stores nothing. change may be called more than once, and cannot
// change id, revision and times. revision is the revision that the caller has read; 0 means any.
//
// Only the operator may change status, limits, quota, policy and retention. Isolation and approvals
// need a key without a user, because they decide what keys with a user can reach.
func (d *Directory) UpdateTenant(ctx context.Context, by By, id string, revision int64, change func(t *Tenant) error) (t Tenant, err error) {
	const op = "update tenant"
	if err := by.may(op, id); err != nil {
		return Tenant{}, err
	}
	err = d.write(ctx, op, id, func(tx *database.Tx) error {
		old, err := one(tx, op, "tenant", `SELECT `+tenantColumns+` FROM tenant WHERE id = ?`+tx.ForUpdate(), []any{id}, scanTenant)
		if err != nil {
			return err
		}
		if revision != 0 && revision != old.Revision {
			return outrun(op)
		}
		if t, err = copied(old); err != nil {
			return err
		}
		if err := change(&t); err != nil {
			return err
		}
		t.ID, t.Life, t.Revision, t.Created, t.Updated = old.ID, old.Life, old.Revision, old.Created, old.Updated
		what, err := differences(old, t)
		if err != nil || len(what) == 0 {
			return err
		}
		if !by.Operator && (t.Status != old.Status || what.any("limits", "quota", "policy", "retention")) {
			return by.mustOperate(op)
		}
		if !by.Operator && by.User != "" && what.any("isolation", "approvals") {
			return boundToUser(op)
		}
		t.Revision, t.Updated = old.Revision+1, database.Now()
		if err := t.check(op); err != nil {
			return err
		}
		if err := newReferrer(tx, op, &t, &d.refs).checkTenant(&old); err != nil {
			return err
		}
		doc, err := encode(t)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(`UPDATE tenant SET status = ?, revision = ?, updated = ?, doc = ? WHERE id = ?`,
			t.Status, t.Revision, database.Micros(t.Updated), doc, id); err != nil {
			return err
		}
		return record(tx, id, by, "tenant.update", "tenant/"+id, what)
	})
	if err != nil {
		return Tenant{}, err
	}
	return t, nil
}
