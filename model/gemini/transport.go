package gemini

import (
	"cmp"
	"context"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/braidrun/braid/model/internal/idle"
	"github.com/braidrun/braid/model/internal/provider"
)

// exchange is one call: what is sent and what came back.
type exchange struct {
	method string
	// action is the method of the model that is called, such as "countTokens". A call of
	// another resource has a path instead, which stands behind the API's version.
	action, path string
	// upload is the whole address of a call that sends a file.
	upload string
	header http.Header
	body   []byte
	// attempt is which one of the loop's it is.
	attempt int
	// answer is one that is no error; the caller closes its body.
	answer *http.Response
}

// The addresses of the Gemini API and the versions of both APIs.
const (
	usualHost     = "generativelanguage.googleapis.com"
	usualBase     = "https://" + usualHost
	geminiVersion = "v1beta"
	vertexVersion = "v1beta1"
	streaming     = "streamGenerateContent"
)

// vertexURL is the address of a location; two of them are groups of regions. Express mode
// has no location.
func vertexURL(location string) string {
	switch location {
	case "", "global":
		return "https://aiplatform.googleapis.com"
	case "us", "eu":
		return "https://aiplatform." + location + ".rep.googleapis.com"
	default:
		return "https://" + location + "-aiplatform.googleapis.com"
	}
}

// root is the address that stands before the API's version.
func (m *Model) root() string {
	usual := usualBase
	if m.vertex {
		usual = vertexURL(m.location)
	}
	return strings.TrimRight(cmp.Or(m.base, usual), "/")
}

// place is the host that is asked, for errors.
func (m *Model) place() string {
	if u, err := url.Parse(m.root()); err == nil && u.Host != "" {
		return u.Host
	}
	return m.root()
}

// resource is the model's name as part of a path. Vertex AI puts the publisher and, unless
// it is called in express mode, the project before it.
func (m *Model) resource() string {
	known := func(prefixes ...string) bool {
		for _, p := range prefixes {
			if strings.HasPrefix(m.name, p) {
				return true
			}
		}
		return false
	}
	if !m.vertex {
		if known("models/", "tunedModels/") {
			return m.name
		}
		return "models/" + m.name
	}
	name := m.name
	switch publisher, rest, two := strings.Cut(name, "/"); {
	case known("projects/"):
		return name
	case known("models/", "publishers/"):
	case two:
		name = "publishers/" + publisher + "/models/" + rest
	default:
		name = "publishers/google/models/" + name
	}
	if m.project == "" {
		return name
	}
	return "projects/" + m.project + "/locations/" + m.location + "/" + name
}

// address is where an exchange is sent.
func (m *Model) address(x *exchange) string {
	version := geminiVersion
	if m.vertex {
		version = vertexVersion
	}
	root := m.root() + "/" + version + "/"
	switch {
	case x.upload != "":
		return x.upload
	case x.action == streaming:
		return root + m.resource() + ":" + x.action + "?alt=sse"
	case x.action != "":
		return root + m.resource() + ":" + x.action
	default:
		return root + x.path
	}
}

// post sends a request once and keeps the answer, once it has begun to come, in x.
func (m *Model) post(g *idle.Guard, x *exchange) error {
	if err := g.Context().Err(); err != nil {
		return err
	}
	g.Arm()
	defer g.Rest()
	header, err := m.header(g.Context(), x.header)
	if err != nil {
		return err
	}
	if x.action == streaming {
		header.Set("Accept", "text/event-stream")
	}
	method := cmp.Or(x.method, http.MethodPost)
	x.answer, err = provider.Send(g.Context(), m.client, method, m.address(x), header, x.body) //nolint:bodyclose // who reads the answer closes it
	return err
}

// header makes the header of a request: the fields of more, and the key or an access token.
func (m *Model) header(ctx context.Context, more http.Header) (http.Header, error) {
	h := make(http.Header, len(more)+3)
	maps.Copy(h, more)
	if h.Get("Content-Type") == "" {
		h.Set("Content-Type", "application/json")
	}
	if m.token == nil {
		h.Set("X-Goog-Api-Key", m.key.Reveal())
		return h, nil
	}
	token, err := m.token(ctx)
	if err != nil {
		return nil, &tokenError{err}
	}
	h.Set("Authorization", "Bearer "+token)
	return h, nil
}

// mostWhole bounds an answer that is not streamed.
const mostWhole = 64 << 20

// events gives a stream of the answer's events. Servers that know no streaming answer
// with one response, or with an array of what they would have streamed.
func (m *Model) events(g *idle.Guard, x *exchange) (io.Reader, error) {
	kind, _, err := mime.ParseMediaType(x.answer.Header.Get("Content-Type"))
	switch {
	case x.answer.StatusCode != http.StatusOK:
		return nil, errNoStream
	case err == nil && kind == "text/event-stream":
		return g.Reading(x.answer.Body), nil
	case err == nil && kind == "application/json":
		all, err := provider.ReadAll(g.Reading(x.answer.Body), mostWhole)
		if err != nil {
			return nil, err
		}
		return unstreamed(all)
	default:
		return nil, errNoStream
	}
}

// tokenError says that there was no token, so that nothing was sent.
type tokenError struct{ err error }

// Error implements error, for operators.
func (e *tokenError) Error() string { return "no token: " + e.err.Error() }

// Unwrap gives the cause.
func (e *tokenError) Unwrap() error { return e.err }
