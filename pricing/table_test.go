package pricing

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
)

var today = time.Date(2026, 11, 21, 13, 0, 0, 0, time.UTC)

// Each of these was worked out by hand from the page that the table names.
func TestCostsOfTheTable(t *testing.T) {
	t.Parallel()
	one := event.Usage{Input: 1_000_000}
	for _, tc := range []struct {
		name, model, region string
		at                  time.Time
		usage               event.Usage
		nano                int64 // -1: not known
	}{
		{name: "input", model: "anthropic:claude-sonnet-5-5", usage: event.Usage{Input: 100}, nano: 200_000},
		{name: "all kinds", model: "anthropic:claude-opus-5-5", usage: event.Usage{
			Input: 10, Output: 20, CacheRead: 1000, CacheWrite: 300, CacheWriteHour: 100, Reasoning: 7, Total: 1,
		}, nano: 10*4000 + 20*20000 + 1000*200 + 200*5000 + 100*8000},
		{name: "nothing", model: "anthropic:claude-opus-5-5", nano: 0},
		{name: "a date behind", model: "anthropic:claude-haiku-4-5-20251001", usage: one, nano: 1e9},
		{name: "the shorter name", model: "anthropic:claude-sonnet-5", usage: event.Usage{CacheRead: 1e6}, nano: 200_000_000},
		{name: "the longer name", model: "anthropic:claude-sonnet-5-5", usage: event.Usage{CacheRead: 1e6}, nano: 100_000_000},
		{
			name: "before the price was cut", model: "anthropic:claude-sonnet-5-5", at: time.Date(2026, 10, 6, 23, 59, 59, 0, time.UTC),
			usage: event.Usage{CacheRead: 1e6}, nano: 200_000_000,
		},
		{
			name: "when it was cut, elsewhere", model: "anthropic:claude-sonnet-5-5",
			at: time.Date(2026, 10, 7, 5, 0, 0, 0, time.FixedZone("", 9*3600)), usage: event.Usage{CacheRead: 1e6}, nano: 200_000_000,
		},
		{name: "a short prompt", model: "anthropic:claude-haiku-5-5", usage: event.Usage{Input: 50_000, CacheRead: 50_000, Output: 1000}, nano: 50_000*100 + 50_000*10 + 1000*500},
		{name: "a long prompt", model: "anthropic:claude-haiku-5-5", usage: event.Usage{Input: 50_000, CacheRead: 50_000, CacheWrite: 1, Output: 1000}, nano: 50_000*500 + 50_000*50 + 625 + 1000*2500},
		{name: "a long prompt of OpenAI", model: "openai:gpt-5.4", usage: event.Usage{Input: 272_001, Output: 10}, nano: 272_001*5000 + 10*22500},
		{name: "a dated model of OpenAI", model: "openai:gpt-5.4-2026-03-05", usage: one, nano: -2},
		{name: "a dated model with a price of its own", model: "openai:gpt-4o-2024-05-13", usage: one, nano: 5e9},
		{name: "half a nano-dollar", model: "openai:gpt-4.1-nano", usage: event.Usage{CacheRead: 1}, nano: 25},
		{name: "Gemini, long", model: "gemini:gemini-2.5-pro", usage: event.Usage{Input: 200_001}, nano: 200_001 * 2500},
		{name: "an introductory price", model: "gemini:gemini-3.8-flash", usage: one, nano: 750_000_000},
		{name: "and after it", model: "gemini:gemini-3.8-flash", at: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), usage: one, nano: 1_500_000_000},
		{name: "a promise that has run out", model: "openai:gpt-5.6-sol", at: today.AddDate(0, 0, 1), usage: event.Usage{Input: 100}, nano: 400_000},
		{name: "before there was a price", model: "gemini:gemini-3.8-flash", at: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), usage: event.Usage{Input: 100}, nano: 75_000},
		{name: "of this autumn", model: "openai:gpt-6.1-sol", usage: event.Usage{Input: 100, CacheRead: 1000, Output: 10}, nano: 100*2000 + 1000*100 + 10*10000},
		{name: "the same, a long prompt", model: "openai:gpt-6.1-terra", usage: event.Usage{Input: 272_001, Output: 10}, nano: 272_001*2000 + 10*7500},
		{name: "the global profile", model: "bedrock:global.anthropic.claude-sonnet-4-5-20250929-v1:0", region: "eu-west-1", usage: one, nano: 3e9},
		{name: "a geography's", model: "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0", region: "us-east-1", usage: one, nano: 3_300_000_000},
		{name: "in a region", model: "bedrock:anthropic.claude-haiku-5-5", region: "ap-northeast-1", usage: event.Usage{Input: 200_000}, nano: 200_000 * 550},
		{
			name: "an ARN of a profile", model: "bedrock:arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-haiku-4-5-20251001-v1:0",
			region: "us-east-1", usage: one, nano: 1_100_000_000,
		},
		{name: "an ARN of a model", model: "bedrock:arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-pro-v1:0", region: "us-east-1", usage: one, nano: 800_000_000},
		{name: "an ARN of somebody's own", model: "bedrock:arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/nova", region: "us-east-1", usage: one, nano: -1},
		{name: "Bedrock without a region", model: "bedrock:anthropic.claude-haiku-5-5", usage: one, nano: -1},
		{name: "Nova", model: "bedrock:amazon.nova-micro-v1:0", region: "us-east-1", usage: event.Usage{CacheRead: 100}, nano: 875},
		{name: "Nova in Europe", model: "bedrock:eu.amazon.nova-micro-v1:0", region: "eu-west-1", usage: one, nano: -1},
		{name: "Nova's cache, written", model: "bedrock:us.amazon.nova-pro-v1:0", usage: event.Usage{Input: 5, CacheWrite: 1}, nano: -1},
		{name: "Nova 2 in a region", model: "bedrock:us.amazon.nova-2-lite-v1:0", usage: one, nano: 330_000_000},
		{name: "another server", model: "openai:gpt-5.4", region: "127.0.0.1:8000", usage: one, nano: -1},
		{name: "a model that nobody knows", model: "openai:gpt-5.4-turbo", usage: one, nano: -1},
		{name: "a longer name than any", model: "anthropic:claude-sonnet-5-5-fast", usage: one, nano: -1},
		{name: "another vendor", model: "ollama:gpt-5.4", usage: one, nano: -1},
		{name: "no vendor", model: "gpt-5.4", usage: one, nano: -1},
		{name: "digits that are no date", model: "anthropic:claude-haiku-4-5-20251301", usage: one, nano: -1},
		{name: "two dates", model: "anthropic:claude-haiku-4-5-20251001-20251001", usage: one, nano: -1},
		{name: "a version of another vendor", model: "anthropic:claude-haiku-4-5-v1:0", usage: one, nano: -1},
		{name: "a usage that cannot be", model: "anthropic:claude-haiku-4-5", usage: event.Usage{Input: 5, Output: -1}, nano: -1},
		{name: "more for an hour than in all", model: "anthropic:claude-haiku-4-5", usage: event.Usage{CacheWrite: 1, CacheWriteHour: 2}, nano: -1},
		{
			name: "searches", model: "anthropic:claude-sonnet-5-5", usage: event.Usage{Input: 100, WebSearches: 3},
			nano: 200_000 + 3*10_000_000,
		},
		{
			name: "searches of both kinds", model: "openai:gpt-6.1-sol", usage: event.Usage{Input: 272_001, WebSearches: 1, FileSearches: 2},
			nano: 272_001*4000 + 10_000_000 + 2*2_500_000,
		},
		{name: "searches that cost nothing", model: "gemini:gemini-3.8-flash", usage: event.Usage{FileSearches: 5}, nano: 0},
		{name: "searches without a price", model: "groq:openai/gpt-oss-120b", usage: event.Usage{Input: 100, WebSearches: 1}, nano: -1},
		{name: "files that nobody can search", model: "anthropic:claude-opus-5-5", usage: event.Usage{FileSearches: 1}, nano: -1},
		{name: "fewer than no searches", model: "anthropic:claude-opus-5-5", usage: event.Usage{WebSearches: -1}, nano: -1},
		{name: "an hour that has no price", model: "openai:gpt-6-sol", usage: event.Usage{CacheWrite: 1, CacheWriteHour: 1}, nano: -1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			at, want := tc.at, tc.nano
			if at.IsZero() {
				at = today
			}
			if want == -2 {
				want = 2_500_000_000 + 2_500_000_000 // a million tokens are a long prompt
			}
			nano, known := Default().Cost(tc.model, tc.region, at, tc.usage)
			if known != (want >= 0) || known && nano != want {
				t.Errorf("%d, %v; want %d", nano, known, want)
			}
			if !known && nano != 0 {
				t.Errorf("not known, and %d", nano)
			}
		})
	}
}

// What is part of the program is whole: dated, sourced, and no price is odd.
func TestTheTableIsWhole(t *testing.T) {
	t.Parallel()
	date := regexp.MustCompile(`^20\d\d-\d\d-\d\d$`)
	if !date.MatchString(Default().Date()) {
		t.Errorf("the table is of %q", Default().Date())
	}
	for _, model := range slices.Concat(Default().Models(), Default().Embeddings()) {
		for _, row := range Default().rows[model] {
			p := row.price
			if p.Source.Page == "" || !date.MatchString(p.Source.Read) || p.Source.Read > Default().Date() {
				t.Errorf("%s: source %+v", model, p.Source)
			}
			for _, r := range []*Rates{&p.Rates, &p.Long} {
				if r == &p.Long && p.LongOver == 0 {
					continue
				}
				if r.Input.pico >= r.Output.pico && !row.embedding {
					t.Errorf("%s: input costs as much as output", model)
				}
				if r.CacheRead.known && r.CacheRead.pico >= r.Input.pico || r.CacheWrite.known && r.CacheWrite.pico < r.Input.pico ||
					r.CacheWriteHour.known && r.CacheWriteHour.pico <= r.CacheWrite.pico {
					t.Errorf("%s: a cache costs what it cannot: %+v", model, r)
				}
			}
			if p.LongOver > 0 && p.Long.Input.pico <= p.Input.pico {
				t.Errorf("%s: long prompts are no dearer", model)
			}
			if strings.HasPrefix(model, bedrock) && row.regions == nil || strings.HasPrefix(model, "openai:") && row.regions == nil {
				t.Errorf("%s has a price in regions that nobody looked at", model)
			}
		}
		if name, region := plain(model); !Default().rows[model][0].embedding && (region != "" || name != model && model != "openai:gpt-4o-2024-05-13") {
			t.Errorf("%s is not written plainly", model)
		}
	}
}

// A row may say the context window, for models of which nothing else tells it.
func TestContextWindows(t *testing.T) {
	t.Parallel()
	own, err := Parse([]byte("prices:\n- {model: 'acme:big', context: 64000, input: 1, output: 2}\n- {model: 'acme:small', input: 1, output: 2}\n"))
	if err != nil {
		t.Fatal(err)
	}
	both := Default().With(own)
	for model, want := range map[string]int{"acme:big": 64000, "acme:small": 0, "groq:openai/gpt-oss-120b": 131072, "xai:grok-4.3": 1_000_000, "nobody:x": 0} {
		if got := both.Context(model); got != want {
			t.Errorf("%s: %d, want %d", model, got, want)
		}
	}
	if (*Table)(nil).Context("acme:big") != 0 {
		t.Error("no table knows a window")
	}
	for _, wrong := range []string{"0", "-1", "1.5", "many", "99999999999"} {
		if _, err := Parse([]byte("prices:\n- {model: 'acme:big', context: " + wrong + ", input: 1, output: 2}\n")); err == nil {
			t.Errorf("a window of %s tokens is taken", wrong)
		}
	}
}

func TestATableOverAnother(t *testing.T) {
	t.Parallel()
	own, err := Parse([]byte("prices:\n- {model: 'openai:gpt-5.4', input: 1, output: 2}\n- {model: 'openai:Qwen/Qwen3-8B', also: ['ollama:qwen3:8b'], input: 0, output: 0}\n"))
	if err != nil {
		t.Fatal(err)
	}
	both := Default().With(own)
	u := event.Usage{Input: 1e6, Output: 1e6}
	for model, want := range map[string]int64{
		"openai:gpt-5.4": 3e9, "openai:gpt-5.4-2026-03-05": 3e9, "openai:Qwen/Qwen3-8B": 0, "ollama:qwen3:8b": 0, "anthropic:claude-haiku-4-5": 6e9,
	} {
		if nano, known := both.Cost(model, "127.0.0.1:8000", today, u); !known || nano != want {
			t.Errorf("%s: %d, %v", model, nano, known)
		}
	}
	// The row of one's own is whole: what it leaves out is not taken from elsewhere.
	if _, known := both.Cost("openai:gpt-5.4", "", today, event.Usage{CacheRead: 1}); known {
		t.Error("a price has come from the row that was laid over")
	}
	if nano, known := Default().Cost("openai:gpt-5.4", "", today, event.Usage{Input: 1}); !known || nano != 2500 {
		t.Errorf("the table below has changed: %d", nano)
	}
	if p, ok := both.Find("openai:gpt-5.4", "", today); !ok || p.Source != (Source{}) {
		t.Errorf("source %+v", p.Source)
	}
	if both.Date() != Default().Date() || (*Table)(nil).With(own) != own || own.With(nil) != own {
		t.Error("a table over none, or none over a table")
	}
	var none *Table
	if _, known := none.Cost("openai:gpt-5.4", "", today, u); known || none.Date() != "" || none.Models() != nil {
		t.Error("no table has prices")
	}
	if names := both.Models(); !slices.Equal(names, append(Default().Models(), "openai:Qwen/Qwen3-8B", "ollama:qwen3:8b")) {
		t.Errorf("models %v", names)
	}
}

// What cannot be is not free where everything is.
func TestNothingForAUsageThatCannotBe(t *testing.T) {
	t.Parallel()
	free := Price{Rates: Rates{Free(), Free(), Free(), Free(), Free()}}
	for u, want := range map[event.Usage]bool{
		{Input: 5, CacheWrite: 2, CacheWriteHour: 2}: true, {CacheWrite: 1, CacheWriteHour: 2}: false, {Output: -1}: false,
	} {
		if nano, known := free.Cost(u); known != want || nano != 0 {
			t.Errorf("%+v: %d, %v", u, nano, known)
		}
	}
}

func TestRatesInWords(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]Rate{
		"": {}, "$0.00": Free(), "$2.00": {2_000_000, true}, "$0.125": {125_000, true}, "$0.00875": {8750, true}, "$12.50": {12_500_000, true}, "$0.000001": {1, true},
	} {
		if r.String() != want {
			t.Errorf("%q, want %q", r, want)
		}
	}
}
