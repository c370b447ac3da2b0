package anthropic

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/stall"
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
func (m *Model) failure(g *stall.Guard, err error) error {
	if e, ok := errors.AsType[*event.Error](err); ok {
		return e
	}
	if g.Outer().Err() != nil {
		return ended(g.Outer())
	}
	if g.Stalled() {
		return &event.Error{
			Op: op, Kind: event.ErrStreamCut, Code: "stall", Err: err,
			Message: m.title() + " sent nothing for " + g.After().String() + ".",
			Hint:    "try again; a longer time can be allowed where the model is made",
		}
	}
	if e, ok := errors.AsType[*sdk.Error](err); ok && m.aws != nil {
		return m.denial(awsError(e, time.Now()))
	}
	if e, ok := errors.AsType[*sdk.Error](err); ok {
		return m.refusal(&apiError{
			status: e.StatusCode, kind: string(e.Type()), code: string(e.ErrorCode()), message: e.Message, requestID: e.RequestID,
			after: retryAfter(e.Response, time.Now()),
		})
	}
	if e, ok := errors.AsType[*apiError](err); ok {
		if m.aws != nil && !strings.HasSuffix(e.kind, "_error") { // those are Claude's own, inside a chunk
			return m.denial(e)
		}
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
		hint := "look at the network, a proxy, and " + m.where()
		if m.aws != nil {
			hint += "; is there Bedrock in the region " + m.aws.cfg.Region + "?"
		}
		return broken(event.ErrUnavailable, m.title()+" cannot be reached.", hint)
	}
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
	return BaseVariable
}

// ended is the error of a call whose caller has had enough.
func ended(ctx context.Context) error {
	e := &event.Error{Op: op, Kind: event.ErrCancelled, Message: "The model's answer was cancelled.", Err: context.Cause(ctx)}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e.Kind, e.Message = event.ErrTimeout, "The time was over before the model's answer was."
	}
	return e
}

// overflow is how the API says that a conversation is too long; its page of
// errors has no type of its own for it.
var overflow = regexp.MustCompile(`(?i)prompt is too long|exceeds? (the )?context (limit|window)|context window (is )?exceeded|` +
	`input is too long|exceed context limit`)

// spent tells a limit of money from one of requests: waiting does not help.
var spent = regexp.MustCompile(`(?i)credit balance is too low|usage limits?\. you will regain|spend(ing)? limit|billing`)

// imageTooLarge is how it says that of an image.
var imageTooLarge = regexp.MustCompile(`(?i)image exceeds|image dimensions exceed`)

// refusal maps what the API said (api/errors).
func (m *Model) refusal(a *apiError) error {
	e := &event.Error{Op: op, Code: a.kind, RetryAfter: a.after, Err: a}
	said := m.presentable(a.message)
	tell := func(kind event.ErrorKind, message, hint string) error {
		e.Kind, e.Message, e.Hint = kind, message, hint
		if said != "" {
			e.Message = strings.TrimSuffix(message, ".") + ": " + said
		}
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
		return tell(event.ErrModelAuth, "Anthropic's API refused the key.", "look at "+KeyVariable)
	case a.kind == "permission_error" || (a.kind == "" && a.status == http.StatusForbidden):
		return tell(event.ErrModelAuth, "Anthropic's API does not allow this to the key.", "look at the key's workspace and what it may use")
	case a.kind == "not_found_error" || (a.kind == "" && a.status == http.StatusNotFound):
		return tell(event.ErrModelNotFound, "Anthropic's API has no model "+strconv.Quote(m.name)+".",
			"look at the vendor's list of models, or at "+BaseVariable)
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

var looksLikeKey = regexp.MustCompile(`\bsk-[A-Za-z0-9_-]{6,}|\b(?:AKIA|ASIA)[A-Z0-9]{12,}|\b(?:ABSK|bedrock-api-key-)[A-Za-z0-9+/=_-]{8,}`)

// account is the number of an AWS account, which ARNs hold.
var account = regexp.MustCompile(`\b[0-9]{12}\b`)

// presentable is what the API said, fit for people: one short line that repeats
// no key.
func (m *Model) presentable(s string) string {
	s = looksLikeKey.ReplaceAllString(m.key.Hide(s), "[redacted]")
	if m.aws != nil {
		s = account.ReplaceAllString(s, "[account]")
	}
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	const most = 300
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return s
}

// retryAfter reads how long the API asks to wait: seconds, a date, or the
// milliseconds that some gateways send.
func retryAfter(resp *http.Response, now time.Time) time.Duration {
	if resp == nil {
		return 0
	}
	const most = 24 * time.Hour
	bound := func(seconds float64) time.Duration {
		if math.IsNaN(seconds) || seconds <= 0 {
			return 0
		}
		return time.Duration(min(seconds, most.Seconds()) * float64(time.Second))
	}
	if ms, err := strconv.ParseFloat(resp.Header.Get("Retry-After-Ms"), 64); err == nil {
		return bound(ms / 1000)
	}
	after := resp.Header.Get("Retry-After")
	if s, err := strconv.ParseFloat(after, 64); err == nil {
		return bound(s)
	}
	if t, err := http.ParseTime(after); err == nil {
		return bound(t.Sub(now).Seconds())
	}
	return 0
}

// notSent is the error of a request that the API would refuse.
func notSent(kind event.ErrorKind, message, hint string, args ...any) *event.Error {
	return &event.Error{Op: op, Kind: kind, Message: fmt.Sprintf(message, args...), Hint: hint}
}
