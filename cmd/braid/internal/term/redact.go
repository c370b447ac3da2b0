package term

import (
	"strings"

	"github.com/braidrun/braid/internal/lazyre"
)

var (
	// secretPrefix fits keys and tokens that say what they are.
	secretPrefix = lazyre.New(`\b(?:sk|pk|rk|key|tok|ghp|gho|xox[a-z])[-_][A-Za-z0-9_-]{8,}|` +
		`\bAKIA[A-Z0-9]{12,}|\bAIza[A-Za-z0-9_-]{20,}|\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_.-]+`)
	// secretLong fits what may be one: a long run without a pause.
	secretLong = lazyre.New(`[A-Za-z0-9+_-]{40,}`)
	// secretUser is the name and password in an address.
	secretUser = lazyre.New(`://[^/\s@]+@`)
	// secretField is a parameter that is called one.
	secretField = lazyre.New(`(?i)\b((?:api[_-]?key|key|token|secret|password)=)[^&\s]+`)
)

// Redact hides what may be a secret in a value that is shown: keys, tokens and
// the password of an address.
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

// LooksSecret reports whether redact would hide something.
func LooksSecret(s string) bool { return Redact(s) != s }
