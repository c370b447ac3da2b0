package directory_test

import (
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/pricing"
	"github.com/braidrun/braid/service/directory"
)

// What a million tokens cost that are kept for an hour, by what a model's entry says.
func TestPriceOfAnHourOfCache(t *testing.T) {
	t.Parallel()
	rate := func(text string) (r pricing.Rate) {
		if err := r.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, c := range []struct {
		name   string
		prices directory.Prices
		nano   int64
		known  bool
	}{
		{"its own price", directory.Prices{Input: rate("1"), CacheWrite: rate("1.25"), CacheWriteHour: rate("1.90")}, 1_900_000_000, true},
		{"no price of its own", directory.Prices{Input: rate("1"), CacheWrite: rate("1.25")}, 2_000_000_000, true},
		{"no price of writing a cache", directory.Prices{Input: rate("1")}, 0, false},
	} {
		nano, known := c.prices.Price().Cost(event.Usage{CacheWrite: 1_000_000, CacheWriteHour: 1_000_000})
		if nano != c.nano || known != c.known {
			t.Errorf("%s: it costs %d, %v", c.name, nano, known)
		}
	}
}
