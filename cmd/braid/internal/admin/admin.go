package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/braidrun/braid/client"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
)

// Command returns braid admin.
func Command(p *conf.System) conf.Command {
	return conf.Command{
		Name: "admin", Args: "WHAT DO [ID]", Short: "administer a server: tenants, agents, models, MCP servers, skills, webhooks, keys",
		About: `Talks to a braid serve. WHAT and DO are

` + verbList() + `
--tenant names the tenant that owns the object. --shared is for objects without a
tenant: shared models, and the operator's own keys and audit. The token that braid
serve prints has all rights; a key has the rights of its scopes.

--file has the API's fields as YAML or JSON, "-" is standard input; flags override
it. An update changes only the given fields, and null removes a field. An API key is
printed once, alone on standard output. A provider's key is read from a file, never
from the command line. A list is a table on a terminal; in a pipe, tabs separate its
columns.`,
		Examples: []conf.Example{
			{Line: "braid admin tenant create acme --name \"Acme Ltd\"", Says: "a tenant"},
			{Line: "braid admin model create small --shared --model demo:assistant --alias haiku", Says: "a model that all tenants may use"},
			{Line: "braid admin agent create helper --tenant acme --model small --file helper.yaml", Says: "an agent"},
			{Line: "braid admin key create --tenant acme --scopes read,write > acme.key", Says: "a key of the tenant"},
			{Line: "braid admin key list --tenant acme --json | jq -r .id", Says: "the ids of its keys"},
			{Line: "braid admin runs list --status open", Says: "the runs of all tenants that have not ended"},
			{Line: "braid admin audit verify --tenant acme", Says: "check that nobody has changed the audit"},
		},
		Options: true, Some: []string{"data", "color"},
		Flags: []conf.Flag{
			{Name: "server", Value: "URL", Help: "the braid serve to talk to (" + conf.ServerEnv + ", or http://" + conf.DefaultAddr + ")"},
			conf.ServerFlags()[1],
			{Name: "tenant", Value: "ID", Help: "the tenant that owns the object (" + conf.Tenant + ")"},
			{Name: "shared", Help: "objects without a tenant"},
			{Name: "json", Help: "write JSON, one object on each line"},
			{Name: "file", Value: "FILE", Help: "fields as YAML or JSON"},
			{Name: "revision", Value: "N", Help: "change it only if this is still its revision"},
			{Name: "yes", Help: "confirm an action that cannot be undone"},
			{Name: "force", Help: "remove a model, an alias, an MCP server or a skill that is still in use"},
			{Name: "name", Value: "TEXT", Help: "display name"},
			{Name: "description", Value: "TEXT", Help: "purpose of an agent"},
			{Name: "system-prompt", Value: "TEXT", Help: "text before the instructions of all agents of a tenant"},
			{Name: "instructions", Value: "TEXT", Help: "an agent's system prompt"},
			{Name: "default-agent", Value: "ID", Help: "agent for requests that name none"},
			{Name: "default-model", Value: "ID", Help: "model for requests that name none"},
			{Name: "model", Value: "REF", Help: "for an agent, a model's id or alias; for a model, PROVIDER:NAME; for usage, list this model"},
			{
				Name: "tools", Value: "LIST",
				Help: "patterns of tools: for an agent of the server's, and none is no tool; for an MCP server of its own",
			},
			{Name: "skills", Value: "LIST", Help: "skills that an agent is to use first; none is no skill"},
			{Name: "out", Value: "FILE", Help: "file for a skill's archive (NAME.zip); - is standard output"},
			{Name: "grant", Value: "ID", Help: "a grant, as braid admin mcp-server grants lists them"},
			{Name: "mcp-servers", Value: "LIST", Help: "ids of a tenant's MCP servers for an agent; none is no server"},
			{Name: "type", Value: "TYPE", Help: "how to reach an MCP server: http, sse, openapi or stdio"},
			{Name: "url", Value: "URL", Help: "address of an MCP server or a webhook, or base address of an API"},
			{Name: "program", Value: "NAME", Help: "program of a stdio server, as the operator calls it"},
			{Name: "document", Value: "FILE", Help: "OpenAPI document of an openapi server; - is standard input"},
			{Name: "document-url", Value: "URL", Help: "address from which the server fetches the OpenAPI document now"},
			{
				Name: "header", Value: "HEADER",
				Help: "header of an MCP server, such as \"Authorization: Bearer ${crm_token}\"; ${…} is a token of the run",
			},
			{Name: "secret-header-file", Value: "NAME=FILE", Help: "header with a value from a file, which the server keeps encrypted"},
			{
				Name: "credential", Value: "NAME=TEXT",
				Help: "credential for a security scheme of an API, such as 'apiKey=${shop_token}'; ${…} is a token of the run",
			},
			{Name: "secret-credential-file", Value: "NAME=FILE", Help: "credential with a value from a file, which the server keeps encrypted"},
			{Name: "oauth", Value: "BOOL", Help: "true has users sign in to an MCP server with OAuth; false has nobody"},
			{Name: "oauth-client-id", Value: "ID", Help: "client that is registered with the MCP server's authorization server"},
			{Name: "oauth-client-secret-file", Value: "FILE", Help: "its secret, which the server keeps encrypted; needs --oauth-issuer"},
			{Name: "oauth-issuer", Value: "URL", Help: "the only authorization server that gets the client's id and secret"},
			{Name: "oauth-scopes", Value: "LIST", Help: "scopes to ask for where an MCP server names none"},
			{Name: "timeout", Value: "SECONDS", Help: "limit of one call to an MCP server; 0 is the server's limit"},
			{Name: "required", Value: "BOOL", Help: "true refuses runs while an MCP server cannot be reached"},
			{Name: "events", Value: "LIST", Help: "messages for a webhook: run.ended, question.asked, run.limit_reached; all is all"},
			{Name: "signing-secret-file", Value: "FILE", Help: "file with the signing secret of a webhook, whsec_…; left out is a new one"},
			{Name: "overlap", Value: "TIME", Help: "how long the previous secret signs too, such as 1h (24h)"},
			{Name: "delivery", Value: "ID", Help: "a delivery of a webhook"},
			{Name: "all", Help: "also those that were delivered"},
			{Name: "tokens-file", Value: "FILE", Help: "tokens for a test of an MCP server, one name=value on each line"},
			{Name: "effort", Value: "WORD", Help: "reasoning effort: none, low, medium, high, max or the vendor's word"},
			{Name: "show-thinking", Value: "BOOL", Help: "true requests readable reasoning from the model"},
			{Name: "top-p", Value: "X", Help: "nucleus sampling (top p), above 0 and at most 1"},
			{Name: "seed", Value: "N", Help: "seed for repeatable answers, as far as the provider supports it"},
			{Name: "verbosity", Value: "WORD", Help: "length of answers: low, medium or high"},
			{Name: "service-tier", Value: "WORD", Help: "the provider's service tier, such as flex"},
			{
				Name: "server-tools", Value: "LIST",
				Help: "tools that the provider runs, separated by blanks, such as \"web_search=max_uses=5&domains=a.example code_execution\"; " +
					"none is no tool",
			},
			{Name: "context", Value: "HOW", Help: "how long conversations are shortened: summary, window, provider or none"},
			{Name: "alias", Value: "LIST", Help: "other names of a model, such as haiku,sonnet"},
			{Name: "region", Value: "NAME", Help: "region of a model"},
			{
				Name: "prices", Value: "LIST",
				Help: "US dollars per million tokens, as input=3,output=15,cache_read=0.3,cache_write=3.75,cache_write_hour=6, and per " +
					"thousand searches of the provider, as web_search=10,file_search=2.50",
			},
			{Name: "key-env", Value: "NAME", Help: "variable of the server's environment with a provider's key"},
			{Name: "key-file", Value: "FILE", Help: "file with a provider's key, which the server keeps encrypted; - is standard input"},
			{Name: "scopes", Value: "LIST", Help: "rights of a key: read, write, admin:read, admin:write, operator"},
			{Name: "isolation", Value: "HOW", Help: "user separates the users of a tenant, tenant lets them share conversations (user)"},
			{Name: "approvals", Value: "WHO", Help: "who may answer questions of a run: own is its user, any is every user with access (own)"},
			{
				Name: "quota", Value: "LIST",
				Help: "limits of a tenant, as requests=600,storage=5GiB,cost=2.50; also running, queued, conversations, agents and tokens; " +
					"0 is no limit, default is the server's limit",
			},
			{Name: "failed-runs", Value: "HOW", Help: "whether later runs keep or forget the messages of failed runs (the server's setting)"},
			{Name: "user", Value: "NAME", Help: "user of a key; list conversations, runs or usage of this user"},
			{Name: "agent", Value: "ID", Help: "list conversations of this agent"},
			{Name: "expires", Value: "WHEN", Help: "expiry of a key: 90d, 12h, or a date such as 2027-01-31"},
			{Name: "version", Value: "N", Help: "version of an agent, an MCP server or a skill"},
			{
				Name: "status", Value: "STATUS",
				Help: "list objects with this status: active, inactive; of runs and conversations open, failed, running, …",
			},
			{Name: "error-kind", Value: "KIND", Help: "list runs that failed with this kind of error, such as run_poisoned"},
			{Name: "sort", Value: "ORDER", Help: "id, created_at or -created_at"},
			{Name: "limit", Short: "n", Value: "N", Help: "list at most N; 0 lists all (20)"},
			{Name: "archived", Help: "list archived conversations"},
			{Name: "conversation", Value: "ID", Help: "list entries of this conversation"},
			{Name: "run", Value: "ID", Help: "list entries of this run"},
			{Name: "executor", Value: "NAME", Help: "list entries of this executor"},
			{Name: "tool", Value: "NAME", Help: "list calls of this tool"},
			{Name: "from", Value: "TIME", Help: "list entries from this time on: 2026-11-21, or with a time as 2026-11-21T07:00:00Z"},
			{Name: "to", Value: "TIME", Help: "list entries before this time"},
			{Name: "by", Value: "WHAT", Help: "sum by model, day, conversation, run, executor, user, agent or kind (model)"},
			{Name: "action", Value: "NAME", Help: "list audit entries of an action, such as agent.update"},
			{Name: "object", Value: "NAME", Help: "list audit entries of an object, such as agent/helper"},
		},
		Run: func(ctx context.Context, in *conf.Invocation) error { return execute(ctx, p, in) },
	}
}

// verb is one action of braid admin.
type verb struct {
	what, do string
	// id names the argument; empty if there is none.
	id string
	// flags are its own flags, without the common ones.
	flags []string
	says  string
	run   func(a *admin, ctx context.Context, id string) error
}

// Flags of many actions.
var (
	common        = []string{"server", "token-file", "json"}
	ofOwner       = []string{"tenant", "shared"}
	listFlagNames = []string{"status", "sort", "limit"}
)

func flagsFor(lists ...[]string) []string { return slices.Concat(lists...) }

// verbs returns all actions in the order of help.
func verbs() []verb {
	change := []string{"file", "revision"}
	tenantFields := []string{"file", "name", "system-prompt", "default-agent", "default-model", "isolation", "approvals", "quota", "failed-runs"}
	callFields := []string{"effort", "show-thinking", "top-p", "seed", "verbosity", "service-tier", "server-tools"}
	agentFields := flagsFor(
		[]string{"tenant", "file", "name", "description", "instructions", "model", "tools", "skills", "mcp-servers", "context"}, callFields,
	)
	modelFields := flagsFor([]string{"file", "model", "alias", "region", "prices", "key-env", "key-file"}, callFields)
	mcpFields := []string{
		"tenant", "file", "name", "type", "url", "program", "document", "document-url", "header", "secret-header-file", "credential",
		"secret-credential-file", "oauth", "oauth-client-id", "oauth-client-secret-file", "oauth-issuer", "oauth-scopes",
		"tools", "timeout", "required",
	}
	webhookFields := []string{"tenant", "file", "name", "url", "events"}
	keyFields := []string{"name", "user", "scopes", "expires"}
	logFields := []string{"tenant", "conversation", "run", "executor", "from", "to", "limit"}
	ofTenant := []string{"tenant"}
	return []verb{
		{"tenant", "create", "ID", tenantFields, "make a tenant", (*admin).createTenant},
		{"tenant", "list", "", listFlagNames, "list the tenants", (*admin).listTenants},
		{"tenant", "show", "ID", nil, "show a tenant", (*admin).showTenant},
		{"tenant", "update", "ID", flagsFor(tenantFields, change), "change a tenant", (*admin).updateTenant},
		{"tenant", "activate", "ID", nil, "allow its runs again", (*admin).activateTenant},
		{"tenant", "deactivate", "ID", nil, "stop its runs and close the connections of its keys", (*admin).deactivateTenant},
		{"tenant", "erase", "ID", []string{"yes"}, "remove an inactive tenant with all its data", (*admin).eraseTenant},
		{"agent", "create", "ID", agentFields, "make an agent", (*admin).createAgent},
		{"agent", "list", "", flagsFor(ofTenant, listFlagNames), "list a tenant's agents", (*admin).listAgents},
		{"agent", "show", "ID", []string{"tenant", "version"}, "show an agent", (*admin).showAgent},
		{"agent", "versions", "ID", []string{"tenant", "limit"}, "list an agent's versions", (*admin).listAgentVersions},
		{"agent", "update", "ID", flagsFor(agentFields, change), "change an agent, which makes a new version", (*admin).updateAgent},
		{"agent", "activate", "ID", ofTenant, "allow its runs again", (*admin).activateAgent},
		{"agent", "deactivate", "ID", ofTenant, "refuse its runs", (*admin).deactivateAgent},
		{"model", "create", "ID", flagsFor(ofOwner, modelFields), "make a model", (*admin).createModel},
		{"model", "list", "", flagsFor(ofOwner, listFlagNames), "list models", (*admin).listModels},
		{"model", "show", "ID", ofOwner, "show a model", (*admin).showModel},
		{"model", "update", "ID", flagsFor(ofOwner, modelFields, change, []string{"force"}), "change a model", (*admin).updateModel},
		{"model", "activate", "ID", ofOwner, "allow its use again", (*admin).activateModel},
		{"model", "deactivate", "ID", ofOwner, "refuse its use", (*admin).deactivateModel},
		{"model", "delete", "ID", flagsFor(ofOwner, []string{"revision", "force"}), "remove a model, with its key", (*admin).deleteModel},
		{"mcp-server", "create", "ID", mcpFields, "make an MCP server of a tenant", (*admin).createMCPServer},
		{"mcp-server", "list", "", flagsFor(ofTenant, listFlagNames), "list a tenant's MCP servers", (*admin).listMCPServers},
		{"mcp-server", "show", "ID", []string{"tenant", "version"}, "show an MCP server", (*admin).showMCPServer},
		{"mcp-server", "versions", "ID", []string{"tenant", "limit"}, "list an MCP server's versions", (*admin).listMCPServerVersions},
		{"mcp-server", "update", "ID", flagsFor(mcpFields, change), "change an MCP server, which makes a new version", (*admin).updateMCPServer},
		{"mcp-server", "test", "ID", []string{"tenant", "tokens-file"}, "connect to it and list its tools", (*admin).testMCPServer},
		{"mcp-server", "grants", "ID", ofTenant, "list what users have granted to it", (*admin).listMCPGrants},
		{
			"mcp-server", "sign-in", "ID", []string{"tenant", "user"}, "print the link with which a user signs in to it", (*admin).beginMCPSignIn,
		},
		{"mcp-server", "revoke", "ID", []string{"tenant", "grant"}, "end a user's grant for it", (*admin).revokeMCPGrant},
		{"mcp-server", "activate", "ID", ofTenant, "give it to agents again", (*admin).activateMCPServer},
		{"mcp-server", "deactivate", "ID", ofTenant, "keep it from agents", (*admin).deactivateMCPServer},
		{
			"mcp-server", "delete", "ID", flagsFor(ofTenant, []string{"revision", "force"}), "remove an MCP server, with its secrets",
			(*admin).deleteMCPServer,
		},
		{
			"webhook", "create", "ID", flagsFor(webhookFields, []string{"signing-secret-file"}), "make a webhook and print its secret once",
			(*admin).createWebhook,
		},
		{"webhook", "list", "", flagsFor(ofTenant, listFlagNames), "list a tenant's webhooks", (*admin).listWebhooks},
		{"webhook", "show", "ID", ofTenant, "show a webhook", (*admin).showWebhook},
		{"webhook", "update", "ID", flagsFor(webhookFields, change), "change a webhook", (*admin).updateWebhook},
		{
			"webhook", "rotate", "ID",
			[]string{"tenant", "revision", "signing-secret-file", "overlap"},
			"give it another secret and print it once",
			(*admin).rotateWebhook,
		},
		{"webhook", "test", "ID", ofTenant, "send a test message", (*admin).testWebhook},
		{"webhook", "deliveries", "ID", []string{"tenant", "status", "limit"}, "list its deliveries", (*admin).listDeliveries},
		{"webhook", "delivery", "ID", []string{"tenant", "delivery"}, "show a delivery with what is sent", (*admin).showDelivery},
		{
			"webhook", "replay", "ID",
			[]string{"tenant", "delivery", "from", "all"},
			"send a delivery again, or the failed ones since a time",
			(*admin).replayWebhook,
		},
		{"webhook", "activate", "ID", ofTenant, "send to it again", (*admin).activateWebhook},
		{"webhook", "deactivate", "ID", ofTenant, "stop sending to it", (*admin).deactivateWebhook},
		{"webhook", "delete", "ID", []string{"tenant", "revision"}, "remove a webhook with its deliveries", (*admin).deleteWebhook},
		{
			"skill", "upload", "FOLDER",
			[]string{"tenant", "revision"},
			"store the folder of a skill, which makes a new version",
			(*admin).uploadSkill,
		},
		{"skill", "list", "", flagsFor(ofTenant, listFlagNames), "list a tenant's skills", (*admin).listSkills},
		{"skill", "show", "NAME", []string{"tenant", "version"}, "show a skill, its files and what is odd about it", (*admin).showSkill},
		{"skill", "versions", "NAME", []string{"tenant", "limit"}, "list a skill's versions", (*admin).listSkillVersions},
		{"skill", "download", "NAME", []string{"tenant", "version", "out"}, "write a skill's files into a zip archive", (*admin).downloadSkill},
		{"skill", "activate", "NAME", ofTenant, "give it to agents again", (*admin).activateSkill},
		{"skill", "deactivate", "NAME", ofTenant, "keep it from agents", (*admin).deactivateSkill},
		{
			"skill", "delete", "NAME", flagsFor(ofTenant, []string{"revision", "force"}), "remove a skill, with its versions",
			(*admin).deleteSkill,
		},
		{"key", "create", "", flagsFor(ofOwner, keyFields), "make a key and print it once", (*admin).createKey},
		{"key", "list", "", flagsFor(ofOwner, listFlagNames), "list keys", (*admin).listKeys},
		{"key", "revoke", "ID", ofOwner, "revoke a key at once", (*admin).revokeKey},
		{
			"conversations", "list", "",
			[]string{"tenant", "archived", "user", "agent", "status", "limit"},
			"list a tenant's conversations",
			(*admin).listConversations,
		},
		{
			"runs", "list", "",
			[]string{"tenant", "status", "user", "agent", "error-kind", "from", "limit"},
			"list the runs of all tenants",
			(*admin).listRuns,
		},
		{"runs", "cancel", "RUN", nil, "cancel a run of any tenant", (*admin).cancelRun},
		{"messages", "list", "CONVERSATION", []string{"tenant", "run", "limit"}, "list the messages of a conversation", (*admin).listMessages},
		{"usage", "list", "", flagsFor(logFields, []string{"model", "user"}), "list model calls", (*admin).listUsage},
		{"usage", "sums", "", flagsFor(logFields, []string{"model", "user", "by"}), "sum up model calls", (*admin).sumUsage},
		{"tools", "list", "", flagsFor(logFields, []string{"tool"}), "list tool calls", (*admin).listTools},
		{"audit", "list", "", flagsFor(ofOwner, []string{"action", "object", "limit"}), "list changes and their authors", (*admin).listAudit},
		{"audit", "verify", "", ofOwner, "check that the audit is unchanged", (*admin).verifyAudit},
	}
}

// verbList formats the actions for help.
func verbList() string {
	var b strings.Builder
	for _, v := range verbs() {
		fmt.Fprintf(&b, "  %-29s %s\n", strings.TrimSpace(v.what+" "+v.do+" "+v.id), v.says)
	}
	return b.String()
}

// admin is one call of the command.
type admin struct {
	p      *conf.System
	in     *conf.Invocation
	client client.Admin
	screen term.Screen
	// tenant owns the objects; empty is no tenant.
	tenant string
	limit  int
}

func execute(ctx context.Context, p *conf.System, in *conf.Invocation) error {
	v, id, err := findVerb(in)
	if err != nil {
		return err
	}
	cfg, err := p.Config(in)
	if err != nil {
		return err
	}
	a := &admin{p: p, in: in, screen: p.NewScreen(p.Stdout, cfg.Color), tenant: conf.Tenant, limit: 20}
	if t, given := in.Flags["tenant"]; given {
		a.tenant = t
	}
	if in.On("shared") {
		if in.Flags["tenant"] != "" {
			return term.Invalid("leave one of them out", "--shared is for objects without a tenant")
		}
		a.tenant = ""
	} else if a.tenant == "" {
		return term.Invalid("name the tenant, or use --shared", "--tenant is empty")
	}
	if text, given := in.Flags["limit"]; given {
		if err := conf.ParseCount(&a.limit, text); err != nil {
			return term.Invalid("0 lists all", "--limit: %q %s", term.Fit(text, 40), err)
		}
	}
	address := cmp.Or(in.Flags["server"], p.Getenv(conf.ServerEnv), "http://"+conf.DefaultAddr)
	token, err := p.FindToken(cfg, in.Flags["token-file"], address)
	if err != nil {
		return err
	}
	c, err := client.New(address, token, client.Options{})
	if err != nil {
		return err
	}
	a.client = c.Admin()
	return a.explain(v.run(a, ctx, id))
}

// findVerb finds the action, and refuses flags that it does not take.
func findVerb(in *conf.Invocation) (v verb, id string, err error) {
	const hint = "braid admin --help lists what there is"
	all := verbs()
	var whats, dos []string
	for _, v := range all {
		if !slices.Contains(whats, v.what) {
			whats = append(whats, v.what)
		}
	}
	if len(in.Args) == 0 {
		return v, "", term.Invalid(hint, "braid admin needs an action")
	}
	what, rest := in.Args[0], in.Args[1:]
	if !slices.Contains(whats, what) {
		return v, "", term.Invalid(term.DidYouMean(what, whats, "braid admin ", hint), "braid admin knows no %q", term.Fit(what, 40))
	}
	for _, v := range all {
		if v.what == what {
			dos = append(dos, v.do)
		}
	}
	if len(rest) == 0 {
		return v, "", term.Invalid("use "+strings.Join(dos, ", "), "braid admin %s needs an action", what)
	}
	at := slices.IndexFunc(all, func(v verb) bool { return v.what == what && v.do == rest[0] })
	if at < 0 {
		return v, "", term.Invalid(term.DidYouMean(rest[0], dos, "braid admin "+what+" ", "use "+strings.Join(dos, ", ")),
			"braid admin %s cannot %q", what, term.Fit(rest[0], 40))
	}
	v, rest = all[at], rest[1:]
	usage := strings.TrimSpace("braid admin " + v.what + " " + v.do + " " + v.id)
	want := 0
	if v.id != "" {
		want = 1
	}
	if len(rest) != want {
		return v, "", term.Invalid("write "+usage, "%s takes %d arguments behind it, not %d", "braid admin "+v.what+" "+v.do, want, len(rest))
	}
	for name := range in.Flags {
		if !slices.Contains(common, name) && !slices.Contains(v.flags, name) && name != "config" && name != "help" {
			return v, "", term.Invalid(usage+" takes "+listFlags(v.flags), "--%s means nothing to braid admin %s %s", name, v.what, v.do)
		}
	}
	if want == 1 {
		id = rest[0]
		if id == "" {
			return v, "", term.Invalid("write "+usage, "the ID is empty")
		}
	}
	return v, id, nil
}

func listFlags(names []string) string {
	names = slices.Concat(names, common)
	slices.Sort(names)
	names = slices.Compact(names)
	return "--" + strings.Join(names, ", --")
}

// explain adds hints for a user at a terminal to errors of the server.
func (a *admin) explain(err error) error {
	switch term.KindOf(err) {
	case event.ErrUnauthenticated:
		return &event.Error{
			Kind: event.ErrUnauthenticated, Message: "the server does not accept this token",
			Hint: "set " + conf.TokenEnv + " or name a file with --token-file; the token in the data folder is for that folder's server", Err: err,
		}
	case event.ErrUnavailable:
		if _, unreached := errors.AsType[*url.Error](err); !unreached {
			return err // the server answered: its hint is the better one
		}
		return &event.Error{
			Kind: event.ErrUnavailable, Message: describeOnly(err), Hint: "start one with braid serve, or name it with --server", Err: err,
		}
	default:
		return err
	}
}

func describeOnly(err error) string {
	message, _ := term.Describe(err)
	return message
}
