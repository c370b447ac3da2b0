package demotool

import (
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/event"
)

func TestCalculate(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{
		"3+5":          "8",
		"12 * 7":       "84",
		"12 * (7 + 3)": "120",
		"(2+3)*4":      "20",
		"2 + 3 * 4":    "14",
		"8 - 3 - 2":    "3",
		"8 / 4 / 2":    "1",
		"2^10":         "1024",
		"2^3^2":        "512",
		"-2^2":         "-4",
		"(-2)^2":       "4",
		"2^-2":         "0.25",
		"-(3 + 4)":     "-7",
		"--3":          "3",
		"4 - -3":       "7",
		"+5":           "5",
		"0.1 + 0.2":    "0.3",
		".5*4":         "2",
		"5.":           "5",
		"1.50":         "1.5",
		"10/4":         "2.5",
		"1/3":          "0.33333333333333333333…",
		"-1/3":         "-0.33333333333333333333…",
		"2/3":          "0.66666666666666666666…",
		"100/3":        "33.33333333333333333333…",
		"1/3*3":        "1",
		"2(3+4)":       "14",
		"(2)(3)":       "6",
		"1_000 + 1":    "1001",
		"1e3":          "1000",
		"1.5E-3":       "0.0015",
		"2 ** 3":       "8",
		"６×７":          "42",
		"（１＋２）÷３":      "1",
		"9 − 4":        "5",
		"1^9999":       "1",
		"0^0":          "1",
		"99999999999999999999*99999999999999999999": "9999999999999999999800000000000000000001",
		"2^200": "1606938044258990275541962092341162602522202993782792835301376",
		strings.Repeat("(", 50) + "1" + strings.Repeat(")", 50): "1",
	} {
		got, err := calculate(expression)
		if err != nil || got != want {
			t.Errorf("%s = %q, %v; want %s", expression, got, err, want)
		}
	}
}

func TestWhatCannotBeCalculatedIsSaid(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{
		"1/0":                          "division by zero",
		"1/(2-2)":                      "division by zero",
		"0^-1":                         "division by zero",
		"12 * (7 + 3":                  "\")\" is missing",
		"12 * 7)":                      "without its \"(\"",
		"":                             "ends where a number should stand",
		"  ":                           "ends where a number should stand",
		"3 +":                          "ends where a number should stand",
		"3 + * 4":                      "\"*\"",
		"sqrt(4)":                      "\"s\"",
		"3 4":                          "\"4\"",
		"1.2.3":                        "\".\"",
		".":                            "\".\"",
		"2 % 3":                        "\"%\"",
		"1 + あ":                        "\"あ\"",
		"2^0.5":                        "0.5 is no whole number",
		"2^(1/3)":                      "is no whole number",
		"9^99999":                      "too large",
		"9^9999^9999":                  "too large",
		"1e999999999":                  "too large",
		"1e-99999999999999999999":      "too large",
		"1e9999*1e9999":                "too large",
		"(1e4000)^9999":                "too large",
		"(1e4000)^2*(1e4000)^2":        "too large",
		"\xff":                         "is no text",
		strings.Repeat("1+", 501):      "more than 1000 characters",
		strings.Repeat("(", 200):       "nested too deeply",
		strings.Repeat("-", 200) + "1": "nested too deeply",
	} {
		got, err := calculate(expression) // an unbounded calculation would exceed the test's timeout
		var e *event.Error
		if !errors.As(err, &e) || e.Hint == "" || !strings.Contains(e.Message, want) || got != "" {
			t.Errorf("%.30q = %q, %v; want an error with %q", expression, got, err, want)
		}
	}
}

// Whole numbers of any size agree with math/big.
func TestCalculatorIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[1-9][0-9]{0,60}`)
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		x, _ := new(big.Int).SetString(a, 10)
		y, _ := new(big.Int).SetString(b, 10)
		for sign, want := range map[string]*big.Int{
			"+": new(big.Int).Add(x, y), "-": new(big.Int).Sub(x, y), "*": new(big.Int).Mul(x, y),
		} {
			if got, err := calculate(a + sign + b); err != nil || got != want.String() {
				t.Fatalf("%s %s %s = %s, %v", a, sign, b, got, err)
			}
		}
		if got, err := calculate("(" + a + "/" + b + ")*" + b); err != nil || got != a {
			t.Fatalf("%s / %s * %s = %s, %v", a, b, b, got, err)
		}
	})
}

func FuzzCalculate(f *testing.F) {
	for _, s := range []string{"12 * (7 + 3)", "1/3", "2^-10", "1e3(4)", "((1", "-.5e-2^2", "9^999*9^999/9^998"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		begin := time.Now()
		out, err := calculate(s)
		if d := time.Since(begin); d > time.Minute {
			t.Fatalf("%q took %v", s, d)
		}
		if (err == nil) == (out == "") {
			t.Fatalf("%q = %q, %v", s, out, err)
		}
		if err != nil {
			return
		}
		if len(out) > 25_000 {
			t.Fatalf("%q has %d digits", s, len(out))
		}
		// Formatted numbers can be parsed again unless they were cut.
		if strings.HasSuffix(out, "…") || len(out) > maxExpression {
			return
		}
		if again, err := calculate(out); err != nil || again != out {
			t.Fatalf("%q = %q, which is %q, %v", s, out, again, err)
		}
	})
}
