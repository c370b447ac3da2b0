package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/anthropic/anthropictest"
	"github.com/braidrun/braid/model/openai/openaitest"
	"github.com/braidrun/braid/pricing"
)

// usageRow is a row of the admin API's usage.
type usageRow struct {
	Input      int64            `json:"input_tokens"`
	Output     int64            `json:"output_tokens"`
	CacheRead  int64            `json:"cache_read_input_tokens"`
	CacheWrite int64            `json:"cache_creation_input_tokens"`
	Cost       *pricing.NanoUSD `json:"cost_usd"`
	Estimated  bool             `json:"estimated"`
	// Cuts is of a sum.
	Cuts int `json:"estimated_calls"`
}

// What a server's usage API says of caches that are kept for an hour, and of answers that were cut: what the provider has reported,
// or an estimate of the prompt where it had reported nothing by then.
func TestMoneyOfAServer(t *testing.T) {
	t.Parallel()
	// The built-in price of this model is for the vendor's own address.
	prices := filepath.Join(t.TempDir(), "prices.yaml")
	table := "date: 2026-11-21\nprices:\n  - {model: \"openai:gpt-5.4\", input: 2.50, output: 15}\n"
	if err := os.WriteFile(prices, []byte(table), 0o600); err != nil {
		t.Fatal(err)
	}
	half := []model.Chunk{{Kind: model.ChunkText, Text: "Half of an answer."}}
	prompt := strings.Repeat("Seventeen grey herons stood in the shallow water. ", 200) // about 2,000 tokens
	for name, c := range map[string]struct {
		model string
		start func() (address, env string, stop func())
		say   string
		// rows are the calls, oldest first. Of one that is estimated they are the least.
		rows []usageRow
	}{
		"caches of an hour": {
			model: "anthropic:claude-haiku-4-5", say: "Hello.",
			start: anthropics(says("One.", event.Usage{Input: 1000, Output: 10, CacheRead: 100, CacheWrite: 3000, CacheWriteHour: 2000})),
			rows: []usageRow{{
				Input: 1000, Output: 10, CacheRead: 100, CacheWrite: 3000, Cost: new(pricing.NanoUSD(1000*1000 + 10*5000 + 100*100 + 1000*1250 + 2000*2000)),
			}},
		},
		"an answer that is cut, of a provider that reports the prompt first": {
			model: "anthropic:claude-haiku-4-5", say: "Hello.",
			start: anthropics(
				anthropictest.Answer{Body: anthropictest.Begun(half, event.Usage{Input: 900_000, CacheWrite: 3000, CacheWriteHour: 2000})},
				says("Two.", event.Usage{Input: 1000, Output: 10})),
			rows: []usageRow{
				{Input: 900_000, CacheWrite: 3000, Cost: new(pricing.NanoUSD(900_000*1000 + 1000*1250 + 2000*2000)), Estimated: true},
				{Input: 1000, Output: 10, Cost: new(pricing.NanoUSD(1000*1000 + 10*5000))},
			},
		},
		"an answer that is cut, of a provider that reports last": {
			model: "openai:gpt-5.4", say: prompt,
			start: openais(
				openaitest.Answer{Body: openaitest.Begun(openaitest.Chat, half, event.StopEndTurn)},
				openaitest.Stream(openaitest.Chat, half, event.StopEndTurn, event.Usage{Input: 2000, Output: 10})),
			rows: []usageRow{
				{Input: 1500, Output: 1, Cost: new(pricing.NanoUSD(1500 * 2500)), Estimated: true},
				{Input: 2000, Output: 10, Cost: new(pricing.NanoUSD(2000*2500 + 10*15_000))},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, env, stop := c.start()
			t.Cleanup(stop)
			s := startServerIn(t, environment(t, env, address), t.TempDir(), "--model", c.model, "--prices", prices)
			conv := s.json(201, "POST", "/v1/conversations", `{"title":"Herons"}`)["id"].(string)
			body, err := json.Marshal(map[string]string{"user_input": c.say})
			if err != nil {
				t.Fatal(err)
			}
			s.json(200, "POST", "/v1/conversations/"+conv+"/runs", string(body), "Accept", "application/json")
			rows := s.usage("/v1/admin/tenants/default/usage?conversation=" + conv)
			if len(rows) != len(c.rows) {
				t.Fatalf("there are %d rows, want %d: %+v", len(rows), len(c.rows), rows)
			}
			cut, sum := 0, pricing.NanoUSD(0)
			for i, want := range c.rows {
				got := rows[len(rows)-1-i] // the newest is first
				if want.Estimated {
					cut++
				}
				if got.Cost == nil {
					t.Fatalf("call %d has no cost: %+v", i, got)
				}
				sum += *got.Cost
				exact, least := got, got.Input >= want.Input && got.Output >= want.Output && *got.Cost >= *want.Cost
				exact.Cost = want.Cost
				right := exact == want && *got.Cost == *want.Cost
				if want.Estimated {
					right = least && got.Estimated && got.CacheWrite == want.CacheWrite
				}
				if !right {
					t.Errorf("call %d: %+v for %d, want %+v for %d", i, got, *got.Cost, want, *want.Cost)
				}
			}
			sums := s.usage("/v1/admin/tenants/default/usage/sums?by=run&conversation=" + conv)
			if len(sums) != 1 || sums[0].Cuts != cut || sums[0].Cost == nil || *sums[0].Cost != sum {
				t.Errorf("the sum is %+v, want %d of %d estimated calls", sums, sum, cut)
			}
		})
	}
}

func anthropics(answers ...anthropictest.Answer) func() (address, env string, stop func()) {
	return func() (address, env string, stop func()) {
		s := anthropictest.Start(answers...)
		return "ANTHROPIC_BASE_URL=" + s.URL, "ANTHROPIC_API_KEY=" + anthropictest.Key, s.Close
	}
}

func openais(answers ...openaitest.Answer) func() (address, env string, stop func()) {
	return func() (address, env string, stop func()) {
		s := openaitest.Start(answers...)
		return "OPENAI_BASE_URL=" + s.URL, "OPENAI_API_KEY=" + openaitest.Key, s.Close
	}
}

// usage asks for a list of usage.
func (s *site) usage(path string) []usageRow {
	s.t.Helper()
	res := s.ask(http.MethodGet, path, "")
	raw, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %d: %s: %v", path, res.StatusCode, raw, err)
	}
	var list struct{ Data []usageRow }
	if err := json.Unmarshal(raw, &list); err != nil {
		s.t.Fatal(err)
	}
	return list.Data
}
