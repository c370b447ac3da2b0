package pricing

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
)

const listPage = "https://models.example/api.json"

// What a table writes is read as the same table.
func TestATableIsWrittenAsItIsRead(t *testing.T) {
	t.Parallel()
	for name, table := range map[string]*Table{"built in": Default(), "none": {}, "of one's own": must(t, `date: 2026-11-01
sources: {acme: {page: "https://acme.example/a?b=<c>&d=e'f", read: 2026-10-31}}
prices:
- {model: 'acme:x/y@z', also: ['acme:other'], input: 0.00001, output: 999999999, web_search: 0, file_search: 0.5, regions: {none: 1, "*": 1.1, eu: 0.9}}
- {model: 'acme:e', embedding: true, input: 1, from: 2026-01-01, until: 2026-02-01, context: 5}
- {model: 'acme:e', embedding: true, input: 2, from: 2026-02-02}
- {model: 'acme:l', input: 1, output: 2, long: {over: 7, input: 3, output: 4, cache_read: 0}}
`)} {
		text := table.YAML()
		back, err := Parse(text)
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
		if back.date != table.date || !bytes.Equal(back.YAML(), text) || len(back.names) != len(table.names) {
			t.Errorf("%s is written otherwise", name)
		}
		for _, model := range table.names {
			if !reflect.DeepEqual(back.rows[model], table.rows[model]) {
				t.Errorf("%s, %s: %+v, want %+v", name, model, back.rows[model], table.rows[model])
			}
		}
	}
	if text := (*Table)(nil).YAML(); string(text) != "prices: []\n" {
		t.Errorf("no table is written %q", text)
	}
}

func must(t *testing.T, text string) *Table {
	t.Helper()
	table, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func catalogue(t *testing.T, text string, more ...string) *Catalogue {
	t.Helper()
	c, err := ParseCatalogue([]byte(text), listPage, today, more...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A list changes what it has otherwise, and keeps what it does not say.
func TestWhatACatalogueChanges(t *testing.T) {
	t.Parallel()
	base := must(t, `prices:
- {model: 'anthropic:same', context: 9, input: 2, output: 10, cache_read: 0.2, cache_write: 2.5, cache_write_hour: 4, web_search: 10}
- {model: 'anthropic:dearer', context: 9, input: 2, output: 10, cache_write: 2.5, cache_write_hour: 4, web_search: 10, long: {over: 50, input: 4, output: 20}}
- {model: 'anthropic:ran-out', input: 2, output: 10, until: 2026-10-01}
- {model: 'anthropic:gone', input: 2, output: 10}
- {model: 'openai:regional', input: 2, output: 10, regions: {none: 1, eu: 1.1}}
- {model: 'openai:text-embedding-3-small', embedding: true, input: 0.05}
- {model: 'bedrock:other', input: 2, output: 10}
`)
	c := catalogue(t, `{
"anthropic": {"id": "anthropic", "models": {
  "same": {"cost": {"input": 2, "output": 10, "cache_read": 0.2, "cache_write": 2.5}, "limit": {"context": 9, "output": 5}},
  "dearer": {"cost": {"input": 3, "output": 15}, "limit": {"context": 12}},
  "ran-out": {"cost": {"input": 2, "output": 10}, "limit": {"context": 12}, "status": "deprecated"},
  "fresh": {"cost": {"input": 1e-1, "output": 0.5, "tiers": [{"input": 0.2, "output": 1, "tier": {"type": "context", "size": 200000}}]}, "limit": {"context": 1000000}}}},
"openai": {"models": {
  "regional": {"cost": {"input": 2.000001, "output": 10}},
  "text-embedding-3-small": {"cost": {"input": 0.02, "output": 0}},
  "text-embedding-9": {"cost": {"input": 0.5, "output": 0}}}},
"acme": {"models": {"own": {"cost": {"input": 1, "output": 2, "context_over_200k": {"input": 2, "output": 4}}}}},
"nobody": {"models": {"x": 5}}
}`, "acme")
	over, changes := base.Refresh(c, today)
	var got []string
	for _, ch := range changes {
		got = append(got, string(ch.Kind)+" "+ch.Model)
	}
	want := "changed anthropic:dearer,changed anthropic:ran-out,changed openai:regional,changed openai:text-embedding-3-small,new acme:own,new anthropic:fresh,new openai:text-embedding-9," +
		"deprecated anthropic:ran-out,unlisted anthropic:gone"
	if strings.Join(got, ",") != want {
		t.Errorf("changes\n%s, want\n%s", strings.Join(got, ","), want)
	}
	back, err := Parse(over.YAML())
	if err != nil {
		t.Fatalf("%v\n%s", err, over.YAML())
	}
	after := base.With(back)
	for _, tc := range []struct {
		model, region string
		usage         event.Usage
		nano          int64
	}{
		{"anthropic:same", "", event.Usage{CacheWrite: 1, CacheWriteHour: 1, WebSearches: 1}, 4000 + 10_000_000},
		{"anthropic:dearer", "", event.Usage{Input: 10, WebSearches: 1}, 30_000 + 10_000_000},
		{"anthropic:dearer", "", event.Usage{Input: 51}, 51 * 4000},
		{"anthropic:dearer", "", event.Usage{CacheWrite: 1, CacheWriteHour: 1}, -1}, // the old price of a cache does not fit the new one of input
		{"anthropic:ran-out", "", event.Usage{Input: 10}, 20_000},
		{"anthropic:gone", "", event.Usage{Input: 10}, 20_000},
		{"anthropic:fresh", "", event.Usage{Input: 200_001}, 200_001 * 200},
		{"openai:regional", "eu", event.Usage{Input: 1_000_000}, 2_001_000 * 1100},
		{"openai:regional", "127.0.0.1", event.Usage{Input: 10}, -1},
		{"openai:text-embedding-9", "", event.Usage{Input: 10}, 5000},
		{"acme:own", "", event.Usage{Input: 200_001}, 200_001 * 2000},
	} {
		nano, known := after.Cost(tc.model, tc.region, today, tc.usage)
		if known != (tc.nano >= 0) || known && nano != tc.nano {
			t.Errorf("%s %+v: %d, %v, want %d", tc.model, tc.usage, nano, known, tc.nano)
		}
	}
	if p, _ := after.Find("anthropic:ran-out", "", today); p == nil || p.RanOut != "" || p.Source.Page != listPage {
		t.Errorf("a price that had run out is not renewed: %+v", p)
	}
	if after.Context("anthropic:dearer") != 12 || after.Context("anthropic:fresh") != 1_000_000 {
		t.Error("windows are not taken")
	}
	if _, again := after.Refresh(c, today); len(again) != 2 {
		t.Errorf("the same list once more changes %+v", again)
	}
}

// Rows that cannot be are left out, and nothing of them is believed.
func TestHostileListsAreNotBelieved(t *testing.T) {
	t.Parallel()
	good := `"good": {"cost": {"input": 1, "output": 2}}`
	for name, row := range map[string]string{
		"a negative price":           `"m": {"cost": {"input": -1, "output": 2}}`,
		"minus nothing":              `"m": {"cost": {"input": 1, "output": -0.5}}`,
		"a word":                     `"m": {"cost": {"input": "1", "output": 2}}`,
		"NaN in words":               `"m": {"cost": {"input": "NaN", "output": 2}}`,
		"endless":                    `"m": {"cost": {"input": 1e999, "output": 2}}`,
		"an exponent of many digits": `"m": {"cost": {"input": 1e99999999999999, "output": 2}}`,
		"a million dollars":          `"m": {"cost": {"input": 1000000, "output": 2}}`,
		"less than can be written":   `"m": {"cost": {"input": 1e-9, "output": 2}}`,
		"no output":                  `"m": {"cost": {"input": 1}}`,
		"null":                       `"m": {"cost": {"input": null, "output": 2}}`,
		"no cost":                    `"m": {}`,
		"a list":                     `"m": []`,
		"free, perhaps":              `"m": {"cost": {"input": 0, "output": 0}}`,
		"pay for each request":       `"m": {"cost": {"input": 1, "output": 2, "request": 5}}`,
		"thoughts that cost more":    `"m": {"cost": {"input": 1, "output": 2, "reasoning": 5}}`,
		"two steps":                  `"m": {"cost": {"input": 1, "output": 2, "tiers": [{"input": 1, "output": 2, "tier": {"size": 1}}, {"input": 1, "output": 2, "tier": {"size": 2}}]}}`,
		"a step of nothing":          `"m": {"cost": {"input": 1, "output": 2, "tiers": [{"input": 1, "output": 2, "tier": {"size": 0}}]}}`,
		"pictures":                   `"m": {"cost": {"input": 1, "output": 2}, "modalities": {"output": ["image"]}}`,
		"a name with a line":         `"m\nmodel: openai:gpt-6-sol": {"cost": {"input": 1, "output": 2}}`,
		"a name that paints":         `"m\u001b[31m": {"cost": {"input": 1, "output": 2}}`,
		"a name with a quote":        `"m\", input: 0, x: \"": {"cost": {"input": 1, "output": 2}}`,
		"a name without letters":     `"": {"cost": {"input": 1, "output": 2}}`,
		"a long name":                `"` + strings.Repeat("m", 300) + `": {"cost": {"input": 1, "output": 2}}`,
	} {
		c := catalogue(t, `{"groq": {"models": {`+good+`, `+row+`}}}`)
		over, _ := (*Table)(nil).Refresh(c, today)
		left := 0
		for _, n := range c.LeftOut {
			left += n
		}
		if names := over.Models(); len(names) != 1 || names[0] != "groq:good" || left != 1 {
			t.Errorf("%s: %q is taken, %v left out", name, names, c.LeftOut)
		}
		if _, err := Parse(over.YAML()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhatIsNoCatalogue(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"nothing":            "",
		"a page":             "\n <!doctype html><html></html>",
		"no JSON":            `{"groq": `,
		"another form":       `{"groq": 5}`,
		"another list":       `{"nobody": {"models": {"x": {"cost": {"input": 1, "output": 2}}}}}`,
		"all left out":       `{"groq": {"models": {"x": {"cost": {"input": -1, "output": 2}}}}}`,
		"a list of lists":    `[1, 2]`,
		"an empty table":     "prices: []\n",
		"a deep one":         `{"groq": ` + strings.Repeat("[", 200_000),
		"aliases":            "a: &a [x, x]\nb: &b [*a, *a]\nprices: *b\n",
		"a negative price":   "prices:\n- {model: 'groq:x', input: -1, output: 2}\n",
		"NaN":                "prices:\n- {model: 'groq:x', input: .nan, output: 2}\n",
		"control characters": "prices:\n- {model: \"groq:x\\e[31m\", input: 1, output: 2}\n",
	} {
		c, err := ParseCatalogue([]byte(text), listPage, today)
		var e *event.Error
		if c != nil || !errors.As(err, &e) || e.Kind != event.ErrInvalid || e.Hint == "" || strings.ContainsFunc(e.Message, func(r rune) bool { return r < ' ' }) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ParseCatalogue(make([]byte, MaxCatalogue+1), listPage, today); !errors.Is(err, event.ErrTooLarge) {
		t.Errorf("a large one: %v", err)
	}
}

// A table of prices replaces rows whole.
func TestATableAsACatalogue(t *testing.T) {
	t.Parallel()
	base := must(t, "prices:\n- {model: 'a:x', input: 1, output: 2, cache_read: 0.5}\n- {model: 'a:same', input: 1, output: 2}\n- {model: 'b:y', input: 1, output: 2}\n")
	c := catalogue(t, "prices:\n- {model: 'a:x', input: 1, output: 2}\n- {model: 'a:same', input: 1, output: 2}\n- {model: 'a:z', input: 1, output: 2, until: 2026-12-31}\n- {model: 'a:z', input: 2, output: 3, from: 2027-01-01}\n")
	over, changes := base.Refresh(c, today)
	if got := over.Models(); len(got) != 2 || got[0] != "a:x" || got[1] != "a:z" || len(over.rows["a:z"]) != 2 {
		t.Errorf("%q is written", got)
	}
	if len(changes) != 2 || changes[0].Kind != ChangePrice || changes[1].Kind != ChangeNew || over.Date() != today.Format(time.DateOnly) {
		t.Errorf("%+v, of %s", changes, over.Date())
	}
	if _, known := base.With(over).Cost("a:x", "", today, event.Usage{CacheRead: 1}); known {
		t.Error("a row of a table is mixed with another")
	}
}

// Whatever a list says, what is written of it can be read, and no price in it is odd.
func FuzzCatalogue(f *testing.F) {
	f.Add([]byte(`{"groq": {"models": {"a": {"cost": {"input": 1, "output": 2, "tiers": [{"input": 1, "output": 2, "tier": {"size": 7}}]}, "limit": {"context": 5}}}}}`))
	f.Add([]byte(`{"openai": {"models": {"gpt-6-sol": {"cost": {"input": 1.0000001, "output": 1e3, "cache_read": 0}}, "gpt-5.4": {"status": "deprecated"}}}}`))
	f.Add([]byte("prices:\n- {model: 'anthropic:claude-sonnet-5-5', input: 1, output: 2}\n"))
	f.Add([]byte("<html>"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ParseCatalogue(data, listPage, today)
		if e := new(event.Error); err != nil {
			if !errors.As(err, &e) || e.Hint == "" {
				t.Fatal(err)
			}
			return
		}
		over, changes := Default().Refresh(c, today)
		back, err := Parse(over.YAML())
		if err != nil || fmt.Sprint(back.Models()) != fmt.Sprint(over.Models()) {
			t.Fatalf("%v: %s", err, over.YAML())
		}
		for _, ch := range changes {
			if !reference.MatchString(ch.Model) {
				t.Fatalf("%q changes", ch.Model)
			}
		}
		if _, again := Default().With(over).Refresh(c, today); !c.whole {
			for _, ch := range again {
				if ch.Kind == ChangeNew || ch.Kind == ChangePrice {
					t.Fatalf("%s changes again", ch.Model)
				}
			}
		}
	})
}
