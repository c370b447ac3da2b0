package server

import (
	"errors"
	"html"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
)

// These are the paths for sign-ins to MCP servers. They are no part of the API: browsers and authorization servers use them.
const (
	CallbackPath = "/oauth/callback"
	ClientPath   = "/oauth/client.json"
)

// signInPage answers a browser that an authorization server sent back. The first time it shows who signs in to what, and
// a link that completes the sign-in: somebody who was sent the link of another one sees that here.
func (s *Server) signInPage(w http.ResponseWriter, r *http.Request) error {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	q, err := url.ParseQuery(r.URL.RawQuery)
	once := err == nil && len(r.URL.RawQuery) <= maxCallback
	for _, name := range []string{"code", "state", "iss", "error", "confirmed"} {
		once = once && len(q[name]) <= 1
	}
	if !once || q.Get("state") == "" {
		return page400(w, "This is not the address of a sign-in.")
	}
	a := service.SignInAnswer{Code: q.Get("code"), State: q.Get("state"), Issuer: q.Get("iss"), Error: q.Get("error")}
	if q.Get("confirmed") != "yes" && a.Error == "" {
		in, err := s.service.PeekSignIn(r.Context(), a)
		if err != nil {
			return s.signInFault(w, r, err)
		}
		q.Set("confirmed", "yes")
		user := "the tenant's runs without a user"
		if in.User != "" {
			user = "the user " + in.User
		}
		writePage(w, http.StatusOK, "Connect the MCP server "+in.Server+"?",
			"<p>"+html.EscapeString("Runs of "+user+" of the tenant "+in.Tenant+" will use "+in.Server+" in your name.")+"</p>"+
				"<p>Continue only if you began this yourself.</p>"+
				`<p><a href="?`+html.EscapeString(q.Encode())+`">Continue</a></p>`)
		return nil
	}
	in, err := s.service.CompleteSignIn(r.Context(), a)
	if err != nil {
		return s.signInFault(w, r, err)
	}
	writePage(w, http.StatusOK, "Connected", "<p>"+html.EscapeString("You are signed in to "+in.Server+". You can close this page.")+"</p>")
	return nil
}

// maxCallback bounds the query of a callback.
const maxCallback = 16 << 10

// signInFault shows an error to a browser.
func (s *Server) signInFault(w http.ResponseWriter, r *http.Request, err error) error {
	if errors.Is(err, event.ErrNotFound) || errors.Is(err, event.ErrUnsupported) {
		return page400(w, "There is no such sign-in. It has ended, or was completed before.")
	}
	e, ok := errors.AsType[*event.Error](err)
	if !ok || e.Kind == event.ErrInternal {
		s.log.ErrorContext(r.Context(), "a sign-in failed", "error", err)
		writePage(w, http.StatusInternalServerError, "Not connected", "<p>Something went wrong. Try again later.</p>")
		return nil
	}
	writePage(w, http.StatusBadRequest, "Not connected", "<p>"+html.EscapeString(e.Message+".")+"</p>")
	return nil
}

func page400(w http.ResponseWriter, text string) error {
	writePage(w, http.StatusBadRequest, "Not connected", "<p>"+html.EscapeString(text)+"</p>")
	return nil
}

func writePage(w http.ResponseWriter, status int, title, body string) {
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "<!doctype html><meta charset=utf-8><title>"+html.EscapeString(title)+ // the browser may have gone
		"</title><style>body{font-family:sans-serif;max-width:40em;margin:4em auto}</style><h1>"+html.EscapeString(title)+"</h1>"+body+"\n")
}

// clientDocument is a Client ID Metadata Document.
type clientDocument struct {
	ClientID      string   `json:"client_id"`
	ClientName    string   `json:"client_name"`
	ClientURI     string   `json:"client_uri"`
	RedirectURIs  []string `json:"redirect_uris"`
	GrantTypes    []string `json:"grant_types"`
	ResponseTypes []string `json:"response_types"`
	AuthMethod    string   `json:"token_endpoint_auth_method"`
}

// clientMetadata serves the document that describes this client to authorization servers.
func (s *Server) clientMetadata(w http.ResponseWriter, r *http.Request) error {
	public := strings.TrimSuffix(s.options.PublicURL, "/")
	if public == "" {
		return noSuchPath(w, r)
	}
	w.Header().Set("Cache-Control", "max-age=3600")
	writeJSON(w, http.StatusOK, clientDocument{
		ClientID: public + ClientPath, ClientName: "Braid", ClientURI: public, RedirectURIs: []string{public + CallbackPath},
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"}, AuthMethod: "none",
	})
	return nil
}

// listOwnGrants lists the grants of the credential's user.
func (s *Server) listOwnGrants(w http.ResponseWriter, r *http.Request) error {
	if s.options.Directory == nil {
		return answerPage(w, []directory.MCPGrant(nil), "")
	}
	return listedPages(w, r, func(q directory.Query) ([]directory.MCPGrant, string, error) {
		return s.options.Directory.ListMCPGrantsOf(r.Context(), who(r).Tenant, who(r).User, q)
	})
}

// beginGrantRequest names the user who is to sign in. An empty one stands for the tenant's runs without a user.
type beginGrantRequest struct {
	User string `json:"user,omitempty"`
}

// beginOwnGrant begins to sign the credential's user in to a server.
func (s *Server) beginOwnGrant(w http.ResponseWriter, r *http.Request) error {
	return s.beginSignIn(w, r, who(r).Tenant, who(r).User)
}

// beginGrant begins to sign a user of a tenant in to a server.
func (s *Server) beginGrant(w http.ResponseWriter, r *http.Request) error {
	var body beginGrantRequest
	if err := s.readBody(w, r, &body, true); err != nil {
		return err
	}
	return s.beginSignIn(w, r, tenantOf(r), body.User)
}

func (s *Server) beginSignIn(w http.ResponseWriter, r *http.Request, tenant, user string) error {
	link, err := s.service.BeginSignIn(r.Context(), by(r), tenant, r.PathValue("server"), user)
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	writeJSON(w, http.StatusCreated, link)
	return nil
}

// revokeOwnGrant ends the grant of the credential's user for a server.
func (s *Server) revokeOwnGrant(w http.ResponseWriter, r *http.Request) error {
	p := who(r)
	server := r.PathValue("server")
	id := directory.MCPGrantKey{Server: server, User: p.User}.ID()
	if err := s.service.RevokeMCPGrant(r.Context(), by(r), p.Tenant, server, id); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// listGrants lists the grants of all users for a server of a tenant.
func (s *Server) listGrants(w http.ResponseWriter, r *http.Request) error {
	return listedPages(w, r, func(q directory.Query) ([]directory.MCPGrant, string, error) {
		return s.options.Directory.ListMCPGrants(r.Context(), tenantOf(r), r.PathValue("server"), q)
	})
}

// revokeGrant ends a user's grant.
func (s *Server) revokeGrant(w http.ResponseWriter, r *http.Request) error {
	if err := s.service.RevokeMCPGrant(r.Context(), by(r), tenantOf(r), r.PathValue("server"), r.PathValue("grant")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// listedPages answers with a page of a list that knows no order and no status.
func listedPages[T any](w http.ResponseWriter, r *http.Request, list func(q directory.Query) ([]T, string, error)) error {
	values, err := query(r, "cursor", "limit")
	if err != nil {
		return err
	}
	limit, err := number(values, "limit", directory.MostPage)
	if err != nil {
		return err
	}
	found, next, err := list(directory.Query{Cursor: values["cursor"], Limit: int(limit)})
	if err != nil {
		return err
	}
	return answerPage(w, found, next)
}
