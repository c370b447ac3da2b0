package awserr

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/model/internal/provider"
	"github.com/braidrun/braid/secret"
)

// Asked describes the call that failed.
type Asked struct {
	Op string
	// Model is its id, an inference profile or an ARN.
	Model string
	// Region is AWS's region.
	Region string
	// Keyed reports that the call used an API key and no credentials.
	Keyed bool
	// Variable is the environment variable that usually holds the key.
	Variable string
}

// These patterns recognise errors without an exception of their own.
var (
	// overflow matches the errors of Bedrock and its vendors for a conversation that is too long:
	// Strands' list (models/bedrock.py), and Nova's and Titan's messages.
	overflow = lazyre.New("(?i)input is too long|prompt is too long|exceed context limit|" +
		"too many total text bytes|maximum context length|input tokens exceeded|too many input tokens|" +
		`number of input tokens exceeds|#/(inputText|prompt): expected maxLength|exceeds? (the )?context (limit|window)`)
	unknown = lazyre.New(`(?i)model identifier is invalid|could not resolve the foundation model|` +
		`model .*not (found|supported in this region)|end of its life|marked .*legacy`)
	onDemand = lazyre.New(`(?i)on-demand throughput isn.t supported`)
	tooLarge = lazyre.New(`(?i)(image|document|file|video|payload|request body).{0,80}` +
		`(exceeds?|too (large|big)|larger than|maximum (allowed )?size)`)
	bodyLarge = lazyre.New(`(?i)value at 'body'.*member must have length less than`)
	ofADay    = lazyre.New(`(?i)too many tokens per day`)
	noAccess  = lazyre.New(`(?i)don.t have access to the model|model access`)
	badKey    = lazyre.New(`(?i)api key|bearer token`)
	// arns matches ARNs, which contain an account.
	arns = lazyre.New(`\barn:aws[a-z-]*:[^\s"',;]+`)
)

// teller builds the error.
type teller struct {
	*Said
	Asked

	e    *event.Error
	line string
}

func (t *teller) tell(kind event.ErrorKind, message, hint string) *event.Error {
	t.e.Kind, t.e.Message, t.e.Hint = kind, provider.Tell(message, t.line), hint
	return t.e
}

// Failure returns the error.
func (s *Said) Failure(asked Asked) *event.Error {
	t := &teller{
		Said: s, Asked: asked, e: &event.Error{Op: asked.Op, Code: s.Kind, RetryAfter: s.After, Err: s},
		line: provider.Line(arns.ReplaceAllString(s.Message, "[arn]"), secret.Secret{}),
	}
	if e := t.named(); e != nil {
		return e
	}
	if e := t.worded(); e != nil {
		return e
	}
	return t.numbered()
}

const (
	again    = "try again; the AWS Health Dashboard may say more"
	smaller  = "send smaller or fewer files and images"
	moreHint = "wait, or ask AWS for higher quotas of this model"
)

// named classifies by the exception's name. It returns nil if the message says more.
func (t *teller) named() *event.Error {
	kind := t.Kind
	if kind != "" {
		kind = strings.ToUpper(kind[:1]) + kind[1:] // in a stream they begin with a lower-case letter
	}
	switch kind {
	case "ThrottlingException", "TooManyRequestsException":
		if ofADay.MatchString(t.Message) {
			t.e.RetryAfter = 0 // waiting does not help
			return t.tell(event.ErrModel, "the account's tokens for today are used up", "ask AWS for higher quotas, or take another model")
		}
		return t.tell(event.ErrThrottled, "Amazon Bedrock is throttling", moreHint)
	case "ServiceQuotaExceededException":
		return t.tell(event.ErrThrottled, "the account's quota at Amazon Bedrock is used up", moreHint)
	case "ServiceUnavailableException", "ServiceUnavailable":
		return t.tell(event.ErrOverloaded, "Amazon Bedrock is overloaded", "try again later, or take an inference profile, which has more regions")
	case "ModelNotReadyException":
		return t.tell(event.ErrUnavailable, "the model is not ready yet", "try again in a while")
	case "ModelTimeoutException":
		return t.tell(event.ErrUnavailable, "the model took too long", "try again, or ask for less at once")
	case "InternalServerException", "InternalFailure", "InternalServerError":
		return t.tell(event.ErrUnavailable, "Amazon Bedrock failed", again)
	case "ModelStreamErrorException", "ModelErrorException":
		if t.Original == http.StatusTooManyRequests {
			return t.tell(event.ErrThrottled, "the model is throttling", moreHint)
		}
		if overflow.MatchString(t.Message) {
			return nil
		}
		return t.tell(event.ErrUnavailable, "the model failed", again)
	case "ResourceNotFoundException":
		return t.noModel()
	case "RequestEntityTooLargeException":
		return t.tell(event.ErrTooLarge, "the request is too large for Amazon Bedrock", smaller)
	}
	return t.refused(kind)
}

// refused classifies errors of the caller's identity by their name.
func (t *teller) refused(kind string) *event.Error {
	credentials := "look at AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, at AWS_PROFILE, or at " + t.Variable
	switch kind {
	case "UnrecognizedClientException", "InvalidClientTokenId", "MissingAuthenticationTokenException", "MissingAuthenticationToken",
		"IncompleteSignatureException", "IncompleteSignature":
		return t.tell(event.ErrModelAuth, "Amazon Bedrock does not know the AWS credentials", credentials)
	case "InvalidSignatureException", "SignatureDoesNotMatch", "RequestTimeTooSkewed":
		return t.tell(event.ErrModelAuth, "Amazon Bedrock refused the signature of the request",
			credentials+"; the clock of this machine must be right, too")
	case "ExpiredTokenException", "ExpiredToken", "RequestExpired":
		return t.tell(event.ErrModelAuth, "the credentials have expired", "sign in again, or renew "+t.Variable)
	case "FTUFormNotFilled":
		return t.tell(event.ErrModelAuth, "the AWS account has not said what it uses the model for",
			"fill in the vendor's form in the Bedrock console")
	case "AccessDeniedException", "AccessDenied", "OptInRequired":
		return t.denied()
	}
	return nil
}

func (t *teller) denied() *event.Error {
	switch {
	case noAccess.MatchString(t.Message):
		return t.tell(event.ErrModelAuth, "Amazon Bedrock does not allow this model to the account",
			"ask for access to the model in the console of the region "+strconv.Quote(t.Region))
	case badKey.MatchString(t.Message):
		return t.tell(event.ErrModelAuth, "Amazon Bedrock refused the key", "look at "+t.Variable)
	default:
		return t.tell(event.ErrModelAuth, "Amazon Bedrock does not allow this to the credentials",
			"they need bedrock:InvokeModel and bedrock:InvokeModelWithResponseStream for the model and its inference profile")
	}
}

// worded classifies by the message. It returns nil if the message says nothing more.
func (t *teller) worded() *event.Error {
	switch said := t.Message; {
	case t.Status == http.StatusRequestEntityTooLarge || bodyLarge.MatchString(said):
		return t.tell(event.ErrTooLarge, "the request is too large for Amazon Bedrock", smaller)
	case overflow.MatchString(said):
		return t.tell(event.ErrContextOverflow, "the conversation does not fit the model's context", "shorten it, or begin a new session")
	case onDemand.MatchString(said):
		return t.tell(event.ErrModelNotFound, "the model is served through inference profiles only",
			"name a profile, such as "+strconv.Quote("bedrock:"+t.profile()))
	case unknown.MatchString(said):
		return t.noModel()
	case tooLarge.MatchString(said):
		return t.tell(event.ErrTooLarge, "something in the request is too large for the model", smaller)
	}
	return nil
}

// numbered classifies by the status.
func (t *teller) numbered() *event.Error {
	const fit = "the model, its options or the conversation do not fit each other"
	switch {
	case t.Kind == "ValidationException" || t.Kind == "validationException":
		return t.tell(event.ErrInvalid, "Amazon Bedrock refused the request", fit)
	case t.Status == http.StatusUnauthorized, t.Status == http.StatusForbidden:
		hint := "look at the AWS credentials"
		if t.Keyed {
			hint = "look at " + t.Variable
		}
		return t.tell(event.ErrModelAuth, "Amazon Bedrock refused the credentials", hint)
	case t.Status == http.StatusNotFound:
		return t.noModel()
	case t.Status == http.StatusTooManyRequests:
		return t.tell(event.ErrThrottled, "Amazon Bedrock is throttling", moreHint)
	case t.Status == http.StatusServiceUnavailable:
		return t.tell(event.ErrOverloaded, "Amazon Bedrock is overloaded", "try again later")
	case t.Status == http.StatusRequestTimeout, t.Status == http.StatusFailedDependency, t.Status >= http.StatusInternalServerError:
		return t.tell(event.ErrUnavailable, "Amazon Bedrock failed", again)
	case t.Status >= http.StatusBadRequest:
		return t.tell(event.ErrInvalid, "Amazon Bedrock refused the request", fit)
	default:
		return t.tell(event.ErrModel, "Amazon Bedrock gave an error", again)
	}
}

func (t *teller) noModel() *event.Error {
	return t.tell(event.ErrModelNotFound, "Amazon Bedrock has no model "+strconv.Quote(t.Model)+" in the region "+strconv.Quote(t.Region),
		"look at AWS's list of models and their regions, or set AWS_REGION; many are served through inference profiles only, such as "+
			strconv.Quote("bedrock:"+t.profile()))
}

// groups matches the geography in front of a profile's id.
var groups = lazyre.New(`^(us-gov|us|eu|apac|jp|au|ca|global)\.`)

// profile returns the likely inference profile of the model in the region
// (bedrock/latest/userguide/inference-profiles-support).
func (t *teller) profile() string {
	id := groups.ReplaceAllString(t.Model[strings.LastIndexByte(t.Model, '/')+1:], "")
	for _, r := range []struct{ region, group string }{
		{"us-gov-", "us-gov."}, {"us-", "us."}, {"eu-", "eu."}, {"ap-", "apac."}, {"ca-", "us."},
	} {
		if strings.HasPrefix(t.Region, r.region) {
			return r.group + id
		}
	}
	return "global." + id
}
