package pricing_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/pricing"
)

func TestMoney(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]pricing.NanoUSD{
		"0.00": 0, "0.50": 5e8, "1.00": 1e9, "12.345678901": 12_345_678_901, "-0.000000001": -1, "999999999.00": 999_999_999e9,
	} {
		var n pricing.NanoUSD
		if err := n.UnmarshalText([]byte(text)); err != nil || n != want || n.String() != text {
			t.Errorf("%s is %d (%s): %v", text, n, n, err)
		}
	}
	for _, text := range []string{"", ".", "1.", ".5", "1e3", "--1", "+1", "1,5", "0.0000000001", "9999999999", "NaN", " 1", "$1"} {
		var n pricing.NanoUSD
		if err := n.UnmarshalText([]byte(text)); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%q is %d: %v", text, n, err)
		}
	}
}

// Rates and money are written so that they are read as the same.
func TestTextOfRatesAndMoney(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := pricing.NanoUSD(rapid.Int64Range(-999_999_999e9, 999_999_999e9).Draw(t, "nano"))
		text, _ := n.MarshalText()
		var back pricing.NanoUSD
		if err := back.UnmarshalText(text); err != nil || back != n {
			t.Fatalf("%d is written %s and read as %d: %v", n, text, back, err)
		}
		var r, again pricing.Rate
		if err := r.UnmarshalText([]byte(pricing.NanoUSD(1000 * rapid.Int64Range(0, 999_999_999e6).Draw(t, "micro")).String())); err != nil {
			t.Fatal(err)
		}
		text, _ = r.MarshalText()
		if err := again.UnmarshalText(text); err != nil || again != r {
			t.Fatalf("%v is written %s and read as %v: %v", r, text, again, err)
		}
	})
	var r pricing.Rate
	if text, err := r.MarshalText(); err != nil || len(text) != 0 {
		t.Errorf("what is not known is written %q: %v", text, err)
	}
	for _, wrong := range []string{"-1", "1.0000001", "x"} {
		if err := r.UnmarshalText([]byte(wrong)); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}
