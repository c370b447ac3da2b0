package admin

import (
	"context"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/client"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/pricing"
	"github.com/braidrun/braid/secret"
)

var tenantFlags = map[string]string{
	"name": "name", "system-prompt": "system_prompt", "default-agent": "default_agent", "default-model": "default_model",
	"isolation": "isolation", "approvals": "approvals", "failed-runs": "failed_runs",
}

// quotaFields maps the words of --quota to the API's names.
var quotaFields = map[string]string{ //nolint:gosec // they are no credentials
	"requests": "requests_per_minute", "running": "running_runs", "queued": "queued_runs", "conversations": "conversations", "agents": "agents",
	"storage": "stored_bytes", "tokens": "tokens_per_day", "cost": "cost_per_day_usd",
}

// tenantFields returns a tenant's fields from file and flags.
func (a *admin) tenantFields() (client.Patch, error) {
	patch, err := a.fields(tenantFlags)
	text, given := a.in.Flags["quota"]
	if err != nil || !given {
		return patch, err
	}
	quota := map[string]any{}
	for _, word := range conf.Words(text) {
		name, value, _ := strings.Cut(word, "=")
		field, known := quotaFields[name]
		n, err := strconv.ParseInt(value, 10, 64)
		var nano, size int64
		switch {
		case name == "cost" && conf.ParseDollars(&nano, value) == nil:
			quota[field] = pricing.NanoUSD(nano)
		case name == "storage" && conf.ParseStorage(&size, value) == nil:
			quota[field] = size
		case known && value == "default":
			quota[field] = nil
		case known && err == nil && n >= 0:
			quota[field] = n
		default:
			return nil, term.Invalid("write limits as requests=600,storage=5GiB,cost=2.50: numbers from 0, or default",
				"--quota: %q is not a limit", term.Fit(word, 40))
		}
	}
	patch["quota"] = quota
	return patch, nil
}

func (a *admin) createTenant(ctx context.Context, id string) error {
	patch, err := a.tenantFields()
	if err != nil {
		return err
	}
	spec, err := into[client.TenantSpec](patch)
	if err != nil {
		return err
	}
	t, err := a.client.CreateTenant(ctx, id, spec)
	if err != nil {
		return err
	}
	return a.showOne(t)
}

func (a *admin) listTenants(ctx context.Context, _ string) error {
	return showList(a, a.client.Tenants(ctx, a.listed()), []string{"ID", "STATUS", "CREATED", "NAME"}, func(t *client.Tenant) []string {
		return []string{t.ID, t.Status, when(t.CreatedAt), t.Name}
	})
}

func (a *admin) showTenant(ctx context.Context, id string) error {
	t, err := a.client.Tenant(ctx, id)
	if err != nil {
		return err
	}
	return a.showOne(t)
}

func (a *admin) updateTenant(ctx context.Context, id string) error {
	patch, err := a.tenantFields()
	if err != nil {
		return err
	}
	return a.patchTenant(ctx, id, patch)
}

func (a *admin) patchTenant(ctx context.Context, id string, patch client.Patch) error {
	read, err := a.revision()
	if err != nil {
		return err
	}
	t, err := a.client.UpdateTenant(ctx, id, read, patch)
	if err != nil {
		return err
	}
	return a.showOne(t)
}

func (a *admin) activateTenant(ctx context.Context, id string) error {
	return a.patchTenant(ctx, id, client.Patch{"status": client.Active})
}

func (a *admin) deactivateTenant(ctx context.Context, id string) error {
	return a.patchTenant(ctx, id, client.Patch{"status": client.Inactive})
}

func (a *admin) eraseTenant(ctx context.Context, id string) error {
	if !a.in.On("yes") {
		return term.Invalid("add --yes to do it", "this permanently removes all conversations, logs, agents, models and keys of the tenant")
	}
	erased, err := a.client.EraseTenant(ctx, id)
	if err != nil {
		return err
	}
	return a.showOne(erased)
}

// agentFields returns an agent's fields from file and flags.
func (a *admin) agentFields() (client.Patch, error) {
	patch, err := a.fields(map[string]string{
		"name": "name", "description": "description", "instructions": "instructions", "model": "model", "context": "context",
	})
	if err == nil {
		err = a.settings(patch)
	}
	if text, given := a.in.Flags["tools"]; err == nil && given {
		patch["tools"] = conf.Words(text)
		if text == "none" || conf.Words(text) == nil {
			patch["tools"] = []string{}
		}
	}
	if text, given := a.in.Flags["skills"]; err == nil && given {
		patch["skills"] = conf.Words(text)
		if text == "none" || conf.Words(text) == nil {
			patch["skills"] = []string{}
		}
	}
	if text, given := a.in.Flags["mcp-servers"]; err == nil && given {
		patch["mcp_servers"] = conf.Words(text)
		if text == "none" || conf.Words(text) == nil {
			patch["mcp_servers"] = []string{}
		}
	}
	return patch, err
}

func (a *admin) createAgent(ctx context.Context, id string) error {
	patch, err := a.agentFields()
	if err != nil {
		return err
	}
	spec, err := into[client.AgentSpec](patch)
	if err != nil {
		return err
	}
	agent, err := a.client.CreateAgent(ctx, a.tenant, id, spec)
	if err != nil {
		return err
	}
	return a.showOne(agent)
}

func (a *admin) listAgents(ctx context.Context, _ string) error {
	return showList(a, a.client.Agents(ctx, a.tenant, a.listed()), []string{"ID", "STATUS", "VERSION", "MODEL", "UPDATED", "NAME"},
		func(v *client.Agent) []string {
			return []string{v.ID, v.Status, strconv.Itoa(v.Version), orDash(v.Model), when(v.UpdatedAt), v.Name}
		})
}

func (a *admin) showAgent(ctx context.Context, id string) error {
	version := 0
	if text, given := a.in.Flags["version"]; given {
		if err := conf.ParseCount(&version, text); err != nil {
			return term.Invalid("braid admin agent versions lists them", "--version: %q %s", term.Fit(text, 40), err)
		}
	}
	agent, err := a.client.Agent(ctx, a.tenant, id, version)
	if err != nil {
		return err
	}
	return a.showOne(agent)
}

func (a *admin) listAgentVersions(ctx context.Context, id string) error {
	return showList(a, a.client.AgentVersions(ctx, a.tenant, id), []string{"VERSION", "CREATED", "MODEL", "INSTRUCTIONS"},
		func(v *client.AgentVersion) []string {
			return []string{strconv.Itoa(v.Version), when(v.CreatedAt), orDash(v.Model), v.Instructions}
		})
}

func (a *admin) updateAgent(ctx context.Context, id string) error {
	patch, err := a.agentFields()
	if err != nil {
		return err
	}
	return a.patchAgent(ctx, id, patch)
}

func (a *admin) patchAgent(ctx context.Context, id string, patch client.Patch) error {
	read, err := a.revision()
	if err != nil {
		return err
	}
	agent, err := a.client.UpdateAgent(ctx, a.tenant, id, read, patch)
	if err != nil {
		return err
	}
	return a.showOne(agent)
}

func (a *admin) activateAgent(ctx context.Context, id string) error {
	return a.patchAgent(ctx, id, client.Patch{"status": client.Active})
}

func (a *admin) deactivateAgent(ctx context.Context, id string) error {
	return a.patchAgent(ctx, id, client.Patch{"status": client.Inactive})
}

// modelFields returns a model's fields from file and flags.
func (a *admin) modelFields() (client.Patch, error) {
	patch, err := a.fields(map[string]string{"region": "region"})
	if err == nil {
		err = a.settings(patch)
	}
	if err != nil {
		return nil, err
	}
	if ref, given := a.in.Flags["model"]; given {
		provider, name, ok := strings.Cut(ref, ":")
		if !ok || provider == "" || name == "" {
			const hint = "write it as PROVIDER:NAME, such as demo:assistant or bedrock:amazon.nova-pro-v1:0"
			return nil, term.Invalid(hint, "--model: %q is not the name of a model", term.Fit(ref, 60))
		}
		patch["provider"], patch["name"] = provider, name
	}
	if text, given := a.in.Flags["alias"]; given {
		patch["aliases"] = conf.Words(text)
	}
	if text, given := a.in.Flags["prices"]; given {
		prices := map[string]any{}
		for _, word := range conf.Words(text) {
			name, price, _ := strings.Cut(word, "=")
			switch name {
			case "input", "output", "cache_read", "cache_write", "cache_write_hour", "web_search", "file_search":
				prices[name] = price
			default:
				return nil, term.Invalid("write them as input=3,output=15,cache_read=0.3,cache_write=3.75",
					"--prices: %q is not a price", term.Fit(word, 40))
			}
		}
		patch["prices"] = prices
	}
	name, fromEnv := a.in.Flags["key-env"]
	file, fromFile := a.in.Flags["key-file"]
	switch {
	case fromEnv && fromFile:
		return nil, term.Invalid("leave one of them out", "a model has one key: --key-env or --key-file")
	case fromEnv && name == "":
		patch["credential"] = nil
	case fromEnv:
		patch["credential"] = map[string]any{"env": name}
	case fromFile:
		if file == "-" && a.in.Flags["file"] == "-" {
			return nil, term.Invalid("name a file for one of them", "--file and --key-file both read standard input")
		}
		raw, err := a.p.ReadInput("--key-file", file)
		if err != nil {
			return nil, err
		}
		if patch["credential"] = map[string]any{"secret": strings.TrimSpace(string(raw))}; strings.TrimSpace(string(raw)) == "" {
			return nil, term.Invalid("put the provider's key into it", "--key-file: the file is empty")
		}
	}
	return patch, nil
}

func (a *admin) createModel(ctx context.Context, id string) error {
	patch, err := a.modelFields()
	if err != nil {
		return err
	}
	var key struct{ Env, Secret string }
	if named, given := patch["credential"]; given && named != nil {
		fields, _ := named.(map[string]any)
		if key, err = into[struct{ Env, Secret string }](fields); err != nil {
			return err
		}
	}
	delete(patch, "credential")
	m, err := into[client.NewModel](patch)
	if err != nil {
		return err
	}
	m.ID, m.Env, m.Key = id, key.Env, secret.New(key.Secret)
	made, err := a.client.CreateModel(ctx, a.tenant, m)
	if err != nil {
		return err
	}
	return a.showOne(made)
}

func (a *admin) listModels(ctx context.Context, _ string) error {
	return showList(a, a.client.Models(ctx, a.tenant, a.listed()), []string{"ID", "STATUS", "MODEL", "ALIASES", "INPUT", "OUTPUT", "KEY"},
		func(m *client.TenantModel) []string {
			key := "-"
			switch {
			case m.Credential.Env != "":
				key = "$" + m.Credential.Env
			case m.Credential.EndsIn != "":
				key = "…" + strings.TrimPrefix(m.Credential.EndsIn, "…")
			}
			return []string{
				m.ID, m.Status, m.Provider + ":" + m.Name, orDash(strings.Join(m.Aliases, ",")), orDash(m.Prices.Input), orDash(m.Prices.Output), key,
			}
		})
}

func (a *admin) showModel(ctx context.Context, id string) error {
	m, err := a.client.Model(ctx, a.tenant, id)
	if err != nil {
		return err
	}
	return a.showOne(m)
}

func (a *admin) updateModel(ctx context.Context, id string) error {
	patch, err := a.modelFields()
	if err != nil {
		return err
	}
	return a.patchModel(ctx, id, patch)
}

func (a *admin) patchModel(ctx context.Context, id string, patch client.Patch) error {
	read, err := a.revision()
	if err != nil {
		return err
	}
	m, err := a.client.UpdateModel(ctx, a.tenant, id, read, patch, a.force()...)
	if err != nil {
		return err
	}
	return a.showOne(m)
}

func (a *admin) activateModel(ctx context.Context, id string) error {
	return a.patchModel(ctx, id, client.Patch{"status": client.Active})
}

func (a *admin) deactivateModel(ctx context.Context, id string) error {
	return a.patchModel(ctx, id, client.Patch{"status": client.Inactive})
}

func (a *admin) deleteModel(ctx context.Context, id string) error {
	read, err := a.revision()
	if err != nil {
		return err
	}
	return a.client.DeleteModel(ctx, a.tenant, id, read, a.force()...)
}

// force returns the option of --force: it removes names that are still in use.
func (a *admin) force() []client.WriteOption {
	if !a.in.On("force") {
		return nil
	}
	return []client.WriteOption{client.Force()}
}

func (a *admin) createKey(ctx context.Context, _ string) error {
	n := client.NewKey{Name: a.in.Flags["name"], User: a.in.Flags["user"], Scopes: conf.Words(a.in.Flags["scopes"])}
	if len(n.Scopes) == 0 {
		return term.Invalid("--scopes read,write is for an application; admin:read and admin:write administer the tenant", "a key needs scopes")
	}
	if text, given := a.in.Flags["expires"]; given {
		at, err := expiry(a.p.Now(), text)
		if err != nil {
			return err
		}
		n.ExpiresAt = at
	}
	k, token, err := a.client.CreateKey(ctx, a.tenant, n)
	if err != nil {
		return err
	}
	if a.in.On("json") {
		return a.showOne(struct {
			client.APIKey

			Token string `json:"token"`
		}{k, token.Reveal()})
	}
	if err := a.p.Print(token.Reveal() + "\n"); err != nil {
		return err
	}
	ends := ""
	if !k.ExpiresAt.IsZero() {
		ends = ", until " + when(k.ExpiresAt)
	}
	fmt.Fprintf(a.p.Stderr, "This is key %s, for %s%s. It is shown this once: keep it.\n", k.ID, strings.Join(k.Scopes, ", "), ends)
	return nil
}

// expiry reads the expiry of a key.
func expiry(now time.Time, text string) (time.Time, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n > 0 && n < 100_000 {
			return now.AddDate(0, 0, n), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(d), nil
	}
	for _, form := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(form, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, term.Invalid("write it as 90d, 12h or 2027-01-31", "--expires: %q is not a time", term.Fit(text, 40))
}

func (a *admin) listKeys(ctx context.Context, _ string) error {
	now := time.Now()
	return showList(a, a.client.Keys(ctx, a.tenant, a.listed()), []string{"ID", "STATUS", "SCOPES", "EXPIRES", "USED", "USER", "NAME"},
		func(k *client.APIKey) []string {
			status := client.Active
			switch {
			case !k.RevokedAt.IsZero():
				status = "revoked"
			case !k.ExpiresAt.IsZero() && !now.Before(k.ExpiresAt):
				status = "expired"
			}
			return []string{k.ID, status, strings.Join(k.Scopes, ","), when(k.ExpiresAt), when(k.LastUsedAt), orDash(k.User), k.Name}
		})
}

func (a *admin) revokeKey(ctx context.Context, id string) error {
	k, err := a.client.RevokeKey(ctx, a.tenant, id)
	if err != nil {
		return err
	}
	return a.showOne(k)
}

func (a *admin) listConversations(ctx context.Context, _ string) error {
	return showList(a, a.client.Conversations(ctx, a.tenant, client.Filter{
		Archived: a.in.On("archived"), User: a.in.Flags["user"], Agent: a.in.Flags["agent"], Status: a.in.Flags["status"],
	}), []string{"ID", "UPDATED", "USER", "TITLE"},
		func(c *client.Conversation) []string {
			return []string{c.ID, when(c.UpdatedAt), orDash(c.User), c.Title}
		})
}

func (a *admin) listAudit(ctx context.Context, _ string) error {
	list := a.client.Audit(ctx, a.tenant, client.AuditOptions{Action: a.in.Flags["action"], Object: a.in.Flags["object"]})
	return showList(a, list, []string{"SEQ", "TIME", "WHO", "ACTION", "OBJECT", "WHAT"}, func(e *client.AuditEntry) []string {
		return []string{strconv.FormatInt(e.Seq, 10), when(e.Time), authorOf(e), e.Action, e.Object, string(e.Detail)}
	})
}

// authorOf names the author of an audit entry.
func authorOf(e *client.AuditEntry) string {
	who := "operator"
	if !e.By.Operator {
		who = orDash(e.By.Tenant)
	}
	if e.By.Key != "" {
		who += " key " + e.By.Key
	}
	if e.By.User != "" {
		who += " (" + e.By.User + ")"
	}
	return who
}

// verifyAudit checks that the audit is unchanged, and returns an error if not.
func (a *admin) verifyAudit(ctx context.Context, _ string) error {
	v, err := a.client.VerifyAudit(ctx, a.tenant)
	if err != nil {
		return err
	}
	switch {
	case a.in.On("json"):
		err = a.showOne(v)
	case v.Broken == 0 && len(v.Erased) == 0:
		err = a.p.Print(fmt.Sprintf("%d entries, all as they were written; the last hash is %x\n", v.Entries, v.Head))
	}
	switch {
	case err != nil:
		return err
	case len(v.Erased) > 0:
		e := &v.Erased[0]
		return &event.Error{
			Kind: event.ErrConflict,
			Message: fmt.Sprintf("the audit of tenant %s with %d entries was erased at %s, and the operator's audit does not say so",
				e.Tenant, e.Entries, e.Time.UTC().Format(time.RFC3339)),
			Hint: "find out who has written to the database with the server's role, and take the entries from a backup; their last hash is " +
				hex.EncodeToString(e.Head),
		}
	case v.Broken == 0:
		return nil
	}
	return &event.Error{
		Kind: event.ErrConflict, Message: fmt.Sprintf("entry %d of the audit is not as it was written, or not there", v.Broken),
		Hint: "compare it with a backup, and find out who has written to the database",
	}
}

func (a *admin) listed() client.ListOptions {
	o := client.ListOptions{Status: a.in.Flags["status"], Sort: a.in.Flags["sort"]}
	if a.limit > 0 {
		o.Page = min(a.limit+1, 100)
	} else {
		o.Page = 100
	}
	return o
}
