package pricing

import (
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/braidrun/braid/event"
)

// Rate is the price of a kind of tokens in micro-dollars for a million, which is pico-dollars for
// one. The Rate of searches is in micro-dollars for a thousand, which is nano-dollars for one. The
// zero Rate is unknown. [Free] is a Rate of nothing.
type Rate struct {
	pico  int64
	known bool
}

// Free returns a known rate of nothing.
func Free() Rate { return Rate{known: true} }

// MicroUSD returns the rate in micro-dollars for a million tokens, or a thousand searches.
func (r Rate) MicroUSD() (perMillion int64, known bool) { return r.pico, r.known }

// Twice returns twice the rate. An unknown rate stays unknown.
func (r Rate) Twice() Rate { return Rate{pico: 2 * r.pico, known: r.known} }

// String returns a rate such as "$0.125", for a million tokens, or "" if it is unknown.
func (r Rate) String() string {
	if !r.known {
		return ""
	}
	whole, rest := r.pico/1e6, strconv.FormatInt(r.pico%1e6+1e6, 10)[1:]
	for len(rest) > 2 && rest[len(rest)-1] == '0' {
		rest = rest[:len(rest)-1]
	}
	return "$" + strconv.FormatInt(whole, 10) + "." + rest
}

// MarshalText returns the dollars for a million tokens, such as "3.75". It is empty for an unknown
// rate.
func (r Rate) MarshalText() ([]byte, error) { return []byte(strings.TrimPrefix(r.String(), "$")), nil }

// UnmarshalText parses the form of MarshalText: at most six decimals, not negative.
func (r *Rate) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*r = Rate{}
		return nil
	}
	micro, ok := parseDollars(string(text))
	if !ok {
		return &event.Error{
			Op: "price", Kind: event.ErrInvalid, Message: "a price is no decimal number",
			Hint: "write dollars for a million tokens, such as \"3.75\", with at most six decimals",
		}
	}
	*r = Rate{pico: micro, known: true}
	return nil
}

// Rates are the prices of the kinds of tokens in [event.Usage]. CacheWrite is for caches of five
// minutes or the vendor's default, CacheWriteHour for caches of an hour.
type Rates struct {
	Input, Output                         Rate
	CacheWrite, CacheWriteHour, CacheRead Rate
}

// Price is the price of a model.
type Price struct {
	Rates
	// Long are the rates of a call whose prompt has more than LongOver tokens, for all of its tokens. The prompt
	// includes cache reads and cache writes.
	Long Rates
	// LongOver is the bound for Long. 0 means that there is none.
	LongOver int64
	// WebSearch is the rate of web searches that the provider runs, for every prompt length and region.
	WebSearch Rate
	// FileSearch is the rate of file searches that the provider runs, for every prompt length and region.
	FileSearch Rate
	// Source is where the price was found.
	Source Source
	// RanOut is the last day of an expired price, such as 2026-11-21. It is "" for a price in
	// force.
	RanOut string
}

// Source is a vendor's page and the day on which it was read.
type Source struct {
	// Page is an address. It is "" for your own file.
	Page string
	// Read is a date such as 2026-10-24. It is "" if unknown.
	Read string
}

// Cost returns the cost of a call in nano-dollars, rounded half up. It reports false if a price is
// missing for tokens or searches in the usage, if the usage is impossible, and if the sum is too
// large.
func (p *Price) Cost(u event.Usage) (nanoUSD int64, known bool) {
	if min(u.Input, u.Output, u.CacheRead, u.CacheWrite, u.CacheWriteHour, u.WebSearches, u.FileSearches) < 0 || u.CacheWriteHour > u.CacheWrite {
		return 0, false
	}
	r := &p.Rates
	if p.LongOver > 0 && longer(u, p.LongOver) {
		r = &p.Long
	}
	var sum total
	for _, part := range [...]struct {
		tokens int64
		rate   Rate
	}{
		{u.Input, r.Input},
		{u.Output, r.Output},
		{u.CacheRead, r.CacheRead},
		{u.CacheWrite - u.CacheWriteHour, r.CacheWrite},
		{u.CacheWriteHour, r.CacheWriteHour},
	} {
		if part.tokens > 0 && !part.rate.known {
			return 0, false
		}
		sum.add(part.tokens, part.rate.pico)
	}
	var searches total
	for _, part := range [...]struct {
		uses int64
		rate Rate
	}{{u.WebSearches, p.WebSearch}, {u.FileSearches, p.FileSearch}} {
		if part.uses > 0 && !part.rate.known {
			return 0, false
		}
		searches.add(part.uses, part.rate.pico)
	}
	tokens, ok := sum.nano()
	if !ok || searches.high > 0 || searches.low > math.MaxInt64-uint64(tokens) {
		return 0, false
	}
	return tokens + int64(searches.low), true
}

// longer reports whether the prompt has more than over tokens.
func longer(u event.Usage, over int64) bool {
	for _, n := range [...]int64{u.Input, u.CacheRead, u.CacheWrite} {
		if n > over {
			return true
		}
		over -= n
	}
	return false
}

// total is a 128-bit sum of products.
type total struct{ high, low uint64 }

// add adds tokens × pico, neither of them negative.
func (t *total) add(tokens, pico int64) {
	high, low := bits.Mul64(uint64(tokens), uint64(pico))
	var carry uint64
	t.low, carry = bits.Add64(t.low, low, 0)
	t.high, _ = bits.Add64(t.high, high, carry) // no rate is above 2^57, so five products stay below 2^123
}

// nano rounds pico-dollars to nano-dollars.
func (t *total) nano() (int64, bool) {
	const unit = 1000
	low, carry := bits.Add64(t.low, unit/2, 0)
	high := t.high + carry
	if high >= unit {
		return 0, false // the quotient would not fit
	}
	q, _ := bits.Div64(high, low, unit)
	if q > math.MaxInt64 {
		return 0, false
	}
	return int64(q), true
}

// parseDollars parses a number such as "0.125" as micro-dollars: no sign, no exponent, at most six
// decimals.
func parseDollars(s string) (micro int64, ok bool) {
	return parseDecimal(s, 6)
}

// parseDecimal parses a decimal number as a number of its digits-th parts.
func parseDecimal(s string, digits int) (int64, bool) {
	whole, rest, point := strings.Cut(s, ".")
	if whole == "" || len(whole) > 9 || point && rest == "" || len(rest) > digits {
		return 0, false
	}
	n, err := strconv.ParseUint(whole+rest+strings.Repeat("0", digits-len(rest)), 10, 63)
	return int64(n), err == nil
}
