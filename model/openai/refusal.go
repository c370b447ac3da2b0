package openai

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/idle"
	"github.com/braidrun/braid/model/internal/provider"
)

// Messages for errors whose kind neither status nor code shows. Each comes from the recordings
// (fantasy, pydantic-ai, ruby_llm, vercel/ai) or from the public report named beside it.
var (
	// overflow: the conversation is too long. OpenAI in both APIs, vLLM, DeepSeek and Mistral name
	// the "maximum context length", xAI the "maximum prompt length" (cline/cline#3120) or
	// [input_too_large] (inspect_ai#5208); Cerebras and Groq "reduce the length of the messages"
	// (cline/cline#5140, OpenHands#1902); llama.cpp and llama-cpp-python "exceed" a context
	// (ggml-org/llama.cpp#19774); LM Studio keeps its first tokens (lmstudio-bug-tracker#237,
	// Gitlawb/openclaude#353); Text Generation Inference adds inputs (huggingface/chat-ui#340);
	// Google's compatible address counts (google-gemini/gemini-cli#6678).
	overflow = lazyre.New(`(?i)maximum (context|prompt) length|` +
		`exceeds? (the |its |max(imum)? )?(context (window|limit|length|size)|available context)|` +
		`exceeds the model's maximum context|context the overflows|context size has been exceeded|prompt is too long|prompt too long|` +
		`exceeded max context length|\[input_too_large\]|reduce the length of the messages|greater than the context length|` +
		"`?inputs`? tokens \\+ `?max_new_tokens`?|input token count .{0,40}exceeds")
	// tooMuch: the conversation exceeds the key's tokens per minute, so waiting does not help
	// (Groq, continuedev/continue#10218; OpenAI, vanna-ai/vanna-flask#11).
	tooMuch = lazyre.New(`(?i)request too large.{0,300}tokens per min`)
	// spent: the account has no credit, so waiting does not help. Groq's messages about request
	// limits link to its page …/settings/billing and must not match.
	spent = lazyre.New(`(?i)exceeded your current quota|` +
		`(plan and|check your) billing|billing (details|hard limit)|insufficient (credits|balance|quota|funds)|` +
		`requires more credits|credit limit|(have|has) any credits|(used all|out of) (available |your )?credits|spending limit|key limit exceeded`)
	// badKey: the key is invalid, with another status than 401 (xAI; Google's compatible
	// address).
	badKey = lazyre.New(`(?i)(incorrect|invalid) api.?key|api.?key (is )?(not valid|invalid)`)
	// crowded: the servers are overloaded. DeepSeek is "too busy"; Cerebras has "high traffic";
	// Mistral's "service tier capacity" and Groq's flex tier are exceeded.
	crowded = lazyre.New(`(?i)overloaded|slow down|at capacity|capacity exceeded|` +
		`server busy|too busy|high (traffic|demand)|maximum pending requests`)
	// misplaced: LM Studio does not know the path. The status is a success.
	misplaced = lazyre.New(`(?i)unexpected endpoint or method`)
	// unheard: the model is unknown, with another status than 404. DeepSeek says "Model Not
	// Exist", LM Studio "No models loaded", Groq "decommissioned", Together "non-serverless
	// model".
	unheard = lazyre.New(`(?i)model .{0,160}(does not exist|not found|decommissioned)|` +
		`invalid model|not a valid model|no such model|unknown model|` +
		`model not exist|no models? (is |are )?loaded|unable to access .{0,20}model|non-serverless model`)
	// unable: OpenRouter has no host with the model for such a request. The status is 404.
	unable = lazyre.New(`(?i)no endpoints found (that|with|matching|supporting)`)
)

// verdict is the meaning of a refusal.
type verdict uint8

const (
	unclear verdict = iota
	refused
	atAnotherPath
	redirected
	tooMuchAtOnce
	unpaid
	tooLong
	keyRefused
	forbidden
	unserved
	unknownModel
	tooLarge
	overloaded
	throttled
	broken
)

// Kinds lists the error kinds that [Dialect].Errors may contain.
func Kinds() []event.ErrorKind {
	return []event.ErrorKind{
		event.ErrContextOverflow, event.ErrModelAuth, event.ErrModelNotFound, event.ErrTooLarge, event.ErrOverloaded, event.ErrThrottled,
		event.ErrUnavailable, event.ErrInvalid, event.ErrModel,
	}
}

var verdicts = map[event.ErrorKind]verdict{
	event.ErrContextOverflow: tooLong, event.ErrModelAuth: keyRefused, event.ErrModelNotFound: unknownModel, event.ErrTooLarge: tooLarge,
	event.ErrOverloaded: overloaded, event.ErrThrottled: throttled, event.ErrUnavailable: broken, event.ErrInvalid: refused, event.ErrModel: unpaid,
}

// judge determines the meaning of a refusal (guides/error-codes). The dialect's error codes
// take precedence.
func (m *Model) judge(a *apiError) verdict {
	for _, word := range []string{a.code, a.number, a.kind} {
		if kind, ok := m.dialect.Errors[word]; ok && word != "" {
			return verdicts[kind]
		}
	}
	for _, rule := range []struct {
		holds   func(*apiError) bool
		verdict verdict
	}{
		{func(a *apiError) bool { return misplaced.MatchString(a.message) }, atAnotherPath},
		{func(a *apiError) bool { return a.redirect != "" }, redirected},
		{func(a *apiError) bool { return tooMuch.MatchString(a.message) }, tooMuchAtOnce},
		{(*apiError).unpaid, unpaid},
		{(*apiError).tooLong, tooLong},
		{(*apiError).keyRefused, keyRefused},
		{(*apiError).forbidden, forbidden},
		{func(a *apiError) bool { return a.status == http.StatusNotFound && unable.MatchString(a.message) }, unserved},
		{(*apiError).unknownModel, unknownModel},
		{(*apiError).tooLarge, tooLarge},
		{(*apiError).crowded, overloaded},
		{(*apiError).throttled, throttled},
		{(*apiError).broken, broken},
		{(*apiError).refused, refused},
	} {
		if rule.holds(a) {
			return rule.verdict
		}
	}
	return unclear
}

// is reports whether the server's code or type is one of words.
func (a *apiError) is(words ...string) bool {
	return slices.Contains(words, a.code) || slices.Contains(words, a.kind)
}

// bad reports whether the status means an invalid request.
func (a *apiError) bad() bool {
	return a.status == 0 || a.status == http.StatusBadRequest || a.status == http.StatusUnprocessableEntity
}

// unpaid reports whether the error is about payment. xAI uses the status 403, Fireworks 412.
func (a *apiError) unpaid() bool {
	if a.is("insufficient_quota", "billing_hard_limit_reached", "billing_not_active") {
		return true
	}
	switch a.status {
	case http.StatusPaymentRequired:
		return true
	case 0, http.StatusTooManyRequests, http.StatusForbidden, http.StatusPreconditionFailed:
		return a.code != "rate_limit_exceeded" && spent.MatchString(a.message)
	}
	return false
}

// tooLong reports whether the conversation is too long. Perplexity's type for it is
// too_many_prompt_tokens (recorded by ruby_llm).
func (a *apiError) tooLong() bool {
	return a.is("context_length_exceeded", "exceed_context_size_error", "too_many_prompt_tokens") || overflow.MatchString(a.message) &&
		(a.bad() || a.status == http.StatusInternalServerError || a.status == http.StatusRequestEntityTooLarge)
}

// keyRefused reports whether the key is invalid. xAI refuses it as a bad request:
// {"code":"invalid-argument","error":"Incorrect API key provided: …"} (recorded by
// pydantic-ai).
func (a *apiError) keyRefused() bool {
	return a.is("invalid_api_key", "authentication_error") || a.status == http.StatusUnauthorized ||
		a.status == http.StatusBadRequest && badKey.MatchString(a.message)
}

func (a *apiError) forbidden() bool {
	return a.status == http.StatusForbidden || a.is("permission_error", "unsupported_country_region_territory")
}

func (a *apiError) unknownModel() bool {
	return a.is("model_not_found", "invalid_model", "DeploymentNotFound") || a.status == http.StatusNotFound ||
		a.bad() && unheard.MatchString(a.message)
}

func (a *apiError) tooLarge() bool {
	return a.status == http.StatusRequestEntityTooLarge || a.is("request_too_large", "image_too_large", "image_file_too_large")
}

// Nonstandard statuses for overload: Groq's for its flex tier, and that of Claude's API behind
// a gateway.
const (
	statusFlexFull   = 498
	statusOverloaded = 529
)

func (a *apiError) crowded() bool {
	if a.is("server_is_overloaded", "slow_down", "overloaded_error") || a.status == statusFlexFull || a.status == statusOverloaded {
		return true
	}
	may := a.status == 0 || a.status >= http.StatusInternalServerError || a.status == http.StatusTooManyRequests && a.code != "rate_limit_exceeded"
	return may && crowded.MatchString(a.message)
}

func (a *apiError) throttled() bool {
	return a.is("rate_limit_exceeded", "rate_limit_error") || a.status == http.StatusTooManyRequests
}

func (a *apiError) broken() bool {
	return a.is("server_error", "internal_server_error", "internal_error", "timeout", "vector_store_timeout") ||
		a.status == http.StatusRequestTimeout || a.status == http.StatusConflict || a.status >= http.StatusInternalServerError
}

func (a *apiError) refused() bool {
	return a.is("invalid_request_error", "invalid_prompt") || strings.HasPrefix(a.code, "invalid_") ||
		a.status >= http.StatusBadRequest && a.status < http.StatusInternalServerError
}

// refusal maps an error of the server.
func (m *Model) refusal(a *apiError) error {
	e := &event.Error{Op: m.op(), Code: a.word(), RetryAfter: a.after, Err: a}
	text := provider.Line(looksLikeKey.ReplaceAllString(m.key.Hide(a.message), "[redacted]"), m.key)
	tell := func(kind event.ErrorKind, message, hint string) error {
		e.Kind, e.Message, e.Hint = kind, provider.Tell(message, text), hint
		return e
	}
	switch m.judge(a) {
	case atAnotherPath:
		return tell(event.ErrModel, m.title+" does not have this API at this address",
			"look at the base URL, "+m.baseFrom+": it mostly ends with /v1")
	case redirected:
		return tell(event.ErrModel, m.title+" redirects to "+provider.Line(a.redirect, m.key)+", where Braid sends no key",
			"write the address that is meant as "+m.baseFrom)
	case tooMuchAtOnce:
		e.RetryAfter = 0
		return tell(event.ErrContextOverflow, "the conversation is larger than the tokens that the key has in a minute",
			"shorten it, or ask for higher limits where the key is from")
	case unpaid:
		e.RetryAfter = 0
		return tell(event.ErrModel, m.title+" does not serve this account now", "look at plan, credit and limits where the key is from")
	case tooLong:
		return tell(event.ErrContextOverflow, "the conversation does not fit the model's context", "shorten it, or begin a new session")
	case keyRefused:
		return tell(event.ErrModelAuth, m.title+" refused the key", "look at "+cmp.Or(m.keyFrom, "the key, key="))
	case forbidden:
		return tell(event.ErrModelAuth, m.title+" does not allow this to the key", "look at the key's project and what it may use")
	case unserved:
		return tell(event.ErrInvalid, m.title+" has no host of the model that takes such a request",
			"take out tools or settings, or take another model")
	case unknownModel:
		return tell(event.ErrModelNotFound, m.title+" has no model "+strconv.Quote(m.name),
			"look at the server's list of models, or at "+m.baseFrom)
	case tooLarge:
		return tell(event.ErrTooLarge, "the request is too large for the model's server", "send smaller or fewer files and images")
	case overloaded:
		return tell(event.ErrOverloaded, m.title+" is overloaded", "try again later")
	case throttled:
		return tell(event.ErrThrottled, m.title+" is throttling", "wait, or ask for higher limits where the key is from")
	case broken:
		return tell(event.ErrUnavailable, m.title+" failed", "try again; the server's status page or log may say more")
	case refused:
		return tell(event.ErrInvalid, m.title+" refused the request", "the model, its options or the conversation do not fit each other")
	default:
		return tell(event.ErrModel, m.title+" gave an error", "look at the server's log")
	}
}

// looksLikeKey matches keys of vendors with this protocol, also shortened or masked, as their
// messages quote them.
var looksLikeKey = lazyre.New(`\b(sk|pk|gsk|xai|csk|pplx|fw|tgp|r8)[-_][A-Za-z0-9_*-]{6,}`)

// unsealed returns the block without encrypted or signed reasoning; nil to leave the block out.
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
	case *event.UnknownBlock:
		// Items of server-side tools depend on the reasoning before them, and compaction items
		// are encrypted too.
		if returns(b) {
			return nil
		}
	}
	return b
}

// foreign returns the error for a response that does not come from a model's server.
func (m *Model) foreign(err error) error {
	e, _ := errors.AsType[*noStream](err)
	place := m.host
	if place == "" {
		place = "the address"
	}
	return &event.Error{
		Op: m.op(), Kind: event.ErrModel, Code: model.CodeForeign, Err: err,
		Message: provider.Tell("what answers at "+place+" does not speak OpenAI's protocol: it sent "+e.what(), provider.Line(e.said, m.key)),
		Hint:    "look at the base URL, " + m.baseFrom + ": it mostly ends with /v1",
	}
}

// failure returns the *event.Error for any error that ended a call.
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
			Message: m.title + " sent nothing for " + g.After().String(),
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
		return broken(event.ErrModel, m.title+" sent more than 32 MiB at once", "bound the answer, and look at the base URL, "+m.baseFrom)
	case errors.Is(err, errUnreadable):
		return broken(event.ErrStreamCut, m.title+" sent something that cannot be read", "try again")
	case g.Begun():
		return broken(event.ErrStreamCut, "the model's answer broke off", "try again")
	default:
		return provider.Unreached(m.op(), m.title, m.base, m.next(), err)
	}
}
