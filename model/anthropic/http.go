package anthropic

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model/internal/idle"
	"github.com/braidrun/braid/model/internal/provider"
)

const (
	// defaultVersion is the API version that the vendor's SDKs request
	// (api/migration-2026-10-21; anthropic-sdk-go v2.12.0).
	defaultVersion = "2026-10-21"
	defaultBase    = "https://api.anthropic.com"
)

const (
	// eventsType is the content type of a stream of the API.
	eventsType = "text/event-stream"
	jsonType   = "application/json"
)

// onCloud reports whether Claude runs on Amazon Bedrock or Vertex AI. Both have an old version
// of the API and fetch nothing from the web.
func (m *Model) onCloud() bool { return m.aws != nil || m.google != nil }

// address returns the URL for streamed answers.
func (m *Model) address() string {
	base := strings.TrimRight(m.base, "/")
	switch {
	case m.aws != nil:
		return m.aws.address(base, m.name, "invoke-with-response-stream")
	case m.google != nil:
		return m.google.address(base, m.name, "streamRawPredict")
	default:
		return m.route("messages")
	}
}

// route returns the URL of an endpoint of Anthropic's API.
func (m *Model) route(part string) string {
	return strings.TrimRight(cmp.Or(m.base, defaultBase), "/") + "/v1/" + part
}

// bare returns head as it is sent. Bedrock and Vertex AI have the model in the path, so bare
// drops that member unless thinking is bound to a request.
func (m *Model) bare(head []byte) []byte {
	if !m.onCloud() {
		return head
	}
	member := strictjson.AppendString([]byte(`{"model":`), m.name)
	return append([]byte{'{'}, bytes.TrimPrefix(head, append(member, ','))...)
}

// content is a request body: bytes, which can be signed, or a file's stream.
type content struct {
	bytes  []byte
	stream io.Reader
}

func bodyOf(b []byte) content { return content{bytes: b} }

// send sends a request and returns the response once its header has arrived. extra are
// additional header fields. The errors are those of package provider, or an *event.Error for
// missing credentials.
func (m *Model) send(
	g *idle.Guard, method, address, accept string, extra http.Header, kind string, body content,
) (*http.Response, error) {
	ctx := g.Context()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	g.Arm()
	defer g.Rest()
	answer, err := m.sendOnce(ctx, method, address, accept, extra, kind, body)
	if _, ok := errors.AsType[*skewed](err); ok {
		answer, err = m.sendOnce(ctx, method, address, accept, extra, kind, body)
	}
	if refused, ok := errors.AsType[*skewed](err); ok {
		err = refused.Refused
	}
	return answer, err
}

// skewed is a request refused because of the time in its signature. The clock has since learned
// the service's time.
type skewed struct{ *provider.Refused }

// sendOnce sends one request.
func (m *Model) sendOnce(
	ctx context.Context, method, address, accept string, extra http.Header, kind string, body content,
) (*http.Response, error) {
	var in io.Reader
	switch {
	case body.stream != nil:
		in = body.stream
	case body.bytes != nil:
		in = bytes.NewReader(body.bytes)
	}
	req, err := http.NewRequestWithContext(ctx, method, address, in)
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, extra)
	req.Header.Set("Accept", accept)
	if in != nil {
		req.Header.Set("Content-Type", kind)
	}
	var ahead time.Duration
	if m.aws != nil {
		ahead = m.aws.clock.Ahead()
	}
	if err := m.authorize(ctx, req, body.bytes, ahead); err != nil {
		return nil, err
	}
	begun := time.Now()
	answer, err := provider.Do(m.client, req)
	if r, ok := errors.AsType[*provider.Refused](err); ok {
		// Some servers echo the credential that they refuse.
		if token, ok := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer "); ok && token != "" {
			r.Body = bytes.ReplaceAll(r.Body, []byte(token), []byte("[redacted]"))
		}
		if m.aws != nil && m.aws.again(r, ahead, begun) {
			return nil, &skewed{r}
		}
	}
	return answer, err
}

// authorize adds the credentials.
func (m *Model) authorize(ctx context.Context, r *http.Request, body []byte, ahead time.Duration) error {
	switch {
	case m.aws != nil:
		return m.aws.authorize(ctx, r, body, ahead)
	case m.google != nil:
		return m.google.authorize(ctx, r)
	default:
		r.Header.Set("Anthropic-Version", cmp.Or(m.version, defaultVersion))
		r.Header.Set("Authorization", "Bearer "+m.key.Reveal())
		return nil
	}
}

// contentType returns the content type without parameters; "" if it is malformed.
func contentType(h http.Header) string {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return kind
}

// strange returns the error for a response that is not the API's. It closes the response.
func strange(g *idle.Guard, answer *http.Response) error {
	defer answer.Body.Close()
	const most = 4 << 10
	begin, _ := io.ReadAll(io.LimitReader(g.Reading(answer.Body), most)) // an unreadable body has no text
	return &foreignError{kind: contentType(answer.Header), words: words(contentType(answer.Header), begin)}
}

// exchange sends a request and decodes the JSON answer into to.
func (m *Model) exchange(
	g *idle.Guard, method, address string, header http.Header, kind string, body content, to any,
) error {
	answer, err := m.send(g, method, address, jsonType, header, kind, body)
	if err != nil {
		return err
	}
	if contentType(answer.Header) != jsonType {
		return strange(g, answer)
	}
	defer answer.Body.Close()
	const most = 1 << 20
	raw, err := provider.ReadAll(g.Reading(answer.Body), most)
	switch {
	case errors.Is(err, provider.ErrTooLong):
		return errTooLong
	case err != nil:
		return err
	case json.Unmarshal(raw, to) != nil && len(bytes.TrimSpace(raw)) > 0 && bytes.TrimSpace(raw)[0] == '{':
		return errUnreadable
	case json.Unmarshal(raw, to) != nil:
		return &foreignError{kind: jsonType}
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 1)) // reading to the end lets the connection be reused
	return nil
}
