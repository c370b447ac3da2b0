package pricing

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
)

func TestWrongTablesNameTheirLine(t *testing.T) {
	t.Parallel()
	row := func(lines string) string { return "prices:\n- model: openai:x\n  input: 1\n  output: 2\n" + lines }
	for name, tc := range map[string]struct{ table, want string }{
		"empty":                                {"", "line 1: it is empty"},
		"no YAML":                              {"prices: [\n", "line 1"},
		"a list":                               {"- a\n", "line 1: the table is no list of names and values"},
		"no prices":                            {"date: 2026-11-21\n", "has no prices"},
		"prices that are none":                 {"prices: 5\n", "line 1: prices is no list"},
		"two documents":                        {"prices: []\n---\nprices: []\n", "more than one YAML document"},
		"an unknown name":                      {row("  cache: 1\n"), "line 5: a price has no such name; there are also, cache_read"},
		"an unknown name on top":               {"price: []\n", "line 1: the table has no such name; there are date, prices, sources"},
		"a doubled name":                       {row("  input: 1\n"), "line 5: input stands twice"},
		"a doubled name on top":                {"prices: []\nprices: []\n", "line 2: prices stands twice"},
		"no input":                             {"prices:\n- {model: 'openai:x', output: 1}\n", "line 2: a price has no input"},
		"a negative price":                     {row("  cache_read: -1\n"), "line 5: a price is no plain number"},
		"a price with an exponent":             {row("  cache_read: 1e-3\n"), "line 5: a price is no plain number"},
		"a price in words":                     {row("  cache_read: $1\n"), "line 5: a price is no plain number"},
		"a list as a price":                    {row("  cache_read: [1]\n"), "line 5: a price is no plain number"},
		"nothing as a price":                   {row("  cache_read:\n"), "line 5: a price is no plain number"},
		"a model without vendor":               {"prices:\n- {model: gpt, input: 1, output: 2}\n", "line 2: what stands there is not a model's name"},
		"others that are none":                 {row("  also: openai:y\n"), "line 5: also is no list"},
		"another name that is none":            {row("  also: [y]\n"), "line 5: what stands there is not a model's name"},
		"no date":                              {row("  from: tomorrow\n"), "line 5: a date is written as"},
		"an end before its begin":              {row("  from: 2026-01-02\n  until: 2026-01-01\n"), "line 2: it ends before it begins"},
		"two prices on a day":                  {row("  until: 2026-01-01\n- {model: openai:x, input: 1, output: 2, from: 2026-01-01}\n"), "openai:x has two prices on the same day"},
		"two prices on a day, the later first": {row("  from: 2026-01-01\n- {model: openai:x, input: 1, output: 2, until: 2026-01-01}\n"), "openai:x has two prices on the same day"},
		"two prices":                           {row("- {model: openai:y, also: [openai:x], input: 1, output: 2}\n"), "line 5: openai:x has two prices on the same day"},
		"searches that cost less than nothing": {row("  web_search: -1\n"), "line 5: a price is no plain number"},
		"searches of long prompts":             {row("  long: {over: 5, input: 1, output: 2, web_search: 1}\n"), "line 5: long has no such name"},
		"long without a length":                {row("  long: {input: 1, output: 2}\n"), "line 5: long has no over"},
		"long from nothing":                    {row("  long: {over: 0, input: 1, output: 2}\n"), "line 5: a number of tokens"},
		"long without a price":                 {row("  long: {over: 5, input: 1}\n"), "line 5: long has no output"},
		"no regions":                           {row("  regions: {}\n"), "line 5: regions is no list of names and values"},
		"a region for nothing":                 {row("  regions: {eu: 0}\n"), "line 5: a region is written as"},
		"a region with digits":                 {row("  regions: {eu: 1.0001}\n"), "line 5: a region is written as"},
		"a region twice":                       {row("  regions: {eu: 1, eu: 2}\n"), "line 5: a name in regions occurs twice"},
		"a region in capitals":                 {row("  regions: {EU: 1}\n"), "line 5: a region is written as"},
		"more digits than a price has":         {"prices:\n- {model: 'openai:x', input: 0.000001, output: 1, regions: {eu: 1.1}}\n", "line 2: a price in one of its regions"},
		"a source without a page":              {"sources: {openai: {read: 2026-01-01}}\nprices: []\n", "line 1: a source has no page"},
		"a page that is none":                  {"sources: {openai: {page: here, read: 2026-01-01}}\nprices: []\n", "line 1: what stands there is not an address"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			table, err := Parse([]byte(tc.table))
			var e *event.Error
			if table != nil || !errors.As(err, &e) || e.Kind != event.ErrInvalid || e.Hint == "" || !strings.Contains(e.Message, tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
	if _, err := Parse(make([]byte, MaxTable+1)); !errors.Is(err, event.ErrTooLarge) {
		t.Errorf("a large table: %v", err)
	}
}

// Prices that follow one another stand together.
func TestPricesInTheirTime(t *testing.T) {
	t.Parallel()
	table, err := Parse([]byte("prices:\n- {model: 'a:x', input: 1, output: 1, until: 2026-01-31}\n- {model: 'a:x', input: 2, output: 2, from: 2026-02-02}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for day, want := range map[int]int64{-20: 1, 0: 1, 1: 1, 2: 2, 500: 2} {
		nano, known := table.Cost("a:x", "", today.AddDate(0, -10, day+10), event.Usage{Input: 1000})
		if known != (want > 0) || nano != want*1_000_000 {
			t.Errorf("day %d: %d, %v", day, nano, known)
		}
		price, _ := table.Find("a:x", "", today.AddDate(0, -10, day+10))
		if ran := price.RanOut; (ran == "2026-01-31") != (day == 1) || (ran == "") != (day != 1) {
			t.Errorf("day %d: it ran out on %q", day, ran)
		}
	}
	later, err := Parse([]byte("prices:\n- {model: 'a:x', input: 1, output: 1, from: 2027-01-01}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if nano, known := later.Cost("a:x", "", today, event.Usage{Input: 1000}); known {
		t.Errorf("a price of next year is used today: %d", nano)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(embedded)
	f.Add([]byte("prices:\n- {model: 'openai:x', input: 1, output: 2, regions: {none: 1, '*': 1.1}, long: {over: 5, input: 1, output: 2}}\n"))
	f.Add([]byte("prices: [{model: &a 'openai:x', also: [*a], input: 1, output: 2}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := Parse(data)
		if e := new(event.Error); (table == nil) == (err == nil) || err != nil && (!errors.As(err, &e) || e.Message == "" || e.Hint == "") {
			t.Fatalf("%v, %v", table, err)
		}
		for _, model := range table.Models() {
			for _, region := range []string{"", "eu"} {
				if nano, known := table.Cost(model, region, today, event.Usage{Input: 1 << 60, Output: 3, CacheRead: 5}); nano < 0 || nano > 0 && !known {
					t.Fatalf("%s costs %d, %v", model, nano, known)
				}
			}
		}
	})
}

// The table that the guide shows is one.
func TestTheGuidesTable(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../docs/guide/models.md")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, found := strings.Cut(string(guide), "```yaml\ndate:")
	shown, _, _ = strings.Cut(shown, "```")
	table, err := Parse([]byte("date:" + shown))
	if err != nil || !found {
		t.Fatalf("%v: %v", found, err)
	}
	for model, want := range map[string]int64{"ollama:qwen3:8b": 50_000, "anthropic:claude-haiku-5-5": 90_000} {
		if nano, known := table.Cost(model, "", today, event.Usage{Input: 1000}); !known || nano != want {
			t.Errorf("%s: %d, %v", model, nano, known)
		}
	}
}
