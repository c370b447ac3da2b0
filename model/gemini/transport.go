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

// exchange is one call: its request and its answer.
type exchange struct {
	method string
	// action is the method to call on the model, such as "countTokens". For a call of another resource, path is set
	// instead; it follows the API's version.
	action, path string
	// upload is the full address of a call that sends a file.
	upload string
	header http.Header
	body   []byte
	// attempt is the number of the loop's attempt.
	attempt int
	// answer is a successful response. The caller closes its body.
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

// vertexURL returns the address of a location. Two locations are groups of regions, and express mode has no location.
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

// root returns the address before the API's version.
func (m *Model) root() string {
	usual := usualBase
	if m.vertex {
		usual = vertexURL(m.location)
	}
	return strings.TrimRight(cmp.Or(m.base, usual), "/")
}

// place returns the host, for errors.
func (m *Model) place() string {
	if u, err := url.Parse(m.root()); err == nil && u.Host != "" {
		return u.Host
	}
	return m.root()
}

// resource returns the model's name as part of a path. Vertex AI puts the publisher before it, and also the project
// unless it is called in express mode.
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

// address returns the URL of an exchange.
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

// post sends a request once. When the answer has begun to arrive, it is stored in x.
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

// header returns the header of a request: the fields of more, and the key or an access token.
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

// mostWhole limits the size of an answer that is not streamed.
const mostWhole = 64 << 20

// events returns a stream of the answer's events. A server without streaming answers with one response, or with an
// array of the events.
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

// tokenError means that no token was available, so nothing was sent.
type tokenError struct{ err error }

// Error implements error, for operators.
func (e *tokenError) Error() string { return "no token: " + e.err.Error() }

// Unwrap returns the cause.
func (e *tokenError) Unwrap() error { return e.err }
