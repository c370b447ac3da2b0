package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/idle"
	"github.com/braidrun/braid/model/internal/provider"
)

// endpoint returns the URL of a part of the API, such as "responses".
func (m *Model) endpoint(path string) string {
	address := strings.TrimRight(m.base, "/") + "/" + path
	if m.version != "" {
		address += "?api-version=" + url.QueryEscape(m.version)
	}
	return address
}

// path returns the path of the model's API.
func (m *Model) path() string {
	if m.api == ChatCompletions {
		return "chat/completions"
	}
	return "responses"
}

// header returns the header fields of a request, with the key.
func (m *Model) header(extra map[string]string) (http.Header, error) {
	h, err := provider.Headers(op, extra)
	if err != nil {
		return nil, err
	}
	all := http.Header{}
	maps.Copy(all, h)
	all.Set("Content-Type", "application/json")
	all.Set("Accept", "text/event-stream, application/json")
	switch {
	case m.key.Empty():
	case m.azure:
		all.Set("Api-Key", m.key.Reveal())
	default:
		all.Set("Authorization", "Bearer "+m.key.Reveal())
	}
	return all, nil
}

// answer is a response: a stream, or a complete body.
type answer struct {
	*http.Response

	// in is the body of a stream. whole is the answer of a server without streaming.
	in    io.Reader
	whole []byte
}

// post sends a request and returns the response once its body has begun.
func (m *Model) post(g *idle.Guard, options *model.Options, body []byte) (*answer, error) {
	if err := g.Context().Err(); err != nil {
		return nil, err
	}
	header, err := m.header(options.Headers)
	if err != nil {
		return nil, err
	}
	resp, err := m.send(g, func(ctx context.Context) (*http.Response, error) {
		return provider.Post(ctx, m.client, m.endpoint(m.path()), header, body)
	})
	if err != nil {
		return nil, err
	}
	a := &answer{Response: resp}
	if err := m.look(g, a); err != nil {
		resp.Body.Close()
		return nil, err
	}
	return a, nil
}

// send makes one call; the guard bounds the wait.
func (m *Model) send(g *idle.Guard, call func(context.Context) (*http.Response, error)) (*http.Response, error) {
	g.Arm()
	defer g.Rest()
	resp, err := call(g.Context())
	if refused, ok := errors.AsType[*provider.Refused](err); ok {
		return nil, readRefusal(refused)
	}
	return resp, err
}

// look detects the form of a response, and reads the body if it is not a stream.
func (m *Model) look(g *idle.Guard, a *answer) error {
	in := g.Reading(a.Body)
	least := len("retry:")
	if isStream(a.Header) {
		least = 1
	}
	begin, err := beginning(in, least)
	if err != nil {
		return err
	}
	rest := io.MultiReader(bytes.NewReader(begin), in)
	switch first := bytes.TrimLeft(begin, blanks); {
	case len(first) > 0 && (first[0] == '{' || first[0] == '['):
		if a.whole, err = provider.ReadAll(rest, longest); errors.Is(err, provider.ErrTooLong) {
			return errTooLong
		} else if err != nil {
			return err
		}
		return m.readable(a)
	case isStream(a.Header) && (len(first) == 0 || first[0] != '<'), speaksEvents(first):
		a.in = rest
		return nil
	default:
		return &noStream{kind: mediaType(a.Header), said: pageWords(begin)}
	}
}

// beginning reads until it has the given number of bytes after the blanks.
func beginning(in io.Reader, least int) ([]byte, error) {
	b := make([]byte, 0, sniffed)
	for len(b) < sniffed {
		n, err := in.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		first := bytes.TrimLeft(b, blanks)
		marked := len(first) > 0 && len(first) < len("\ufeff") && first[0] == "\ufeff"[0]
		switch {
		case len(first) > 0 && (first[0] == '{' || first[0] == '<'), len(first) >= least && !marked, errors.Is(err, io.EOF):
			return b, nil
		case err != nil:
			return nil, err
		}
	}
	return b, nil
}

// speaksEvents reports whether a body begins like a stream of events, for responses with
// another content type.
func speaksEvents(b []byte) bool {
	for _, field := range []string{"data:", "event:", "id:", "retry:", ":"} {
		if bytes.HasPrefix(b, []byte(field)) {
			return true
		}
	}
	return false
}

func isStream(h http.Header) bool { return mediaType(h) == "text/event-stream" }

func mediaType(h http.Header) string {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return kind
}

// readable returns an error if a complete body is an error or not an answer of the API. Some
// servers send errors with the status of a success.
func (m *Model) readable(a *answer) error {
	var shape struct {
		Choices []json.RawMessage `json:"choices"`
		Output  []json.RawMessage `json:"output"`
		Object  string            `json:"object"`
		Error   json.RawMessage   `json:"error"`
	}
	a.whole = bytes.TrimLeft(a.whole, blanks)
	err := json.Unmarshal(a.whole, &shape)
	speaks := m.api == ChatCompletions && len(shape.Choices) > 0 || m.api == Responses && (shape.Object == "response" || shape.Output != nil)
	if err == nil && speaks && !some(shape.Error) {
		return nil
	}
	if m.api == Responses && shape.Object == "response" {
		return nil // a failed response, which has its own message
	}
	if e := errorOf(a.whole); e.message != "" || e.word() != "" {
		e.requestID = a.Header.Get("X-Request-ID")
		return e
	}
	return &noStream{kind: "JSON of another kind"}
}

// noStream is a response of neither API.
type noStream struct{ kind, said string }

// Error implements error, for operators.
func (e *noStream) Error() string { return "the answer is none of the API: " + e.what() }

func (e *noStream) what() string {
	if e.kind == "" {
		return "something without a type"
	}
	return e.kind
}

// readRefusal decodes an error response.
func readRefusal(r *provider.Refused) error {
	e := errorOf(r.Body)
	if e.message == "" {
		e.message = pageWords(r.Body)
	}
	e.status, e.requestID = r.Status, r.Header.Get("X-Request-ID")
	if after := provider.RetryAfter(r.Header, time.Now()); after > 0 {
		e.after = after
	}
	if to, err := url.Parse(r.Header.Get("Location")); err == nil && r.Status < http.StatusBadRequest {
		e.redirect = to.Host
		if e.redirect == "" {
			e.redirect = "another path"
		}
	}
	return e
}

func isNoStream(err error) bool {
	_, ok := errors.AsType[*noStream](err)
	return ok
}
