package ownhost

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Cross is what pages of the operator's other sites may do, as browsers are told it (the
// Fetch standard's CORS protocol). Credentials that a browser adds by itself, such as cookies,
// never count: a token is a header that the page itself must know.
type Cross struct {
	// Origins are those sites, such as "https://chat.example". Without one nobody is told
	// anything.
	Origins []string
	// Methods and Headers are what a page may send, Expose are the headers that it may read;
	// lists with commas.
	Methods, Headers, Expose string
}

// Answer writes what the page's browser is to know, and the whole answer where it asks before it
// asks. Whoever may not ask has been refused before ([Origin]), or is refused after it.
func (c *Cross) Answer(w http.ResponseWriter, r *http.Request) (answered bool) {
	if len(c.Origins) == 0 {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin") // also where it is refused: another origin is answered otherwise
	origin := r.Header.Get("Origin")
	if !slices.Contains(c.Origins, origin) {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", c.Expose)
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", c.Methods)
	h.Set("Access-Control-Allow-Headers", c.Headers)
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// IsOrigin reports whether a text is an origin as browsers send it: a scheme and a host in small
// letters, a port where it is not the scheme's own, and nothing behind them. Anything else would
// match no page, without a word.
func IsOrigin(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" && u.Port() != "80" || u.Scheme == "https" && u.Port() != "443") && u.Hostname() != "" &&
		text == strings.ToLower(u.Scheme+"://"+u.Host) && !strings.ContainsAny(u.Host, "* ")
}
