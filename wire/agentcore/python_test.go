package agentcore

import (
	"encoding/json"
	"math"
	"testing"
)

// The right-hand sides are what CPython 3.11 wrote.
func TestPythonJSON(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"b":1,"a":[true,false,null]}`: `{"b": 1, "a": [true, false, null]}`,
		"{ }":                           `{}`,
		`[1.0,1e16,1e15,1e-5,0.0001,-0.0,-0,1E400]`:                                     `[1.0, 1e+16, 1000000000000000.0, 1e-05, 0.0001, -0.0, 0, Infinity]`,
		`[0.1,1e100,123456789012345678901234567890,5e-324,1.7976931348623157e308,1e22]`: `[0.1, 1e+100, 123456789012345678901234567890, 5e-324, 1.7976931348623157e+308, 1e+22]`,
		`"<>&\/\u2028\u007f\u0001\n\r\t\b\f\"\\"`:                                       "\"<>&/\u2028\x7f\\u0001\\n\\r\\t\\b\\f\\\"\\\\\"",
		`"計算 \ud83d\udd0d"`:                                                             `"計算 🔍"`,
		`{"a":}`:                                                                        `null`,
		``:                                                                              `null`,
	} {
		if got := string(appendValue(nil, json.RawMessage(in), false)); got != want {
			t.Errorf("%s is written %s, want %s", in, got, want)
		}
	}
	if got := string(appendQuoted(nil, "計é🔍\x7f\u2028<\xff", true)); got != `"\u8a08\u00e9\ud83d\udd0d`+"\x7f"+`\u2028<\ufffd"` {
		t.Errorf("escaped: %s", got)
	}
	if got := string(appendQuoted(nil, "a\xffb", false)); got != "\"a\uFFFDb\"" {
		t.Errorf("bad UTF-8: %s", got)
	}
	for f, want := range map[float64]string{
		1: "1.0", 0.5: "0.5", 1e16: "1e+16", 9999999999999998: "9999999999999998.0", 1e-7: "1e-07", 123.456: "123.456",
		math.Inf(1): "Infinity", math.Inf(-1): "-Infinity", math.NaN(): "NaN",
	} {
		if got := string(appendFloat(nil, f)); got != want {
			t.Errorf("%v is written %s, want %s", f, got, want)
		}
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"0", "-0", "10", "01", "-", "1.", "1.5", ".5", "1e5", "1E+05", "1e", "1e-", "1.5e-3", "1x", "-12.0e0", "+1", "00", "1e5.0", ""} {
		if isNumber([]byte(word)) != json.Valid([]byte(word)) {
			t.Errorf("%q is a number: %v", word, isNumber([]byte(word)))
		}
	}
}
