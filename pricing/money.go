package pricing

import (
	"math"
	"strconv"
	"strings"

	"github.com/braidrun/braid/event"
)

// NanoUSD is an amount of money in 1e-9 US dollars. Its text is a decimal number of dollars: "0.5"
// means 500,000,000.
type NanoUSD int64

// String returns the dollars, with as many decimals as necessary and at least two.
func (n NanoUSD) String() string {
	sign, abs := "", uint64(n)
	if n < 0 {
		sign, abs = "-", uint64(-n)
	}
	rest := strconv.FormatUint(abs%1e9+1e9, 10)[1:]
	for len(rest) > 2 && rest[len(rest)-1] == '0' {
		rest = rest[:len(rest)-1]
	}
	return sign + strconv.FormatUint(abs/1e9, 10) + "." + rest
}

// MarshalText returns the result of String.
func (n NanoUSD) MarshalText() ([]byte, error) { return []byte(n.String()), nil }

// UnmarshalText parses a decimal number with at most nine decimals and no exponent.
func (n *NanoUSD) UnmarshalText(text []byte) error {
	rest, less := strings.CutPrefix(string(text), "-")
	nano, ok := parseDecimal(rest, 9)
	if !ok || nano == math.MinInt64 {
		return &event.Error{
			Op: "money", Kind: event.ErrInvalid, Message: "an amount of money is no decimal number",
			Hint: "write US dollars, such as \"0.50\", with at most nine decimals",
		}
	}
	if less {
		nano = -nano
	}
	*n = NanoUSD(nano)
	return nil
}
