package admin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/braidrun/braid/client"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
)

func Command(p *conf.System) conf.Command {
	return conf.Command{
		Name: "admin", Args: "WHAT DO [ID]", Short: "administer a server: tenants, agents, models, keys",
		About: `Talks to a braid serve. WHAT and DO are

` + adminList() + `
What belongs to a tenant is that of --tenant; with --shared it is what belongs to
none: the models that all share, the operator's own keys and audit. The token that
braid serve prints may do everything; a key may do what its scopes say.

--file holds fields as YAML or JSON, as the API has them, "-" is standard input; flags
go before it. On update only what is named changes, and null takes a field away.
An API key is printed once, alone on standard output, and a provider's key is read
from a file, never from the command line. A list is a table on a terminal; in a pipe
its columns are separated by tabs.`,
		Examples: []conf.Example{
			{Line: "braid admin tenant create acme --name \"Acme Ltd\"", Says: "a tenant"},
			{Line: "braid admin model create small --shared --model demo:assistant --alias haiku", Says: "a model that all tenants may use"},
			{Line: "braid admin agent create helper --tenant acme --model small --file helper.yaml", Says: "an agent"},
			{Line: "braid admin key create --tenant acme --scopes read,write > acme.key", Says: "a key of the tenant's"},
			{Line: "braid admin key list --tenant acme --json | jq -r .id", Says: "the ids of its keys"},
			{Line: "braid admin runs list --status open", Says: "the runs of all tenants that have not ended"},
			{Line: "braid admin audit verify --tenant acme", Says: "whether anybody has touched the audit"},
		},
		Options: true, Some: []string{"data", "color"},
		Flags: []conf.Flag{
			{Name: "server", Value: "URL", Help: "the braid serve to talk to (" + conf.ServerEnv + ", or http://" + conf.DefaultAddr + ")"},
			conf.ServerFlags()[1],
			{Name: "tenant", Value: "ID", Help: "whose it is (" + conf.Tenant + ")"},
			{Name: "shared", Help: "what belongs to no tenant"},
			{Name: "json", Help: "write JSON, one object on each line"},
			{Name: "file", Value: "FILE", Help: "fields as YAML or JSON"},
			{Name: "revision", Value: "N", Help: "change it only where this is still its revision"},
			{Name: "yes", Help: "do what cannot be undone"},
			{Name: "force", Help: "remove a model, or an alias of one, although something refers to it"},
			{Name: "name", Value: "TEXT", Help: "what people call it"},
			{Name: "description", Value: "TEXT", Help: "what an agent is for"},
			{Name: "system-prompt", Value: "TEXT", Help: "what stands before the instructions of each of a tenant's agents"},
			{Name: "instructions", Value: "TEXT", Help: "what an agent is told to be"},
			{Name: "default-agent", Value: "ID", Help: "the agent that answers where none is named"},
			{Name: "default-model", Value: "ID", Help: "the model that answers where none is named"},
			{Name: "model", Value: "REF", Help: "an agent's model, by id or alias; what a model is, as PROVIDER:NAME; of usage, that of this model"},
			{Name: "tools", Value: "LIST", Help: "patterns of the server's tools that an agent has; none is none of them"},
			{Name: "effort", Value: "WORD", Help: "how hard a model tries: none, low, medium, high, max or the vendor's word"},
			{Name: "show-thinking", Value: "BOOL", Help: "true asks a model for readable reasoning"},
			{Name: "top-p", Value: "X", Help: "share of probability that a model draws from, above 0 and at most 1"},
			{Name: "seed", Value: "N", Help: "ask for the same answer to the same request, as far as the provider can"},
			{Name: "verbosity", Value: "WORD", Help: "how long answers are: low, medium or high"},
			{Name: "service-tier", Value: "WORD", Help: "the provider's word for how fast and at which price it answers"},
			{
				Name: "server-tools", Value: "LIST",
				Help: "tools that the provider runs, with blanks between them, as \"web_search=max_uses=5&domains=a.example code_execution\"; " +
					"none is none of them",
			},
			{Name: "context", Value: "HOW", Help: "what becomes of an agent's oldest messages: summary, window, provider or none"},
			{Name: "alias", Value: "LIST", Help: "other names of a model, such as haiku,sonnet"},
			{Name: "region", Value: "NAME", Help: "where a model is asked"},
			{
				Name: "prices", Value: "LIST",
				Help: "dollars for a million tokens, as input=3,output=15,cache_read=0.3,cache_write=3.75,cache_write_hour=6, and for a " +
					"thousand searches of the provider, as web_search=10,file_search=2.50",
			},
			{Name: "key-env", Value: "NAME", Help: "variable of the server's environment with a provider's key"},
			{Name: "key-file", Value: "FILE", Help: "file with a provider's key, which the server keeps encrypted; - is standard input"},
			{Name: "scopes", Value: "LIST", Help: "what a key is for: read, write, admin:read, admin:write, operator"},
			{Name: "isolation", Value: "HOW", Help: "user keeps the users of a tenant apart, tenant lets them share conversations (user)"},
			{Name: "approvals", Value: "WHO", Help: "who answers what a user's run asks: own is that user, any is every user who reaches it (own)"},
			{
				Name: "quota", Value: "LIST",
				Help: "bounds of a tenant, as requests=600,storage=5GiB,cost=2.50; also running, queued, conversations, agents and tokens; " +
					"0 is none, default is the server's",
			},
			{Name: "failed-runs", Value: "HOW", Help: "whether later runs keep or forget the messages of runs that failed (as the server does)"},
			{Name: "user", Value: "NAME", Help: "the user whom a key acts for; list conversations, runs or usage of that user"},
			{Name: "agent", Value: "ID", Help: "list conversations of this agent"},
			{Name: "expires", Value: "WHEN", Help: "when a key ends: 90d, 12h, or a date such as 2027-01-31"},
			{Name: "version", Value: "N", Help: "which version of an agent"},
			{Name: "status", Value: "STATUS", Help: "list what is active or inactive; runs or conversations that are open, failed, running, …"},
			{Name: "error-kind", Value: "KIND", Help: "list runs that failed with this kind of error, such as run_poisoned"},
			{Name: "sort", Value: "ORDER", Help: "id, created_at or -created_at"},
			{Name: "limit", Short: "n", Value: "N", Help: "list at most N; 0 lists all (20)"},
			{Name: "archived", Help: "list conversations that were put away"},
			{Name: "conversation", Value: "ID", Help: "look for what is of this conversation"},
			{Name: "run", Value: "ID", Help: "look for what is of this run"},
			{Name: "executor", Value: "NAME", Help: "look for what was asked by this executor"},
			{Name: "tool", Value: "NAME", Help: "look for calls of this tool"},
			{Name: "from", Value: "TIME", Help: "look from then on: 2026-11-21, or with a time as 2026-11-21T07:00:00Z"},
			{Name: "to", Value: "TIME", Help: "look before then"},
			{Name: "by", Value: "WHAT", Help: "add up by model, day, conversation, run, executor, user, agent or kind (model)"},
			{Name: "action", Value: "NAME", Help: "look in the audit for an action, such as agent.update"},
			{Name: "object", Value: "NAME", Help: "look in the audit for an object, such as agent/helper"},
		},
		Run: func(ctx context.Context, in *conf.Invocation) error { return adminRun(ctx, p, in) },
	}
}

// adminVerb is one thing that braid admin does.
type adminVerb struct {
	What, Do string
	// Id names the argument; empty where there is none.
	Id string
	// Flags are those beside the ones that all take.
	Flags []string
	says  string
	run   func(a *admin, ctx context.Context, id string) error
}

// The flags that many take.
var (
	AdminCommon = []string{"server", "token-file", "json"}
	adminOf     = []string{"tenant", "shared"}
	adminLists  = []string{"status", "sort", "limit"}
)

func flagsFor(lists ...[]string) []string { return slices.Concat(lists...) }

// AdminVerbs is all of it, in the order of help.
func AdminVerbs() []adminVerb {
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
	for _, v := range AdminVerbs() {
		fmt.Fprintf(&b, "  %-29s %s\n", strings.TrimSpace(v.What+" "+v.Do+" "+v.Id), v.says)
	}
	return b.String()
}

// admin is one use of the command.
type admin struct {
	p      *conf.System
	in     *conf.Invocation
	client client.Admin
	screen term.Screen
	// tenant is whose it is; empty is nobody's.
	tenant string
	limit  int
}

func adminRun(ctx context.Context, p *conf.System, in *conf.Invocation) error {
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
			return term.Invalid("leave one of them out", "--shared is what belongs to no tenant")
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

// findVerb finds what is to be done, and refuses flags that mean nothing to it.
func findVerb(in *conf.Invocation) (v adminVerb, id string, err error) {
	const hint = "braid admin --help lists what there is"
	verbs := AdminVerbs()
	var whats, dos []string
	for _, v := range verbs {
		if !slices.Contains(whats, v.What) {
			whats = append(whats, v.What)
		}
	}
	if len(in.Args) == 0 {
		return v, "", term.Invalid(hint, "braid admin needs to be told what to do")
	}
	what, rest := in.Args[0], in.Args[1:]
	if !slices.Contains(whats, what) {
		return v, "", term.Invalid(term.DidYouMean(what, whats, "braid admin ", hint), "braid admin knows no %q", term.Fit(what, 40))
	}
	for _, v := range verbs {
		if v.What == what {
			dos = append(dos, v.Do)
		}
	}
	if len(rest) == 0 {
		return v, "", term.Invalid("use "+strings.Join(dos, ", "), "braid admin %s needs to be told what to do", what)
	}
	at := slices.IndexFunc(verbs, func(v adminVerb) bool { return v.What == what && v.Do == rest[0] })
	if at < 0 {
		return v, "", term.Invalid(term.DidYouMean(rest[0], dos, "braid admin "+what+" ", "use "+strings.Join(dos, ", ")),
			"braid admin %s cannot %q", what, term.Fit(rest[0], 40))
	}
	v, rest = verbs[at], rest[1:]
	usage := strings.TrimSpace("braid admin " + v.What + " " + v.Do + " " + v.Id)
	want := 0
	if v.Id != "" {
		want = 1
	}
	if len(rest) != want {
		return v, "", term.Invalid("write "+usage, "%s takes %d arguments behind it, not %d", "braid admin "+v.What+" "+v.Do, want, len(rest))
	}
	for name := range in.Flags {
		if !slices.Contains(AdminCommon, name) && !slices.Contains(v.Flags, name) && name != "config" && name != "help" {
			return v, "", term.Invalid(usage+" takes "+listFlags(v.Flags), "--%s means nothing to braid admin %s %s", name, v.What, v.Do)
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
	names = slices.Concat(names, AdminCommon)
	slices.Sort(names)
	names = slices.Compact(names)
	return "--" + strings.Join(names, ", --")
}

// explain adds what a person at a terminal can do to what the server says.
func (a *admin) explain(err error) error {
	switch term.KindOf(err) {
	case event.ErrUnauthenticated:
		return &event.Error{
			Kind: event.ErrUnauthenticated, Message: "the server does not know this token",
			Hint: "set " + conf.TokenEnv + " or name a file with --token-file; the token in the data folder is that of the server there", Err: err,
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
	message, _ := term.Describe(err)
	return message
}
