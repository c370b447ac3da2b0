package directory

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
)

// HeaderTemplate is the value of a header with placeholders such as ${crm_token}. It is text and
// the names of tokens in turn: the parts with an odd index are names. Make it with
// [ParseHeaderTemplate].
type HeaderTemplate []string

const (
	longestTemplate = 4 << 10
	longestToken    = 200
	// longestHeader bounds a filled value. Servers refuse longer headers.
	longestHeader = 8 << 10
)

// ParseHeaderTemplate parses a template. what says what is wrong with it; empty means nothing.
func ParseHeaderTemplate(text string) (t HeaderTemplate, what string) {
	switch {
	case len(text) > longestTemplate:
		return nil, "is longer than 4 KiB"
	case !sendable(text):
		return nil, "contains control characters, or is not UTF-8"
	}
	t = HeaderTemplate{""}
	for rest := text; ; {
		before, after, found := strings.Cut(rest, "${")
		t[len(t)-1] += before
		if !found {
			return t, ""
		}
		name, after, found := strings.Cut(after, "}")
		if !found || !isTokenName(name) {
			return nil, `has "${" without the name of a token and "}"`
		}
		t, rest = append(t, name, ""), after
	}
}

// Names returns the names of the template's tokens, each once, in order.
func (t HeaderTemplate) Names() (names []string) {
	for i := 1; i < len(t); i += 2 {
		if !slices.Contains(names, t[i]) {
			names = append(names, t[i])
		}
	}
	return names
}

// Fill inserts tokens. It reads the template once, so a token that contains a placeholder is sent
// as it is. It returns an error of kind [event.ErrInvalid] that names a token: TOKEN_MISSING if
// there is none, TOKEN_INVALID if it cannot be sent in a header. The error contains no value.
func (t HeaderTemplate) Fill(tokens map[string]secret.Secret) (secret.Secret, error) {
	var b strings.Builder
	for i, part := range t {
		if i%2 == 0 {
			b.WriteString(part)
			continue
		}
		value := tokens[part].Reveal()
		switch {
		case value == "":
			return secret.Secret{}, &event.Error{
				Op: "header template", Kind: event.ErrInvalid, Code: TokenMissing, Message: "the token " + strconv.Quote(part) + " is missing",
				Hint: "send it in tokens",
			}
		case !sendable(value):
			return secret.Secret{}, tokenInvalid(part, "contains control characters, or is not UTF-8", "send it on one line")
		}
		b.WriteString(value)
		if b.Len() > longestHeader {
			return secret.Secret{}, tokenInvalid(part, "is too long for a header", "send headers of at most 8 KiB")
		}
	}
	return secret.New(b.String()), nil
}

// These are the codes of errors about tokens.
const (
	TokenMissing = "TOKEN_MISSING"
	TokenInvalid = "TOKEN_INVALID"
)

func tokenInvalid(name, what, hint string) error {
	return &event.Error{
		Op: "header template", Kind: event.ErrInvalid, Code: TokenInvalid, Message: "the token " + strconv.Quote(name) + " " + what, Hint: hint,
	}
}

// sendable reports whether a text can be the value of a header.
func sendable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 })
}

// isTokenName reports whether a text can be the name of a token in a template.
func isTokenName(s string) bool {
	return s != "" && len(s) <= longestToken && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '_' && r != '-' && r != '.' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}
