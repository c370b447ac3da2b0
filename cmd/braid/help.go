package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/models"
)

// helpCommand prints the pages of all commands. all makes them; help itself is one.
func helpCommand(p *process, all func(*process) []conf.Command) conf.Command {
	return conf.Command{
		Name: "help", Args: "[COMMAND | TOPIC]", Short: "say more about a command or a topic",
		About: "Topics: options, exit-codes, models.",
		Examples: []conf.Example{
			{Line: "braid help run", Says: "the same as braid run --help"},
			{Line: "braid help exit-codes", Says: "the meaning of each exit code"},
		},
		Run: func(_ context.Context, in *conf.Invocation) error {
			if len(in.Args) == 0 {
				return p.Print(overview(all(p)))
			}
			name := in.Args[0]
			var known, pages []string // a topic and a command may have the same name
			for _, c := range all(p) {
				known = append(known, c.Name)
				if c.Name == name {
					pages = append(pages, commandHelp(&c))
				}
			}
			for _, t := range topics() {
				if t.name == name {
					pages = append(pages, t.text())
				}
			}
			if len(pages) > 0 {
				return p.Print(strings.Join(pages, "\n"))
			}
			for _, t := range topics() {
				known = append(known, t.name)
			}
			return term.Invalid(term.DidYouMean(name, known, "braid help ", "braid help lists commands and topics"),
				"there is no help about %q", term.Fit(name, 40))
		},
	}
}

// topic is a page of help without a command.
type topic struct {
	name, short string
	text        func() string
}

func topics() []topic {
	return []topic{
		{"options", "what can be set by file, environment and flag", optionTopic},
		{"exit-codes", "the meaning of each exit code", exitTopic},
		{"models", "how a model is named and found", modelTopic},
	}
}

func overview(all []conf.Command) string {
	var b strings.Builder
	b.WriteString("braid runs AI agents.\n\nusage: braid COMMAND [flags] [arguments]\n\ncommands:\n")
	for _, c := range all {
		fmt.Fprintf(&b, "  %-13s %s\n", c.Name, c.Short)
	}
	b.WriteString("\ntopics:\n")
	for _, t := range topics() {
		fmt.Fprintf(&b, "  braid help %-11s %s\n", t.name, t.short)
	}
	b.WriteString(`
begin here; no key and no network are needed:
  braid run --model demo:tour "Show me what you can do."
  braid chat
  braid doctor
`)
	return b.String()
}

// commandHelp returns the page of one command.
func commandHelp(c *conf.Command) string {
	var b strings.Builder
	usage := "braid " + c.Name
	if len(c.Flags) > 0 || c.Options {
		usage += " [flags]"
	}
	if c.Args != "" {
		usage += " " + c.Args
	}
	fmt.Fprintf(&b, "%s - %s\n\nusage: %s\n", "braid "+c.Name, c.Short, usage)
	if c.About != "" {
		fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(c.About))
	}
	if len(c.Examples) > 0 {
		b.WriteString("\nexamples:\n")
		for _, e := range c.Examples {
			fmt.Fprintf(&b, "  %s\n      %s\n", e.Line, e.Says)
		}
	}
	b.WriteString("\nflags:\n")
	for _, f := range conf.FlagsOf(c) {
		left := "    --" + f.Name
		if f.Short != "" {
			left = "-" + f.Short + ", --" + f.Name
		}
		switch {
		case f.Optional:
			left += " [" + f.Value + "]"
		case f.Value != "":
			left += " " + f.Value
		}
		writeEntry(&b, left, f.Help)
	}
	if c.Options {
		b.WriteString("\nMost flags are also options of the environment and a file: braid help options.\n")
	}
	return b.String()
}

// writeEntry writes a name and, beside it, its wrapped description.
func writeEntry(b *strings.Builder, left, text string) {
	const column = 28
	if len(left) > column-3 {
		fmt.Fprintf(b, "  %s\n%*s", left, column, "")
	} else {
		fmt.Fprintf(b, "  %-*s ", column-3, left)
	}
	for i, line := range term.Wrap(text, 96-column) {
		if i > 0 {
			fmt.Fprintf(b, "%*s", column, "")
		}
		b.WriteString(line + "\n")
	}
}

func optionTopic() string {
	var b strings.Builder
	b.WriteString(`The first of these sets an option:
  1. a flag                  --max-cycles 20
  2. the environment         BRAID_MAX_CYCLES=20
  3. the configuration file  max_cycles: 20
  4. its default

The file is YAML, one line for each option. It is the one that --config FILE or
BRAID_CONFIG names; otherwise braid/config.yaml in your folder for settings. A
file in the working folder is not read by itself: a folder of somebody else
must not choose the receiver of your key and your prompt. An unknown name
in the file is an error. Keep keys of providers out of the
file: they belong in the environment.

  # a configuration file
  model: demo:assistant
  tools: [calculator, clock]
  timeout: 5m
  trace: true

budget limits all runs of a conversation together, by a list of cycles,
tool_calls, input_tokens, output_tokens, total_tokens, cost (in US dollars) and time.

braid config shows the current values and their sources.

options (file, environment, flag, description):
`)
	for i := range conf.Options {
		o := &conf.Options[i]
		def := o.Def
		if def == "" {
			def = "empty"
		}
		fmt.Fprintf(&b, "\n  %s   %s   --%s\n", o.Name, o.Env(), o.Flag())
		for _, line := range term.Wrap(o.Help+"; default "+def, 88) {
			b.WriteString("      " + line + "\n")
		}
	}
	return b.String()
}

func exitTopic() string {
	var b strings.Builder
	b.WriteString("Each kind of error has its own exit code. \"again\" marks those where the same\ncommand may succeed later.\n\n")
	fmt.Fprintf(&b, "  %4s  %-18s %-6s %s\n", "code", "kind", "", "meaning")
	fmt.Fprintf(&b, "  %4d  %-18s %-6s %s\n", 0, "-", "", "Success.")
	for _, k := range event.Kinds() {
		again := ""
		if k.Retry {
			again = "again"
		}
		fmt.Fprintf(&b, "  %4d  %-18s %-6s %s\n", k.Exit, k.Kind, again, k.Meaning)
	}
	fmt.Fprintf(&b, "  %4d  %-18s %-6s %s\n", term.ExitPipe, "-", "", "The reader of the output is gone (as in braid run … | head -1).")
	return b.String()
}

func modelTopic() string {
	return `A model's name is its provider, a colon, and the provider's name for it:
--model demo:tour, BRAID_MODEL=demo:tour, or "model: demo:tour" in a file.

Without a name, a provider's key in the environment decides, if this build has
that provider; otherwise a simulated model answers, and says so. Braid never
chooses a local model server by itself.

this build has:
  ` + strings.Join(models.Names(), "\n  ") + `

and any name that a provider has:
  anthropic:NAME   Claude; its key is ANTHROPIC_API_KEY
  openai:NAME      OpenAI, and servers that speak the same; OPENAI_API_KEY
  gemini:NAME      Gemini; GEMINI_API_KEY or GOOGLE_API_KEY
  bedrock:ID       Amazon Bedrock by AWS's id, such as bedrock:us.amazon.nova-pro-v1:0;
                   AWS_BEARER_TOKEN_BEDROCK, or AWS's usual credentials, and a region
  vertex:NAME      Gemini or Claude on Google Cloud, such as vertex:claude-sonnet-5-5;
                   GOOGLE_CLOUD_PROJECT, and gcloud's usual credentials
  azure:NAME       a deployment at Azure OpenAI; AZURE_OPENAI_ENDPOINT and AZURE_OPENAI_API_KEY
  ollama:NAME      this machine's Ollama; no key
  groq:NAME …      vendors whose servers speak OpenAI's protocol: groq, openrouter,
                   mistral, xai, deepseek, cerebras, perplexity, together, fireworks;
                   the key is GROQ_API_KEY and so on. lmstudio, vllm and llamacpp are
                   programs on this machine; no key. --vendors FILE adds more
braid models lists the usable models with prices, and the reasons why others are not.

Settings follow a "?", each as name=value, joined by "&":
  openai:NAME?base=https://llm.example/v1&key=MY_KEY     another server
  vllm:Qwen/Qwen3-8B?base=http://192.168.1.5:8000/v1     vLLM on another machine
  bedrock:amazon.nova-pro-v1:0?region=eu-west-1          or AWS_REGION, or a profile's
  vertex:gemini-3.6-flash?location=eu                    or GOOGLE_CLOUD_LOCATION
  anthropic:claude-sonnet-5-5?stall=5m                   the longest silence in an answer
A key is sent only to its own address: with base, key names the variable of
another key. ANTHROPIC_BASE_URL, OPENAI_BASE_URL, GOOGLE_GEMINI_BASE_URL,
GOOGLE_VERTEX_BASE_URL and AWS_ENDPOINT_URL_BEDROCK_RUNTIME name a gateway for the usual key.

Settings of model calls, for every vendor that has them. A setting that the model does
not support is an error before the first call:
  --effort high                      none, low, medium, high, max or the vendor's own word
  --show-thinking                    request readable reasoning
  --top-p 0.9  --seed 7  --verbosity low  --service-tier flex
  --server-tool web_search           a tool that the provider runs; settings follow "=":
  --server-tool "web_search=max_uses=5&domains=go.dev,pkg.go.dev"   or blocked=…; also web_fetch
  --server-tool code_execution
  --server-tool "file_search=stores=vs_1"
  --server-tool "mcp=name=docs&url=https://mcp.example&tools=find,read&token=DOCS_TOKEN"
                                     token names the variable with the credential
  --model-extra 'user="ann"'         an additional member of each request
  --model-header X-Team=search       a header field; no credentials

--fallback names models to ask, in this order, after a failed call;
--fallback-on selects the kinds of errors.

--model-requests, --model-tokens and --model-concurrency keep all calls with one
provider's key within its limits; a Retry-After applies to all of them.

Prices come from a built-in table, or from --prices FILE, which overrides it. An
unknown cost is shown as unknown, never as zero:
  prices:
    - {model: "openai:Qwen/Qwen3-8B", input: 0.05, output: 0.10, cache_read: 0.01}
braid models --refresh FILE|URL takes newer prices and context windows from a list such
as https://models.dev/api.json. It keeps them beside the configuration file, in
catalogue.yaml, which overrides the built-in table; --prices overrides both.

A demo model follows a script: it needs no key and no network and costs nothing.
Its words are canned; the loop, the tools and their results are real. Your own
script is a YAML file:
  --model demo:./mine.yaml

Settings of a demo model follow a "?":
  demo:tour?first_byte=300ms&rate=40          stream at this speed
  demo:tour?fault=throttled&attempts=2        fail twice, to watch a retry
  demo:tour?fault=cut&cycle=2                 break off in the second cycle
`
}
