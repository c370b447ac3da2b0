package pricing

import (
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/event"
)

// The cost is the exact sum, rounded once, or not known: never anything else.
func TestCostIsTheExactSum(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tokens := rapid.OneOf(rapid.Int64Range(0, 2_000_000), rapid.Int64Range(0, 1<<62))
		rate := rapid.Custom(func(t *rapid.T) Rate {
			return Rate{rapid.Int64Range(0, 999_999_999_999_999).Draw(t, "pico"), true}
		})
		u := event.Usage{Input: tokens.Draw(t, "input"), Output: tokens.Draw(t, "output"), CacheRead: tokens.Draw(t, "read")}
		u.CacheWriteHour = tokens.Draw(t, "hour")
		u.CacheWrite = u.CacheWriteHour + rapid.Int64Range(0, 1<<62-1).Draw(t, "write")
		u.WebSearches, u.FileSearches = tokens.Draw(t, "web searches"), tokens.Draw(t, "file searches")
		rates := func(name string) Rates {
			return Rates{rate.Draw(t, name), rate.Draw(t, name), rate.Draw(t, name), rate.Draw(t, name), rate.Draw(t, name)}
		}
		p := Price{Rates: rates("short"), Long: rates("long"), LongOver: rapid.Int64Range(0, 400_000).Draw(t, "over")}
		p.WebSearch, p.FileSearch = rate.Draw(t, "web"), rate.Draw(t, "files")
		r := p.Rates
		sum := func(pairs ...int64) *big.Int {
			total := new(big.Int)
			for i := 0; i < len(pairs); i += 2 {
				total.Add(total, new(big.Int).Mul(big.NewInt(pairs[i]), big.NewInt(pairs[i+1])))
			}
			return total
		}
		if prompt := sum(u.Input, 1, u.CacheRead, 1, u.CacheWrite, 1); p.LongOver > 0 && prompt.Cmp(big.NewInt(p.LongOver)) > 0 {
			r = p.Long
		}
		want := sum(u.Input, r.Input.pico, u.Output, r.Output.pico, u.CacheRead, r.CacheRead.pico,
			u.CacheWrite-u.CacheWriteHour, r.CacheWrite.pico, u.CacheWriteHour, r.CacheWriteHour.pico)
		want.Add(want, big.NewInt(500)).Div(want, big.NewInt(1000))
		want.Add(want, sum(u.WebSearches, p.WebSearch.pico, u.FileSearches, p.FileSearch.pico))
		nano, known := p.Cost(u)
		if known != want.IsInt64() || known && nano != want.Int64() {
			t.Fatalf("%d, %v; want %s", nano, known, want)
		}
	})
}

// A price is exact up to six digits behind the point, and nothing else is one.
func TestDollarsAreReadExactly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		micro := rapid.Int64Range(0, 999_999_999_999_999).Draw(t, "micro")
		s := Rate{micro, true}.String()[1:]
		if got, ok := parseDollars(s); !ok || got != micro {
			t.Fatalf("%s is read as %d, %v; want %d", s, got, ok, micro)
		}
	})
	for _, s := range []string{"", ".", "1.", ".5", "-1", "+1", "1e3", "0x1", "1_000", " 1", "1 ", "0.1234567", "1000000000", "1,5", "١", "NaN", "1.-5", "1.+5"} {
		if v, ok := parseDollars(s); ok {
			t.Errorf("%q is read as %d", s, v)
		}
	}
}

// No name leads to a price but one that says the same model.
func TestNoLooserName(t *testing.T) {
	t.Parallel()
	models := Default().Models()
	rapid.Check(t, func(t *rapid.T) {
		model := rapid.SampledFrom(models).Draw(t, "model")
		more := rapid.StringMatching(`[-.:a-z0-9]{1,9}`).Draw(t, "more")
		if _, found := Default().find(model + more); found != "" {
			t.Fatalf("%s%s names the region %s", model, more, found)
		}
		name := model + more
		if rows, _ := Default().find(name); rows != nil {
			if short, _ := plain(name); short == name {
				if !slices.Contains(models, name) {
					t.Fatalf("%s has the price of another", name)
				}
			}
		}
	})
}
