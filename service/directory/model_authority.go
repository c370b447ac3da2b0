package directory

import (
	"slices"

	"github.com/braidrun/braid/event"
)

// Operators reports whether the operator pays for the model's calls. That is so if the model is
// shared, if its credential is an environment variable of the server, or if it is the default
// tenant's and has no credential, which means the server's own. A demo model costs nothing.
func (m *Model) Operators() bool {
	return m.Tenant == "" || m.Credential.Env != "" ||
		m.Tenant == DefaultTenant && m.Credential.IsZero() && m.Provider != "demo"
}

// mayModel refuses a change from old to m that by may not make. For a new model old is zero. A
// tenant may change its own models, but nothing about a model that the operator pays for: provider,
// name and region decide what is bought, prices decide when a cost limit ends a run, and the id and
// the aliases decide who uses it.
func mayModel(op string, by By, m, old *Model) error {
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
		Hint: "ask the operator, or create a model with your own key",
	}
}

// own is the prefix of a policy entry that means a tenant's model with its own key.
const own = "own:"

// Allows reports whether a tenant with the policy may use the model.
func (p *Policy) Allows(m *Model) bool {
	switch {
	case len(p.Models) == 0:
		return true
	case m.Operators():
		return slices.Contains(p.Models, m.ID)
	}
	return slices.Contains(p.Models, own+m.ID) || slices.Contains(p.Models, own+"*")
}
