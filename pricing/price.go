package pricing

import (
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/braidrun/braid/event"
)

// Rate is the price of one kind of tokens in micro-dollars for a million of
// them, which is pico-dollars for one. A Rate of searches is in micro-dollars for a
// thousand of them, which is nano-dollars for one. The zero Rate is not known; a Rate
// of nothing is [Free].
type Rate struct {
	pico  int64
	known bool
}

// Free is a rate that is known to be nothing.
func Free() Rate { return Rate{known: true} }

// MicroUSD gives the rate in micro-dollars for a million tokens, or a thousand searches.
func (r Rate) MicroUSD() (perMillion int64, known bool) { return r.pico, r.known }

// Twice is twice the rate; one that is not known stays so.
func (r Rate) Twice() Rate { return Rate{pico: 2 * r.pico, known: r.known} }

// String is "$0.125", for a million tokens, or "" where it is not known.
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

// MarshalText gives "3.75", the dollars for a million tokens, and nothing for a rate that is not known.
func (r Rate) MarshalText() ([]byte, error) { return []byte(strings.TrimPrefix(r.String(), "$")), nil }

// UnmarshalText reads what MarshalText writes: at most six decimals, none below nothing.
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

// Rates are the prices of the kinds of tokens that [event.Usage] tells apart.
// CacheWrite is what is kept for five minutes, or for as long as the vendor
// likes; CacheWriteHour what is kept for an hour.
type Rates struct {
	Input, Output                         Rate
	CacheWrite, CacheWriteHour, CacheRead Rate
}

// Price is what a model costs.
type Price struct {
	Rates
	// Long are the rates of a call whose prompt has more than LongOver tokens,
	// for all of its tokens; LongOver 0 is a price without such a step. A prompt
	// is what was read anew, from a cache and into one.
	Long     Rates
	LongOver int64
	// WebSearch and FileSearch are the rates of the searches that the provider runs. They
	// are the same for prompts of every length and in every region.
	WebSearch, FileSearch Rate
	// Source says where the price was found.
	Source Source
	// RanOut is the last day, as 2026-11-21, for which the vendor promised the price;
	// "" for one that is in force on the day that was asked for.
	RanOut string
}

// Source is a vendor's page, and the day on which it was read.
type Source struct {
	// Page is an address; "" for a file of one's own.
	Page string
	// Read is a date as 2026-10-24; "" where nobody says.
	Read string
}

// Cost gives what a call cost in nano-dollars, rounded half up. It reports
// false where a price is missing for tokens or searches that there are, where the
// usage cannot be, and where the sum is more than can be written.
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

// total is a sum of products that no 64 bits could hold.
type total struct{ high, low uint64 }

// add adds tokens × pico, neither of which is negative.
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

// parseDollars reads "0.125" as micro-dollars: no sign, no exponent, at most six
// digits behind the point.
func parseDollars(s string) (micro int64, ok bool) {
	return parseDecimal(s, 6)
}

// parseDecimal reads a decimal number as a whole number of its digits-th parts.
func parseDecimal(s string, digits int) (int64, bool) {
	whole, rest, point := strings.Cut(s, ".")
	if whole == "" || len(whole) > 9 || point && rest == "" || len(rest) > digits {
		return 0, false
	}
	n, err := strconv.ParseUint(whole+rest+strings.Repeat("0", digits-len(rest)), 10, 63)
	return int64(n), err == nil
}
