package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"html"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model/internal/bound"
	"github.com/braidrun/braid/model/internal/idle"
	"github.com/braidrun/braid/model/internal/provider"
)

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
	// redirect is where the server sends the caller instead of answering.
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

// word is the server's own for the error: its code, or where there is none, its type.
func (e *apiError) word() string {
	if e.code != "" {
		return e.code
	}
	return e.kind
}

// errorOf reads an error's body. OpenAI's is an object below "error"; its
// streams have it at the top too; others send a text there, or an object of
// their own, or a page.
func errorOf(data []byte) *apiError {
	type fields struct {
		Type    string          `json:"type"`
		Code    json.RawMessage `json:"code"`
		Message words           `json:"message"`
		// Status is Cerebras', beside the error; Gateway is Azure's API Management.
		Status  json.RawMessage `json:"status_code"`
		Gateway json.RawMessage `json:"statusCode"`
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
	e.status = statusIn(all.Status, all.Gateway, f.Status)
	if e.raw != "" {
		e.message = upstream(e.message, f.Metadata.Raw)
	}
	if code := bytes.Trim(f.Code, `"`); string(code) != "null" {
		e.code = string(code)
	}
	if _, err := strconv.Atoi(e.code); err == nil { // a status, as OpenRouter and vLLM say it
		if n := statusIn(f.Code); n > 0 {
			e.status = n
		}
		e.code = ""
	}
	e.after = asked(e.message)
	return e
}

// statusIn is the first of some values that is the status of an error; 0 is none.
func statusIn(values ...json.RawMessage) int {
	for _, v := range values {
		if n, err := strconv.Atoi(string(bytes.Trim(v, `"`))); err == nil && n >= http.StatusBadRequest && n < 600 {
			return n
		}
	}
	return 0
}

// upstream adds what the host of a model said to OpenRouter, which only says that it was one
// ("Provider returned error").
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

// pageWords is what a body that is no JSON says: the title of a page, or the first words of a
// text.
func pageWords(body []byte) string {
	body = bytes.TrimLeft(body, blanks)
	switch {
	case len(body) == 0 || body[0] == '{' || body[0] == '[':
		return ""
	case body[0] == '<':
		for _, tag := range []*regexp.Regexp{pageTitle, pageHeading} {
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
	pageTitle   = regexp.MustCompile(`(?is)<title[^>]*>([^<]{1,200})</title>`)
	pageHeading = regexp.MustCompile(`(?is)<h1[^>]*>([^<]{1,200})</h1>`)
)

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

// tryAgain is how messages name a wait: "try again in 1m26.4s" (Groq), "retry after 26 seconds"
// (Azure), "retry in 9.5s" (Google's compatible address); duration is a part of it.
var (
	tryAgain = regexp.MustCompile(`(?i)(?:try again|retry) (?:in|after) ~?((?:\d+(?:\.\d+)? ?(?:milliseconds?|ms|hours?|h|minutes?|min|m|seconds?|secs?|s) ?)+)\b`)
	duration = regexp.MustCompile(`(?i)(\d+(?:\.\d+)?) ?(milli|ms|h|m|s)`)
)

// asked is the wait that a message names; the headers have none in a stream.
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
	case isNoStream(err):
		return m.foreign(err)
	case errors.Is(err, errTooLong):
		return broken(event.ErrModel, m.title+" sent more than 32 MiB at once.", "bound the answer, and look at the base URL, "+m.baseFrom)
	case errors.Is(err, errUnreadable):
		return broken(event.ErrStreamCut, m.title+" sent something that cannot be read.", "try again")
	case g.Begun():
		return broken(event.ErrStreamCut, "The model's answer broke off.", "try again")
	default:
		return provider.Unreached(m.op(), m.title, m.base, m.next(), err)
	}
}

func isNoStream(err error) bool {
	_, ok := errors.AsType[*noStream](err)
	return ok
}

// foreign is the error of an answer that comes from something else than a model's server.
func (m *Model) foreign(err error) error {
	e, _ := errors.AsType[*noStream](err)
	place := m.host
	if place == "" {
		place = "the address"
	}
	return &event.Error{
		Op: m.op(), Kind: event.ErrModel, Err: err,
		Message: provider.Tell("What answers at "+place+" does not speak OpenAI's protocol: it sent "+e.what()+".", provider.Line(e.said, m.key)),
		Hint:    "look at the base URL, " + m.baseFrom + ": it mostly ends with /v1",
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

// How servers word the kinds of errors that their status and code leave open. Each comes from
// the recordings (fantasy, pydantic-ai, ruby_llm, vercel/ai) or a public report, named beside it.
var (
	// overflow: the conversation is too long. OpenAI in both APIs, vLLM, DeepSeek and Mistral name
	// the "maximum context length", xAI the "maximum prompt length" (cline/cline#3120) or
	// [input_too_large] (inspect_ai#5208); Cerebras and Groq "reduce the length of the messages"
	// (cline/cline#5140, OpenHands#1902); llama.cpp and llama-cpp-python "exceed" a context
	// (ggml-org/llama.cpp#19774); LM Studio keeps its first tokens (lmstudio-bug-tracker#237,
	// Gitlawb/openclaude#353); Text Generation Inference adds inputs (huggingface/chat-ui#340);
	// Google's compatible address counts (google-gemini/gemini-cli#6678).
	overflow = regexp.MustCompile(`(?i)maximum (context|prompt) length|exceeds? (the |its |max(imum)? )?(context (window|limit|length|size)|available context)|` +
		`exceeds the model's maximum context|context the overflows|context size has been exceeded|prompt is too long|prompt too long|` +
		`exceeded max context length|\[input_too_large\]|reduce the length of the messages|greater than the context length|` +
		"`?inputs`? tokens \\+ `?max_new_tokens`?|input token count .{0,40}exceeds")
	// tooMuch: the conversation is larger than the tokens that the key has in a minute, so that
	// waiting does not help (Groq, continuedev/continue#10218; OpenAI, vanna-ai/vanna-flask#11).
	tooMuch = regexp.MustCompile(`(?i)request too large.{0,300}tokens per min`)
	// spent: the account has no money. Waiting does not help. Groq's limits of requests name a
	// page of its console, …/settings/billing, and are none of these.
	spent = regexp.MustCompile(`(?i)exceeded your current quota|(plan and|check your) billing|billing (details|hard limit)|insufficient (credits|balance|quota|funds)|` +
		`requires more credits|credit limit|(have|has) any credits|(used all|out of) (available |your )?credits|spending limit|key limit exceeded`)
	// badKey: the key is none, with another status than 401 (xAI; Google's compatible address).
	badKey = regexp.MustCompile(`(?i)(incorrect|invalid) api.?key|api.?key (is )?(not valid|invalid)`)
	// crowded: the servers are too busy. DeepSeek is "too busy"; Cerebras has "high traffic"; Mistral's
	// "service tier capacity" and Groq's flex tier are exceeded.
	crowded = regexp.MustCompile(`(?i)overloaded|slow down|at capacity|capacity exceeded|server busy|too busy|high (traffic|demand)|maximum pending requests`)
	// misplaced is how LM Studio says that an address is none of its own, with a
	// status of success.
	misplaced = regexp.MustCompile(`(?i)unexpected endpoint or method`)
	// unheard: there is no such model, with other statuses than 404. DeepSeek's "Model Not Exist",
	// LM Studio's "No models loaded", Groq's "decommissioned", Together's "non-serverless model".
	unheard = regexp.MustCompile(`(?i)model .{0,160}(does not exist|not found|decommissioned)|invalid model|not a valid model|no such model|unknown model|` +
		`model not exist|no models? (is |are )?loaded|unable to access .{0,20}model|non-serverless model`)
	// unable is how OpenRouter says with a 404 that a model has no host for what the request asks.
	unable = regexp.MustCompile(`(?i)no endpoints found (that|with|matching|supporting)`)
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
	if kind, ok := m.ruled(a); ok {
		return tell(kind, m.title+" refused the request.", "look at what the server says, and at its row of vendors")
	}
	bad := a.status == 0 || a.status == http.StatusBadRequest || a.status == http.StatusUnprocessableEntity
	switch {
	case misplaced.MatchString(a.message):
		return tell(event.ErrModel, m.title+" does not have this API at this address.",
			"look at the base URL, "+m.baseFrom+": it mostly ends with /v1")
	case a.redirect != "":
		return tell(event.ErrModel, m.title+" redirects to "+provider.Line(a.redirect, m.key)+", where no key is sent.", "write that address as "+m.baseFrom)
	case tooMuch.MatchString(a.message):
		e.RetryAfter = 0
		return tell(event.ErrContextOverflow, "The conversation is larger than the tokens that the key has in a minute.",
			"shorten it, or ask for higher limits where the key is from")
	case is("insufficient_quota", "billing_hard_limit_reached", "billing_not_active") || a.status == http.StatusPaymentRequired || a.unpaid():
		e.RetryAfter = 0
		return tell(event.ErrModel, m.title+" does not serve this account now.", "look at plan, credit and limits where the key is from")
	// Perplexity's type for it is too_many_prompt_tokens (recorded by ruby_llm).
	case is("context_length_exceeded", "exceed_context_size_error", "too_many_prompt_tokens") ||
		(overflow.MatchString(a.message) && (bad || a.status == http.StatusInternalServerError || a.status == http.StatusRequestEntityTooLarge)):
		return tell(event.ErrContextOverflow, "The conversation does not fit the model's context.", "shorten it, or begin a new session")
	// xAI refuses a key with the status of a bad request: {"code":"invalid-argument","error":"Incorrect
	// API key provided: …"} (recorded by pydantic-ai).
	case is("invalid_api_key", "wrong_api_key", "authentication_error") || a.status == http.StatusUnauthorized ||
		(a.status == http.StatusBadRequest && badKey.MatchString(a.message)):
		return tell(event.ErrModelAuth, m.title+" refused the key.", "look at "+cmp.Or(m.keyFrom, "the key, key="))
	case a.status == http.StatusForbidden || is("permission_error", "unsupported_country_region_territory"):
		return tell(event.ErrModelAuth, m.title+" does not allow this to the key.", "look at the key's project and what it may use")
	case a.status == http.StatusNotFound && unable.MatchString(a.message):
		return tell(event.ErrInvalid, m.title+" has nobody who serves the model with what the request asks.", "take out tools or settings, or take another model")
	case is("model_not_found", "model_not_available", "model_decommissioned", "invalid_model", "DeploymentNotFound") || a.status == http.StatusNotFound ||
		(bad && unheard.MatchString(a.message)):
		return tell(event.ErrModelNotFound, m.title+" has no model "+strconv.Quote(m.name)+".",
			"look at the server's list of models, or at "+m.baseFrom)
	case a.status == http.StatusRequestEntityTooLarge || is("request_too_large", "image_too_large", "image_file_too_large"):
		return tell(event.ErrTooLarge, "The request is too large for the model's server.", "send smaller or fewer files and images")
	case a.crowded(is):
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

// ruled is the kind that the server's dialect gives an error by its code or type.
func (m *Model) ruled(a *apiError) (event.ErrorKind, bool) {
	for _, word := range []string{a.code, a.kind} {
		if kind, ok := m.dialect.Errors[word]; ok && word != "" {
			return kind, true
		}
	}
	return "", false
}

// unpaid reports whether an error is about money: xAI says so with 403, Fireworks with 412.
func (a *apiError) unpaid() bool {
	switch a.status {
	case 0, http.StatusTooManyRequests, http.StatusForbidden, http.StatusPreconditionFailed:
		return a.code != "rate_limit_exceeded" && spent.MatchString(a.message)
	}
	return false
}

// The statuses that vendors have for too much work: Groq for its flex tier, and Claude's API
// behind a gateway.
const (
	statusFlexFull   = 498
	statusOverloaded = 529
)

// crowded reports whether an error says that the server is too busy.
func (a *apiError) crowded(is func(...string) bool) bool {
	switch {
	case is("server_is_overloaded", "slow_down", "overloaded_error", "queue_exceeded", "capacity_exceeded", "engine_overloaded"),
		a.status == statusFlexFull, a.status == statusOverloaded:
		return true
	}
	return (a.status == 0 || a.status == http.StatusTooManyRequests && a.code != "rate_limit_exceeded" || a.status >= http.StatusInternalServerError) &&
		crowded.MatchString(a.message)
}

// looksLikeKey are keys of vendors that speak this protocol, as they quote them: also
// shortened, or with stars in them.
var looksLikeKey = regexp.MustCompile(`\b(sk|pk|gsk|xai|csk|pplx|fw|tgp|r8)[-_][A-Za-z0-9_*-]{6,}`)

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
