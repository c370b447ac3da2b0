package openapitool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/tool"
)

// unreached is the error of a request without an answer.
func (t *Tool) unreached(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if e, ok := errors.AsType[*event.Error](err); ok {
		return e
	}
	hint := "Try again later."
	if !t.traits.Repeats() {
		hint = "It may have taken effect. Check before you call it again."
	}
	// The cause of net/http has the URL in it, and a credential may be part of that.
	return &event.Error{
		Op: op, Kind: event.ErrUnavailable, Message: "the server of " + t.spec.Name + " gave no answer", Hint: hint, Err: withoutURL(err),
	}
}

// withoutURL is the cause of an error of net/http.
func withoutURL(err error) error {
	for {
		e, ok := err.(interface {
			Unwrap() error
			Timeout() bool
		})
		if !ok || e.Unwrap() == nil {
			return err
		}
		err = e.Unwrap()
	}
}

// result makes the result of an answer.
func (t *Tool) result(resp *http.Response, data []byte, mask *secret.Mask) (tool.Output, error) {
	status := fmt.Sprintf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	switch code := resp.StatusCode; {
	case code == http.StatusTooManyRequests, code >= 500 && code != http.StatusNotImplemented && code != http.StatusHTTPVersionNotSupported:
		e := &event.Error{
			Op: op, Kind: event.ErrUnavailable, Message: t.spec.Name + " failed: the server answered " + status, RetryAfter: retryAfter(resp),
			Hint: "Try again later.",
		}
		if code == http.StatusTooManyRequests {
			e.Kind = event.ErrThrottled
		}
		if text := strings.TrimSpace(mask.Hide(line(string(data[:min(len(data), 2000)]), 1000))); text != "" && utf8.Valid(data) {
			e.Message += ": " + text
		}
		return tool.Output{}, e
	case len(data) > t.api.options.MaxResponse:
		return failed(fmt.Sprintf("The answer (%s) is larger than %d bytes. Ask for less.", status, t.api.options.MaxResponse)), nil
	case code >= 300 && code < 400:
		return failed("The server answered " + status + ": it points to another address, which is not followed."), nil
	case code >= 400:
		out := t.content(resp, data, mask)
		out.IsError, out.Structured = true, nil
		out.Content = append([]event.Block{&event.Text{Text: "The server answered " + status + "."}}, out.Content...)
		return out, nil
	case len(data) == 0:
		return tool.Text("The server answered " + status + ", without content."), nil
	}
	return t.content(resp, data, mask), nil
}

func failed(text string) tool.Output {
	out := tool.Text(text)
	out.IsError = true
	return out
}

// content turns the body of an answer into blocks: JSON and text as text, an image as an image, anything else as a document.
func (t *Tool) content(resp *http.Response, data []byte, mask *secret.Mask) tool.Output {
	if len(data) == 0 {
		return tool.Output{}
	}
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		kind = ""
	}
	if !utf8.Valid(data) {
		switch kind {
		case "image/png", "image/jpeg", "image/gif", "image/webp":
			return tool.Output{Content: []event.Block{&event.Image{MIME: kind, Data: data}}}
		case "":
			kind = "application/octet-stream"
		}
		return tool.Output{Content: []event.Block{&event.Document{Name: "answer", MIME: kind, Data: data}}}
	}
	text := mask.Hide(string(data))
	if most := t.api.options.MaxText; len(text) > most {
		note := fmt.Sprintf("\n[cut: the answer is %d bytes long, of which the first %d are shown]", len(text), most)
		return tool.Text(strings.ToValidUTF8(text[:most], "") + note)
	}
	out := tool.Text(text)
	if raw := bytes.TrimSpace([]byte(text)); isJSON(kind) && strictjson.Check(raw, strictjson.DefaultDepth) == nil {
		out.Structured = json.RawMessage(raw)
	}
	return out
}

// retryAfter is how long the server asks to wait; 0 if it does not say.
func retryAfter(resp *http.Response) time.Duration {
	const most = time.Hour
	text := resp.Header.Get("Retry-After")
	if n, err := strconv.Atoi(text); err == nil {
		return min(time.Duration(max(n, 0))*time.Second, most)
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(time.Until(at), 0), most)
	}
	return 0
}
