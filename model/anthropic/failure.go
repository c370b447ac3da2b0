package anthropic

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/awserr"
	"github.com/braidrun/braid/model/internal/bound"
	"github.com/braidrun/braid/model/internal/idle"
	"github.com/braidrun/braid/model/internal/provider"
)

// apiError is an error of the API. It leaves out the request, which holds the key.
type apiError struct {
	status    int
	kind      string
	code      string
	message   string
	requestID string
	after     time.Duration
	// strange is set for a body that a proxy or another server wrote.
	strange bool
}

// said decodes an error of the API (api/errors). Some gateways write the error as a string,
// or put the message beside it; a proxy's page has neither.
func said(status int, header http.Header, body []byte) *apiError {
	a := &apiError{
		status: status, requestID: header.Get("Request-Id"), after: provider.RetryAfter(header, time.Now()),
	}
	var outer struct {
		Error     json.RawMessage `json:"error"`
		Message   any             `json:"message"`
		Detail    any             `json:"detail"`
		RequestID string          `json:"request_id"`
	}
	if json.Unmarshal(body, &outer) != nil {
		a.strange, a.message = true, words(contentType(header), body)
		return a
	}
	a.requestID = cmp.Or(a.requestID, outer.RequestID)
	var inner struct {
		Type    string          `json:"type"`
		Message any             `json:"message"`
		Details json.RawMessage `json:"details"`
	}
	var details struct {
		Code string `json:"error_code"`
	}
	if json.Unmarshal(outer.Error, &inner) != nil {
		_ = json.Unmarshal(outer.Error, &inner.Message) // a text, or nothing
	}
	_ = json.Unmarshal(inner.Details, &details) // other errors have other details
	a.kind, a.code = inner.Type, details.Code
	a.message = cmp.Or(text(inner.Message), text(outer.Message), text(outer.Detail))
	return a
}

// text returns v if it is a string; "" otherwise.
func text(v any) string {
	s, _ := v.(string)
	return s
}

// Error implements error, for operators.
func (e *apiError) Error() string {
	s := e.kind
	if e.code != "" {
		s += " (" + e.code + ")"
	}
	if e.status != 0 {
		s = strconv.Itoa(e.status) + " " + s
	}
	if e.requestID != "" {
		s += ", request " + e.requestID
	}
	return s
}

// failure returns the *event.Error for any error that ended a call.
func (m *Model) failure(g *idle.Guard, err error) error {
	if e, ok := errors.AsType[*event.Error](err); ok {
		return e
	}
	if g.Outer().Err() != nil {
		return provider.Ended(op, g.Outer())
	}
	if g.Stalled() {
		return &event.Error{
			Op: op, Kind: event.ErrStreamCut, Code: "stall", Err: err,
			Message: m.title() + " sent nothing for " + g.After().String(),
			Hint:    "try again; a longer time can be allowed where the model is made",
		}
	}
	if r, ok := errors.AsType[*provider.Refused](err); ok {
		return m.denied(r)
	}
	if e, ok := errors.AsType[*foreignError](err); ok {
		return m.foreign(e)
	}
	if said, ok := errors.AsType[*awserr.Said](err); ok {
		return m.denial(said)
	}
	if e, ok := errors.AsType[*apiError](err); ok {
		return m.refusal(e)
	}
	if e, ok := errors.AsType[*googleError](err); ok {
		return m.googles(e)
	}
	broken := func(kind event.ErrorKind, message, hint string) error {
		return &event.Error{Op: op, Kind: kind, Message: message, Hint: hint, Err: err}
	}
	switch {
	case errors.Is(err, errUnreadable), errors.Is(err, errTooLong):
		return broken(event.ErrStreamCut, m.title()+" sent something that cannot be read", "try again")
	case g.Begun():
		return broken(event.ErrStreamCut, "the model's answer broke off", "try again")
	default:
		next := "check the network, a proxy, and " + m.where()
		switch {
		case m.aws != nil:
			next += "; is there Bedrock in the region " + m.aws.cfg.Region + "?"
		case m.google != nil && m.base == "":
			next += "; is there Vertex AI in the location " + m.google.location + "?"
		}
		return provider.Unreached(op, m.title(), m.place(), next, err)
	}
}

// denial maps an error of Bedrock. Errors of Claude on Bedrock come inside a chunk.
func (m *Model) denial(said *awserr.Said) error {
	return said.Failure(awserr.Asked{
		Op: op, Model: m.name, Region: m.aws.cfg.Region, Keyed: m.aws.cfg.BearerAuthTokenProvider != nil, Variable: BedrockKeyVariable,
	})
}

// denied returns the *event.Error for a response whose status is not 2xx.
func (m *Model) denied(r *provider.Refused) error {
	var failure error
	var strange bool
	switch {
	case r.Status < http.StatusBadRequest:
		return &event.Error{
			Op: op, Kind: event.ErrModel, Code: "redirect", Err: r,
			Message: m.title() + " was not reached: " + m.host() + " sends the request to another address, which Braid does not follow with a key",
			Hint:    m.look(),
		}
	case m.aws != nil:
		said := awserr.Before(r.Status, r.Header, r.Body, time.Now())
		if strange = said.Kind == "" && !json.Valid(r.Body); strange {
			said.Message = words(contentType(r.Header), r.Body)
		}
		failure = m.denial(said)
	case m.google != nil:
		if said := googleSaid(r); said != nil {
			return m.googles(said)
		}
		fallthrough
	default:
		a := said(r.Status, r.Header, r.Body)
		strange, failure = a.strange, m.refusal(a)
	}
	if e, ok := errors.AsType[*event.Error](failure); ok && strange {
		m.notOurs(e, r)
	}
	return failure
}

// notOurs rewrites an error that a proxy or another server may have caused. The new text says
// so.
func (m *Model) notOurs(e *event.Error, r *provider.Refused) {
	form := (&foreignError{kind: contentType(r.Header)}).form()
	line := provider.Line(words(contentType(r.Header), r.Body), m.key)
	switch e.Kind {
	case event.ErrThrottled, event.ErrTooLarge, event.ErrOverloaded:
		return // proxies use these statuses correctly
	default:
	}
	message := m.host() + " answered with status " + strconv.Itoa(r.Status) + " and " + form + ", not as " + m.title() + " does"
	e.Code, e.Message, e.Hint = model.CodeForeign, provider.Tell(message, line), m.look()+", or at a proxy in between"
}

// foreign returns the error for a 2xx response that is not the API's.
func (m *Model) foreign(e *foreignError) error {
	return &event.Error{
		Op: op, Kind: event.ErrModel, Code: model.CodeForeign, Err: e,
		Message: provider.Tell(
			"what answered at "+m.host()+" is not "+m.title()+": its answer is "+e.form()+", and no stream of events", provider.Line(e.words, m.key),
		),
		Hint: m.look(),
	}
}

// title names the service, for messages.
func (m *Model) title() string {
	switch {
	case m.aws != nil:
		return "Amazon Bedrock"
	case m.google != nil:
		return "Vertex AI"
	default:
		return "Anthropic's API"
	}
}

// where names the variable that holds the address.
func (m *Model) where() string {
	if m.aws != nil {
		return BedrockBaseVariable
	}
	return m.baseFrom
}

// look is the hint if something other than the API responds.
func (m *Model) look() string {
	if m.google != nil && m.base == "" {
		return "look at " + m.where()
	}
	return "look at the base URL, " + m.where()
}

// place returns the address or the region of the service.
func (m *Model) place() string {
	switch {
	case m.base != "":
		return m.base
	case m.aws != nil:
		return "the region " + m.aws.cfg.Region
	case m.google != nil:
		return m.google.host()
	default:
		return strings.TrimPrefix(defaultBase, "https://")
	}
}

// host returns the host of the service.
func (m *Model) host() string {
	if u, err := url.Parse(m.address()); err == nil {
		return u.Host
	}
	return m.place()
}

// overflow matches the API's message for a conversation that is too long. The API
// has no error type for it.
var overflow = lazyre.New(`(?i)prompt is too long|exceeds? (the )?context (limit|window)|context window (is )?exceeded|` +
	`input is too long|exceed context limit`)

// spent matches messages about spending limits. Unlike rate limits, they do not pass
// by waiting.
var spent = lazyre.New(`(?i)credit balance is too low|usage limits?\. you will regain|spend(ing)? limit|billing`)

// noFile matches the message for a file that does not exist (build-with-claude/files).
var noFile = lazyre.New(`(?i)file.{0,20} not found|not found.{0,5}: file_`)

// imageTooLarge matches the message for an image that is too large.
var imageTooLarge = lazyre.New(`(?i)image exceeds|image dimensions exceed`)

// refusesThinking reports whether the API refused a request for the thinking in it.
func refusesThinking(err error) bool {
	r, ok := errors.AsType[*provider.Refused](err)
	return ok && r.Status == http.StatusBadRequest && bound.Refused(string(r.Body))
}

// refusal maps an error of the API (api/errors).
func (m *Model) refusal(a *apiError) error {
	e := &event.Error{Op: op, Code: a.kind, RetryAfter: a.after, Err: a}
	words := provider.Line(a.message, m.key)
	tell := func(kind event.ErrorKind, message, hint string) error {
		e.Kind, e.Message, e.Hint = kind, provider.Tell(message, words), hint
		return e
	}
	money := a.kind == "billing_error" || a.status == http.StatusPaymentRequired ||
		strings.Contains(a.code, "spend_limit") || strings.HasPrefix(a.code, "linked_organization_")
	money = money || (a.kind == "invalid_request_error" && spent.MatchString(a.message))
	switch {
	case imageTooLarge.MatchString(a.message):
		return tell(event.ErrTooLarge, "an image is too large for the model", "make it smaller, or send it as JPEG")
	case money:
		e.RetryAfter = 0
		return tell(
			event.ErrModel, m.title()+" does not serve this account now",
			"look at plan, credit and spend limits in the vendor's console",
		)
	case a.kind == "authentication_error" || (a.kind == "" && a.status == http.StatusUnauthorized):
		return tell(event.ErrModelAuth, m.title()+" refused the "+m.credential(), m.whose())
	case a.kind == "permission_error" || (a.kind == "" && a.status == http.StatusForbidden):
		return tell(event.ErrModelAuth, m.title()+" does not allow this to the "+m.credential(), m.allowed())
	case a.kind == "not_found_error" && noFile.MatchString(a.message):
		return tell(event.ErrInvalid, "there is no such file any more", "upload it again, or give its bytes")
	case a.kind == "not_found_error" || (a.kind == "" && a.status == http.StatusNotFound):
		return tell(event.ErrModelNotFound, m.title()+" has no model "+strconv.Quote(m.name)+m.inPlace(),
			m.listed())
	case a.kind == "request_too_large" || a.status == http.StatusRequestEntityTooLarge:
		return tell(event.ErrTooLarge, "the request is too large for "+m.title(), "send smaller or fewer files and images")
	case a.kind == "rate_limit_error" || a.status == http.StatusTooManyRequests:
		return tell(event.ErrThrottled, m.title()+" is throttling", "wait, or ask the vendor for higher limits")
	case a.kind == "overloaded_error" || a.status == statusOverloaded:
		return tell(event.ErrOverloaded, m.title()+" is overloaded", "try again later")
	case overflow.MatchString(a.message):
		return tell(event.ErrContextOverflow, "the conversation does not fit the model's context", "shorten it, or begin a new session")
	case a.kind == "timeout_error" || a.kind == "api_error" || a.kind == "conflict_error" ||
		a.status == http.StatusRequestTimeout || a.status == http.StatusConflict || a.status >= http.StatusInternalServerError:
		return tell(event.ErrUnavailable, m.title()+" failed", "try again; the vendor's status page may say more")
	case a.kind == "invalid_request_error" || (a.status >= http.StatusBadRequest && a.status < http.StatusInternalServerError):
		return tell(event.ErrInvalid, m.title()+" refused the request", "the model, its options or the conversation do not fit each other")
	default:
		return tell(event.ErrModel, m.title()+" gave an error", "")
	}
}

// credential names the kind of credential, for messages.
func (m *Model) credential() string {
	if m.google != nil {
		return "credentials"
	}
	return "key"
}

// whose is the hint for a refused credential: where it comes from.
func (m *Model) whose() string {
	if m.google != nil {
		return signIn
	}
	return "look at " + m.keyFrom
}

// allowed is the hint for missing permissions.
func (m *Model) allowed() string {
	if m.google != nil {
		return m.google.role()
	}
	return "look at the key's workspace and what it may use"
}

// inPlace names the region or location that lacks the model.
func (m *Model) inPlace() string {
	if m.google != nil {
		return m.google.place()
	}
	return ""
}

// listed is the hint for an unknown model: where the models are listed.
func (m *Model) listed() string {
	if m.google != nil {
		return m.google.garden()
	}
	return "look at the vendor's list of models, or at " + m.baseFrom
}

// statusOverloaded is the API's nonstandard status for overload.
const statusOverloaded = 529

// notSent returns the error for a request that the API would refuse. Nothing is sent.
func notSent(kind event.ErrorKind, message, hint string, args ...any) *event.Error {
	return provider.NotSent(op, kind, message, hint, args...)
}

// googles maps an error of Google (google.rpc.Code; messages that users have published).
func (m *Model) googles(g *googleError) error {
	e := &event.Error{Op: op, Code: g.kind, RetryAfter: g.after, Err: g}
	line := provider.Line(g.message, m.key)
	tell := func(kind event.ErrorKind, message, hint string) error {
		e.Kind, e.Message, e.Hint = kind, provider.Tell(message, line), hint
		return e
	}
	is := func(kind string, status int) bool { return g.kind == kind || g.kind == "" && g.status == status }
	switch v := m.google; {
	case overflow.MatchString(g.message):
		return tell(event.ErrContextOverflow, "the conversation does not fit the model's context", "shorten it, or begin a new session")
	case g.status == http.StatusRequestEntityTooLarge || googleLarge.MatchString(g.message):
		return tell(event.ErrTooLarge, "the request is too large for Vertex AI", "send smaller or fewer files and images")
	case is("UNAUTHENTICATED", http.StatusUnauthorized):
		return tell(event.ErrModelAuth, "Vertex AI refused the credentials", signIn)
	case apiDisabled.MatchString(g.message):
		return tell(event.ErrModelAuth, "the Vertex AI API is not enabled in the project "+strconv.Quote(v.project),
			"run gcloud services enable aiplatform.googleapis.com, or look at "+VertexProjectVariable)
	case noGarden.MatchString(g.message):
		return tell(event.ErrModelAuth, "the project "+strconv.Quote(v.project)+" may not use the model", v.garden())
	case is("PERMISSION_DENIED", http.StatusForbidden):
		return tell(event.ErrModelAuth, "Vertex AI does not allow this to the credentials", v.role())
	case is("NOT_FOUND", http.StatusNotFound) || notServed.MatchString(g.message):
		return tell(event.ErrModelNotFound, "Vertex AI has no model "+strconv.Quote(m.name)+v.place(), v.garden())
	case is("RESOURCE_EXHAUSTED", http.StatusTooManyRequests):
		return tell(event.ErrThrottled, "Vertex AI is throttling",
			"wait, ask Google for a higher quota of the model, or set "+VertexLocationVariable+"=global, which has the most capacity")
	case is("UNAVAILABLE", http.StatusServiceUnavailable), g.status == statusOverloaded:
		return tell(event.ErrOverloaded, "Vertex AI is overloaded", "try again later")
	case g.status >= http.StatusInternalServerError, g.kind == "INTERNAL", g.kind == "DEADLINE_EXCEEDED", g.kind == "ABORTED", g.kind == "CANCELLED":
		return tell(event.ErrUnavailable, "Vertex AI failed", "try again; Google Cloud's status page may say more")
	default:
		hint := "the model, its options or the conversation do not fit each other"
		if strings.Contains(g.message, v.project) || strings.Contains(g.message, v.location) {
			hint = "look at " + VertexProjectVariable + " and " + VertexLocationVariable
		}
		return tell(event.ErrInvalid, "Vertex AI refused the request", hint)
	}
}
