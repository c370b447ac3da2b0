package vendor

import (
	"net/http"
	"net/url"
)

// Address reports whether s can be where a server is: http or https and a host,
// without a user, a query and a fragment.
func Address(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http") && u.User == nil && u.RawQuery == "" && u.Fragment == ""
}

// Client is an HTTP client that follows no redirect: a key goes to the address that
// was given, or nowhere.
func Client() *http.Client {
	return &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}
