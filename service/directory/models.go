package directory

import (
	"context"
	"time"

	"github.com/braidrun/braid/service/database"
)

// CreateModel creates a model. Only the operator may create a shared one, which has no tenant. idem
// is an idempotency key as in [Directory.CreateTenant].
func (d *Directory) CreateModel(ctx context.Context, by By, m Model, idem string) (Model, error) {
	const op = "create model"
	if err := mayModel(op, by, &m, &Model{}); err != nil {
		return Model{}, err
	}
	if m.Status == "" {
		m.Status = Active
	}
	m.Life, m.Revision, m.Created, m.Credential.Ends = newLife(), 1, database.Now(), ""
	m.Updated = m.Created
	if err := m.check(op); err != nil {
		return Model{}, err
	}
	if err := d.refs.model(op, &m, &Model{}); err != nil {
		return Model{}, err
	}
	made := m
	made.Created, made.Updated = time.Time{}, time.Time{}
	key := m.Credential.Secret
	sealed, err := d.seal(op, &m)
	if err != nil {
		return Model{}, err
	}
	err = d.write(ctx, op, m.Tenant, func(tx *database.Tx) error {
		if m.Tenant != "" {
			if err := needTenant(tx, op, m.Tenant); err != nil {
				return err
			}
		}
		done, err := repeated(tx, op, m.Tenant, idem, "model/"+m.ID, made, key.Reveal())
		if err != nil {
			return err
		}
		if done != "" {
			m, err = getModel(tx, op, m.Tenant, m.ID, "")
			return err
		}
		doc, err := encode(m)
		if err != nil {
			return err
		}
		n, err := tx.Exec(`INSERT INTO model (`+modelColumns+`, secret) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			m.Tenant, m.ID, m.Life, m.Status, m.Revision, database.Micros(m.Created), database.Micros(m.Updated), doc, sealed)
		if err != nil {
			return err
		}
		if n == 0 {
			return taken(op, "model")
		}
		if err := nameModel(tx, op, &m); err != nil {
			return err
		}
		return record(tx, m.Tenant, by, "model.create", "model/"+m.ID, nil)
	})
	if err != nil {
		return Model{}, err
	}
	return m, nil
}

// GetModel returns a tenant's own model, active or not. The models of the tenant "" are the shared
// ones. Runs use [Directory.Model].
func (d *Directory) GetModel(ctx context.Context, tenant, id string) (m Model, err error) {
	const op = "model"
	if tenant != "" && !isSlug(tenant) || !isSlug(id) {
		return Model{}, notFound(op, "model")
	}
	err = d.db.Read(ctx, op, tenant, func(tx *database.Tx) error {
		m, err = getModel(tx, op, tenant, id, "")
		return err
	})
	return m, err
}

// Model returns the model with a name in a tenant, by id or alias, from the cache: the tenant's own
// first, then a shared one. It returns [event.ErrModelNotFound] if there is none, and an error with
// the code MODEL_INACTIVE if it is inactive.
func (d *Directory) Model(ctx context.Context, tenant, name string) (Model, error) {
	m, err := lookup(ctx, &d.changes, &d.models, modelKey{tenant, name}, func(ctx context.Context) (Model, error) {
		return d.findModel(ctx, tenant, name)
	})
	if err == nil && m.Status != Active {
		return Model{}, modelInactive("model")
	}
	return m, err
}

func (d *Directory) findModel(ctx context.Context, tenant, name string) (m Model, err error) {
	const op = "model"
	if tenant != "" && !isSlug(tenant) || !isModelName(name) {
		return Model{}, modelNotFound(op)
	}
	err = d.db.Read(ctx, op, tenant, func(tx *database.Tx) error {
		// The shared model, whose tenant is empty, comes last.
		m, err = one(tx, op, "model", `SELECT m.tenant, m.id, m.life, m.status, m.revision, m.created, m.updated, m.doc
			FROM model_name n JOIN model m ON m.tenant = n.tenant AND m.id = n.model
			WHERE n.tenant IN (?, '') AND n.name = ? ORDER BY n.tenant DESC LIMIT 1`, []any{tenant, name}, scanModel)
		if isNotFound(err) {
			return modelNotFound(op)
		}
		return err
	})
	return m, err
}

// ListModels lists the models of a tenant, or the shared ones for "".
func (d *Directory) ListModels(ctx context.Context, tenant string, q Query) (list []Model, next string, err error) {
	return page(ctx, d.db, tenant, false, q, listing[Model]{
		op: "list models", from: `SELECT ` + modelColumns + ` FROM model WHERE tenant = ?`, args: []any{tenant}, scan: scanModel,
		place: func(m Model) (string, time.Time) { return m.ID, m.Created },
	})
}

// UpdateModel changes a model as [Directory.UpdateTenant] does. A Credential.Secret that change
// sets replaces the stored key. A Credential without Env, Secret and Ends removes it. It returns
// [event.ErrConflict] with the code MODEL_IN_USE if something refers to a name that change removes,
// unless [Force] is given.
func (d *Directory) UpdateModel(
	ctx context.Context, by By, tenant, id string, revision int64, change func(m *Model) error, options ...WriteOption,
) (m Model, err error) {
	const op = "update model"
	if err := by.mayTenant(op, tenant); err != nil {
		return Model{}, err
	}
	force := optionsOf(options).force
	everybody, err := d.sharers(ctx, op, tenant, force)
	if err != nil {
		return Model{}, err
	}
	err = d.write(ctx, op, tenant, func(tx *database.Tx) error {
		old, err := getModel(tx, op, tenant, id, tx.ForUpdate())
		if err != nil {
			return err
		}
		if revision != 0 && revision != old.Revision {
			return outrun(op)
		}
		if m, err = copied(old); err != nil {
			return err
		}
		if err := change(&m); err != nil {
			return err
		}
		m.Tenant, m.ID, m.Life, m.Revision, m.Created, m.Updated = old.Tenant, old.ID, old.Life, old.Revision, old.Created, old.Updated
		if err := m.check(op); err != nil {
			return err
		}
		if err := mayModel(op, by, &m, &old); err != nil {
			return err
		}
		if err := d.refs.model(op, &m, &old); err != nil {
			return err
		}
		if lost := lostNames(&m, &old); len(lost) > 0 && !force {
			if err := checkUnused(tx, op, &old, lost, false, everybody); err != nil {
				return err
			}
		}
		fresh := !m.Credential.Secret.Empty()
		sealed, err := d.seal(op, &m)
		if err != nil {
			return err
		}
		forget := !fresh && old.Credential.Ends != "" && (m.Credential.Ends == "" || m.Credential.Env != "")
		switch {
		case forget:
			m.Credential.Ends = ""
		case !fresh:
			m.Credential.Ends = old.Credential.Ends
		}
		what, err := differences(old, m)
		if err != nil {
			return err
		}
		if fresh { // even if it ends in the same characters
			what = what.with("credential")
		}
		if len(what) == 0 {
			return nil
		}
		m.Revision, m.Updated = old.Revision+1, database.Now()
		doc, err := encode(m)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(`UPDATE model SET status = ?, revision = ?, updated = ?, doc = ? WHERE tenant = ? AND id = ?`,
			m.Status, m.Revision, database.Micros(m.Updated), doc, tenant, id); err != nil {
			return err
		}
		if fresh || forget {
			if _, err := tx.Exec(`UPDATE model SET secret = ? WHERE tenant = ? AND id = ?`, sealed, tenant, id); err != nil {
				return err
			}
		}
		if err := nameModel(tx, op, &m); err != nil {
			return err
		}
		return record(tx, tenant, by, "model.update", "model/"+id, what)
	})
	if err != nil {
		return Model{}, err
	}
	return m, nil
}

// sharers returns the ids of the tenants that may refer to a model: all of them for a shared one,
// whose tenant is "".
func (d *Directory) sharers(ctx context.Context, op, tenant string, force bool) ([]string, error) {
	if tenant != "" || force {
		return nil, nil
	}
	return d.everyTenant(ctx, op)
}

// DeleteModel removes a model with its key. revision is as in [Directory.UpdateTenant]. It returns
// [event.ErrConflict] with the code MODEL_IN_USE if something refers to the model, unless [Force]
// is given.
func (d *Directory) DeleteModel(ctx context.Context, by By, tenant, id string, revision int64, options ...WriteOption) error {
	const op = "delete model"
	if err := by.mayTenant(op, tenant); err != nil {
		return err
	}
	force := optionsOf(options).force
	everybody, err := d.sharers(ctx, op, tenant, force)
	if err != nil {
		return err
	}
	return d.write(ctx, op, tenant, func(tx *database.Tx) error {
		old, err := getModel(tx, op, tenant, id, tx.ForUpdate())
		if err != nil {
			return err
		}
		if revision != 0 && revision != old.Revision {
			return outrun(op)
		}
		if err := mayModel(op, by, &old, &old); err != nil {
			return err
		}
		if !force {
			if err := checkUnused(tx, op, &old, namesOf(&old), true, everybody); err != nil {
				return err
			}
		}
		for _, statement := range []string{`DELETE FROM model_name WHERE tenant = ? AND model = ?`, `DELETE FROM model WHERE tenant = ? AND id = ?`} {
			if _, err := tx.Exec(statement, tenant, id); err != nil {
				return err
			}
		}
		if err := forgetRepeats(tx, tenant, "model/"+id); err != nil {
			return err
		}
		return record(tx, tenant, by, "model.delete", "model/"+id, nil)
	})
}
