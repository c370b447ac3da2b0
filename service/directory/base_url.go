package directory

import (
	"net/url"
	"strings"
)

const longestURL = 2 << 10

// isBaseURL reports whether a text is an absolute URL without secrets and templates; one that is a base has no query either.
func isBaseURL(text string, base bool) bool {
	u, err := url.Parse(text)
	return err == nil && len(text) <= longestURL && sendable(text) && (u.Scheme == "https" || u.Scheme == "http") && u.Hostname() != "" &&
		u.User == nil && u.Fragment == "" && (!base || u.RawQuery == "" && !u.ForceQuery) && !strings.Contains(text, "${")
}
