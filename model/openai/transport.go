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

// endpoint is the address of a part of the API, such as "responses".
func (m *Model) endpoint(path string) string {
	address := strings.TrimRight(m.base, "/") + "/" + path
	if m.version != "" {
		address += "?api-version=" + url.QueryEscape(m.version)
	}
	return address
}

// path is that of the API that answers.
func (m *Model) path() string {
	if m.api == ChatCompletions {
		return "chat/completions"
	}
	return "responses"
}

// header makes the fields of a request. The key is in one of them.
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

// answer is what came back: a stream, or all of it at once.
type answer struct {
	*http.Response

	// in is the body of a stream; whole is the answer of a server that does not stream.
	in    io.Reader
	whole []byte
}

// post sends a request and gives the answer once it has begun to come.
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

// send makes one call, whose wait the guard bounds.
func (m *Model) send(g *idle.Guard, call func(context.Context) (*http.Response, error)) (*http.Response, error) {
	g.Arm()
	defer g.Rest()
	resp, err := call(g.Context())
	if refused, ok := errors.AsType[*provider.Refused](err); ok {
		return nil, readRefusal(refused)
	}
	return resp, err
}

// What an answer begins with tells a stream from JSON and from a page. The content type
// does not: gateways give streams out as text or as bytes, and errors as streams.
const sniffed = 512

// look finds out in which form an answer comes, and reads one that does not stream.
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

// blanks are what may stand before an answer: white space, and a byte order mark.
const blanks = " \t\r\n\ufeff"

// beginning reads until there is something to judge by: so many bytes behind the blanks.
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

// speaksEvents reports whether a body of another type begins as a stream of events does.
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

// readable returns the error that a whole body is. Some servers begin with a status of
// success before they know better, and some send what is no answer at all.
func (m *Model) readable(a *answer) error {
	var shape struct {
		Choices []json.RawMessage `json:"choices"`
		Output  []json.RawMessage `json:"output"`
		Object  string            `json:"object"`
		Error   json.RawMessage   `json:"error"`
	}
	a.whole = bytes.TrimLeft(a.whole, blanks)
	err := json.Unmarshal(a.whole, &shape)
	none := len(shape.Error) == 0 || string(shape.Error) == "null"
	if err == nil && none && (m.api == ChatCompletions && len(shape.Choices) > 0 || m.api == Responses && (shape.Object == "response" || shape.Output != nil)) {
		return nil
	}
	if m.api == Responses && shape.Object == "response" {
		return nil // a response that failed, with its own words
	}
	if e := errorOf(a.whole); e.message != "" || e.word() != "" {
		e.requestID = a.Header.Get("X-Request-ID")
		return e
	}
	return &noStream{kind: "JSON of another kind"}
}

// noStream is an answer that none of the two APIs gives.
type noStream struct{ kind, said string }

// Error implements error, for operators.
func (e *noStream) Error() string { return "the answer is none of the API: " + e.what() }

func (e *noStream) what() string {
	if e.kind == "" {
		return "something without a type"
	}
	return e.kind
}

// readRefusal reads an error that came instead of an answer.
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
