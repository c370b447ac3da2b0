package vendor

import (
	"net/http"
	"net/url"
)

// Address reports whether s is the address of a server: http or https and a host, without a user, a
// query and a fragment.
func Address(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http") && u.User == nil && u.RawQuery == "" && u.Fragment == ""
}

// Client returns an HTTP client that follows no redirects, so that a key is sent only to the given
// address.
func Client() *http.Client {
	return &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}
