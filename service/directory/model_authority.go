package directory

import (
	"slices"

	"github.com/braidrun/braid/event"
)

// Operators reports whether the operator pays for the model's calls: it is shared, or it is asked with
// a variable of the server's environment, or it is the default tenant's and has no credential, which
// means the server's own. A demo model costs nothing.
func (m *Model) Operators() bool {
	return m.Tenant == "" || m.Credential.Env != "" ||
		m.Tenant == DefaultTenant && m.Credential.IsZero() && m.Provider != "demo"
}

// mayModel refuses a change from old to m that by may not make; of a new model old is zero. A tenant
// changes its own models. It changes nothing about a model that the operator pays for: provider, name
// and region decide what is bought, prices decide when a limit of cost ends a run, and the id and the
// aliases decide who uses it.
func (d *Directory) mayModel(op string, by By, m, old *Model) error {
	if m.Tenant == "" {
		return by.mustOperate(op)
	}
	if err := by.may(op, m.Tenant); err != nil || by.Operator {
		return err
	}
	if !m.Operators() && (old.ID == "" || !old.Operators()) {
		return nil
	}
	return &event.Error{
		Op: op, Kind: event.ErrPermission, Code: "SCOPE_MISSING", Message: "the operator pays for this model, so only the operator may change it",
		Hint: "ask the operator, or make a model with a key of your own",
	}
}

// own begins an entry of a policy that means a tenant's model with a key of its own.
const own = "own:"

// Allows reports whether a tenant under the policy may use the model.
func (p *Policy) Allows(m *Model) bool {
	switch {
	case len(p.Models) == 0:
		return true
	case m.Operators():
		return slices.Contains(p.Models, m.ID)
	}
	return slices.Contains(p.Models, own+m.ID) || slices.Contains(p.Models, own+"*")
}
