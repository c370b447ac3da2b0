package anthropictest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/braidrun/braid/model/internal/vendortest"
)

// The server for Vertex AI accepts one access token, for one project and one location.
const (
	VertexToken    = "ya29.test-0000000000000000000000000000"
	VertexProject  = "test-project"
	VertexLocation = "us-east5"
)

// Token returns the access token that the server for Vertex AI accepts.
func Token(context.Context) (string, error) { return VertexToken, nil }

// StartVertex starts a server that behaves as Vertex AI with Claude: streamRawPredict, and count-tokens
// (build-with-claude/claude-on-vertex-ai; Google's pages partner-models/claude/use-claude and …/count-tokens).
// Answers are those of [Stream], [Text], [Error] for Claude's refusals, and [VertexError].
func StartVertex(answers ...Answer) *Server {
	s := &Server{said: map[string]string{}, vertex: true}
	vendortest.Start(&s.Server, vendortest.Rules{
		Type: "text/event-stream; charset=utf-8", ID: "Request-Id", Largest: largestVertex, Check: s.deniesVertex, Learn: s.learn,
		Unprepared: VertexError(http.StatusInternalServerError, "INTERNAL", "The test has no answer to this request"),
	}, answers...)
	return s
}

// VertexError returns an error of Google in place of a stream; Google puts it in a list.
func VertexError(status int, kind, message string) Answer {
	return Answer{
		Status: status, Header: map[string]string{"Content-Type": "application/json; charset=UTF-8"},
		Body: fmt.Sprintf("[{\n  \"error\": {\n    \"code\": %d,\n    \"message\": %s,\n    \"status\": %q\n  }\n}\n]", status, quote(message), kind),
	}
}

// largestVertex is the maximum size of a request.
const largestVertex = 30 << 20

var (
	predicted = regexp.MustCompile(`^/v1/projects/([^/]+)/locations/([^/]+)/publishers/anthropic/models/([^/:]+):(streamRawPredict|rawPredict)$`)
	// vertexIDs matches the names of models. Those up to 4.5 have a date.
	vertexIDs = regexp.MustCompile(`^(claude-[a-z0-9-]+)(@\d{8})?$`)
)

// deniesVertex returns Vertex AI's reason to refuse a request.
func (s *Server) deniesVertex(r *http.Request, body []byte) *vendortest.Refusal {
	no := func(status int, kind, message string) *vendortest.Refusal {
		return &vendortest.Refusal{Why: message, Answer: VertexError(status, kind, message)}
	}
	claude := func(message string) *vendortest.Refusal {
		return &vendortest.Refusal{Why: message, Answer: Error(http.StatusBadRequest, "invalid_request_error", message)}
	}
	address := predicted.FindStringSubmatch(r.URL.Path)
	switch {
	case r.Header.Get("Authorization") != "Bearer "+VertexToken:
		return no(http.StatusUnauthorized, "UNAUTHENTICATED",
			"Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.")
	case address == nil || r.URL.RawQuery != "":
		return no(http.StatusNotFound, "NOT_FOUND", "The requested URL was not found on this server.")
	case address[1] != VertexProject:
		return no(http.StatusForbidden, "PERMISSION_DENIED",
			"Permission 'aiplatform.endpoints.predict' denied on resource "+
				"'//aiplatform.googleapis.com/projects/"+address[1]+"' (or it may not exist).")
	case len(body) > largestVertex:
		return no(http.StatusBadRequest, "INVALID_ARGUMENT", "Request payload size exceeds the limit: 31457280 bytes.")
	case r.Header.Get("Anthropic-Version") != "":
		return claude("anthropic-version: the version belongs in the body") // not the API's words
	case !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json"):
		return no(http.StatusBadRequest, "INVALID_ARGUMENT", "Invalid content type")
	}
	id, err := url.PathUnescape(address[3])
	c := &checker{server: s, ids: map[string]bool{}, toolsets: map[string]bool{}, counting: id == "count-tokens"}
	c.allBetas(r.Header.Values("Anthropic-Beta"))
	if c.counting != (address[4] == "rawPredict") {
		return claude("this server answers streams only")
	}
	if c.counting {
		var asked struct {
			Model string `json:"model"`
		}
		_ = json.Unmarshal(body, &asked) // below, invalid JSON is refused
		id = asked.Model
	}
	known := vertexIDs.FindStringSubmatch(id)
	if err != nil || known == nil || address[2] != VertexLocation || late(known[1]) < 406 && known[2] == "" {
		return no(http.StatusNotFound, "NOT_FOUND",
			fmt.Sprintf("Publisher Model `projects/%s/locations/%s/publishers/anthropic/models/%s` was not found "+
				"or your project does not have access to it. Please ensure you are using a valid model version.", address[1], address[2], id))
	}
	c.model = known[1]
	c.request(body)
	window := s.Window
	if window == 0 {
		window = 1_000_000
	}
	switch n := (len(body) - c.files) / 4; {
	case c.problem != "":
		return claude(c.problem)
	case n > window:
		return claude(fmt.Sprintf("prompt is too long: %d tokens > %d maximum", n, window))
	case c.counting:
		return given(fmt.Sprintf(`{"input_tokens":%d}`, n))
	}
	return nil
}

// counted checks the model, which a count has on Vertex AI in addition to a message's members.
func (c *checker) counted(o object) {
	if _, named := o["model"]; c.server.vertex && c.counting != named {
		c.fail("model: a model is named in the path, or to count-tokens in the body")
	}
}
