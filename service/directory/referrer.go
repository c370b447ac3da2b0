package directory

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/database"
)

// referrer checks the references of one entry of a tenant.
type referrer struct {
	tx     *database.Tx
	op     string
	tenant *Tenant
	names  func(name string) error
	// skills are the names of the server's own skills.
	skills []string
}

func newReferrer(tx *database.Tx, op string, t *Tenant, r *References) *referrer {
	return &referrer{tx, op, t, r.Name, r.Skills}
}

// checkTenant checks what differs from old. For a new tenant old is zero.
func (r *referrer) checkTenant(old *Tenant) error {
	if r.tenant.Agent != "" && r.tenant.Agent != old.Agent {
		if err := r.agent("default_agent", r.tenant.Agent, 0); err != nil {
			return err
		}
	}
	for i, entry := range r.tenant.Policy.Models {
		if entry == own+"*" || slices.Contains(old.Policy.Models, entry) {
			continue
		}
		if err := r.allowed(fmt.Sprintf("policy.models[%d]", i), entry); err != nil {
			return err
		}
	}
	if r.tenant.Model != "" && r.tenant.Model != old.Model {
		return r.model("default_model", r.tenant.Model)
	}
	return nil
}

// checkAgent checks what differs from old. For a new agent old is zero.
func (r *referrer) checkAgent(a, old *AgentSpec) error {
	if a.Model != "" && a.Model != old.Model {
		if err := r.model("model", a.Model); err != nil {
			return err
		}
	}
	for i, id := range a.MCPServers {
		if !slices.Contains(old.MCPServers, id) {
			if err := r.mcpServer(fmt.Sprintf("mcp_servers[%d]", i), id); err != nil {
				return err
			}
		}
	}
	for i, name := range a.Skills {
		if !slices.Contains(old.Skills, name) {
			if err := r.skill(fmt.Sprintf("skills[%d]", i), name); err != nil {
				return err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.SubAgents)) {
		sub, was := a.SubAgents[name], old.SubAgents[name]
		path := "sub_agents." + name
		if sub.Agent != "" && (sub.Agent != was.Agent || sub.Version != was.Version) {
			if err := r.agent(path+".agent", sub.Agent, sub.Version); err != nil {
				return err
			}
		}
		if sub.Model != "" && sub.Model != was.Model {
			if err := r.model(path+".model", sub.Model); err != nil {
				return err
			}
		}
	}
	return nil
}

// agent refuses an agent or a version that the tenant does not have. Inactive ones exist.
func (r *referrer) agent(path, id string, version int) error {
	_, err := getAgent(r.tx, r.op, r.tenant.ID, id, version)
	if !isNotFound(err) {
		return err
	}
	if version > 0 {
		newest, err := getAgent(r.tx, r.op, r.tenant.ID, id, 0)
		if err == nil {
			return r.refuse(path, fmt.Sprintf("the agent %s has no version %d", id, version),
				"its versions are 1 to "+strconv.Itoa(newest.Newest)+"; 0 means the newest")
		}
		if !isNotFound(err) {
			return err
		}
	}
	known, err := r.list(`SELECT a.id FROM agent a WHERE a.tenant = ? AND EXISTS
		(SELECT 1 FROM agent_version v WHERE v.tenant = a.tenant AND v.agent = a.id) ORDER BY a.id LIMIT ?`, r.tenant.ID)
	if err != nil {
		return err
	}
	return r.refuse(path, "the tenant has no agent "+strconv.Quote(id), knownNames("agents", known))
}

// model refuses the name of a model that no run of the tenant could use. Inactive ones exist.
func (r *referrer) model(path, name string) error {
	policy := &r.tenant.Policy
	free := len(policy.Models) == 0
	there, allowed := false, false
	if isModelName(name) {
		err := r.models(` AND n.name = ?`, []any{name}, func(_ string, m *Model) {
			there, allowed = true, allowed || policy.Allows(m)
		})
		if err != nil {
			return err
		}
	}
	switch {
	case allowed:
		return nil
	case there:
		return r.refuse(path, "the tenant's policy does not allow the model "+quoted(name),
			"name one that policy.models allows, or change the policy")
	case free && r.tenant.ID == DefaultTenant && r.names == nil:
		return nil
	case free && r.tenant.ID == DefaultTenant && r.names(name) == nil:
		return nil
	}
	var known []string
	err := r.models("", nil, func(name string, m *Model) {
		if policy.Allows(m) && !slices.Contains(known, name) {
			known = append(known, name)
		}
	})
	if err != nil {
		return err
	}
	return r.refuse(path, "there is no model "+quoted(name), knownNames("models", known))
}

// allowed refuses a policy entry that matches no model.
func (r *referrer) allowed(path, entry string) error {
	found := false
	var known []string
	one := Policy{Models: []string{entry}}
	err := r.models(` AND n.name = m.id`, nil, func(id string, m *Model) {
		found = found || one.Allows(m)
		if !m.Operators() {
			id = own + id
		}
		if !slices.Contains(known, id) {
			known = append(known, id)
		}
	})
	if err != nil || found {
		return err
	}
	return r.refuse(path, "the entry matches no model", knownNames("entries", known))
}

// models calls each with the names of the tenant's own and of the shared models.
func (r *referrer) models(more string, args []any, each func(name string, m *Model)) error {
	return r.tx.List(`SELECT n.name, m.tenant, m.id, m.life, m.status, m.revision, m.created, m.updated, m.doc
		FROM model_name n JOIN model m ON m.tenant = n.tenant AND m.id = n.model WHERE n.tenant IN (?, '')`+more+` ORDER BY n.name`,
		append([]any{r.tenant.ID}, args...), func(scan func(...any) error) error {
			var name string
			m, err := scanModel(func(into ...any) error { return scan(append([]any{&name}, into...)...) })
			if err == nil {
				each(name, &m)
			}
			return err
		})
}

// list reads one column, with at most one row more than a hint lists.
func (r *referrer) list(statement string, args ...any) (names []string, err error) {
	err = r.tx.List(statement, append(args, mostNamed+1), func(scan func(...any) error) error {
		var name string
		err := scan(&name)
		names = append(names, name)
		return err
	})
	return names, err
}

func (r *referrer) refuse(path, what, hint string) error {
	return &event.Error{Op: r.op, Kind: event.ErrInvalid, Code: "REFERENCE_UNKNOWN", Message: path + ": " + what, Hint: hint}
}

// mostNamed bounds how many names an error lists.
const mostNamed = 50

// knownNames returns a hint with the existing names.
func knownNames(what string, names []string) string {
	if len(names) == 0 {
		return "create it first: there are no " + what + " yet"
	}
	return "the " + what + " are " + someNames(names)
}

func someNames(names []string) string {
	more := ""
	if len(names) > mostNamed {
		names, more = names[:mostNamed], " and more"
	}
	return strings.Join(names, ", ") + more
}

// quoted returns a model's name for an error. It does not repeat a text that cannot be a name, such
// as a path.
func quoted(name string) string {
	if !isModelName(name) {
		return "of this name"
	}
	return strconv.Quote(name)
}
