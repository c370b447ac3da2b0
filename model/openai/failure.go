package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"html"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/model/internal/bound"
	"github.com/braidrun/braid/model/internal/provider"
)

// apiError is an error of the server. It leaves out the request, which holds the key.
type apiError struct {
	status    int
	kind      string
	code      string
	message   string
	requestID string
	after     time.Duration
	// raw is the error of the server behind a router.
	raw string
	// number is a numeric code that is not an HTTP status, such as Mistral's.
	number string
	// redirect is the target of a redirect.
	redirect string
}

// Error implements error, for operators.
func (e *apiError) Error() string {
	s := e.word()
	if s == "" {
		s = "an error"
	}
	if e.status != 0 {
		s = strconv.Itoa(e.status) + " " + s
	}
	if e.requestID != "" {
		s += ", request " + e.requestID
	}
	return s
}

// word returns the server's code for the error, or else its type.
func (e *apiError) word() string {
	if e.code != "" {
		return e.code
	}
	return e.kind
}

// errorOf decodes an error. OpenAI's is an object in the member "error"; its streams also have
// one at the top level. Other servers send a text there, an object of another form, or a page.
func errorOf(data []byte) *apiError {
	type fields struct {
		Type    string          `json:"type"`
		Code    json.RawMessage `json:"code"`
		Message words           `json:"message"`
		// Status is set by Cerebras beside the error; Gateway is set by Azure's API Management.
		Status  json.RawMessage `json:"status_code"`
		Gateway json.RawMessage `json:"statusCode"`
		// Metadata is set by OpenRouter.
		Metadata struct {
			Raw json.RawMessage `json:"raw"`
		} `json:"metadata"`
	}
	// Google's compatible address wraps the object in a list.
	var list []json.RawMessage
	if json.Unmarshal(data, &list) == nil && len(list) > 0 {
		data = list[0]
	}
	var all struct {
		fields

		Error  json.RawMessage `json:"error"`
		Detail words           `json:"detail"`
	}
	if json.Unmarshal(data, &all) != nil {
		return &apiError{}
	}
	f := all.fields
	if f.Type == "error" {
		f.Type = ""
	}
	if len(all.Error) > 0 && string(all.Error) != "null" {
		code := f.Code
		f = fields{}
		if all.Error[0] == '"' {
			f.Code, f.Message = code, words(argumentText(all.Error)) // xAI sends its code beside the text
		} else if json.Unmarshal(all.Error, &f) != nil {
			return &apiError{}
		}
	}
	if f.Message == "" {
		f.Message = all.Detail
	}
	e := &apiError{kind: f.Type, message: string(f.Message), raw: string(f.Metadata.Raw)}
	e.status = statusIn(all.Status, all.Gateway, f.Status)
	if e.raw != "" {
		e.message = upstream(e.message, f.Metadata.Raw)
	}
	if code := bytes.Trim(f.Code, `"`); string(code) != "null" {
		e.code = string(code)
	}
	if _, err := strconv.Atoi(e.code); err == nil { // an HTTP status, as OpenRouter and vLLM send it
		if n := statusIn(f.Code); n > 0 {
			e.status = n
		} else {
			e.number = e.code
		}
		e.code = ""
	}
	e.after = asked(e.message)
	return e
}

// statusIn returns the first value that is an HTTP error status; 0 if none is.
func statusIn(values ...json.RawMessage) int {
	for _, v := range values {
		if n, err := strconv.Atoi(string(bytes.Trim(v, `"`))); err == nil && n >= http.StatusBadRequest && n < 600 {
			return n
		}
	}
	return 0
}

// upstream adds the error of the model's host to OpenRouter's message, which says only
// "Provider returned error".
func upstream(message string, raw json.RawMessage) string {
	text := argumentText(raw)
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		if inner := errorOf([]byte(text)); inner.message != "" {
			text = inner.message
		}
	}
	if text == "" || strings.Contains(message, text) {
		return message
	}
	return strings.TrimSpace(message + ": " + text)
}

// pageWords returns the readable text of a body that is not JSON: the title of a page, or the
// first words of a text.
func pageWords(body []byte) string {
	body = bytes.TrimLeft(body, blanks)
	switch {
	case len(body) == 0 || body[0] == '{' || body[0] == '[':
		return ""
	case body[0] == '<':
		for _, tag := range []*lazyre.Regexp{pageTitle, pageHeading} {
			if found := tag.FindSubmatch(body); found != nil {
				return strings.TrimSpace(html.UnescapeString(string(found[1])))
			}
		}
		return ""
	case !utf8.Valid(body[:min(len(body), sniffed/2)]) && !utf8.Valid(body):
		return ""
	}
	return string(body[:min(len(body), sniffed)])
}

var (
	pageTitle   = lazyre.New(`(?is)<title[^>]*>([^<]{1,200})</title>`)
	pageHeading = lazyre.New(`(?is)<h1[^>]*>([^<]{1,200})</h1>`)
)

// words is the message of an error: a text, or the texts in an object or a list, as in
// Mistral's 422, {"message":{"detail":[{"loc":["body","stream_options"],"msg":"Extra inputs are
// not permitted"}]}} (reported in avante.nvim#2347).
type words string

// UnmarshalJSON implements [json.Unmarshaler].
func (w *words) UnmarshalJSON(data []byte) error {
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	*w = words(strings.Join(said(v, nil), ": "))
	return nil
}

// said collects the texts in an error, without the inputs and the links to documentation.
func said(v any, list []string) []string {
	switch v := v.(type) {
	case string:
		return append(list, v)
	case []any:
		for _, one := range v {
			list = said(one, list)
		}
	case map[string]any:
		for _, name := range []string{"message", "detail", "error", "loc", "msg"} {
			list = said(v[name], list)
		}
	}
	return list
}

// tryAgain matches a wait in a message: "try again in 1m26.4s" (Groq), "retry after 26 seconds"
// (Azure), "retry in 9.5s" (Google's compatible address). duration matches one unit of it.
var (
	tryAgain = lazyre.New(`(?i)(?:try again|retry) (?:in|after) ~?` +
		`((?:\d+(?:\.\d+)? ?(?:milliseconds?|ms|hours?|h|minutes?|min|m|seconds?|secs?|s) ?)+)\b`)
	duration = lazyre.New(`(?i)(\d+(?:\.\d+)?) ?(milli|ms|h|m|s)`)
)

// asked returns the wait that a message names, for streams, which have no header for it.
func asked(message string) time.Duration {
	found := tryAgain.FindStringSubmatch(message)
	if found == nil {
		return 0
	}
	seconds := 0.0
	for _, part := range duration.FindAllStringSubmatch(found[1], -1) {
		n, err := strconv.ParseFloat(part[1], 64)
		if err != nil {
			return 0
		}
		switch strings.ToLower(part[2]) {
		case "milli", "ms":
			n /= 1000
		case "m":
			n *= 60
		case "h":
			n *= 3600
		}
		seconds += n
	}
	return provider.Wait(seconds)
}

// op returns the name of the operation in errors: "model openai", or with the prefix of
// [Named].
func (m *Model) op() string { return "model " + m.prefix }

// next returns the hint for a server that cannot be reached.
func (m *Model) next() string {
	switch {
	case m.vendors:
		return "check the network, a proxy, and " + m.baseFrom
	case m.prefix == "ollama":
		return "start Ollama with ollama serve, or correct the address, " + m.baseFrom
	case m.near():
		return "start the server, or correct its address, " + m.baseFrom
	default:
		return "check the address, " + m.baseFrom + ", the network, and a proxy"
	}
}

// near reports whether the server is probably run by the user: its host is localhost or an IP
// address.
func (m *Model) near() bool {
	u, err := url.Parse(m.base)
	if err != nil {
		return false
	}
	_, bare := netip.ParseAddr(u.Hostname())
	return bare == nil || u.Hostname() == "localhost"
}

// notSent returns the error for a request that the server would refuse. Nothing is sent.
func notSent(kind event.ErrorKind, message, hint string, args ...any) *event.Error {
	return provider.NotSent(op, kind, message, hint, args...)
}

// unverified matches the refusal of encrypted reasoning that OpenAI cannot decrypt, such as
// that of another organization. OpenAI ignores reasoning after a changed history
// (guides/keep-prefix-unchanged). Google's compatible address refuses signatures of another
// project in the same way.
var unverified = lazyre.New(`(?i)encrypted content .{0,80}could not be (verified|decrypted)|` +
	`(invalid|corrupted) thought.?signature|thought.?signature.{0,20} not valid`)

// refusesReasoning reports whether the server refused a request because of its reasoning.
// Behind OpenRouter the refusal may come from Claude's API.
func refusesReasoning(err error) bool {
	e, ok := errors.AsType[*apiError](err)
	if !ok || e.status != http.StatusBadRequest {
		return false
	}
	for _, said := range []string{e.message, e.raw} {
		if unverified.MatchString(said) || bound.Refused(said) {
			return true
		}
	}
	return e.code == "invalid_encrypted_content"
}

// placeholder is the value that Google accepts in place of a missing thought signature
// (docs/thought-signatures, FAQ).
const placeholder = "skip_thought_signature_validator"

// blanks may precede an answer: white space and a byte order mark.
const blanks = " \t\r\n\ufeff"

// sniffed bounds the bytes that distinguish a stream from JSON and from a page. The content
// type does not: some gateways label streams as text or bytes, and errors as streams.
const sniffed = 512
