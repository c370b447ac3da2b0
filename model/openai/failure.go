package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model/internal/bound"
	"github.com/braidrun/braid/model/internal/idle"
	"github.com/braidrun/braid/model/internal/provider"
)

var errNoStream = errors.New("the answer is no stream of events")

// apiError is what the server said, without the request, which holds the key.
type apiError struct {
	status    int
	kind      string
	code      string
	message   string
	requestID string
	after     time.Duration
	// raw is what the server behind a router said.
	raw string
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

// word is the server's own for the error: its code, or where there is none, its type.
func (e *apiError) word() string {
	if e.code != "" {
		return e.code
	}
	return e.kind
}

// readError reads an error that came instead of an answer.
func readError(answer *http.Response) error {
	const most = 64 << 10
	data, err := io.ReadAll(io.LimitReader(answer.Body, most))
	if err != nil {
		return err
	}
	e := errorOf(data)
	if answer.StatusCode < http.StatusMultipleChoices {
		e.requestID = answer.Header.Get("X-Request-ID")
		return e
	}
	e.status, e.requestID = answer.StatusCode, answer.Header.Get("X-Request-ID")
	if after := provider.RetryAfter(answer.Header, time.Now()); after > 0 {
		e.after = after
	}
	return e
}

// errorOf reads an error's body. OpenAI's is an object below "error"; its
// streams have it at the top too; others send a text there, or an object of
// their own, or a page.
func errorOf(data []byte) *apiError {
	type fields struct {
		Type    string          `json:"type"`
		Code    json.RawMessage `json:"code"`
		Message words           `json:"message"`
		// Metadata is OpenRouter's.
		Metadata struct {
			Raw json.RawMessage `json:"raw"`
		} `json:"metadata"`
	}
	// Google's compatible address puts the object into a list.
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
			f.Code, f.Message = code, words(argumentText(all.Error)) // xAI's code stands beside the text
		} else if json.Unmarshal(all.Error, &f) != nil {
			return &apiError{}
		}
	}
	if f.Message == "" {
		f.Message = all.Detail
	}
	e := &apiError{kind: f.Type, message: string(f.Message), raw: string(f.Metadata.Raw)}
	if code := bytes.Trim(f.Code, `"`); string(code) != "null" {
		e.code = string(code)
	}
	if n, err := strconv.Atoi(e.code); err == nil { // a status, as OpenRouter and vLLM say it
		if n >= http.StatusBadRequest && n < 600 {
			e.status = n
		}
		e.code = ""
	}
	e.after = asked(e.message)
	return e
}

// words are what an error says: a text, or the texts in an object or a list, as in Mistral's 422,
// {"message":{"detail":[{"loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}}
// (reported in avante.nvim#2347).
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

// said collects what a value of an error says: what is wrong where, without inputs and addresses
// of documentation.
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

var tryAgain = regexp.MustCompile(`(?i)try again in (\d+(?:\.\d+)?) ?(ms|s)\b`)

// asked is the wait that a message names; the headers have none in a stream.
func asked(message string) time.Duration {
	found := tryAgain.FindStringSubmatch(message)
	if found == nil {
		return 0
	}
	n, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		return 0
	}
	if found[2] == "ms" {
		n /= 1000
	}
	return provider.Wait(n)
}

// failure makes an error of ours out of anything that ended a call.
func (m *Model) failure(g *idle.Guard, err error) error {
	if e, ok := errors.AsType[*event.Error](err); ok {
		return e
	}
	if g.Outer().Err() != nil {
		return provider.Ended(m.op(), g.Outer())
	}
	if g.Stalled() {
		return &event.Error{
			Op: m.op(), Kind: event.ErrStreamCut, Code: "stall", Err: err,
			Message: m.title + " sent nothing for " + g.After().String() + ".",
			Hint:    "try again; a longer time can be allowed where the model is made",
		}
	}
	if e, ok := errors.AsType[*apiError](err); ok {
		return m.refusal(e)
	}
	broken := func(kind event.ErrorKind, message, hint string) error {
		return &event.Error{Op: m.op(), Kind: kind, Message: message, Hint: hint, Err: err}
	}
	switch {
	case errors.Is(err, errNoStream):
		return broken(event.ErrModel, "What answered does not speak OpenAI's protocol: its answer is no stream of events.",
			"look at the base URL, "+m.baseFrom)
	case errors.Is(err, errUnreadable), errors.Is(err, errTooLong):
		return broken(event.ErrStreamCut, m.title+" sent something that cannot be read.", "try again")
	case g.Begun():
		return broken(event.ErrStreamCut, "The model's answer broke off.", "try again")
	default:
		return provider.Unreached(m.op(), m.title, m.base, m.next(), err)
	}
}

// op names the model's server as users do: "model openai", or what [Named] says.
func (m *Model) op() string { return "model " + m.prefix }

// next says what to do if the server cannot be reached.
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

// near reports whether the server is one that users start: at localhost, or at a bare IP address.
func (m *Model) near() bool {
	u, err := url.Parse(m.base)
	if err != nil {
		return false
	}
	_, bare := netip.ParseAddr(u.Hostname())
	return bare == nil || u.Hostname() == "localhost"
}

var (
	// overflow is how servers say that a conversation is too long: OpenAI in
	// both APIs, vLLM, OpenRouter, llama.cpp, LM Studio, and Ollama ("prompt too long;
	// exceeded max context length by 12 tokens", recorded by ruby_llm).
	overflow = regexp.MustCompile(`(?i)maximum context length|exceeds? (the |its )?(context (window|limit|length|size)|available context)|` +
		`exceeds the model's maximum context|context the overflows|prompt is too long|prompt too long|exceeded max context length`)
	// spent tells a limit of money from one of requests: waiting does not help.
	spent = regexp.MustCompile(`(?i)exceeded your current quota|billing|insufficient (credits|balance|quota)|requires more credits`)
	// badKey is how servers say that a key is none, with another status than 401.
	badKey = regexp.MustCompile(`(?i)(incorrect|invalid) api key`)
	// crowded is how servers say that they are too busy.
	crowded = regexp.MustCompile(`(?i)overloaded|slow down|at capacity|server busy|maximum pending requests`)
	// misplaced is how LM Studio says that an address is none of its own, with a
	// status of success.
	misplaced = regexp.MustCompile(`(?i)unexpected endpoint or method`)
	// unheard is how servers say that they have no such model, with other
	// statuses than 404.
	unheard = regexp.MustCompile(`(?i)model .{0,160}(does not exist|not found)|invalid model|not a valid model|no such model|unknown model`)
)

// refusal maps what the server said (guides/error-codes).
func (m *Model) refusal(a *apiError) error {
	e := &event.Error{Op: m.op(), Code: a.word(), RetryAfter: a.after, Err: a}
	text := provider.Line(looksLikeKey.ReplaceAllString(m.key.Hide(a.message), "[redacted]"), m.key)
	tell := func(kind event.ErrorKind, message, hint string) error {
		e.Kind, e.Message, e.Hint = kind, provider.Tell(message, text), hint
		return e
	}
	is := func(words ...string) bool {
		for _, w := range words {
			if a.code == w || a.kind == w {
				return true
			}
		}
		return false
	}
	switch {
	case misplaced.MatchString(a.message):
		return tell(event.ErrModel, m.title+" does not have this API at this address.",
			"look at the base URL, "+m.baseFrom+": it mostly ends with /v1")
	case is("insufficient_quota", "billing_hard_limit_reached", "billing_not_active") || a.status == http.StatusPaymentRequired ||
		(a.status == http.StatusTooManyRequests && spent.MatchString(a.message)):
		e.RetryAfter = 0
		return tell(event.ErrModel, m.title+" does not serve this account now.", "look at plan, credit and limits where the key is from")
	// Perplexity's type for it is too_many_prompt_tokens (recorded by ruby_llm).
	case is("context_length_exceeded", "exceed_context_size_error", "too_many_prompt_tokens") ||
		(overflow.MatchString(a.message) && (a.status == 0 || a.status == http.StatusBadRequest || a.status == http.StatusInternalServerError)):
		return tell(event.ErrContextOverflow, "The conversation does not fit the model's context.", "shorten it, or begin a new session")
	// xAI refuses a key with the status of a bad request: {"code":"invalid-argument","error":"Incorrect
	// API key provided: …"} (recorded by pydantic-ai).
	case is("invalid_api_key", "authentication_error") || a.status == http.StatusUnauthorized ||
		(a.status == http.StatusBadRequest && badKey.MatchString(a.message)):
		return tell(event.ErrModelAuth, m.title+" refused the key.", "look at "+cmp.Or(m.keyFrom, "the key, key="))
	case a.status == http.StatusForbidden || is("permission_error", "unsupported_country_region_territory"):
		return tell(event.ErrModelAuth, m.title+" does not allow this to the key.", "look at the key's project and what it may use")
	case is("model_not_found") || a.status == http.StatusNotFound ||
		((a.status == 0 || a.status == http.StatusBadRequest) && unheard.MatchString(a.message)):
		return tell(event.ErrModelNotFound, m.title+" has no model "+strconv.Quote(m.name)+".",
			"look at the server's list of models, or at "+m.baseFrom)
	case a.status == http.StatusRequestEntityTooLarge || is("request_too_large", "image_too_large", "image_file_too_large"):
		return tell(event.ErrTooLarge, "The request is too large for the model's server.", "send smaller or fewer files and images")
	case is("server_is_overloaded", "slow_down", "overloaded_error") ||
		((a.status == 0 || a.status >= http.StatusInternalServerError) && crowded.MatchString(a.message)):
		return tell(event.ErrOverloaded, m.title+" is overloaded.", "try again later")
	case is("rate_limit_exceeded", "rate_limit_error") || a.status == http.StatusTooManyRequests:
		return tell(event.ErrThrottled, m.title+" is throttling.", "wait, or ask for higher limits where the key is from")
	case is("server_error", "internal_server_error", "internal_error", "timeout", "vector_store_timeout") || a.status == http.StatusRequestTimeout ||
		a.status == http.StatusConflict || a.status >= http.StatusInternalServerError:
		return tell(event.ErrUnavailable, m.title+" failed.", "try again; the server's status page or log may say more")
	case is("invalid_request_error", "invalid_prompt") || strings.HasPrefix(a.code, "invalid_") ||
		(a.status >= http.StatusBadRequest && a.status < http.StatusInternalServerError):
		return tell(event.ErrInvalid, m.title+" refused the request.", "the model, its options or the conversation do not fit each other")
	default:
		return tell(event.ErrModel, m.title+" gave an error.", "look at the server's log")
	}
}

// looksLikeKey are keys of vendors that speak this protocol, as they quote them: also
// shortened, or with stars in them.
var looksLikeKey = regexp.MustCompile(`\b(sk|pk|gsk|xai)-[A-Za-z0-9_*-]{6,}`)

// notSent is the error of a request that the server would refuse.
func notSent(kind event.ErrorKind, message, hint string, args ...any) *event.Error {
	return provider.NotSent(op, kind, message, hint, args...)
}

// unverified is how OpenAI refuses encrypted reasoning that it cannot read, such as that
// of another organization; reasoning behind a changed history it only ignores
// (guides/keep-prefix-unchanged). Google's compatible address refuses signatures of
// another project so.
var unverified = regexp.MustCompile(`(?i)encrypted content .{0,80}could not be (verified|decrypted)|` +
	`(invalid|corrupted) thought.?signature|thought.?signature.{0,20} not valid`)

// refusesReasoning reports whether the server refused a request for the reasoning in it.
// Behind OpenRouter it may be Claude's API that does.
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

// placeholder is what Google takes in the place of a thought signature that there is none
// of (docs/thought-signatures, FAQ).
const placeholder = "skip_thought_signature_validator"

// unsealed leaves out reasoning that is encrypted or signed.
func (m *Model) unsealed(b event.Block) event.Block {
	switch b := b.(type) {
	case *event.Thinking:
		if _, _, mine := readSeal(b.Signature); mine || strings.HasPrefix(b.Signature, markDetails) {
			return nil
		}
	case *event.ToolCall:
		if signature := opaqueOf(b.Signature, markGoogle, m.host); signature != "" && signature != placeholder {
			bare := *b
			bare.Signature = opaque(markGoogle, m.host, placeholder)
			return &bare
		}
	}
	return b
}
