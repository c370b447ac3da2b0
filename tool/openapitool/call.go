package openapitool

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/tool"
)

// Call implements [tool.Tool]. It sends one request. Its errors are a [*tool.ArgumentsError], or an error of package event: of
// kind [event.ErrThrottled] for the status 429, and [event.ErrUnavailable] for 5xx and a server that cannot be reached. Any other
// answer is a result; one with a status from 300 is marked as an error.
func (t *Tool) Call(ctx context.Context, args json.RawMessage) (tool.Output, error) {
	given, err := readArguments(args)
	if err != nil {
		return tool.Output{}, &tool.ArgumentsError{Err: err}
	}
	r, out, err := t.request(ctx, given)
	if err != nil {
		return tool.Output{}, err
	}
	mask := secret.NewMask(out.secrets...)
	resp, err := t.api.client.Do(r)
	if err != nil {
		return tool.Output{}, t.unreached(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusUnauthorized {
		t.api.tokens.forget(out.tokens)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, int64(t.api.options.MaxResponse)+1))
	if err != nil {
		return tool.Output{}, t.unreached(ctx, err)
	}
	return t.result(resp, data, mask)
}

func readArguments(args json.RawMessage) (map[string]json.RawMessage, error) {
	given := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(args)) == 0 {
		return given, nil
	}
	if err := strictjson.Check(args, strictjson.DefaultDepth); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(args, &given); err != nil || given == nil {
		return nil, errors.New("they are not an object")
	}
	return given, nil
}

// request makes the request of a call, and says what must not appear in its result.
func (t *Tool) request(ctx context.Context, given map[string]json.RawMessage) (*http.Request, *outgoing, error) {
	out := &outgoing{header: http.Header{}}
	wrong := func(err error) error { return &tool.ArgumentsError{Err: err} }
	path := map[string]string{}
	for _, p := range t.op.parameters {
		raw, has := given[p.key]
		delete(given, p.key)
		if !has || string(raw) == "null" && !p.required {
			if raw = nil; p.required {
				raw = p.byDefault
			}
		}
		if raw == nil {
			if p.required {
				return nil, nil, wrong(fmt.Errorf("%q is missing", p.key))
			}
			continue
		}
		if err := p.put(raw, out, path); err != nil {
			return nil, nil, wrong(fmt.Errorf("%q %w", p.key, err))
		}
	}
	data, media, err := t.body(given)
	if err != nil {
		return nil, nil, wrong(err)
	}
	for name := range given {
		return nil, nil, wrong(fmt.Errorf("there is no argument %.100q", name))
	}
	if err := t.credentials(ctx, out); err != nil {
		return nil, nil, err
	}
	u, err := t.url(path, out)
	if err != nil {
		return nil, nil, wrong(err)
	}
	r, err := http.NewRequestWithContext(ctx, t.op.method, u.String(), bytes.NewReader(data))
	if err != nil {
		return nil, nil, wrong(errors.New("no request can be made of them"))
	}
	if data == nil {
		r.Body, r.GetBody, r.ContentLength = http.NoBody, nil, 0
	}
	r.Header = out.header
	if media != "" {
		r.Header.Set("Content-Type", media)
	}
	r.Header.Set("Accept", "application/json, */*;q=0.5")
	if len(out.cookies) > 0 {
		r.Header.Set("Cookie", strings.ReplaceAll(query(out.cookies), "&", "; "))
	}
	return r, out, nil
}

// put adds an argument to a request.
func (p *parameter) put(raw json.RawMessage, out *outgoing, path map[string]string) error {
	if p.json {
		text, err := json.Marshal(string(raw))
		if err != nil {
			return err
		}
		raw = text
	}
	if p.in == "query" || p.in == "cookie" {
		pairs, err := p.pairs(raw)
		if p.in == "query" {
			out.query = append(out.query, pairs...)
		} else {
			out.cookies = append(out.cookies, pairs...)
		}
		return err
	}
	v, err := readValue(raw)
	if err != nil {
		return err
	}
	if p.in == "header" {
		text := p.headerText(v)
		if !printable(text) {
			return errors.New("contains control characters")
		}
		out.header.Set(p.name, text)
		return nil
	}
	if path[p.name] = p.pathText(v); path[p.name] == "" {
		return errors.New("is empty")
	}
	return nil
}

func (t *Tool) body(given map[string]json.RawMessage) (data []byte, media string, err error) {
	b := t.op.body
	if b == nil {
		return nil, "", nil
	}
	raw, has := given[b.key]
	delete(given, b.key)
	if !has {
		if b.required {
			return nil, "", fmt.Errorf("%q is missing", b.key)
		}
		return nil, "", nil
	}
	data, media, err = b.write(bytes.TrimSpace(raw))
	if err != nil {
		return nil, "", fmt.Errorf("%q %w", b.key, err)
	}
	if data == nil {
		data = []byte{}
	}
	return data, media, nil
}

// credentials adds headers of the options, the key of the call and the first alternative of credentials that are complete.
func (t *Tool) credentials(ctx context.Context, out *outgoing) error {
	chosen := map[string]bool{}
	for _, p := range out.query {
		chosen[p.name] = true
	}
	for _, p := range out.cookies {
		chosen["cookie "+p.name] = true
	}
	for name, value := range t.api.headers {
		text, used, err := value.fill(ctx, t.api.options.Fill)
		if err != nil {
			return err
		}
		out.header.Set(name, text)
		if secret.Names(name) || len(used) > 1 {
			out.secrets = append(out.secrets, used...)
		}
	}
	if t.traits.Effect == event.EffectIdempotent && t.api.options.IdempotencyHeader != "" {
		out.header.Set(t.api.options.IdempotencyHeader, idempotencyKey(ctx))
	}
	if len(t.op.security) == 0 {
		return nil
	}
	for _, s := range t.op.security[0] {
		// An object in a query may have any names. None of them may be the credential's.
		if s.in == "query" && chosen[escape(s.name)] || s.in == "cookie" && chosen["cookie "+s.name] {
			return &tool.ArgumentsError{Err: fmt.Errorf("%.50q cannot be chosen", s.name)}
		}
		if err := s.apply(ctx, t.api, out); err != nil {
			return err
		}
	}
	return nil
}

// idempotencyKey is the same for each attempt of a call. It is a digest, because ids of runs are nobody else's business.
func idempotencyKey(ctx context.Context) string {
	if c := tool.CallOf(ctx); c != nil {
		sum := sha256.Sum256([]byte(c.Key()))
		return hex.EncodeToString(sum[:16])
	}
	return rand.Text()
}

// url is the address of a request. Its scheme and host are the server's, whatever the arguments are.
func (t *Tool) url(path map[string]string, out *outgoing) (*url.URL, error) {
	var b strings.Builder
	b.WriteString(strings.TrimSuffix(t.op.base.EscapedPath(), "/"))
	for i, part := range t.op.path {
		if i%2 == 1 {
			part = path[part]
		}
		b.WriteString(part)
	}
	u := *t.op.base
	u.RawPath = undot(b.String())
	var err error
	if u.Path, err = url.PathUnescape(u.RawPath); err != nil {
		return nil, errors.New("no path can be made of them")
	}
	u.RawQuery = t.op.query
	if q := query(out.query); q != "" {
		if u.RawQuery != "" {
			u.RawQuery += "&"
		}
		u.RawQuery += q
	}
	return &u, nil
}
