package secret_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/internal/race"
	"github.com/braidrun/braid/secret"
)

// spellings are ways in which a tool or a model repeats a value.
func spellings(value string) map[string]string {
	quoted, _ := json.Marshal(value)
	twice, _ := json.Marshal(string(quoted))
	letters := []rune(value)
	slices.Reverse(letters)
	var u, spaced, percent strings.Builder
	for _, r := range value {
		if r < 0x10000 {
			u.WriteString(`\u` + hex.EncodeToString([]byte{byte(r >> 8), byte(r)}))
		} else {
			u.WriteRune(r)
		}
		spaced.WriteString(string(r) + " ")
	}
	for _, c := range []byte(value) {
		percent.WriteString("%" + hex.EncodeToString([]byte{c}))
	}
	m := map[string]string{
		"as it is": value, "JSON": string(quoted), "JSON in JSON": string(twice), `all as \u`: u.String(), "spaced": spaced.String(),
		"query": url.QueryEscape(value), "path": url.PathEscape(value), "all as %": percent.String(), "backwards": string(letters),
		"hex": hex.EncodeToString([]byte(value)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(value))),
		"upper case": small(value, 'a', 'z'), "lower case": small(value, 'A', 'Z'),
	}
	for _, before := range []string{"", "u", "us"} {
		m["base64 behind "+before] = base64.StdEncoding.EncodeToString([]byte(before + value + " and more"))
		m["base64url behind "+before] = base64.RawURLEncoding.EncodeToString([]byte(before + value))
	}
	wrapped := base64.StdEncoding.EncodeToString([]byte(value + " and more"))
	m["base64 in lines"] = wrapped[:7] + "\r\n" + wrapped[7:]
	return m
}

// small changes the case of the ASCII letters between two.
func small(s string, from, to rune) string {
	return strings.Map(func(r rune) rune {
		if r >= from && r <= to {
			return r ^ 0x20
		}
		return r
	}, s)
}

// What is left of a spelling once the mask has been over it: at most what base64 shares with its neighbours.
func TestMaskForms(t *testing.T) {
	t.Parallel()
	long := 1000
	if race.On {
		long = 50 // one goroutine masks: make test-long masks the longest value
	}
	for _, value := range []string{"ghp_Q7n2vTz9LmX4", "planted/secret+of=a test", `a"quote\and<more>é😀`, "12345678", strings.Repeat("long-0123456789/", long)} {
		mask := secret.NewMask(secret.New(value))
		for name, said := range spellings(value) {
			text := "the key is (" + said + ")."
			got := mask.Hide(text)
			if !strings.Contains(got, secret.Redacted) || len(got) > len("the key is ().")+len(secret.Redacted)+24 {
				t.Errorf("%.20q, %s: %.80q becomes %.80q", value, name, text, got)
			}
			if again := mask.Hide(got); again != got {
				t.Errorf("%.20q, %s: hidden twice it is %q", value, name, again)
			}
		}
	}
}

// A text that comes in pieces shows as much as one that comes whole, wherever it is cut.
func TestMaskInPieces(t *testing.T) {
	t.Parallel()
	const value, other = `tok/"7Hq2 x9Wv-4Kd8`, `tok/"7Hq2 another one`
	mask := secret.NewMask(secret.New(value), secret.New(other), secret.New("8chars_!"))
	var said []string
	for _, v := range []string{value, other, "8chars_!"} {
		for _, s := range spellings(v) {
			said = append(said, s)
		}
	}
	slices.Sort(said)
	said = append(said, "plain words", "tok/", "to", `\`, `\u00`, "%2", "100% sure", "日本", "8chars", value[:len(value)-1])
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(said), 1, 5).Draw(rt, "parts"), rapid.SampledFrom([]string{"", " ", "-"}).Draw(rt, "between"))
		var shown strings.Builder
		in := mask.Parts(func(_ int, text string) bool { shown.WriteString(text); return true })
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, min(len(rest), 9)).Draw(rt, "piece")
			in.Next(0, 0, rest[:n])
			rest = rest[n:]
		}
		in.End()
		if got, want := shown.String(), mask.Hide(text); got != want {
			rt.Fatalf("%q in pieces is %q, whole %q", text, got, want)
		}
	})
	shown := ""
	in := mask.Parts(func(_ int, text string) bool { shown += text; return true })
	for _, piece := range []string{"the ", "weather is ", "fine today"} {
		in.Next(0, 0, piece)
	}
	if whole := "the weather is fine today"; !strings.HasPrefix(whole, shown) || len(shown) < len("the weather is fine") {
		t.Errorf("too much is held back: %q is shown", shown)
	}
}

func TestMaskOfNone(t *testing.T) {
	t.Parallel()
	for name, mask := range map[string]*secret.Mask{
		"nil": nil, "no secrets": secret.NewMask(), "an empty one": secret.NewMask(secret.Secret{}), "a short one": secret.NewMask(secret.New("1234567")),
	} {
		if got := mask.Hide("1234567 and 12345678"); mask != nil || got != "1234567 and 12345678" || mask.Find("x") != nil {
			t.Errorf("%s: %v, %q", name, mask, got)
		}
	}
	// The words around are left alone, also those that begin as a secret does.
	mask := secret.NewMask(secret.New("correct horse battery"))
	for _, text := range []string{"correct horse", "a correct answer", "battery", "cor rect horse batt ery pack"} {
		want := text
		switch text {
		case "correct horse": // the end of a text: the rest may have been cut off
			want = secret.Redacted
		case "cor rect horse batt ery pack":
			want = secret.Redacted + " pack"
		}
		if got := mask.Hide(text); got != want {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

func TestMaskOfNoneCostsNothing(t *testing.T) { //nolint:paralleltest // it counts allocations
	const text = "An answer of a model that holds no secret of anybody's, and is longer than any of them."
	if n := testing.AllocsPerRun(100, func() { (*secret.Mask)(nil).Hide(text) }); n != 0 {
		t.Errorf("without secrets a text costs %v allocations", n)
	}
}
