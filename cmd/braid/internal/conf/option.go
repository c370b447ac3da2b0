package conf

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/engine"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/sandbox"
	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/server/door"
	"github.com/braidrun/braid/service/directory"
)

// Option is one setting. Its name is max_cycles in the configuration file, --max-cycles on the command line
// and BRAID_MAX_CYCLES in the environment.
type Option struct {
	Name string
	// short is a one-letter flag, or empty.
	short string
	// value is the placeholder of the value in help; empty for a switch.
	value string
	// text begins a text that a switch takes, too, as in --switch=TEXT; empty is none.
	text string
	Help string
	// Def is the default value.
	Def string
	// list allows the flag several times. The values are joined by commas, or with lines by line feeds,
	// because they may contain commas.
	list, lines bool
	// Hidden keeps the value out of all output, because it may be a secret.
	Hidden bool
	// Set parses a value. Its error continues a sentence that begins with the value.
	Set func(*Settings, string) error
}

// Flag returns the option's name on the command line, without dashes.
func (o *Option) Flag() string { return strings.ReplaceAll(o.Name, "_", "-") }

// Env returns the option's name in the environment.
func (o *Option) Env() string { return EnvPrefix + strings.ToUpper(o.Name) }

// separator separates the values of a list.
func (o *Option) separator() string {
	if o.lines {
		return "\n"
	}
	return ","
}

// EnvPrefix begins the names of all environment variables of options.
const EnvPrefix = "BRAID_"

// Options is the single table of options for flags, environment, file, help, `braid config` and `braid
// doctor`.
var Options = []Option{
	{
		Name: "model", short: "m", value: "REF", Help: "model to use, such as demo:tour; empty looks for one (braid help models)",
		Set: func(s *Settings, v string) error { s.Model = strings.TrimSpace(v); return nil },
	},
	{
		Name: "fallback", value: "LIST", list: true,
		Help: "models to ask, in this order, after a failed call of the one before; repeatable",
		Set:  func(s *Settings, v string) error { s.Fallback = Words(v); return nil },
	},
	{
		Name: "fallback_on", value: "LIST", list: true, Def: "throttled,overloaded,unavailable",
		Help: "kinds of errors (braid help exit-codes) that switch to the next model at once",
		Set:  func(s *Settings, v string) (err error) { s.FallbackOn, err = parseKinds(v); return err },
	},
	{
		Name: "attempts", value: "N", Def: "6",
		Help: "attempts of one model call, counting the first, when the provider is throttling, overloaded or cuts the answer off",
		Set:  func(s *Settings, v string) error { return parsePositive(&s.Attempts, v) },
	},
	{
		Name: "prices", value: "FILE", Help: "table of prices that overrides the built-in one (braid help models); empty is none",
		Set: func(s *Settings, v string) error { s.Prices = v; return nil },
	},
	{
		Name: "vendors", value: "FILE", Help: "more servers that speak OpenAI's protocol, by name (braid help models); empty is none",
		Set: func(s *Settings, v string) error { s.Vendors = v; return nil },
	},
	{
		Name: "model_requests", value: "N", Def: "0", Help: "maximum of model calls per minute with one provider's key; 0 is no limit",
		Set: func(s *Settings, v string) error { return ParseCount(&s.Limits.Requests, v) },
	},
	{
		Name: "model_tokens", value: "N", Def: "0", Help: "maximum of tokens per minute with one provider's key; 0 is no limit",
		Set: func(s *Settings, v string) error { return ParseCount(&s.Limits.Tokens, v) },
	},
	{
		Name: "model_concurrency", value: "N", Def: "0", Help: "maximum of concurrent model calls with one provider's key; 0 is no limit",
		Set: func(s *Settings, v string) error { return ParseCount(&s.Limits.Concurrency, v) },
	},
	{
		Name: "instructions", value: "TEXT", Help: "the agent's system prompt",
		Set: func(s *Settings, v string) error { s.Instructions = v; return nil },
	},
	{
		Name: "tools", value: "LIST", Def: "auto",
		Help: "built-in tools: all, none, or some of calculator,clock,files; auto is all for a demo model, otherwise none",
		Set:  func(s *Settings, v string) (err error) { s.Tools, err = parseTools(v); return err },
	},
	{
		Name: "allow", value: "LIST", list: true,
		Help: "tools allowed without asking; the most specific pattern of --allow, --ask and --deny wins; repeatable",
		Set:  func(s *Settings, v string) error { return parsePatterns(&s.Permit.Allow, v) },
	},
	{
		Name: "ask", value: "LIST", list: true,
		Help: "tools that need your permission for each call, as names or patterns such as delete_* or weather___*; repeatable",
		Set:  func(s *Settings, v string) error { return parsePatterns(&s.Permit.Ask, v) },
	},
	{
		Name: "deny", value: "LIST", list: true, Help: "tools that never run; repeatable",
		Set: func(s *Settings, v string) error { return parsePatterns(&s.Permit.Deny, v) },
	},
	{
		Name: "scratch", value: "DIR", Help: "folder of the files tool; empty is the conversation's own folder",
		Set: func(s *Settings, v string) error { s.Scratch = v; return nil },
	},
	{
		Name: "mcp", value: "FILE", Help: "list of MCP servers, whose tools the agent gets, as {\"mcpServers\": …}; empty is none",
		Set: func(s *Settings, v string) error { s.MCP = v; return nil },
	},
	{
		Name: "openapi", value: "FILE|URL", list: true,
		Help: "OpenAPI document, whose operations the agent gets as tools; repeatable",
		Set:  func(s *Settings, v string) error { s.OpenAPI = Words(v); return nil },
	},
	{
		Name: "openapi_auth", value: "SCHEME=VARIABLE", list: true,
		Help: "environment variable with the credential for a security scheme: a key, a token, user:password or client:secret; repeatable",
		Set:  func(s *Settings, v string) (err error) { s.OpenAPIAuth, err = parseSchemes(v); return err },
	},
	{
		Name: "openapi_server", value: "URL", Help: "address of the API, instead of the servers that the OpenAPI document names",
		Set: func(s *Settings, v string) error { return parseAPIServer(&s.OpenAPIServer, v) },
	},
	{
		Name: "skills", value: "DIR", list: true,
		Help: "folder of skills for the agent, each a folder with a SKILL.md; repeatable; the first skill of a name is used",
		Set:  func(s *Settings, v string) error { s.Skills = Words(v); return nil },
	},
	{
		Name: "workspace", value: "DIR",
		Help: "folder whose files the agent may read and change, with the tools read, write, edit, list, glob and grep; empty is none",
		Set:  func(s *Settings, v string) error { s.Workspace = v; return nil },
	},
	{
		Name: "workspaces", Def: "false", text: "s3:",
		Help: "give each conversation of a server files of its own, which its users upload and its agent reads and changes; " +
			"--workspaces=s3://BUCKET/PREFIX keeps them in a bucket",
		Set: func(s *Settings, v string) error {
			if strings.HasPrefix(v, "s3:") {
				s.Workspaces, s.WorkspaceBucket = true, v
				return nil
			}
			s.WorkspaceBucket = ""
			return ParseSwitch(&s.Workspaces, v)
		},
	},
	{
		Name: "shell", Def: "false",
		Help: "let the agent run commands in a sandbox on the files of its workspace; a user is asked before each unless --allow names shell",
		Set:  func(s *Settings, v string) error { return ParseSwitch(&s.Shell, v) },
	},
	{
		Name: "shell_level", value: "LEVEL", Def: sandbox.Full.String(),
		Help: "weakest sandbox in which commands run: full, or namespaces where the kernel has no Landlock",
		Set:  func(s *Settings, v string) error { return parseLevel(&s.ShellLevel, v) },
	},
	{
		Name: "shell_time", value: "TIME", Def: sandbox.DefaultTime.String(), Help: "maximum time of one command",
		Set: func(s *Settings, v string) error { return parseTime(&s.ShellTime, v) },
	},
	{
		Name: "shell_memory", value: "SIZE", Def: "2GiB", Help: "maximum memory of one command with all its processes",
		Set: func(s *Settings, v string) error { return parseMemory(&s.ShellMemory, v) },
	},
	{
		Name: "data", value: "DIR", Help: "folder for conversations; empty is your data folder (see braid config)",
		Set: func(s *Settings, v string) error { s.Data = v; return nil },
	},
	{
		Name: "ephemeral", Def: "false", Help: "keep nothing: the conversation is gone when the program ends",
		Set: func(s *Settings, v string) error { return ParseSwitch(&s.Ephemeral, v) },
	},
	{
		Name: "running", value: "N", Def: strconv.Itoa(engine.DefaultRunning), Help: "maximum of concurrent runs on a server; others are queued",
		Set: func(s *Settings, v string) error { return parsePositive(&s.Running, v) },
	},
	{
		Name: "tenant_running", value: "N", Def: strconv.Itoa(engine.DefaultTenantRunning),
		Help: "maximum of concurrent runs of one tenant on a server",
		Set:  func(s *Settings, v string) error { return parsePositive(&s.TenantRunning, v) },
	},
	{
		Name: "queued", value: "N", Def: strconv.Itoa(engine.DefaultBacklog), Help: "maximum of queued runs on a server; more are refused",
		Set: func(s *Settings, v string) error { return parsePositive(&s.Queued, v) },
	},
	{
		Name: "tenant_queued", value: "N", Def: strconv.Itoa(engine.DefaultTenantBacklog),
		Help: "maximum of queued runs of one tenant on a server",
		Set:  func(s *Settings, v string) error { return parsePositive(&s.TenantQueued, v) },
	},
	{
		Name: "tenant_requests", value: "N", Def: strconv.Itoa(directory.DefaultRequests),
		Help: "maximum of requests of one tenant per minute, on each server; 0 is no limit",
		Set:  func(s *Settings, v string) error { return ParseCount(&s.TenantRequests, v) },
	},
	{
		Name: "tenant_conversations", value: "N", Def: strconv.Itoa(directory.DefaultConversations),
		Help: "maximum of conversations of one tenant; 0 is no limit",
		Set:  func(s *Settings, v string) error { return ParseCount(&s.TenantConversations, v) },
	},
	{
		Name: "tenant_agents", value: "N", Def: strconv.Itoa(directory.DefaultAgents), Help: "maximum of agents of one tenant; 0 is no limit",
		Set: func(s *Settings, v string) error { return ParseCount(&s.TenantAgents, v) },
	},
	{
		Name: "tenant_storage", value: "SIZE", Def: "10GiB",
		Help: "maximum size of all conversations of one tenant; 0 is no limit",
		Set:  func(s *Settings, v string) error { return ParseStorage(&s.TenantStorage, v) },
	},
	{
		Name: "lease", value: "TIME", Def: journal.DefaultTerm.String(),
		Help: "time after which other servers take over the runs of a dead server, from 3s to 10m; with PostgreSQL",
		Set:  parseLease,
	},
	{
		Name: "metric_tenants", value: "N", Def: strconv.Itoa(server.DefaultMetricTenants),
		Help: "maximum of tenants with their own metrics; the others share the label (other)",
		Set:  func(s *Settings, v string) error { return ParseCount(&s.MetricTenants, v) },
	},
	{
		Name: "tenant_tokens", value: "N", Def: strconv.Itoa(directory.DefaultTokens),
		Help: "maximum of input and output tokens of one tenant per day (UTC); 0 is no limit",
		Set:  func(s *Settings, v string) error { return ParseCount(&s.TenantTokens, v) },
	},
	{
		Name: "tenant_cost", value: "USD", Def: strconv.Itoa(directory.DefaultCost),
		Help: "maximum cost of one tenant's model calls per day (UTC), for models with a known price; 0 is no limit",
		Set:  func(s *Settings, v string) error { return ParseDollars(&s.TenantCost, v) },
	},
	{
		Name: "wrong_credentials", value: "N", Def: strconv.Itoa(door.DefaultAttempts),
		Help: "maximum of wrong credentials from one address per minute; 0 is no limit",
		Set:  func(s *Settings, v string) error { return ParseCount(&s.WrongCredentials, v) },
	},
	{
		Name: "trusted_proxies", value: "LIST", Help: "addresses and networks of trusted proxies, which set X-Forwarded-For, such as 10.0.0.0/8",
		Set: parseProxies,
	},
	{
		Name: "lost_drivers", value: "N", Def: "3",
		Help: "number of crashed processes after which a run without progress fails; 0 is no limit",
		Set:  func(s *Settings, v string) error { return ParseCount(&s.LostDrivers, v) },
	},
	{
		Name: "failed_runs", value: "HOW", Def: "forget",
		Help: "whether later runs of a conversation see the messages of a failed run: keep or forget; a tenant's own choice wins",
		Set: func(s *Settings, v string) (err error) {
			s.FailedRuns, err = ParseWord(v, "keep", "forget")
			return err
		},
	},
	{
		Name: "refused_every", value: "TIME", Def: "5m", Help: "interval at which a server writes refused requests into the audit",
		Set: func(s *Settings, v string) (err error) {
			if s.RefusedEvery, err = ParseTime(v); err == nil && s.RefusedEvery < time.Second {
				err = errors.New("is too often: use 1s or more")
			}
			return err
		},
	},
	{
		Name: "timeout", value: "TIME", Def: "0", Help: "maximum time of one run, such as 90s or 5m; 0 is no limit",
		Set: func(s *Settings, v string) (err error) { s.Timeout, err = ParseTime(v); return err },
	},
	{
		Name: "max_cycles", value: "N", Def: "0", Help: "maximum of model calls in one run; 0 leaves the library's limit",
		Set: func(s *Settings, v string) error { return ParseCount(&s.MaxCycles, v) },
	},
	{
		Name: "max_tool_calls", value: "N", Def: "0", Help: "maximum of tool calls in one run; 0 leaves the library's limit",
		Set: func(s *Settings, v string) error { return ParseCount(&s.MaxToolCalls, v) },
	},
	{
		Name: "max_total_tokens", value: "N", Def: "0", Help: "maximum of tokens in one run; 0 is no limit",
		Set: func(s *Settings, v string) error { return ParseCount(&s.MaxTotalTokens, v) },
	},
	{
		Name: "max_input_tokens", value: "N", Def: "0", Help: "maximum of input tokens in one run, including cached ones; 0 is no limit",
		Set: func(s *Settings, v string) error { return ParseCount(&s.MaxInput, v) },
	},
	{
		Name: "max_output_tokens", value: "N", Def: "0", Help: "maximum of output tokens in one run; 0 is no limit",
		Set: func(s *Settings, v string) error { return ParseCount(&s.MaxOutput, v) },
	},
	{
		Name: "max_cost", value: "USD", Def: "0", Help: "maximum cost of one run, such as 0.50, for models with a known price; 0 is no limit",
		Set: func(s *Settings, v string) error { return ParseDollars(&s.MaxCost, v) },
	},
	{
		Name: "budget", value: "LIST", list: true,
		Help: "limits for all runs of a conversation together, such as cost=2.50,time=1h (braid help options)",
		Set:  func(s *Settings, v string) (err error) { s.Budget, err = parseBudget(v); return err },
	},
	{
		Name: "sequential", Def: "false", Help: "run tools one after another instead of at once",
		Set: func(s *Settings, v string) error { return ParseSwitch(&s.Sequential, v) },
	},
	{
		Name: "context", value: "HOW", Def: "summary",
		Help: "how a conversation that is too long for the model is shortened: summary, window, provider or none",
		Set: func(s *Settings, v string) (err error) {
			s.Context, err = ParseWord(v, "summary", "window", "provider", "none")
			return err
		},
	},
	{
		Name: "window", value: "N", Def: "40", Help: "maximum of messages in a request, with context window",
		Set: func(s *Settings, v string) error { return ParseCount(&s.Window, v) },
	},
	{
		Name: "context_tokens", value: "N", Def: "0", Help: "size of the model's context in tokens; 0 uses the known size of the model",
		Set: func(s *Settings, v string) error { return ParseCount(&s.ContextTokens, v) },
	},
	{
		Name: "offload_over", value: "N", Def: "10000",
		Help: "size in bytes above which the model gets only both ends of a tool's result, and a tool to read the rest; 0 is no limit",
		Set:  func(s *Settings, v string) error { return ParseCount(&s.OffloadOver, v) },
	},
	{
		Name: "tool_search", value: "N", Def: "20",
		Help: "number of tools above which the model searches for tools (find_tools) instead of getting all of them; 0 is no limit",
		Set:  func(s *Settings, v string) error { return ParseCount(&s.ToolSearch, v) },
	},
	{
		Name: "memory", value: "SIZE", Def: "512MiB",
		Help: "memory that braid serve plans with; it limits request bodies and loaded conversations",
		Set:  func(s *Settings, v string) error { return parseMemory(&s.Memory, v) },
	},
	{
		Name: "max_tokens", value: "N", Def: "0", Help: "maximum of tokens in one answer of the model; 0 leaves it to the provider",
		Set: func(s *Settings, v string) error { return ParseCount(&s.MaxTokens, v) },
	},
	{
		Name: "temperature", value: "X", Help: "the model's temperature, 0 to 2; empty leaves it to the provider",
		Set: func(s *Settings, v string) error { return parseTemperature(&s.Temperature, v) },
	},
	{
		Name: "thinking_budget", value: "N", Def: "0", Help: "maximum of tokens for the model's thinking; 0 leaves it to the provider",
		Set: func(s *Settings, v string) error { return ParseCount(&s.ThinkingBudget, v) },
	},
	{
		Name: "effort", value: "WORD",
		Help: "reasoning effort: none, low, medium, high, max or the vendor's word; overrides thinking-budget; empty is the model's default",
		Set:  func(s *Settings, v string) error { return ParseEffort(&s.Effort, v) },
	},
	{
		Name: "show_thinking", Help: "request readable reasoning from the model; on in braid chat unless --thinking=false",
		Set: func(s *Settings, v string) error { return ParseChoice(&s.ShowThinking, v) },
	},
	{
		Name: "top_p", value: "X", Help: "nucleus sampling (top p), above 0 and at most 1; empty leaves it to the provider",
		Set: func(s *Settings, v string) error { return ParseTopP(&s.TopP, v) },
	},
	{
		Name: "seed", value: "N", Help: "seed for repeatable answers, as far as the provider supports it; empty is none",
		Set: func(s *Settings, v string) error { return ParseSeed(&s.Seed, v) },
	},
	{
		Name: "verbosity", value: "WORD", Help: "length of answers: low, medium or high; empty leaves it to the provider",
		Set: func(s *Settings, v string) (err error) {
			if s.Verbosity = ""; v != "" {
				s.Verbosity, err = ParseWord(v, "low", "medium", "high")
			}
			return err
		},
	},
	{
		Name: "service_tier", value: "WORD",
		Help: "the provider's service tier, such as flex; empty is its default",
		Set:  func(s *Settings, v string) error { return ParseTier(&s.ServiceTier, v) },
	},
	{
		Name: "server_tool", value: "TOOL", list: true, lines: true,
		Help: "tool that the provider runs itself, such as web_search or \"web_search=max_uses=5\" (braid help models); repeatable",
		Set:  func(s *Settings, v string) (err error) { s.ServerTools, err = ParseServerTools(v); return err },
	},
	{
		Name: "model_extra", value: "NAME=JSON", list: true, lines: true,
		Help: "additional member of each request's body, for settings without an option; repeatable",
		Set:  func(s *Settings, v string) (err error) { s.Extra, err = parseExtra(v); return err },
	},
	{
		Name: "model_header", value: "NAME=VALUE", list: true, lines: true, Hidden: true,
		Help: "header field of each request to the model, not for credentials; repeatable",
		Set:  func(s *Settings, v string) (err error) { s.Headers, err = parseHeaders(v); return err },
	},
	{
		Name: "color", value: "WHEN", Def: "auto", Help: "colours: auto, always or never; auto respects NO_COLOR",
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
		Name: "trace", Def: "false", Help: "show each cycle: the reason it continued or ended, tokens, latency, time to first byte",
		Set: func(s *Settings, v string) error { return ParseSwitch(&s.Trace, v) },
	},
}

// OptionNames returns the names of all options in one of their three spellings.
func OptionNames(spell func(*Option) string) []string {
	names := make([]string, len(Options))
	for i := range Options {
		names[i] = spell(&Options[i])
	}
	return names
}
