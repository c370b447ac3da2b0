package secret

import (
	"slices"
	"strings"

	"github.com/braidrun/braid/internal/lazyre"
)

// shape fits keys and tokens that say by their form what they are. Where it has a
// group, that is the secret and the rest says what it is.
type shape struct {
	fits *lazyre.Regexp
	// digit asks for a digit in it: a word is no key.
	digit bool
	// marks are what one of must be in a text that it fits, so that most texts are
	// never searched; in small letters where the shape takes any.
	marks []string
	fold  bool
}

// shapes are those of the vendors' own documentation, and the ways in which
// people write a password down.
var shapes = []shape{
	{fits: lazyre.New(`\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}`), marks: []string{"k-", "k_"}},
	{fits: lazyre.New(`\bgh[opusr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}`), marks: []string{"gh", "github_"}},
	{fits: lazyre.New(`\bglpat-[A-Za-z0-9_-]{16,}`), marks: []string{"glpat-"}},
	{fits: lazyre.New(`\bxox[a-z]-[A-Za-z0-9-]{10,}`), marks: []string{"xox"}},
	{fits: lazyre.New(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`), marks: []string{"AKIA", "ASIA"}},
	{fits: lazyre.New(`\bAIza[A-Za-z0-9_-]{30,}`), marks: []string{"AIza"}},
	{fits: lazyre.New(`\bya29\.[A-Za-z0-9_.-]{16,}`), marks: []string{"ya29."}}, // Google's access tokens
	{fits: lazyre.New(`\bABSK[A-Za-z0-9+/=]{20,}|\bbedrock-api-key-[A-Za-z0-9+/=_-]{20,}`), marks: []string{"ABSK", "bedrock-api-key-"}},
	{fits: lazyre.New(`\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*`), marks: []string{"eyJ"}},
	{fits: lazyre.New(`-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY-----|$)`), marks: []string{"PRIVATE KEY"}},
	{fits: lazyre.New(`(?i)\b(?:bearer|basic)[ \t]+([A-Za-z0-9._~+/=-]{16,})`), digit: true, marks: []string{"bearer", "basic"}, fold: true},
	{fits: lazyre.New(`://[^/\s@:]*:([^/\s@]+)@`), marks: []string{"://"}},
	{
		fits: lazyre.New(`(?i)(?:api[_-]?key|access[_-]?key|access[_-]?token|auth[_-]?token|client[_-]?secret|secret|password|passwd|token)` +
			`["']?[ \t]*[=:][ \t]*["']?([^\s&"',;]{8,})`), digit: true, marks: []string{"key", "token", "secret", "passw"}, fold: true,
	},
}

// Find gives the places, as pairs of a begin and an end in bytes, of what has the
// form of a key, a token or a password in a text that somebody else wrote: in
// order, without overlaps, nil where there is none. It knows forms, not secrets: what looks
// like any other word is not found, so that whoever knows a secret hides it with
// [Secret.Hide] as well.
func Find(text string) [][2]int {
	var found [][2]int
	folded := ""
	for i := range shapes {
		s := &shapes[i]
		in := text
		if s.fold {
			if folded == "" {
				folded = strings.ToLower(text)
			}
			in = folded
		}
		if !slices.ContainsFunc(s.marks, func(mark string) bool { return strings.Contains(in, mark) }) {
			continue
		}
		for _, at := range s.fits.FindAllStringSubmatchIndex(text, -1) {
			from, to := at[0], at[1]
			if len(at) > 2 && at[2] >= 0 {
				from, to = at[2], at[3]
			}
			if s.digit && !strings.ContainsAny(text[from:to], "0123456789") {
				continue
			}
			found = append(found, [2]int{from, to})
		}
	}
	return Merge(found)
}

// Merge puts places in order and makes one of those that overlap or touch. It
// changes the slice that it is given.
func Merge(places [][2]int) [][2]int {
	slices.SortFunc(places, func(a, b [2]int) int { return a[0] - b[0] })
	kept := places[:0]
	for _, p := range places {
		if n := len(kept); n > 0 && p[0] <= kept[n-1][1] {
			kept[n-1][1] = max(kept[n-1][1], p[1])
			continue
		}
		kept = append(kept, p)
	}
	return kept
}

// naming fits names of headers, variables and fields whose values are secrets.
var naming = lazyre.New(`(?i)auth|cookie|credential|key|passw|secret|session|signature|token`)

// Names reports whether a name of a header, a variable or a field says that its value is a secret.
func Names(name string) bool { return naming.MatchString(name) }
