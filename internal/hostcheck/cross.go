package hostcheck

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Cross is the CORS policy (Fetch standard) for pages of the operator's other sites. It never
// allows credentials that a browser adds by itself, such as cookies: the page must send a token
// in a header.
type Cross struct {
	// Origins are those sites, such as "https://chat.example". If it is empty, Answer does
	// nothing.
	Origins []string
	// Methods lists the methods that a page may use, separated by commas.
	Methods string
	// Headers lists the headers that a page may send, separated by commas.
	Headers string
	// Expose lists the response headers that a page may read, separated by commas.
	Expose string
}

// Answer writes the CORS headers. For a preflight request it writes the whole response and
// returns true. It does not refuse requests: [Origin] does.
func (c *Cross) Answer(w http.ResponseWriter, r *http.Request) (answered bool) {
	if len(c.Origins) == 0 {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin") // even if refused: the response depends on the origin
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

// IsOrigin reports whether text is an origin as browsers send it: a scheme and a host in lower
// case, a port if it is not the scheme's default, and nothing after them. Any other text would
// silently match no page.
func IsOrigin(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" && u.Port() != "80" || u.Scheme == "https" && u.Port() != "443") && u.Hostname() != "" &&
		text == strings.ToLower(u.Scheme+"://"+u.Host) && !strings.ContainsAny(u.Host, "* ")
}
