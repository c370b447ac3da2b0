package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/engine"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/models"
	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/server/door"
	"github.com/braidrun/braid/service/directory"
)

// settings is the configuration in force: what the options below set.
type settings struct {
	Model      string
	Fallback   []string
	FallbackOn []event.ErrorKind
	Prices     string
	// Catalogue is the file that braid models --refresh writes. It is no option.
	Catalogue    string
	Vendors      string
	Limits       models.Limits
	Instructions string
	Tools        string
	Scratch      string
	MCP          string
	Skills       []string
	Permit       braid.Permissions

	Data      string
	Ephemeral bool

	Running       int
	TenantRunning int
	Queued        int
	TenantQueued  int
	LostDrivers   int
	FailedRuns    string
	RefusedEvery  time.Duration
	MetricTenants int
	Lease         time.Duration

	WrongCredentials int
	TrustedProxies   []netip.Prefix

	TenantRequests      int64
	TenantConversations int64
	TenantAgents        int64
	TenantStorage       int64
	TenantTokens        int64
	TenantCost          int64

	Timeout        time.Duration
	MaxCycles      int
	MaxToolCalls   int
	MaxTotalTokens int64
	MaxInput       int64
	MaxOutput      int64
	MaxCost        int64
	Budget         braid.Budget
	Sequential     bool

	Context       string
	Window        int
	ContextTokens int
	OffloadOver   int
	ToolSearch    int
	// Schema is that of the answers, from a flag and no option; nil is none.
	Schema json.RawMessage

	// Memory is the memory that a server plans with, in bytes.
	Memory int64

	// Attempts is how often one model call is made; 0 is the library's default.
	Attempts int

	MaxTokens      int
	Temperature    *float64
	TopP           *float64
	Seed           *int64
	Effort         model.Effort
	ThinkingBudget int
	// ShowThinking asks the model for readable reasoning; nil leaves it to the command.
	ShowThinking *bool
	Verbosity    string
	ServiceTier  string
	ServerTools  []serverTool
	Extra        map[string]json.RawMessage
	Headers      map[string]string

	Color    string
	Thinking bool
	Trace    bool
}

// option is one setting. Its name is max_cycles in the configuration file,
// --max-cycles on the command line and BRAID_MAX_CYCLES in the environment.
type option struct {
	name string
	// short is a one-letter flag; it may be empty.
	short string
	// value is the placeholder of the value in help; empty for a switch.
	value string
	help  string
	// def is the value where nobody says anything.
	def string
	// list is set where the flag may stand several times. The values are joined by commas,
	// or with lines by line feeds, because commas stand in them.
	list, lines bool
	// hidden is set for values that are not shown: they may hold secrets.
	hidden bool
	// set parses a value. Its error ends the sentence that begins with the value.
	set func(*settings, string) error
}

func (o *option) flag() string { return strings.ReplaceAll(o.name, "_", "-") }
func (o *option) env() string  { return envPrefix + strings.ToUpper(o.name) }

// separator stands between the values of a list.
func (o *option) separator() string {
	if o.lines {
		return "\n"
	}
	return ","
}

// envPrefix begins the name of every environment variable that is an option.
const envPrefix = "BRAID_"

// options is the one list that flags, environment, file, help, `braid config`
// and `braid doctor` go by.
var options = []option{
	{
		name: "model", short: "m", value: "REF", help: "model to use, such as demo:tour; empty looks for one (braid help models)",
		set: func(s *settings, v string) error { s.Model = strings.TrimSpace(v); return nil },
	},
	{
		name: "fallback", value: "LIST", list: true,
		help: "models to ask in this order where a call of the one before fails; may stand several times",
		set:  func(s *settings, v string) error { s.Fallback = words(v); return nil },
	},
	{
		name: "fallback_on", value: "LIST", list: true, def: "throttled,overloaded,unavailable",
		help: "kinds of errors (braid help exit-codes) on which the next model is asked at once",
		set:  func(s *settings, v string) (err error) { s.FallbackOn, err = parseKinds(v); return err },
	},
	{
		name: "attempts", value: "N", def: "6",
		help: "how often one model call is made in all, when the provider is throttling, overloaded or cuts the answer off",
		set:  func(s *settings, v string) error { return parsePositive(&s.Attempts, v) },
	},
	{
		name: "prices", value: "FILE", help: "table of prices that goes before the built-in one (braid help models); empty is none",
		set: func(s *settings, v string) error { s.Prices = v; return nil },
	},
	{
		name: "vendors", value: "FILE", help: "more servers that speak OpenAI's protocol, by name (braid help models); empty is none",
		set: func(s *settings, v string) error { s.Vendors = v; return nil },
	},
	{
		name: "model_requests", value: "N", def: "0", help: "most model calls a minute with one provider's key; 0 is no limit",
		set: func(s *settings, v string) error { return parseCount(&s.Limits.Requests, v) },
	},
	{
		name: "model_tokens", value: "N", def: "0", help: "most tokens a minute with one provider's key; 0 is no limit",
		set: func(s *settings, v string) error { return parseCount(&s.Limits.Tokens, v) },
	},
	{
		name: "model_concurrency", value: "N", def: "0", help: "most model calls at once with one provider's key; 0 is no limit",
		set: func(s *settings, v string) error { return parseCount(&s.Limits.Concurrency, v) },
	},
	{
		name: "instructions", value: "TEXT", help: "what the agent is told to be (its system prompt)",
		set: func(s *settings, v string) error { s.Instructions = v; return nil },
	},
	{
		name: "tools", value: "LIST", def: "auto",
		help: "built-in tools: all, none, or some of calculator,clock,files; auto is all for a demo model, otherwise none",
		set:  func(s *settings, v string) (err error) { s.Tools, err = parseTools(v); return err },
	},
	{
		name: "allow", value: "LIST", list: true,
		help: "tools that run without being asked for, where ask or deny fits them less closely; may stand several times",
		set:  func(s *settings, v string) error { return parsePatterns(&s.Permit.Allow, v) },
	},
	{
		name: "ask", value: "LIST", list: true,
		help: "tools, by names or patterns such as delete_* or weather___*, that run only when you say yes; may stand several times",
		set:  func(s *settings, v string) error { return parsePatterns(&s.Permit.Ask, v) },
	},
	{
		name: "deny", value: "LIST", list: true, help: "tools that never run; may stand several times",
		set: func(s *settings, v string) error { return parsePatterns(&s.Permit.Deny, v) },
	},
	{
		name: "scratch", value: "DIR", help: "folder that the files tool works in; empty is one of the conversation's own",
		set: func(s *settings, v string) error { s.Scratch = v; return nil },
	},
	{
		name: "mcp", value: "FILE", help: "list of MCP servers whose tools the agent gets, as {\"mcpServers\": …}; empty is none",
		set: func(s *settings, v string) error { s.MCP = v; return nil },
	},
	{
		name: "skills", value: "DIR", list: true,
		help: "folder of skills, each a folder with a SKILL.md, that the agent may load; may stand several times; the first of a name counts",
		set:  func(s *settings, v string) error { s.Skills = words(v); return nil },
	},
	{
		name: "data", value: "DIR", help: "folder that conversations are kept in; empty is your data folder (see braid config)",
		set: func(s *settings, v string) error { s.Data = v; return nil },
	},
	{
		name: "ephemeral", def: "false", help: "keep nothing: the conversation is gone when the program ends",
		set: func(s *settings, v string) error { return parseSwitch(&s.Ephemeral, v) },
	},
	{
		name: "running", value: "N", def: strconv.Itoa(engine.DefaultRunning), help: "most runs that a server drives at once; others are queued",
		set: func(s *settings, v string) error { return parsePositive(&s.Running, v) },
	},
	{
		name: "tenant_running", value: "N", def: strconv.Itoa(engine.DefaultTenantRunning),
		help: "most runs of one tenant that a server drives at once",
		set:  func(s *settings, v string) error { return parsePositive(&s.TenantRunning, v) },
	},
	{
		name: "queued", value: "N", def: strconv.Itoa(engine.DefaultBacklog), help: "most runs that are queued on a server; more are refused",
		set: func(s *settings, v string) error { return parsePositive(&s.Queued, v) },
	},
	{
		name: "tenant_queued", value: "N", def: strconv.Itoa(engine.DefaultTenantBacklog),
		help: "most runs of one tenant that are queued on a server",
		set:  func(s *settings, v string) error { return parsePositive(&s.TenantQueued, v) },
	},
	{
		name: "tenant_requests", value: "N", def: strconv.Itoa(directory.DefaultRequests),
		help: "most requests of one tenant in a minute, on each server; 0 is no limit",
		set:  func(s *settings, v string) error { return parseCount(&s.TenantRequests, v) },
	},
	{
		name: "tenant_conversations", value: "N", def: strconv.Itoa(directory.DefaultConversations),
		help: "most conversations that one tenant keeps; 0 is no limit",
		set:  func(s *settings, v string) error { return parseCount(&s.TenantConversations, v) },
	},
	{
		name: "tenant_agents", value: "N", def: strconv.Itoa(directory.DefaultAgents), help: "most agents of one tenant; 0 is no limit",
		set: func(s *settings, v string) error { return parseCount(&s.TenantAgents, v) },
	},
	{
		name: "tenant_storage", value: "SIZE", def: "10GiB",
		help: "most bytes that the conversations of one tenant take; 0 is no limit",
		set:  func(s *settings, v string) error { return parseStorage(&s.TenantStorage, v) },
	},
	{
		name: "lease", value: "TIME", def: journal.DefaultTerm.String(),
		help: "time after which other servers take the runs of one that died, from 3s to 10m; with PostgreSQL",
		set:  parseLease,
	},
	{
		name: "metric_tenants", value: "N", def: strconv.Itoa(server.DefaultMetricTenants),
		help: "most tenants with metrics of their own; the others share the label (other)",
		set:  func(s *settings, v string) error { return parseCount(&s.MetricTenants, v) },
	},
	{
		name: "tenant_tokens", value: "N", def: strconv.Itoa(directory.DefaultTokens),
		help: "most tokens that the models of one tenant read and write in a day (UTC); 0 is no limit",
		set:  func(s *settings, v string) error { return parseCount(&s.TenantTokens, v) },
	},
	{
		name: "tenant_cost", value: "USD", def: strconv.Itoa(directory.DefaultCost),
		help: "most that the model calls of one tenant cost in a day (UTC), where prices are known; 0 is no limit",
		set:  func(s *settings, v string) error { return parseDollars(&s.TenantCost, v) },
	},
	{
		name: "wrong_credentials", value: "N", def: strconv.Itoa(door.DefaultAttempts),
		help: "most wrong credentials that one address may show in a minute; 0 is no limit",
		set:  func(s *settings, v string) error { return parseCount(&s.WrongCredentials, v) },
	},
	{
		name: "trusted_proxies", value: "LIST", help: "addresses and networks of proxies whose X-Forwarded-For is believed, such as 10.0.0.0/8",
		set: parseProxies,
	},
	{
		name: "lost_drivers", value: "N", def: "3",
		help: "a run that gets nowhere is ended as failed once the processes that drove it have died so often; 0 never ends it",
		set:  func(s *settings, v string) error { return parseCount(&s.LostDrivers, v) },
	},
	{
		name: "failed_runs", value: "HOW", def: "forget",
		help: "what later runs of a conversation see of a run that failed, where its tenant has not chosen: keep or forget its messages",
		set: func(s *settings, v string) (err error) {
			s.FailedRuns, err = parseWord(v, "keep", "forget")
			return err
		},
	},
	{
		name: "refused_every", value: "TIME", def: "5m", help: "how often a server writes into the audit what it has refused",
		set: func(s *settings, v string) (err error) {
			if s.RefusedEvery, err = parseTime(v); err == nil && s.RefusedEvery < time.Second {
				err = errors.New("is too often: use 1s or more")
			}
			return err
		},
	},
	{
		name: "timeout", value: "TIME", def: "0", help: "longest time for one run, such as 90s or 5m; 0 is no limit",
		set: func(s *settings, v string) (err error) { s.Timeout, err = parseTime(v); return err },
	},
	{
		name: "max_cycles", value: "N", def: "0", help: "most model calls in one run; 0 leaves the library's limit",
		set: func(s *settings, v string) error { return parseCount(&s.MaxCycles, v) },
	},
	{
		name: "max_tool_calls", value: "N", def: "0", help: "most tool calls in one run; 0 leaves the library's limit",
		set: func(s *settings, v string) error { return parseCount(&s.MaxToolCalls, v) },
	},
	{
		name: "max_total_tokens", value: "N", def: "0", help: "most tokens in one run; 0 is no limit",
		set: func(s *settings, v string) error { return parseCount(&s.MaxTotalTokens, v) },
	},
	{
		name: "max_input_tokens", value: "N", def: "0", help: "most tokens that the model reads in one run, cached ones counted; 0 is no limit",
		set: func(s *settings, v string) error { return parseCount(&s.MaxInput, v) },
	},
	{
		name: "max_output_tokens", value: "N", def: "0", help: "most tokens that the model writes in one run; 0 is no limit",
		set: func(s *settings, v string) error { return parseCount(&s.MaxOutput, v) },
	},
	{
		name: "max_cost", value: "USD", def: "0", help: "most that one run may cost, such as 0.50, for models with a known price; 0 is no limit",
		set: func(s *settings, v string) error { return parseDollars(&s.MaxCost, v) },
	},
	{
		name: "budget", value: "LIST", list: true,
		help: "bounds for all runs of a conversation together, such as cost=2.50,time=1h (braid help options)",
		set:  func(s *settings, v string) (err error) { s.Budget, err = parseBudget(v); return err },
	},
	{
		name: "sequential", def: "false", help: "run tools one after another instead of at once",
		set: func(s *settings, v string) error { return parseSwitch(&s.Sequential, v) },
	},
	{
		name: "context", value: "HOW", def: "summary",
		help: "what becomes of the oldest messages where a conversation grows too long for the model: summary, window, provider or none",
		set: func(s *settings, v string) (err error) {
			s.Context, err = parseWord(v, "summary", "window", "provider", "none")
			return err
		},
	},
	{
		name: "window", value: "N", def: "40", help: "most messages that the model is shown, with context window",
		set: func(s *settings, v string) error { return parseCount(&s.Window, v) },
	},
	{
		name: "context_tokens", value: "N", def: "0", help: "size of the model's context in tokens; 0 leaves it to what is known of the model",
		set: func(s *settings, v string) error { return parseCount(&s.ContextTokens, v) },
	},
	{
		name: "offload_over", value: "N", def: "10000",
		help: "bytes from which on the model is shown only the two ends of a tool's result, and reads the rest; 0 shows all",
		set:  func(s *settings, v string) error { return parseCount(&s.OffloadOver, v) },
	},
	{
		name: "tool_search", value: "N", def: "20",
		help: "with more tools than this the model looks for those that it needs (find_tools) and is shown no other; 0 shows all",
		set:  func(s *settings, v string) error { return parseCount(&s.ToolSearch, v) },
	},
	{
		name: "memory", value: "SIZE", def: "512MiB",
		help: "memory that braid serve plans with; it bounds request bodies, conversations at work and those kept ready",
		set:  func(s *settings, v string) error { return parseMemory(&s.Memory, v) },
	},
	{
		name: "max_tokens", value: "N", def: "0", help: "most tokens in one answer of the model; 0 leaves it to the provider",
		set: func(s *settings, v string) error { return parseCount(&s.MaxTokens, v) },
	},
	{
		name: "temperature", value: "X", help: "the model's temperature, 0 to 2; empty leaves it to the provider",
		set: func(s *settings, v string) error { return parseTemperature(&s.Temperature, v) },
	},
	{
		name: "thinking_budget", value: "N", def: "0", help: "tokens that the model may think with; 0 leaves it to the provider",
		set: func(s *settings, v string) error { return parseCount(&s.ThinkingBudget, v) },
	},
	{
		name: "effort", value: "WORD",
		help: "how hard the model tries: none, low, medium, high, max or the vendor's word; goes before thinking-budget; empty is its default",
		set:  func(s *settings, v string) error { return parseEffort(&s.Effort, v) },
	},
	{
		name: "show_thinking", help: "ask the model for readable reasoning; on in braid chat unless --thinking=false",
		set: func(s *settings, v string) error { return parseChoice(&s.ShowThinking, v) },
	},
	{
		name: "top_p", value: "X", help: "share of probability that the model draws from, above 0 and at most 1; empty leaves it to the provider",
		set: func(s *settings, v string) error { return parseTopP(&s.TopP, v) },
	},
	{
		name: "seed", value: "N", help: "ask for the same answer to the same request, as far as the provider can; empty is none",
		set: func(s *settings, v string) error { return parseSeed(&s.Seed, v) },
	},
	{
		name: "verbosity", value: "WORD", help: "how long answers are: low, medium or high; empty leaves it to the provider",
		set: func(s *settings, v string) (err error) {
			if s.Verbosity = ""; v != "" {
				s.Verbosity, err = parseWord(v, "low", "medium", "high")
			}
			return err
		},
	},
	{
		name: "service_tier", value: "WORD",
		help: "the provider's word for how fast and at which price it answers, such as flex; empty is its default",
		set:  func(s *settings, v string) error { return parseTier(&s.ServiceTier, v) },
	},
	{
		name: "server_tool", value: "TOOL", list: true, lines: true,
		help: "tool that the provider runs itself, such as web_search or \"web_search=max_uses=5\" (braid help models); may stand several times",
		set:  func(s *settings, v string) (err error) { s.ServerTools, err = parseServerTools(v); return err },
	},
	{
		name: "model_extra", value: "NAME=JSON", list: true, lines: true,
		help: "member for the body of each request to the model that braid has no option for; may stand several times",
		set:  func(s *settings, v string) (err error) { s.Extra, err = parseExtra(v); return err },
	},
	{
		name: "model_header", value: "NAME=VALUE", list: true, lines: true, hidden: true,
		help: "header field for each request to the model, no credentials; may stand several times",
		set:  func(s *settings, v string) (err error) { s.Headers, err = parseHeaders(v); return err },
	},
	{
		name: "color", value: "WHEN", def: "auto", help: "colours: auto, always or never; NO_COLOR is honoured by auto",
		set: func(s *settings, v string) (err error) {
			s.Color, err = parseWord(v, "auto", "always", "never")
			return err
		},
	},
	{
		name: "thinking", def: "true", help: "show the model's thinking",
		set: func(s *settings, v string) error { return parseSwitch(&s.Thinking, v) },
	},
	{
		name: "trace", def: "false", help: "show each cycle: why it went on or ended, tokens, latency, time to first byte",
		set: func(s *settings, v string) error { return parseSwitch(&s.Trace, v) },
	},
}

// optionNames lists the options in one of their three spellings.
func optionNames(spell func(*option) string) []string {
	names := make([]string, len(options))
	for i := range options {
		names[i] = spell(&options[i])
	}
	return names
}

// toolNames are the tools that come with the command.
var toolNames = []string{"calculator", "clock", "files"}

// parseTools gives "auto", "none" or a list of names joined by commas.
func parseTools(v string) (string, error) {
	switch v = strings.ToLower(strings.TrimSpace(v)); v {
	case "", "auto":
		return "auto", nil
	case "none":
		return v, nil
	case "all":
		return strings.Join(toolNames, ","), nil
	}
	var names []string
	for name := range strings.SplitSeq(v, ",") {
		name = strings.TrimSpace(name)
		if !slices.Contains(toolNames, name) {
			return "", errors.New("is not a list of tools: " +
				didYouMean(name, toolNames, "", "use auto, all, none or some of "+strings.Join(toolNames, ",")))
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ","), nil
}

// parsePatterns reads patterns of tools' names.
func parsePatterns(to *[]string, v string) error {
	list := words(v)
	if err := (braid.Permissions{Allow: list}).Check(); err != nil {
		return errors.New("is not a list of tools: use their names, with * for any letters, as in get_*,delete_file")
	}
	*to = list
	return nil
}

// parseKinds reads kinds of errors by their names.
func parseKinds(v string) ([]event.ErrorKind, error) {
	var names []string
	for _, k := range event.Kinds() {
		names = append(names, string(k.Kind))
	}
	var kinds []event.ErrorKind
	for _, name := range words(strings.ToLower(v)) {
		if !slices.Contains(names, name) {
			return nil, errors.New("is not a list of kinds of errors: " + didYouMean(name, names, "", "braid help exit-codes lists them"))
		}
		if kind := event.ErrorKind(name); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds, nil
}

func parseTime(v string) (time.Duration, error) {
	if v == "0" {
		return 0, nil
	}
	d, err := time.ParseDuration(v)
	if err != nil || d < 0 {
		return 0, errors.New("is no time such as 90s or 5m")
	}
	return d, nil
}

// parseLease reads how long leases last. Shorter ones end while a slow database answers, longer ones leave runs lying.
func parseLease(s *settings, v string) error {
	const least, most = 3 * time.Second, 10 * time.Minute
	d, err := time.ParseDuration(v)
	if err != nil || d < least || d > most {
		return errors.New("is no time from 3s to 10m")
	}
	s.Lease = d
	return nil
}

// parseProxies reads addresses and networks.
func parseProxies(s *settings, v string) error {
	s.TrustedProxies = nil
	for _, word := range words(v) {
		network, err := netip.ParsePrefix(word)
		if err != nil {
			addr, wrong := netip.ParseAddr(word)
			if wrong != nil || addr.Zone() != "" {
				return fmt.Errorf("%q is no address and no network: write 192.0.2.7 or 10.0.0.0/8", fit(word, 60))
			}
			network = netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen())
		}
		s.TrustedProxies = append(s.TrustedProxies, network.Masked())
	}
	return nil
}

func parseCount[N int | int64](n *N, v string) error {
	i, err := strconv.ParseInt(v, 10, 64)
	if err != nil || i < 0 || int64(N(i)) != i {
		return errors.New("is no count: use a whole number from 0")
	}
	*n = N(i)
	return nil
}

func parsePositive(n *int, v string) error {
	if err := parseCount(n, v); err != nil || *n == 0 {
		return errors.New("is no count: use a whole number from 1")
	}
	return nil
}

// leastMemory is the least that a server can plan with: below it hardly a request would fit.
const leastMemory = 32 << 20

// parseMemory reads a number of bytes of at least [leastMemory].
func parseMemory(to *int64, v string) error {
	n, ok := parseSize(v)
	if !ok || n < leastMemory {
		return errors.New("is not a size of at least 32MiB: use a whole number with KiB, MiB or GiB")
	}
	*to = n
	return nil
}

// parseStorage reads a number of bytes, which may be 0.
func parseStorage(to *int64, v string) error {
	n, ok := parseSize(v)
	if !ok {
		return errors.New("is not a size: use a whole number with KiB, MiB or GiB")
	}
	*to = n
	return nil
}

// parseSize reads a size such as 512MiB; 1 KB is 1000 bytes.
func parseSize(v string) (n int64, ok bool) {
	digits := strings.TrimRight(v, "BGKMTibgkmt ")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 {
		return 0, false
	}
	units := map[string]int64{
		"": 1, "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
	}
	unit, known := units[strings.ToLower(strings.TrimSpace(v[len(digits):]))]
	if !known || n > math.MaxInt64/unit {
		return 0, false
	}
	return n * unit, true
}

func parseSwitch(b *bool, v string) error {
	switch strings.ToLower(v) {
	case "true", "yes", "on", "1":
		*b = true
	case "false", "no", "off", "0":
		*b = false
	default:
		return errors.New("is neither true nor false")
	}
	return nil
}

// parseTemperature leaves nil for an empty value: the provider's own.
func parseTemperature(to **float64, v string) error {
	if v == "" {
		return nil
	}
	t, err := strconv.ParseFloat(v, 64)
	if err != nil || !(t >= 0 && t <= 2) {
		return errors.New("is no temperature: use a number from 0 to 2")
	}
	*to = &t
	return nil
}

func parseWord(v string, words ...string) (string, error) {
	v = strings.ToLower(v)
	if slices.Contains(words, v) {
		return v, nil
	}
	return "", fmt.Errorf("is none of %s", strings.Join(words, ", "))
}

// words splits a list at its commas.
func words(list string) []string {
	var out []string
	for w := range strings.SplitSeq(list, ",") {
		if w = strings.TrimSpace(w); w != "" {
			out = append(out, w)
		}
	}
	return out
}

// orNever makes the 0 of an option, which switches a bound off, the library's -1.
func orNever(n int) int {
	if n == 0 {
		return -1
	}
	return n
}
