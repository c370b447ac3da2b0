package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/braidrun/braid/client"
	"github.com/braidrun/braid/event"
)

func adminCommand(p *system) command {
	return command{
		name: "admin", args: "WHAT DO [ID]", short: "administer a server: tenants, agents, models, keys",
		about: `Talks to a braid serve. WHAT and DO are

` + adminList() + `
What belongs to a tenant is that of --tenant; with --shared it is what belongs to
none: the models that all share, the operator's own keys and audit. The token that
braid serve prints may do everything; a key may do what its scopes say.

--file holds fields as YAML or JSON, as the API has them, "-" is standard input; flags
go before it. On update only what is named changes, and null takes a field away.
An API key is printed once, alone on standard output, and a provider's key is read
from a file, never from the command line. A list is a table on a terminal; in a pipe
its columns are separated by tabs.`,
		examples: []example{
			{"braid admin tenant create acme --name \"Acme Ltd\"", "a tenant"},
			{"braid admin model create small --shared --model demo:assistant --alias haiku", "a model that all tenants may use"},
			{"braid admin agent create helper --tenant acme --model small --file helper.yaml", "an agent"},
			{"braid admin key create --tenant acme --scopes read,write > acme.key", "a key of the tenant's"},
			{"braid admin key list --tenant acme --json | jq -r .id", "the ids of its keys"},
			{"braid admin runs list --status open", "the runs of all tenants that have not ended"},
			{"braid admin audit verify --tenant acme", "whether anybody has touched the audit"},
		},
		options: true, some: []string{"data", "color"},
		flags: []flagSpec{
			{name: "server", value: "URL", help: "the braid serve to talk to (" + serverEnv + ", or http://" + defaultAddr + ")"},
			serverFlags()[1],
			{name: "tenant", value: "ID", help: "whose it is (" + tenant + ")"},
			{name: "shared", help: "what belongs to no tenant"},
			{name: "json", help: "write JSON, one object on each line"},
			{name: "file", value: "FILE", help: "fields as YAML or JSON"},
			{name: "revision", value: "N", help: "change it only where this is still its revision"},
			{name: "yes", help: "do what cannot be undone"},
			{name: "force", help: "remove a model, or an alias of one, although something refers to it"},
			{name: "name", value: "TEXT", help: "what people call it"},
			{name: "description", value: "TEXT", help: "what an agent is for"},
			{name: "system-prompt", value: "TEXT", help: "what stands before the instructions of each of a tenant's agents"},
			{name: "instructions", value: "TEXT", help: "what an agent is told to be"},
			{name: "default-agent", value: "ID", help: "the agent that answers where none is named"},
			{name: "default-model", value: "ID", help: "the model that answers where none is named"},
			{name: "model", value: "REF", help: "an agent's model, by id or alias; what a model is, as PROVIDER:NAME; of usage, that of this model"},
			{name: "tools", value: "LIST", help: "patterns of the server's tools that an agent has; none is none of them"},
			{name: "effort", value: "WORD", help: "how hard a model tries: none, low, medium, high, max or the vendor's word"},
			{name: "show-thinking", value: "BOOL", help: "true asks a model for readable reasoning"},
			{name: "top-p", value: "X", help: "share of probability that a model draws from, above 0 and at most 1"},
			{name: "seed", value: "N", help: "ask for the same answer to the same request, as far as the provider can"},
			{name: "verbosity", value: "WORD", help: "how long answers are: low, medium or high"},
			{name: "service-tier", value: "WORD", help: "the provider's word for how fast and at which price it answers"},
			{
				name: "server-tools", value: "LIST",
				help: "tools that the provider runs, with blanks between them, as \"web_search=max_uses=5&domains=a.example code_execution\"; " +
					"none is none of them",
			},
			{name: "context", value: "HOW", help: "what becomes of an agent's oldest messages: summary, window, provider or none"},
			{name: "alias", value: "LIST", help: "other names of a model, such as haiku,sonnet"},
			{name: "region", value: "NAME", help: "where a model is asked"},
			{
				name: "prices", value: "LIST",
				help: "dollars for a million tokens, as input=3,output=15,cache_read=0.3,cache_write=3.75,cache_write_hour=6, and for a " +
					"thousand searches of the provider, as web_search=10,file_search=2.50",
			},
			{name: "key-env", value: "NAME", help: "variable of the server's environment with a provider's key"},
			{name: "key-file", value: "FILE", help: "file with a provider's key, which the server keeps encrypted; - is standard input"},
			{name: "scopes", value: "LIST", help: "what a key is for: read, write, admin:read, admin:write, operator"},
			{name: "isolation", value: "HOW", help: "user keeps the users of a tenant apart, tenant lets them share conversations (user)"},
			{name: "approvals", value: "WHO", help: "who answers what a user's run asks: own is that user, any is every user who reaches it (own)"},
			{
				name: "quota", value: "LIST",
				help: "bounds of a tenant, as requests=600,storage=5GiB,cost=2.50; also running, queued, conversations, agents and tokens; " +
					"0 is none, default is the server's",
			},
			{name: "failed-runs", value: "HOW", help: "whether later runs keep or forget the messages of runs that failed (as the server does)"},
			{name: "user", value: "NAME", help: "the user whom a key acts for; list conversations, runs or usage of that user"},
			{name: "agent", value: "ID", help: "list conversations of this agent"},
			{name: "expires", value: "WHEN", help: "when a key ends: 90d, 12h, or a date such as 2027-01-31"},
			{name: "version", value: "N", help: "which version of an agent"},
			{name: "status", value: "STATUS", help: "list what is active or inactive; runs or conversations that are open, failed, running, …"},
			{name: "error-kind", value: "KIND", help: "list runs that failed with this kind of error, such as run_poisoned"},
			{name: "sort", value: "ORDER", help: "id, created_at or -created_at"},
			{name: "limit", short: "n", value: "N", help: "list at most N; 0 lists all (20)"},
			{name: "archived", help: "list conversations that were put away"},
			{name: "conversation", value: "ID", help: "look for what is of this conversation"},
			{name: "run", value: "ID", help: "look for what is of this run"},
			{name: "executor", value: "NAME", help: "look for what was asked by this executor"},
			{name: "tool", value: "NAME", help: "look for calls of this tool"},
			{name: "from", value: "TIME", help: "look from then on: 2026-11-21, or with a time as 2026-11-21T07:00:00Z"},
			{name: "to", value: "TIME", help: "look before then"},
			{name: "by", value: "WHAT", help: "add up by model, day, conversation, run, executor, user, agent or kind (model)"},
			{name: "action", value: "NAME", help: "look in the audit for an action, such as agent.update"},
			{name: "object", value: "NAME", help: "look in the audit for an object, such as agent/helper"},
		},
		run: func(ctx context.Context, in *invocation) error { return adminRun(ctx, p, in) },
	}
}

// adminVerb is one thing that braid admin does.
type adminVerb struct {
	what, do string
	// id names the argument; empty where there is none.
	id string
	// flags are those beside the ones that all take.
	flags []string
	says  string
	run   func(a *admin, ctx context.Context, id string) error
}

// The flags that many take.
var (
	adminCommon = []string{"server", "token-file", "json"}
	adminOf     = []string{"tenant", "shared"}
	adminLists  = []string{"status", "sort", "limit"}
)

func flagsFor(lists ...[]string) []string { return slices.Concat(lists...) }

// adminVerbs is all of it, in the order of help.
func adminVerbs() []adminVerb {
	change := []string{"file", "revision"}
	tenantFields := []string{"file", "name", "system-prompt", "default-agent", "default-model", "isolation", "approvals", "quota", "failed-runs"}
	callFields := []string{"effort", "show-thinking", "top-p", "seed", "verbosity", "service-tier", "server-tools"}
	agentFields := flagsFor([]string{"tenant", "file", "name", "description", "instructions", "model", "tools", "context"}, callFields)
	modelFields := flagsFor([]string{"file", "model", "alias", "region", "prices", "key-env", "key-file"}, callFields)
	keyFields := []string{"name", "user", "scopes", "expires"}
	logFields := []string{"tenant", "conversation", "run", "executor", "from", "to", "limit"}
	ofTenant := []string{"tenant"}
	return []adminVerb{
		{"tenant", "create", "ID", tenantFields, "make a tenant", (*admin).createTenant},
		{"tenant", "list", "", adminLists, "list the tenants", (*admin).listTenants},
		{"tenant", "show", "ID", nil, "show a tenant", (*admin).showTenant},
		{"tenant", "update", "ID", flagsFor(tenantFields, change), "change a tenant", (*admin).updateTenant},
		{"tenant", "activate", "ID", nil, "let it run again", (*admin).activateTenant},
		{"tenant", "deactivate", "ID", nil, "let nothing of it run, and cut what its keys have opened", (*admin).deactivateTenant},
		{"tenant", "erase", "ID", []string{"yes"}, "remove everything of a tenant that is not active", (*admin).eraseTenant},
		{"agent", "create", "ID", agentFields, "make an agent", (*admin).createAgent},
		{"agent", "list", "", flagsFor(ofTenant, adminLists), "list a tenant's agents", (*admin).listAgents},
		{"agent", "show", "ID", []string{"tenant", "version"}, "show an agent", (*admin).showAgent},
		{"agent", "versions", "ID", []string{"tenant", "limit"}, "list what an agent was", (*admin).listAgentVersions},
		{"agent", "update", "ID", flagsFor(agentFields, change), "change an agent: its next version", (*admin).updateAgent},
		{"agent", "activate", "ID", ofTenant, "let it answer again", (*admin).activateAgent},
		{"agent", "deactivate", "ID", ofTenant, "let it answer no more", (*admin).deactivateAgent},
		{"model", "create", "ID", flagsFor(adminOf, modelFields), "make a model", (*admin).createModel},
		{"model", "list", "", flagsFor(adminOf, adminLists), "list models", (*admin).listModels},
		{"model", "show", "ID", adminOf, "show a model", (*admin).showModel},
		{"model", "update", "ID", flagsFor(adminOf, modelFields, change, []string{"force"}), "change a model", (*admin).updateModel},
		{"model", "activate", "ID", adminOf, "let it be used again", (*admin).activateModel},
		{"model", "deactivate", "ID", adminOf, "let it be used no more", (*admin).deactivateModel},
		{"model", "delete", "ID", flagsFor(adminOf, []string{"revision", "force"}), "remove a model, with its key", (*admin).deleteModel},
		{"key", "create", "", flagsFor(adminOf, keyFields), "make a key, and print it this once", (*admin).createKey},
		{"key", "list", "", flagsFor(adminOf, adminLists), "list keys", (*admin).listKeys},
		{"key", "revoke", "ID", adminOf, "end a key at once", (*admin).revokeKey},
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
		{"runs", "cancel", "RUN", nil, "have a run of any tenant end", (*admin).cancelRun},
		{"messages", "list", "CONVERSATION", []string{"tenant", "run", "limit"}, "list what was said in a conversation", (*admin).listMessages},
		{"usage", "list", "", flagsFor(logFields, []string{"model", "user"}), "list what models were used for", (*admin).listUsage},
		{"usage", "sums", "", flagsFor(logFields, []string{"model", "user", "by"}), "add it up", (*admin).sumUsage},
		{"tools", "list", "", flagsFor(logFields, []string{"tool"}), "list what tools did", (*admin).listTools},
		{"audit", "list", "", flagsFor(adminOf, []string{"action", "object", "limit"}), "list who has changed what", (*admin).listAudit},
		{"audit", "verify", "", adminOf, "look whether the audit is as it was written", (*admin).verifyAudit},
	}
}

// adminList is the verbs for help.
func adminList() string {
	var b strings.Builder
	for _, v := range adminVerbs() {
		fmt.Fprintf(&b, "  %-29s %s\n", strings.TrimSpace(v.what+" "+v.do+" "+v.id), v.says)
	}
	return b.String()
}

// admin is one use of the command.
type admin struct {
	p      *system
	in     *invocation
	client client.Admin
	screen screen
	// tenant is whose it is; empty is nobody's.
	tenant string
	limit  int
}

func adminRun(ctx context.Context, p *system, in *invocation) error {
	v, id, err := findVerb(in)
	if err != nil {
		return err
	}
	cfg, err := p.configOf(in)
	if err != nil {
		return err
	}
	a := &admin{p: p, in: in, screen: p.newScreen(p.stdout, cfg.Color), tenant: tenant, limit: 20}
	if t, given := in.flags["tenant"]; given {
		a.tenant = t
	}
	if in.on("shared") {
		if in.flags["tenant"] != "" {
			return invalid("leave one of them out", "--shared is what belongs to no tenant")
		}
		a.tenant = ""
	} else if a.tenant == "" {
		return invalid("name the tenant, or use --shared", "--tenant is empty")
	}
	if text, given := in.flags["limit"]; given {
		if err := parseCount(&a.limit, text); err != nil {
			return invalid("0 lists all", "--limit: %q %s", fit(text, 40), err)
		}
	}
	address := cmp.Or(in.flags["server"], p.getenv(serverEnv), "http://"+defaultAddr)
	token, err := p.findToken(cfg, in.flags["token-file"], address)
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

// findVerb finds what is to be done, and refuses flags that mean nothing to it.
func findVerb(in *invocation) (v adminVerb, id string, err error) {
	const hint = "braid admin --help lists what there is"
	verbs := adminVerbs()
	var whats, dos []string
	for _, v := range verbs {
		if !slices.Contains(whats, v.what) {
			whats = append(whats, v.what)
		}
	}
	if len(in.args) == 0 {
		return v, "", invalid(hint, "braid admin needs to be told what to do")
	}
	what, rest := in.args[0], in.args[1:]
	if !slices.Contains(whats, what) {
		return v, "", invalid(didYouMean(what, whats, "braid admin ", hint), "braid admin knows no %q", fit(what, 40))
	}
	for _, v := range verbs {
		if v.what == what {
			dos = append(dos, v.do)
		}
	}
	if len(rest) == 0 {
		return v, "", invalid("use "+strings.Join(dos, ", "), "braid admin %s needs to be told what to do", what)
	}
	at := slices.IndexFunc(verbs, func(v adminVerb) bool { return v.what == what && v.do == rest[0] })
	if at < 0 {
		return v, "", invalid(didYouMean(rest[0], dos, "braid admin "+what+" ", "use "+strings.Join(dos, ", ")),
			"braid admin %s cannot %q", what, fit(rest[0], 40))
	}
	v, rest = verbs[at], rest[1:]
	usage := strings.TrimSpace("braid admin " + v.what + " " + v.do + " " + v.id)
	want := 0
	if v.id != "" {
		want = 1
	}
	if len(rest) != want {
		return v, "", invalid("write "+usage, "%s takes %d arguments behind it, not %d", "braid admin "+v.what+" "+v.do, want, len(rest))
	}
	for name := range in.flags {
		if !slices.Contains(adminCommon, name) && !slices.Contains(v.flags, name) && name != "config" && name != "help" {
			return v, "", invalid(usage+" takes "+listFlags(v.flags), "--%s means nothing to braid admin %s %s", name, v.what, v.do)
		}
	}
	if want == 1 {
		id = rest[0]
		if id == "" {
			return v, "", invalid("write "+usage, "the ID is empty")
		}
	}
	return v, id, nil
}

func listFlags(names []string) string {
	names = slices.Concat(names, adminCommon)
	slices.Sort(names)
	names = slices.Compact(names)
	return "--" + strings.Join(names, ", --")
}

// explain adds what a person at a terminal can do to what the server says.
func (a *admin) explain(err error) error {
	switch kindOf(err) {
	case event.ErrUnauthenticated:
		return &event.Error{
			Kind: event.ErrUnauthenticated, Message: "the server does not know this token",
			Hint: "set " + tokenEnv + " or name a file with --token-file; the token in the data folder is that of the server there", Err: err,
		}
	case event.ErrUnavailable:
		return &event.Error{
			Kind: event.ErrUnavailable, Message: describeOnly(err), Hint: "start one with braid serve, or name it with --server", Err: err,
		}
	default:
		return err
	}
}

func describeOnly(err error) string {
	message, _ := describe(err)
	return message
}
