package conf

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/engine"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/server/door"
	"github.com/braidrun/braid/service/directory"
)

// Option is one setting. Its name is max_cycles in the configuration file,
// --max-cycles on the command line and BRAID_MAX_CYCLES in the environment.
type Option struct {
	Name string
	// short is a one-letter flag; it may be empty.
	short string
	// value is the placeholder of the value in help; empty for a switch.
	value string
	Help  string
	// Def is the value where nobody says anything.
	Def string
	// list is set where the flag may stand several times. The values are joined by commas,
	// or with lines by line feeds, because commas stand in them.
	list, lines bool
	// Hidden is set for values that are not shown: they may hold secrets.
	Hidden bool
	// Set parses a value. Its error ends the sentence that begins with the value.
	Set func(*Settings, string) error
}

func (o *Option) Flag() string { return strings.ReplaceAll(o.Name, "_", "-") }
func (o *Option) Env() string  { return EnvPrefix + strings.ToUpper(o.Name) }

// separator stands between the values of a list.
func (o *Option) separator() string {
	if o.lines {
		return "\n"
	}
	return ","
}

// EnvPrefix begins the name of every environment variable that is an option.
const EnvPrefix = "BRAID_"

// Options is the one list that flags, environment, file, help, `braid config`
// and `braid doctor` go by.
var Options = []Option{
	{
		Name: "model", short: "m", value: "REF", Help: "model to use, such as demo:tour; empty looks for one (braid help models)",
		Set: func(s *Settings, v string) error { s.Model = strings.TrimSpace(v); return nil },
	},
	{
		Name: "fallback", value: "LIST", list: true,
		Help: "models to ask in this order where a call of the one before fails; may stand several times",
		Set:  func(s *Settings, v string) error { s.Fallback = Words(v); return nil },
	},
	{
		Name: "fallback_on", value: "LIST", list: true, Def: "throttled,overloaded,unavailable",
		Help: "kinds of errors (braid help exit-codes) on which the next model is asked at once",
		Set:  func(s *Settings, v string) (err error) { s.FallbackOn, err = parseKinds(v); return err },
	},
	{
		Name: "attempts", value: "N", Def: "6",
		Help: "how often one model call is made in all, when the provider is throttling, overloaded or cuts the answer off",
		Set:  func(s *Settings, v string) error { return parsePositive(&s.Attempts, v) },
	},
	{
		Name: "prices", value: "FILE", Help: "table of prices that goes before the built-in one (braid help models); empty is none",
		Set: func(s *Settings, v string) error { s.Prices = v; return nil },
	},
	{
		Name: "vendors", value: "FILE", Help: "more servers that speak OpenAI's protocol, by name (braid help models); empty is none",
		Set: func(s *Settings, v string) error { s.Vendors = v; return nil },
	},
	{
		Name: "model_requests", value: "N", Def: "0", Help: "most model calls a minute with one provider's key; 0 is no limit",
		Set: func(s *Settings, v string) error { return ParseCount(&s.Limits.Requests, v) },
	},
	{
		Name: "model_tokens", value: "N", Def: "0", Help: "most tokens a minute with one provider's key; 0 is no limit",
		Set: func(s *Settings, v string) error { return ParseCount(&s.Limits.Tokens, v) },
	},
	{
		Name: "model_concurrency", value: "N", Def: "0", Help: "most model calls at once with one provider's key; 0 is no limit",
		Set: func(s *Settings, v string) error { return ParseCount(&s.Limits.Concurrency, v) },
	},
	{
		Name: "instructions", value: "TEXT", Help: "what the agent is told to be (its system prompt)",
		Set: func(s *Settings, v string) error { s.Instructions = v; return nil },
	},
	{
		Name: "tools", value: "LIST", Def: "auto",
		Help: "built-in tools: all, none, or some of calculator,clock,files; auto is all for a demo model, otherwise none",
		Set:  func(s *Settings, v string) (err error) { s.Tools, err = parseTools(v); return err },
	},
	{
		Name: "allow", value: "LIST", list: true,
		Help: "tools that run without being asked for, where ask or deny fits them less closely; may stand several times",
		Set:  func(s *Settings, v string) error { return parsePatterns(&s.Permit.Allow, v) },
	},
	{
		Name: "ask", value: "LIST", list: true,
		Help: "tools, by names or patterns such as delete_* or weather___*, that run only when you say yes; may stand several times",
		Set:  func(s *Settings, v string) error { return parsePatterns(&s.Permit.Ask, v) },
	},
	{
		Name: "deny", value: "LIST", list: true, Help: "tools that never run; may stand several times",
		Set: func(s *Settings, v string) error { return parsePatterns(&s.Permit.Deny, v) },
	},
	{
		Name: "scratch", value: "DIR", Help: "folder that the files tool works in; empty is one of the conversation's own",
		Set: func(s *Settings, v string) error { s.Scratch = v; return nil },
	},
	{
		Name: "mcp", value: "FILE", Help: "list of MCP servers whose tools the agent gets, as {\"mcpServers\": …}; empty is none",
		Set: func(s *Settings, v string) error { s.MCP = v; return nil },
	},
	{
		Name: "skills", value: "DIR", list: true,
		Help: "folder of skills, each a folder with a SKILL.md, that the agent may load; may stand several times; the first of a name counts",
		Set:  func(s *Settings, v string) error { s.Skills = Words(v); return nil },
	},
	{
		Name: "data", value: "DIR", Help: "folder that conversations are kept in; empty is your data folder (see braid config)",
		Set: func(s *Settings, v string) error { s.Data = v; return nil },
	},
	{
		Name: "ephemeral", Def: "false", Help: "keep nothing: the conversation is gone when the program ends",
		Set: func(s *Settings, v string) error { return ParseSwitch(&s.Ephemeral, v) },
	},
	{
		Name: "running", value: "N", Def: strconv.Itoa(engine.DefaultRunning), Help: "most runs that a server drives at once; others are queued",
		Set: func(s *Settings, v string) error { return parsePositive(&s.Running, v) },
	},
	{
		Name: "tenant_running", value: "N", Def: strconv.Itoa(engine.DefaultTenantRunning),
		Help: "most runs of one tenant that a server drives at once",
		Set:  func(s *Settings, v string) error { return parsePositive(&s.TenantRunning, v) },
	},
	{
		Name: "queued", value: "N", Def: strconv.Itoa(engine.DefaultBacklog), Help: "most runs that are queued on a server; more are refused",
		Set: func(s *Settings, v string) error { return parsePositive(&s.Queued, v) },
	},
	{
		Name: "tenant_queued", value: "N", Def: strconv.Itoa(engine.DefaultTenantBacklog),
		Help: "most runs of one tenant that are queued on a server",
		Set:  func(s *Settings, v string) error { return parsePositive(&s.TenantQueued, v) },
	},
	{
		Name: "tenant_requests", value: "N", Def: strconv.Itoa(directory.DefaultRequests),
		Help: "most requests of one tenant in a minute, on each server; 0 is no limit",
		Set:  func(s *Settings, v string) error { return ParseCount(&s.TenantRequests, v) },
	},
	{
		Name: "tenant_conversations", value: "N", Def: strconv.Itoa(directory.DefaultConversations),
		Help: "most conversations that one tenant keeps; 0 is no limit",
		Set:  func(s *Settings, v string) error { return ParseCount(&s.TenantConversations, v) },
	},
	{
		Name: "tenant_agents", value: "N", Def: strconv.Itoa(directory.DefaultAgents), Help: "most agents of one tenant; 0 is no limit",
		Set: func(s *Settings, v string) error { return ParseCount(&s.TenantAgents, v) },
	},
	{
		Name: "tenant_storage", value: "SIZE", Def: "10GiB",
		Help: "most bytes that the conversations of one tenant take; 0 is no limit",
		Set:  func(s *Settings, v string) error { return ParseStorage(&s.TenantStorage, v) },
	},
	{
		Name: "lease", value: "TIME", Def: journal.DefaultTerm.String(),
		Help: "time after which other servers take the runs of one that died, from 3s to 10m; with PostgreSQL",
		Set:  parseLease,
	},
	{
		Name: "metric_tenants", value: "N", Def: strconv.Itoa(server.DefaultMetricTenants),
		Help: "most tenants with metrics of their own; the others share the label (other)",
		Set:  func(s *Settings, v string) error { return ParseCount(&s.MetricTenants, v) },
	},
	{
		Name: "tenant_tokens", value: "N", Def: strconv.Itoa(directory.DefaultTokens),
		Help: "most tokens that the models of one tenant read and write in a day (UTC); 0 is no limit",
		Set:  func(s *Settings, v string) error { return ParseCount(&s.TenantTokens, v) },
	},
	{
		Name: "tenant_cost", value: "USD", Def: strconv.Itoa(directory.DefaultCost),
		Help: "most that the model calls of one tenant cost in a day (UTC), where prices are known; 0 is no limit",
		Set:  func(s *Settings, v string) error { return ParseDollars(&s.TenantCost, v) },
	},
	{
		Name: "wrong_credentials", value: "N", Def: strconv.Itoa(door.DefaultAttempts),
		Help: "most wrong credentials that one address may show in a minute; 0 is no limit",
		Set:  func(s *Settings, v string) error { return ParseCount(&s.WrongCredentials, v) },
	},
	{
		Name: "trusted_proxies", value: "LIST", Help: "addresses and networks of proxies whose X-Forwarded-For is believed, such as 10.0.0.0/8",
		Set: parseProxies,
	},
	{
		Name: "lost_drivers", value: "N", Def: "3",
		Help: "a run that gets nowhere is ended as failed once the processes that drove it have died so often; 0 never ends it",
		Set:  func(s *Settings, v string) error { return ParseCount(&s.LostDrivers, v) },
	},
	{
		Name: "failed_runs", value: "HOW", Def: "forget",
		Help: "what later runs of a conversation see of a run that failed, where its tenant has not chosen: keep or forget its messages",
		Set: func(s *Settings, v string) (err error) {
			s.FailedRuns, err = ParseWord(v, "keep", "forget")
			return err
		},
	},
	{
		Name: "refused_every", value: "TIME", Def: "5m", Help: "how often a server writes into the audit what it has refused",
		Set: func(s *Settings, v string) (err error) {
			if s.RefusedEvery, err = ParseTime(v); err == nil && s.RefusedEvery < time.Second {
				err = errors.New("is too often: use 1s or more")
			}
			return err
		},
	},
	{
		Name: "timeout", value: "TIME", Def: "0", Help: "longest time for one run, such as 90s or 5m; 0 is no limit",
		Set: func(s *Settings, v string) (err error) { s.Timeout, err = ParseTime(v); return err },
	},
	{
		Name: "max_cycles", value: "N", Def: "0", Help: "most model calls in one run; 0 leaves the library's limit",
		Set: func(s *Settings, v string) error { return ParseCount(&s.MaxCycles, v) },
	},
	{
		Name: "max_tool_calls", value: "N", Def: "0", Help: "most tool calls in one run; 0 leaves the library's limit",
		Set: func(s *Settings, v string) error { return ParseCount(&s.MaxToolCalls, v) },
	},
	{
		Name: "max_total_tokens", value: "N", Def: "0", Help: "most tokens in one run; 0 is no limit",
		Set: func(s *Settings, v string) error { return ParseCount(&s.MaxTotalTokens, v) },
	},
	{
		Name: "max_input_tokens", value: "N", Def: "0", Help: "most tokens that the model reads in one run, cached ones counted; 0 is no limit",
		Set: func(s *Settings, v string) error { return ParseCount(&s.MaxInput, v) },
	},
	{
		Name: "max_output_tokens", value: "N", Def: "0", Help: "most tokens that the model writes in one run; 0 is no limit",
		Set: func(s *Settings, v string) error { return ParseCount(&s.MaxOutput, v) },
	},
	{
		Name: "max_cost", value: "USD", Def: "0", Help: "most that one run may cost, such as 0.50, for models with a known price; 0 is no limit",
		Set: func(s *Settings, v string) error { return ParseDollars(&s.MaxCost, v) },
	},
	{
		Name: "budget", value: "LIST", list: true,
		Help: "bounds for all runs of a conversation together, such as cost=2.50,time=1h (braid help options)",
		Set:  func(s *Settings, v string) (err error) { s.Budget, err = parseBudget(v); return err },
	},
	{
		Name: "sequential", Def: "false", Help: "run tools one after another instead of at once",
		Set: func(s *Settings, v string) error { return ParseSwitch(&s.Sequential, v) },
	},
	{
		Name: "context", value: "HOW", Def: "summary",
		Help: "what becomes of the oldest messages where a conversation grows too long for the model: summary, window, provider or none",
		Set: func(s *Settings, v string) (err error) {
			s.Context, err = ParseWord(v, "summary", "window", "provider", "none")
			return err
		},
	},
	{
		Name: "window", value: "N", Def: "40", Help: "most messages that the model is shown, with context window",
		Set: func(s *Settings, v string) error { return ParseCount(&s.Window, v) },
	},
	{
		Name: "context_tokens", value: "N", Def: "0", Help: "size of the model's context in tokens; 0 leaves it to what is known of the model",
		Set: func(s *Settings, v string) error { return ParseCount(&s.ContextTokens, v) },
	},
	{
		Name: "offload_over", value: "N", Def: "10000",
		Help: "bytes from which on the model is shown only the two ends of a tool's result, and reads the rest; 0 shows all",
		Set:  func(s *Settings, v string) error { return ParseCount(&s.OffloadOver, v) },
	},
	{
		Name: "tool_search", value: "N", Def: "20",
		Help: "with more tools than this the model looks for those that it needs (find_tools) and is shown no other; 0 shows all",
		Set:  func(s *Settings, v string) error { return ParseCount(&s.ToolSearch, v) },
	},
	{
		Name: "memory", value: "SIZE", Def: "512MiB",
		Help: "memory that braid serve plans with; it bounds request bodies, conversations at work and those kept ready",
		Set:  func(s *Settings, v string) error { return parseMemory(&s.Memory, v) },
	},
	{
		Name: "max_tokens", value: "N", Def: "0", Help: "most tokens in one answer of the model; 0 leaves it to the provider",
		Set: func(s *Settings, v string) error { return ParseCount(&s.MaxTokens, v) },
	},
	{
		Name: "temperature", value: "X", Help: "the model's temperature, 0 to 2; empty leaves it to the provider",
		Set: func(s *Settings, v string) error { return parseTemperature(&s.Temperature, v) },
	},
	{
		Name: "thinking_budget", value: "N", Def: "0", Help: "tokens that the model may think with; 0 leaves it to the provider",
		Set: func(s *Settings, v string) error { return ParseCount(&s.ThinkingBudget, v) },
	},
	{
		Name: "effort", value: "WORD",
		Help: "how hard the model tries: none, low, medium, high, max or the vendor's word; goes before thinking-budget; empty is its default",
		Set:  func(s *Settings, v string) error { return ParseEffort(&s.Effort, v) },
	},
	{
		Name: "show_thinking", Help: "ask the model for readable reasoning; on in braid chat unless --thinking=false",
		Set: func(s *Settings, v string) error { return ParseChoice(&s.ShowThinking, v) },
	},
	{
		Name: "top_p", value: "X", Help: "share of probability that the model draws from, above 0 and at most 1; empty leaves it to the provider",
		Set: func(s *Settings, v string) error { return ParseTopP(&s.TopP, v) },
	},
	{
		Name: "seed", value: "N", Help: "ask for the same answer to the same request, as far as the provider can; empty is none",
		Set: func(s *Settings, v string) error { return ParseSeed(&s.Seed, v) },
	},
	{
		Name: "verbosity", value: "WORD", Help: "how long answers are: low, medium or high; empty leaves it to the provider",
		Set: func(s *Settings, v string) (err error) {
			if s.Verbosity = ""; v != "" {
				s.Verbosity, err = ParseWord(v, "low", "medium", "high")
			}
			return err
		},
	},
	{
		Name: "service_tier", value: "WORD",
		Help: "the provider's word for how fast and at which price it answers, such as flex; empty is its default",
		Set:  func(s *Settings, v string) error { return ParseTier(&s.ServiceTier, v) },
	},
	{
		Name: "server_tool", value: "TOOL", list: true, lines: true,
		Help: "tool that the provider runs itself, such as web_search or \"web_search=max_uses=5\" (braid help models); may stand several times",
		Set:  func(s *Settings, v string) (err error) { s.ServerTools, err = ParseServerTools(v); return err },
	},
	{
		Name: "model_extra", value: "NAME=JSON", list: true, lines: true,
		Help: "member for the body of each request to the model that braid has no option for; may stand several times",
		Set:  func(s *Settings, v string) (err error) { s.Extra, err = parseExtra(v); return err },
	},
	{
		Name: "model_header", value: "NAME=VALUE", list: true, lines: true, Hidden: true,
		Help: "header field for each request to the model, no credentials; may stand several times",
		Set:  func(s *Settings, v string) (err error) { s.Headers, err = parseHeaders(v); return err },
	},
	{
		Name: "color", value: "WHEN", Def: "auto", Help: "colours: auto, always or never; NO_COLOR is honoured by auto",
		Set: func(s *Settings, v string) (err error) {
			s.Color, err = ParseWord(v, "auto", "always", "never")
			return err
		},
	},
	{
		Name: "thinking", Def: "true", Help: "show the model's thinking",
		Set: func(s *Settings, v string) error { return ParseSwitch(&s.Thinking, v) },
	},
	{
		Name: "trace", Def: "false", Help: "show each cycle: why it went on or ended, tokens, latency, time to first byte",
		Set: func(s *Settings, v string) error { return ParseSwitch(&s.Trace, v) },
	},
}

// OptionNames lists the options in one of their three spellings.
func OptionNames(spell func(*Option) string) []string {
	names := make([]string, len(Options))
	for i := range Options {
		names[i] = spell(&Options[i])
	}
	return names
}
