package gemini

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/idle"
	"github.com/braidrun/braid/model/internal/provider"
)

// failure returns the *event.Error for any error that ended a call.
func (m *Model) failure(g *idle.Guard, x *exchange, err error) error {
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
		return m.refusal(refused(r), r.Header)
	}
	if e, ok := errors.AsType[*wireError](err); ok {
		return m.refusal(e, x.headerOf())
	}
	broken := func(kind event.ErrorKind, message, hint string) error {
		return &event.Error{Op: op, Kind: kind, Message: message, Hint: hint, Err: err}
	}
	_, noToken := errors.AsType[*tokenError](err)
	switch {
	case noToken:
		return broken(event.ErrModelAuth, "there is no access token for Vertex AI", "look at "+m.keyFrom)
	case errors.Is(err, errNoStream):
		return &event.Error{
			Op: op, Kind: event.ErrModel, Code: model.CodeForeign, Err: err, Hint: "look at the base URL, " + m.baseFrom,
			Message: "what answered at " + m.place() + " is not " + m.title() +
				": its answer is neither a stream of events nor JSON of the API",
		}
	case errors.Is(err, errMalformed):
		e := &event.Error{
			Op: op, Kind: event.ErrStreamCut, Code: "MALFORMED_FUNCTION_CALL", Err: err,
			Message: "the model could not write a call of a tool", Hint: "try again",
		}
		if x.attempt >= callAttempts {
			e.Kind, e.Message = event.ErrModel, "the model could not write a call of a tool, twice"
			e.Hint = "make the tools' parameters simpler, or take another model"
		}
		return e
	case errors.Is(err, errUnreadable), tooLarge(err):
		return broken(event.ErrStreamCut, m.title()+" sent something that cannot be read", "try again")
	case g.Begun():
		return broken(event.ErrStreamCut, "the model's answer broke off", "try again")
	default:
		return provider.Unreached(op, m.title(), m.root(), "check the network, a proxy, and "+m.baseFrom, err)
	}
}

// callAttempts bounds the attempts of a call in which the model fails to write a tool call. The
// same request may fail forever.
const callAttempts = 2

var (
	// overflow is how the API says that a conversation is too long. There is no
	// status of its own for it.
	overflow = lazyre.New(`(?i)(input )?token count.{0,40}exceeds the maximum|exceeds the maximum number of (input )?tokens|` +
		`input (context )?is too long|context (length|window).{0,40}exceed`)
	// badKey is how it says that a key is none, with the status of a bad request.
	badKey = lazyre.New(`(?i)api key (not valid|not found|expired)|api_key_invalid|pass a valid api key`)
	// spent tells a limit of money from one of requests: waiting does not help.
	spent = lazyre.New(`(?i)credits? (are|is|have been) depleted|billing (account|has)[^.]{0,60}(disabled|closed|not)|` +
		`requires billing|enable billing|account has been suspended`)
	// tooBig is a request that is too large, with the status of a bad request.
	tooBig = lazyre.New(`(?i)(payload|request|content|file) size exceeds|payload is too large`)
	// busy is a model that has too much to do.
	busy = lazyre.New(`(?i)overloaded|high demand|no capacity|currently unavailable`)
	// placed is a country or a network that the vendor does not serve.
	placed = lazyre.New(`(?i)user location is not supported`)
)

// title returns the name of the API, for messages.
func (m *Model) title() string {
	if m.vertex {
		return "Vertex AI"
	}
	return "the Gemini API"
}

// headerOf returns the header of the response; nil if there is none.
func (x *exchange) headerOf() http.Header {
	if x.answer == nil {
		return nil
	}
	return x.answer.Header
}

// refusal maps an error of the API (docs/troubleshooting).
func (m *Model) refusal(said *wireError, header http.Header) error {
	a := said.api()
	e := &event.Error{Op: op, Code: a.kind, RetryAfter: retryAfter(said, header, time.Now()), Err: a}
	text := provider.Line(a.message, m.key)
	tell := func(kind event.ErrorKind, message, hint string) error {
		e.Kind, e.Message, e.Hint = kind, provider.Tell(message, text), hint
		return e
	}
	is := func(status int, kind string) bool { return a.kind == kind || a.status == status }
	api := m.title()
	switch {
	case a.status >= http.StatusMultipleChoices && a.status < http.StatusBadRequest:
		e.Code = model.CodeForeign
		return tell(event.ErrModel, "the server at "+m.place()+" sends calls on to another address, which Braid does not follow",
			"look at the base URL, "+m.baseFrom)
	case a.reason == "BILLING_DISABLED" || spent.MatchString(a.message):
		e.RetryAfter = 0
		return tell(event.ErrModel, api+" does not serve this account now", "look at plan, credit and billing in "+m.console())
	case a.reason == "API_KEY_INVALID" || badKey.MatchString(a.message) || is(http.StatusUnauthorized, "UNAUTHENTICATED"):
		return tell(event.ErrModelAuth, api+" refused "+m.credential(), "look at "+m.keyFrom)
	case is(http.StatusForbidden, "PERMISSION_DENIED"):
		return tell(event.ErrModelAuth, api+" does not allow this to "+m.credential(), m.allowed())
	case placed.MatchString(a.message):
		return tell(event.ErrModel, api+" does not serve this place", "see the vendor's list of regions, or use Vertex AI")
	case is(http.StatusNotFound, "NOT_FOUND") && said.page:
		e.Code = model.CodeForeign
		return tell(event.ErrModelNotFound, "the server at "+m.place()+" does not know the address of "+strconv.Quote(m.name),
			"look at the base URL, "+m.baseFrom)
	case is(http.StatusNotFound, "NOT_FOUND"):
		return tell(event.ErrModelNotFound, api+" has no model "+strconv.Quote(m.name)+m.where(),
			"look at the vendor's list of models, or at "+m.baseFrom)
	case overflow.MatchString(a.message):
		return tell(event.ErrContextOverflow, "the conversation does not fit the model's context", "shorten it, or begin a new session")
	case a.status == http.StatusRequestEntityTooLarge || tooBig.MatchString(a.message):
		return tell(event.ErrTooLarge, "the request is too large for "+api, "send smaller or fewer files and images")
	case is(http.StatusTooManyRequests, "RESOURCE_EXHAUSTED"):
		return tell(event.ErrThrottled, api+" is throttling", "wait, or ask the vendor for a larger quota")
	case is(http.StatusServiceUnavailable, "UNAVAILABLE") && busy.MatchString(a.message):
		return tell(event.ErrOverloaded, "the model is overloaded", "try again later, or take another model")
	default:
		return m.otherRefusal(a, tell)
	}
}

// otherRefusal maps the errors with unspecific statuses.
func (m *Model) otherRefusal(a *apiError, tell func(event.ErrorKind, string, string) error) error {
	api := m.title()
	switch {
	case a.status >= http.StatusInternalServerError || a.status == http.StatusRequestTimeout || a.status == http.StatusConflict ||
		a.status == statusCancelled || transient(a.kind):
		return tell(event.ErrUnavailable, api+" failed", "try again; the vendor's status page may say more")
	case a.status == http.StatusBadRequest || a.kind == "INVALID_ARGUMENT" || a.kind == "FAILED_PRECONDITION" || a.kind == "OUT_OF_RANGE" ||
		(a.status > http.StatusBadRequest && a.status < http.StatusInternalServerError):
		return tell(event.ErrInvalid, api+" refused the request", "the model, its options or the conversation do not fit each other")
	default:
		return tell(event.ErrModel, api+" gave an error", "look at the base URL, "+m.baseFrom)
	}
}

// credential names the kind of credential, for messages.
func (m *Model) credential() string {
	if m.token != nil {
		return "the access token"
	}
	return "the key"
}

// console names the vendor's console, for hints.
func (m *Model) console() string {
	if m.vertex {
		return "the console of Google Cloud"
	}
	return "Google AI Studio"
}

// allowed is the hint for missing permissions.
func (m *Model) allowed() string {
	if m.vertex {
		return "give the account the role Vertex AI User, enable aiplatform.googleapis.com in the project, and look at " + m.keyFrom
	}
	return "look at what the key's project may use"
}

// where names the location of a model, for messages.
func (m *Model) where() string {
	if m.vertex && m.location != "" {
		return " in " + m.location
	}
	return ""
}

// statusCancelled is a nonstandard status of the vendor.
const statusCancelled = 499

// transient reports whether a status means a temporary failure.
func transient(kind string) bool {
	switch kind {
	case "INTERNAL", "UNAVAILABLE", "DEADLINE_EXCEEDED", "ABORTED", "CANCELLED", "UNKNOWN", "DATA_LOSS":
		return true
	default:
		return false
	}
}

// retryAfter returns how long the API asks to wait: in a detail of the error
// (google.rpc.RetryInfo), or in the header in seconds or as a date.
func retryAfter(said *wireError, header http.Header, now time.Time) time.Duration {
	for _, d := range said.Details {
		if !is(d, "google.rpc.RetryInfo") {
			continue
		}
		if s, ok := d["retryDelay"].(string); ok {
			if delay, err := time.ParseDuration(s); err == nil {
				return provider.Wait(delay.Seconds())
			}
		}
	}
	return provider.RetryAfter(header, now)
}
