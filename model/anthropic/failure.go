package anthropic

import (
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model/internal/awserr"
	"github.com/braidrun/braid/model/internal/bound"
	"github.com/braidrun/braid/model/internal/idle"
	"github.com/braidrun/braid/model/internal/provider"
)

var errNoStream = errors.New("the answer is no stream of events")

// apiError is what the API said, without the request, which holds the key.
type apiError struct {
	status    int
	kind      string
	code      string
	message   string
	requestID string
	after     time.Duration
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

// failure makes an error of ours out of anything that ended a call.
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
			Message: m.title() + " sent nothing for " + g.After().String() + ".",
			Hint:    "try again; a longer time can be allowed where the model is made",
		}
	}
	if e, ok := errors.AsType[*sdk.Error](err); ok {
		var header http.Header
		if e.Response != nil {
			header = e.Response.Header
		}
		if m.aws != nil {
			return m.denial(awserr.Before(e.StatusCode, header, []byte(e.RawJSON()), time.Now()))
		}
		return m.refusal(&apiError{
			status: e.StatusCode, kind: string(e.Type()), code: string(e.ErrorCode()), message: e.Message, requestID: e.RequestID,
			after: provider.RetryAfter(header, time.Now()),
		})
	}
	if said, ok := errors.AsType[*awserr.Said](err); ok {
		return m.denial(said)
	}
	if e, ok := errors.AsType[*apiError](err); ok {
		return m.refusal(e)
	}
	broken := func(kind event.ErrorKind, message, hint string) error {
		return &event.Error{Op: op, Kind: kind, Message: message, Hint: hint, Err: err}
	}
	switch {
	case errors.Is(err, errNoStream):
		return broken(event.ErrModel, "What answered is not "+m.title()+": its answer is no stream of events.", "look at the base URL, "+m.where())
	case errors.Is(err, errUnreadable), errors.Is(err, errTooLong):
		return broken(event.ErrStreamCut, m.title()+" sent something that cannot be read.", "try again")
	case g.Begun():
		return broken(event.ErrStreamCut, "The model's answer broke off.", "try again")
	default:
		next := "check the network, a proxy, and " + m.where()
		if m.aws != nil {
			next += "; is there Bedrock in the region " + m.aws.cfg.Region + "?"
		}
		return provider.Unreached(op, m.title(), m.place(), next, err)
	}
}

// denial maps what Bedrock said; what Claude said there stands in a chunk.
func (m *Model) denial(said *awserr.Said) error {
	return said.Failure(awserr.Asked{
		Op: op, Model: m.name, Region: m.aws.cfg.Region, Keyed: m.aws.cfg.BearerAuthTokenProvider != nil, Variable: BedrockKeyVariable,
	})
}

// title is what answers.
func (m *Model) title() string {
	if m.aws != nil {
		return "Amazon Bedrock"
	}
	return "Anthropic's API"
}

// where is the variable that says where that is.
func (m *Model) where() string {
	if m.aws != nil {
		return BedrockBaseVariable
	}
	return m.baseFrom
}

// place is the address, or the region, that is asked.
func (m *Model) place() string {
	switch {
	case m.base != "":
		return m.base
	case m.aws != nil:
		return "the region " + m.aws.cfg.Region
	default:
		return "api.anthropic.com"
	}
}

// overflow is how the API says that a conversation is too long; its page of
// errors has no type of its own for it.
var overflow = regexp.MustCompile(`(?i)prompt is too long|exceeds? (the )?context (limit|window)|context window (is )?exceeded|` +
	`input is too long|exceed context limit`)

// spent tells a limit of money from one of requests: waiting does not help.
var spent = regexp.MustCompile(`(?i)credit balance is too low|usage limits?\. you will regain|spend(ing)? limit|billing`)

// imageTooLarge is how it says that of an image.
var imageTooLarge = regexp.MustCompile(`(?i)image exceeds|image dimensions exceed`)

// refusesThinking reports whether the API refused a request for the thinking in it.
func refusesThinking(err error) bool {
	e, ok := errors.AsType[*sdk.Error](err)
	return ok && e.StatusCode == http.StatusBadRequest && bound.Refused(e.RawJSON())
}

// refusal maps what the API said (api/errors).
func (m *Model) refusal(a *apiError) error {
	e := &event.Error{Op: op, Code: a.kind, RetryAfter: a.after, Err: a}
	said := provider.Line(a.message, m.key)
	tell := func(kind event.ErrorKind, message, hint string) error {
		e.Kind, e.Message, e.Hint = kind, provider.Tell(message, said), hint
		return e
	}
	money := a.kind == "billing_error" || a.status == http.StatusPaymentRequired ||
		strings.Contains(a.code, "spend_limit") || strings.HasPrefix(a.code, "linked_organization_")
	money = money || (a.kind == "invalid_request_error" && spent.MatchString(a.message))
	switch {
	case imageTooLarge.MatchString(a.message):
		return tell(event.ErrTooLarge, "An image is too large for the model.", "make it smaller, or send it as JPEG")
	case money:
		e.RetryAfter = 0
		return tell(
			event.ErrModel, "Anthropic's API does not serve this account now.",
			"look at plan, credit and spend limits in the vendor's console",
		)
	case a.kind == "authentication_error" || (a.kind == "" && a.status == http.StatusUnauthorized):
		return tell(event.ErrModelAuth, "Anthropic's API refused the key.", "look at "+m.keyFrom)
	case a.kind == "permission_error" || (a.kind == "" && a.status == http.StatusForbidden):
		return tell(event.ErrModelAuth, "Anthropic's API does not allow this to the key.", "look at the key's workspace and what it may use")
	case a.kind == "not_found_error" || (a.kind == "" && a.status == http.StatusNotFound):
		return tell(event.ErrModelNotFound, "Anthropic's API has no model "+strconv.Quote(m.name)+".",
			"look at the vendor's list of models, or at "+m.baseFrom)
	case a.kind == "request_too_large" || a.status == http.StatusRequestEntityTooLarge:
		return tell(event.ErrTooLarge, "The request is too large for Anthropic's API.", "send smaller or fewer files and images")
	case a.kind == "rate_limit_error" || a.status == http.StatusTooManyRequests:
		return tell(event.ErrThrottled, "Anthropic's API is throttling.", "wait, or ask the vendor for higher limits")
	case a.kind == "overloaded_error" || a.status == statusOverloaded:
		return tell(event.ErrOverloaded, "Anthropic's API is overloaded.", "try again later")
	case overflow.MatchString(a.message):
		return tell(event.ErrContextOverflow, "The conversation does not fit the model's context.", "shorten it, or begin a new session")
	case a.kind == "timeout_error" || a.kind == "api_error" || a.kind == "conflict_error" ||
		a.status == http.StatusRequestTimeout || a.status == http.StatusConflict || a.status >= http.StatusInternalServerError:
		return tell(event.ErrUnavailable, "Anthropic's API failed.", "try again; the vendor's status page may say more")
	case a.kind == "invalid_request_error" || (a.status >= http.StatusBadRequest && a.status < http.StatusInternalServerError):
		return tell(event.ErrInvalid, "Anthropic's API refused the request.", "the model, its options or the conversation do not fit each other")
	default:
		return tell(event.ErrModel, "Anthropic's API gave an error.", "")
	}
}

// statusOverloaded is the API's own.
const statusOverloaded = 529

// notSent is the error of a request that the API would refuse.
func notSent(kind event.ErrorKind, message, hint string, args ...any) *event.Error {
	return provider.NotSent(op, kind, message, hint, args...)
}
