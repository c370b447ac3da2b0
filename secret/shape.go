package secret

import (
	"slices"
	"strings"

	"github.com/braidrun/braid/internal/lazyre"
)

// shape matches keys and tokens with a recognisable form. If it has a group, the group is the
// secret.
type shape struct {
	fits *lazyre.Regexp
	// digit requires a digit, because a word is not a key.
	digit bool
	// marks are texts of which a match contains one, so that most texts are never searched.
	marks []string
	// fold reports that case does not matter. The marks are then in lower case.
	fold bool
}

// shapes are the forms in the vendors' documentation, and the usual ways to write a password.
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

// Find returns the places of keys, tokens and passwords in a text, as pairs of a begin and an end
// in bytes, in order and without overlaps; nil if there are none. It recognises forms: a secret
// that looks like an ordinary word is not found, so hide known secrets with [Secret.Hide] too.
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

// Merge sorts places and joins those that overlap or touch. It changes the given slice.
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

// naming matches names of headers, variables and fields whose values are secrets.
var naming = lazyre.New(`(?i)auth|cookie|credential|key|passw|secret|session|signature|token`)

// Names reports whether a name of a header, a variable or a field says that its value is a secret.
func Names(name string) bool { return naming.MatchString(name) }
