package bedrock

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

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/awsframes"
	"github.com/braidrun/braid/internal/stall"
	"github.com/braidrun/braid/secret"
)

var errNoAnswer = errors.New("the answer is none of the API's")

// apiError is what the API said, without the request, which is signed.
type apiError struct {
	status int
	// kind is the name of the exception, as it came.
	kind      string
	message   string
	requestID string
	after     time.Duration
	// original is the status that the model itself gave.
	original int
	inStream bool
}

// Error implements error, for operators.
func (e *apiError) Error() string {
	s := e.kind
	if e.status != 0 {
		s = strconv.Itoa(e.status) + " " + s
	}
	if e.requestID != "" {
		s += ", request " + e.requestID
	}
	return s
}

// failure makes an error of ours out of anything that ended a call.
func (m *Model) failure(g *stall.Guard, x *exchange, req *braid.ModelRequest, err error) error {
	if e, ok := errors.AsType[*event.Error](err); ok {
		return e
	}
	if g.Outer().Err() != nil {
		return ended(g.Outer())
	}
	if g.Stalled() {
		return &event.Error{
			Op: op, Kind: event.ErrStreamCut, Code: "stall", Err: err,
			Message: "Amazon Bedrock sent nothing for " + g.After().String() + ".",
			Hint:    "try again; a longer time can be allowed where the model is made",
		}
	}
	if a, ok := errors.AsType[*apiError](err); ok {
		return m.refusal(a, req.Attempt)
	}
	broken := func(kind event.ErrorKind, message, hint string) error {
		return &event.Error{Op: op, Kind: kind, Message: message, Hint: hint, Err: err}
	}
	switch {
	case errors.Is(err, errNoAnswer):
		return broken(event.ErrModel, "What answered is not Amazon Bedrock: its answer is none of the API's.", "look at the base URL")
	case errors.Is(err, errUnreadable), errors.Is(err, awsframes.ErrUnreadable), errors.Is(err, awsframes.ErrTooLong),
		errors.Is(err, awsframes.ErrChecksum):
		return broken(event.ErrStreamCut, "Amazon Bedrock sent something that cannot be read.", "try again")
	case x.resp != nil:
		return broken(event.ErrStreamCut, "The model's answer broke off.", "try again")
	case !x.sent:
		return broken(event.ErrModelAuth, "There are no credentials for Amazon Bedrock, or they cannot be had.",
			"set "+KeyVariable+", or look at the AWS credentials of this environment: they may have expired")
	default:
		return broken(event.ErrUnavailable, "Amazon Bedrock cannot be reached.",
			"look at the network, a proxy, and whether the region "+strconv.Quote(m.region)+" has Amazon Bedrock")
	}
}

// ended is the error of a call whose caller has had enough.
func ended(ctx context.Context) error {
	e := &event.Error{Op: op, Kind: event.ErrCancelled, Message: "The model's answer was cancelled.", Err: context.Cause(ctx)}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e.Kind, e.Message = event.ErrTimeout, "The time was over before the model's answer was."
	}
	return e
}

// What the API and the vendors behind it say in their messages, for which there is
// no exception of its own.
var (
	// overflow is how they say that a conversation is too long: Strands' list
	// (models/bedrock.py), and Nova's and Titan's own words.
	overflow = regexp.MustCompile("(?i)input is too long for requested model|prompt is too long|exceed context limit|" +
		"too many total text bytes|maximum context length|input tokens exceeded|too many input tokens|" +
		`number of input tokens exceeds|#/(inputText|prompt): expected maxLength|exceeds? (the )?context (limit|window)`)
	// invalidCall is how Nova says that it could not write a call
	// (nova/latest/userguide/prompting-tool-troubleshooting).
	invalidCall = regexp.MustCompile(`(?i)invalid sequence as part of ToolUse`)
	unknown     = regexp.MustCompile(`(?i)model identifier is invalid|could not resolve the foundation model|` +
		`model .*not (found|supported in this region)|end of its life|is marked .*legacy`)
	onDemand = regexp.MustCompile(`(?i)on-demand throughput isn.t supported`)
	tooLarge = regexp.MustCompile(`(?i)(image|document|file|video|payload|request body).{0,80}` +
		`(exceeds?|too (large|big)|larger than|maximum (allowed )?size)`)
	noAccess = regexp.MustCompile(`(?i)don.t have access to the model|model access`)
	badKey   = regexp.MustCompile(`(?i)api key|bearer token`)
)

// refusal maps what the API said (bedrock/latest/userguide/troubleshooting-api-error-codes,
// and the errors of API_runtime_ConverseStream).
func (m *Model) refusal(a *apiError, attempt int) error {
	e := &event.Error{Op: op, Code: a.kind, RetryAfter: a.after, Err: a}
	said := presentable(a.message)
	tell := func(kind event.ErrorKind, message, hint string) error {
		e.Kind, e.Message, e.Hint = kind, message, hint
		if said != "" {
			e.Message = strings.TrimSuffix(message, ".") + ": " + said
		}
		return e
	}
	kind := a.kind
	if kind != "" {
		kind = strings.ToUpper(kind[:1]) + kind[1:] // in a stream they begin small
	}
	if invalidCall.MatchString(a.message) {
		// It fails again and again with the same request, so once more is enough.
		if attempt < callAttempts {
			return tell(event.ErrUnavailable, "The model could not write a call of a tool.", "try again")
		}
		return tell(event.ErrModel, "The model could not write a call of a tool, twice.",
			"allow a longer answer, make the tools' parameters simpler, or take another model")
	}
	const again = "try again; the vendor's status page may say more"
	switch kind {
	case "ThrottlingException", "TooManyRequestsException", "ServiceQuotaExceededException":
		return tell(event.ErrThrottled, "Amazon Bedrock is throttling.", "wait, or ask AWS for higher quotas of this model")
	case "ServiceUnavailableException", "ServiceUnavailable":
		return tell(event.ErrOverloaded, "Amazon Bedrock is overloaded.", "try again later, or take an inference profile, which has more regions")
	case "ModelNotReadyException":
		return tell(event.ErrUnavailable, "The model is not ready yet.", "try again in a while")
	case "ModelTimeoutException":
		return tell(event.ErrUnavailable, "The model took too long.", "try again, or ask for less at once")
	case "InternalServerException", "InternalFailure", "InternalServerError":
		return tell(event.ErrUnavailable, "Amazon Bedrock failed.", again)
	case "ModelStreamErrorException", "ModelErrorException":
		if a.original == http.StatusTooManyRequests {
			return tell(event.ErrThrottled, "The model is throttling.", "wait, or ask AWS for higher quotas of this model")
		}
		if overflow.MatchString(a.message) {
			break
		}
		return tell(event.ErrUnavailable, "The model failed.", again)
	case "UnrecognizedClientException", "InvalidSignatureException", "MissingAuthenticationTokenException", "MissingAuthenticationToken",
		"IncompleteSignatureException", "IncompleteSignature", "InvalidClientTokenId", "SignatureDoesNotMatch":
		return tell(event.ErrModelAuth, "Amazon Bedrock refused the credentials.", "look at "+KeyVariable+" or the AWS credentials, and at the clock")
	case "ExpiredTokenException", "ExpiredToken":
		return tell(event.ErrModelAuth, "The credentials have expired.", "sign in again, or renew "+KeyVariable)
	case "AccessDeniedException", "OptInRequired":
		switch {
		case noAccess.MatchString(a.message):
			return tell(event.ErrModelAuth, "Amazon Bedrock does not allow this model to the account.",
				"ask for access to the model in the console of the region "+strconv.Quote(m.region))
		case badKey.MatchString(a.message):
			return tell(event.ErrModelAuth, "Amazon Bedrock refused the key.", "look at "+KeyVariable)
		}
		return tell(event.ErrModelAuth, "Amazon Bedrock does not allow this to the credentials.",
			"they need bedrock:InvokeModel and bedrock:InvokeModelWithResponseStream for the model and its inference profile")
	case "ResourceNotFoundException":
		return m.noModel(tell)
	case "RequestEntityTooLargeException":
		return tell(event.ErrTooLarge, "The request is too large for Amazon Bedrock.", "send smaller or fewer files and images")
	}
	switch {
	case a.status == http.StatusRequestEntityTooLarge:
		return tell(event.ErrTooLarge, "The request is too large for Amazon Bedrock.", "send smaller or fewer files and images")
	case overflow.MatchString(a.message):
		return tell(event.ErrContextOverflow, "The conversation does not fit the model's context.", "shorten it, or begin a new session")
	case onDemand.MatchString(a.message):
		return tell(event.ErrModelNotFound, "The model is served through inference profiles only.",
			"name a profile, such as "+strconv.Quote("bedrock:"+m.profile()))
	case unknown.MatchString(a.message):
		return m.noModel(tell)
	case tooLarge.MatchString(a.message):
		return tell(event.ErrTooLarge, "Something in the request is too large for the model.", "send smaller or fewer files and images")
	case kind == "ValidationException":
		return tell(event.ErrInvalid, "Amazon Bedrock refused the request.", "the model, its options or the conversation do not fit each other")
	case a.status == http.StatusUnauthorized, a.status == http.StatusForbidden:
		return tell(event.ErrModelAuth, "Amazon Bedrock refused the credentials.", "look at "+KeyVariable+" or the AWS credentials")
	case a.status == http.StatusNotFound:
		return m.noModel(tell)
	case a.status == http.StatusTooManyRequests:
		return tell(event.ErrThrottled, "Amazon Bedrock is throttling.", "wait, or ask AWS for higher quotas of this model")
	case a.status == http.StatusServiceUnavailable:
		return tell(event.ErrOverloaded, "Amazon Bedrock is overloaded.", "try again later")
	case a.status == http.StatusRequestTimeout, a.status == http.StatusFailedDependency, a.status >= http.StatusInternalServerError:
		return tell(event.ErrUnavailable, "Amazon Bedrock failed.", again)
	case a.status >= http.StatusBadRequest:
		return tell(event.ErrInvalid, "Amazon Bedrock refused the request.", "the model, its options or the conversation do not fit each other")
	default:
		return tell(event.ErrModel, "Amazon Bedrock gave an error.", again)
	}
}

// callAttempts is how often a call of the model is made, in all, when it cannot
// write the call of a tool.
const callAttempts = 2

func (m *Model) noModel(tell func(event.ErrorKind, string, string) error) error {
	return tell(event.ErrModelNotFound, "Amazon Bedrock has no model "+strconv.Quote(m.name)+" in the region "+strconv.Quote(m.region)+".",
		"look at AWS's list of models and their regions; many are served through inference profiles only, such as "+
			strconv.Quote("bedrock:"+m.profile()))
}

// profile is the inference profile of the model that the region is likely to have
// (bedrock/latest/userguide/inference-profiles-support).
func (m *Model) profile() string {
	id := plainModel(m.name)
	for _, r := range []struct{ region, profile string }{
		{"us-gov-", "us-gov."}, {"us-", "us."}, {"eu-", "eu."}, {"ap-", "apac."}, {"ca-", "us."},
	} {
		if strings.HasPrefix(m.region, r.region) {
			return r.profile + id
		}
	}
	return "global." + id
}

// ARNs tell whose account it is.
var arns = regexp.MustCompile(`\barn:aws[a-z-]*:[^\s"',;]+`)

// presentable is what the API said, fit for people: one short line that repeats
// no key and no account.
func presentable(s string) string {
	s = arns.ReplaceAllString(s, "[arn]")
	places := secret.Find(s)
	for i := len(places) - 1; i >= 0; i-- {
		s = s[:places[i][0]] + "[redacted]" + s[places[i][1]:]
	}
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	const most = 300
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return s
}

// retryAfter reads how long the API asks to wait: seconds, or a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	const most = 24 * time.Hour
	after := h.Get("Retry-After")
	seconds, err := strconv.ParseFloat(after, 64)
	if err != nil {
		t, err := http.ParseTime(after)
		if err != nil {
			return 0
		}
		seconds = t.Sub(now).Seconds()
	}
	if math.IsNaN(seconds) || seconds <= 0 {
		return 0
	}
	return time.Duration(min(seconds, most.Seconds()) * float64(time.Second))
}

// notSent is the error of a request that the API would refuse.
func notSent(kind event.ErrorKind, message, hint string, args ...any) *event.Error {
	return &event.Error{Op: op, Kind: kind, Message: fmt.Sprintf(message, args...), Hint: hint}
}
