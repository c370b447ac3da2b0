package directory

import "strings"

// mostScopes bounds the scopes that a sign-in or a client asks for.
const mostScopes = 100

func isScope(s string) bool {
	return s != "" && len(s) <= longestName && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || r == '"' || r == '\\'
	})
}

// scopes checks scopes of OAuth.
func (c *checker) scopes(field string, scopes []string) {
	c.want(len(scopes) <= mostScopes, field+" has too many entries", "send at most 100")
	for _, scope := range scopes {
		c.want(isScope(scope), field+" has an entry that is no scope", "write printable ASCII without spaces and quotes")
	}
}
