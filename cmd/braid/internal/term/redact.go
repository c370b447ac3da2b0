package term

import (
	"strings"

	"github.com/braidrun/braid/internal/lazyre"
)

var (
	// secretPrefix matches keys and tokens with a known prefix.
	secretPrefix = lazyre.New(`\b(?:sk|pk|rk|key|tok|ghp|gho|xox[a-z])[-_][A-Za-z0-9_-]{8,}|` +
		`\bAKIA[A-Z0-9]{12,}|\bAIza[A-Za-z0-9_-]{20,}|\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_.-]+`)
	// secretLong matches a long word without a separator, which may be a key.
	secretLong = lazyre.New(`[A-Za-z0-9+_-]{40,}`)
	// secretUser matches the user name and password in a URL.
	secretUser = lazyre.New(`://[^/\s@]+@`)
	// secretField matches a query parameter with the name of a secret.
	secretField = lazyre.New(`(?i)\b((?:api[_-]?key|key|token|secret|password)=)[^&\s]+`)
)

// Redact replaces possible secrets in a value: keys, tokens, and the password of a URL.
func Redact(s string) string {
	s = secretUser.ReplaceAllString(s, "://[redacted]@")
	s = secretField.ReplaceAllString(s, "${1}[redacted]")
	s = secretPrefix.ReplaceAllString(s, "[redacted]")
	return secretLong.ReplaceAllStringFunc(s, func(run string) string {
		if strings.ContainsAny(run, "0123456789") && strings.ToLower(run) != strings.ToUpper(run) {
			return "[redacted]"
		}
		return run
	})
}

// LooksSecret reports whether Redact would change s.
func LooksSecret(s string) bool { return Redact(s) != s }
