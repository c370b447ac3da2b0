package directory

import (
	"maps"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/database"
)

// WriteOption changes how an entry is written.
type WriteOption func(*writeOptions)

type writeOptions struct{ force bool }

// Force allows removing a model, or a name of one, that is in use. Runs that refer to it are
// refused until the reference is changed or a model of that name exists again.
func Force() WriteOption { return func(o *writeOptions) { o.force = true } }

func optionsOf(options []WriteOption) (o writeOptions) {
	for _, set := range options {
		set(&o)
	}
	return o
}

// mostUsers bounds how many users of a model an error lists.
const mostUsers = 10

// modelUsers collects the references to a model.
type modelUsers struct {
	tx *database.Tx
	// model is the removed model, or the one that loses names.
	model *Model
	names []string
	list  []string
}

// checkUnused returns an error if something refers to one of the names that a model loses. gone
// reports that the model is removed. tenants are those that may refer to a shared model. Only the
// newest version of each agent counts.
func checkUnused(tx *database.Tx, op string, m *Model, names []string, gone bool, tenants []string) error {
	u := &modelUsers{tx: tx, model: m, names: names}
	if m.Tenant != "" {
		tenants = []string{m.Tenant}
	}
	for _, tenant := range tenants {
		if err := u.tenant(tenant, gone); err != nil {
			return err
		}
		if len(u.list) > mostUsers {
			break
		}
	}
	if m.Tenant == "" {
		if err := tx.For(""); err != nil {
			return err
		}
	}
	if len(u.list) == 0 {
		return nil
	}
	more := ""
	if len(u.list) > mostUsers {
		u.list, more = u.list[:mostUsers], " and more"
	}
	return &event.Error{
		Op: op, Kind: event.ErrConflict, Code: "MODEL_IN_USE", Message: "the model is in use: " + someNames(u.list) + more,
		Hint: "change these first, or send force=true to leave them without a model",
	}
}

// tenant adds the references of one tenant. It locks the tenant's agents until the transaction
// ends.
func (u *modelUsers) tenant(id string, gone bool) error {
	if u.model.Tenant == "" {
		if err := u.tx.For(id); err != nil {
			return err
		}
	}
	if err := lockAgents(u.tx, id); err != nil {
		return err
	}
	t, err := getTenant(u.tx, "model", id)
	if isNotFound(err) {
		return nil // it was erased meanwhile
	}
	if err != nil {
		return err
	}
	names, whose := u.names, ""
	if u.model.Tenant == "" {
		whose = " of the tenant " + id
		// A tenant's own model of that name hides the shared one.
		names = nil
		for _, name := range u.names {
			hidden, err := u.tx.Get(`SELECT 1 FROM model_name WHERE tenant = ? AND name = ?`, []any{id, name}, new(int))
			if err != nil {
				return err
			}
			if !hidden {
				names = append(names, name)
			}
		}
	}
	if slices.Contains(names, t.Model) {
		u.add("default_model" + whose)
	}
	if entry := u.model.entry(); gone && slices.Contains(t.Policy.Models, entry) {
		u.add("policy.models" + whose)
	}
	if len(names) == 0 {
		return nil
	}
	return u.tx.List(selectAgent+` AND v.version = a.version WHERE a.tenant = ? AND v.doc LIKE '%"model":"%' ORDER BY a.id`, []any{id},
		func(scan func(...any) error) error {
			a, err := scanAgent(scan)
			if err != nil {
				return err
			}
			if slices.Contains(names, a.Model) {
				u.add("model of the agent " + a.ID + whose)
			}
			for _, name := range slices.Sorted(maps.Keys(a.SubAgents)) {
				if slices.Contains(names, a.SubAgents[name].Model) {
					u.add("sub_agents." + name + ".model of the agent " + a.ID + whose)
				}
			}
			return nil
		})
}

func (u *modelUsers) add(what string) {
	if len(u.list) <= mostUsers {
		u.list = append(u.list, what)
	}
}

// entry returns the policy entry that means the model.
func (m *Model) entry() string {
	if m.Operators() {
		return m.ID
	}
	return own + m.ID
}

// lostNames returns the names that a model no longer has.
func lostNames(m, old *Model) []string {
	return slices.DeleteFunc(namesOf(old), func(name string) bool { return slices.Contains(namesOf(m), name) })
}
