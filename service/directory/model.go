package directory

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/pricing"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service/database"
)

// Model is a model that a tenant, or every tenant, may use.
type Model struct {
	// Tenant is its tenant. "" means that it is shared by all.
	Tenant string `json:"tenant,omitempty"`
	ID     string `json:"id"`
	// Life distinguishes models that reuse one id. It is not shown.
	Life   string `json:"-"`
	Status Status `json:"status"`
	// Provider is the provider, such as "bedrock".
	Provider string `json:"provider"`
	// Name is the provider's id of the model.
	Name string `json:"name"`
	// Region is the provider's region, if the provider has regions. Empty means the server's.
	Region string `json:"region,omitempty"`
	// Aliases are other names, such as "haiku", "sonnet" and "opus". A name means one model within
	// a tenant. A tenant's own model hides a shared one.
	Aliases []string `json:"aliases,omitempty"`
	// Prices are the prices of its tokens. Unset prices are looked up.
	Prices Prices `json:"prices,omitzero"`

	// Settings are the defaults of its calls. An agent may override them.
	Settings //nolint:embeddedstructfieldcheck // JSON has them here

	// Credential is the credential for the provider.
	Credential Credential `json:"credential,omitzero"`
	// Revision counts the changes.
	Revision int64     `json:"revision"`
	Created  time.Time `json:"created_at"`
	Updated  time.Time `json:"updated_at"`
}

// Prices are US dollars for a million tokens or a thousand searches, written as "3.75". An unset
// price is unknown.
type Prices struct {
	Input      pricing.Rate `json:"input,omitzero"`
	Output     pricing.Rate `json:"output,omitzero"`
	CacheRead  pricing.Rate `json:"cache_read,omitzero"`
	CacheWrite pricing.Rate `json:"cache_write,omitzero"`
	// CacheWriteHour is for tokens that are cached for an hour. If it is unset and CacheWrite is
	// set, it is twice Input, which is what the vendors charge.
	CacheWriteHour pricing.Rate `json:"cache_write_hour,omitzero"`
	// WebSearch is for web searches that the provider runs.
	WebSearch pricing.Rate `json:"web_search,omitzero"`
	// FileSearch is for file searches that the provider runs.
	FileSearch pricing.Rate `json:"file_search,omitzero"`
}

// Price returns them as a [pricing.Price]. It returns nil if none is set.
func (p Prices) Price() *pricing.Price {
	if p == (Prices{}) {
		return nil
	}
	hour := p.CacheWriteHour
	if _, set := hour.MicroUSD(); !set {
		if _, writes := p.CacheWrite.MicroUSD(); writes {
			hour = p.Input.Twice()
		}
	}
	return &pricing.Price{
		Rates: pricing.Rates{
			Input: p.Input, Output: p.Output, CacheRead: p.CacheRead, CacheWrite: p.CacheWrite, CacheWriteHour: hour,
		},
		WebSearch: p.WebSearch, FileSearch: p.FileSearch,
	}
}

// Credential is the credential for a provider. The zero value means what the server finds in its
// own environment. At most one of Env and Secret is set.
type Credential struct {
	// Env is a variable of the server's environment. Only the operator may set it.
	Env string `json:"env,omitempty"`
	// Secret is a key to be stored, encrypted. It can be written and never read back: see
	// [Directory.Credential].
	Secret secret.Secret `json:"secret,omitzero"`
	// Ends are the last characters of the stored key. It is empty if there is none, and cannot be
	// set.
	Ends string `json:"ends_in,omitempty"`
}

// IsZero reports whether there is no credential.
func (c Credential) IsZero() bool { return c.Env == "" && c.Secret.Empty() && c.Ends == "" }

const modelColumns = `tenant, id, life, status, revision, created, updated, doc`

func scanModel(scan func(...any) error) (Model, error) {
	var m Model
	err := scanDoc(scan, &m, &m.Tenant, &m.ID, &m.Life, &m.Status, &m.Revision, &m.Created, &m.Updated)
	return m, err
}

// CreateModel creates a model. Only the operator may create a shared one, which has no tenant. idem
// is an idempotency key as in [Directory.CreateTenant].
func (d *Directory) CreateModel(ctx context.Context, by By, m Model, idem string) (Model, error) {
	const op = "create model"
	if err := d.mayModel(op, by, &m, &Model{}); err != nil {
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
		done, err := d.repeated(tx, op, m.Tenant, idem, "model/"+m.ID, made, key.Reveal())
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

// seal encrypts a model's new key, if it has one, and removes it from the model.
func (d *Directory) seal(op string, m *Model) ([]byte, error) {
	key := m.Credential.Secret
	if key.Empty() {
		return nil, nil
	}
	if d.keys == nil {
		return nil, noKeyset(op)
	}
	sealed, err := d.keys.Seal([]byte(key.Reveal()), place(m.Tenant, m.ID, m.Life))
	if err != nil {
		return nil, &event.Error{Op: op, Kind: event.ErrInternal, Message: "the key could not be encrypted", Err: err}
	}
	m.Credential = Credential{Ends: lastLetters(key)}
	return sealed, nil
}

// lastLetters returns the end of a key, so that users recognise it. It reveals nothing of a short
// key.
func lastLetters(s secret.Secret) string {
	if text := s.Reveal(); len(text) >= 16 {
		return strings.ToValidUTF8(text[len(text)-4:], "?")
	}
	return "…"
}

func noKeyset(op string) error {
	return &event.Error{
		Op: op, Kind: event.ErrUnsupported, Message: "this server has no key for encrypting secrets",
		Hint: "start it with a key file, or name an environment variable",
	}
}

func nameModel(tx *database.Tx, op string, m *Model) error {
	if _, err := tx.Exec(`DELETE FROM model_name WHERE tenant = ? AND model = ?`, m.Tenant, m.ID); err != nil {
		return err
	}
	for _, name := range namesOf(m) {
		n, err := tx.Exec(`INSERT INTO model_name (tenant, name, model) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, m.Tenant, name, m.ID)
		if err != nil {
			return err
		}
		if n == 0 {
			return &event.Error{
				Op: op, Kind: event.ErrConflict, Code: "MODEL_NAME_TAKEN", Message: "another model is called " + name,
				Hint: "remove the name from it first (force=true if something refers to it), or use another name",
			}
		}
	}
	return nil
}

func getModel(tx *database.Tx, op, tenant, id, lock string) (Model, error) {
	return one(tx, op, "model", `SELECT `+modelColumns+` FROM model WHERE tenant = ? AND id = ?`+lock, []any{tenant, id}, scanModel)
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

type modelKey struct{ tenant, name string }

// Model returns the model with a name in a tenant, by id or alias, from the cache: the tenant's own
// first, then a shared one. It returns [event.ErrModelNotFound] if there is none, and an error with
// the code MODEL_INACTIVE if it is inactive.
func (d *Directory) Model(ctx context.Context, tenant, name string) (Model, error) {
	m, err := lookup(ctx, d, &d.models, modelKey{tenant, name}, func(ctx context.Context) (Model, error) {
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
	return page(ctx, d, tenant, false, q, listing[Model]{
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
		if err := d.mayModel(op, by, &m, &old); err != nil {
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
		if err := d.mayModel(op, by, &old, &old); err != nil {
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

// ErrMoved is the error of [Directory.Credential] if the model was changed or removed after the
// caller looked it up.
var ErrMoved = errors.New("the model has changed")

type secretKey struct {
	tenant, id, life string
	revision         int64
}

// Credential returns the key for a model's provider: the stored one, or that of the server's
// environment. It is empty if the server finds one by itself. It returns [ErrMoved] if the stored
// key belongs to another life or revision of the model. The key is cached no longer than the model.
func (d *Directory) Credential(ctx context.Context, m Model) (key secret.Secret, err error) {
	const op = "model credential"
	switch {
	case m.Credential.Env != "":
		key = secret.New(d.env(m.Credential.Env))
		if key.Empty() {
			return key, &event.Error{
				Op: op, Kind: event.ErrModelAuth, Message: "the server's environment has no key for this model",
				Hint: "ask the operator of this service",
			}
		}
		return key, nil
	case m.Credential.Ends == "":
		return secret.Secret{}, nil
	case d.keys == nil:
		return key, noKeyset(op)
	}
	key, err = lookup(ctx, d, &d.secrets, secretKey{m.Tenant, m.ID, m.Life, m.Revision}, func(ctx context.Context) (secret.Secret, error) {
		var sealed []byte
		err := d.db.Read(ctx, op, m.Tenant, func(tx *database.Tx) error {
			there, err := tx.Get(`SELECT secret FROM model WHERE tenant = ? AND id = ? AND life = ? AND revision = ? AND secret IS NOT NULL`,
				[]any{m.Tenant, m.ID, m.Life, m.Revision}, &sealed)
			if err == nil && !there {
				return &event.Error{
					Op: op, Kind: event.ErrConflict, Code: "MODEL_CHANGED", Message: "the model has just been changed",
					Hint: "try again", Err: ErrMoved,
				}
			}
			return err
		})
		if err != nil {
			return secret.Secret{}, err
		}
		plain, _, err := (&storedSecret{"model", m.Tenant, m.ID, m.Life, sealed}).open(d.keys)
		if err != nil {
			return secret.Secret{}, &event.Error{
				Op: op, Kind: event.ErrModelAuth, Message: "the key of this model cannot be decrypted", Hint: "set it again", Err: err,
			}
		}
		return secret.New(string(plain)), nil
	})
	if errors.Is(err, ErrMoved) { // the cached model is old, whichever process has changed it
		if e := d.changes.renew(ctx); e != nil {
			return key, e
		}
	}
	return key, err
}
