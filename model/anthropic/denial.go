package anthropic

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/braidrun/braid/event"
)

// awsError is what Bedrock said before a stream: the kind in a header, and a body
// of one member, whose name is written in two ways.
func awsError(e *sdk.Error, now time.Time) *apiError {
	a := &apiError{status: e.StatusCode, after: retryAfter(e.Response, now)}
	if e.Response != nil {
		a.requestID = e.Response.Header.Get("X-Amzn-Requestid")
		// It may go on with the address of its description.
		a.kind, _, _ = strings.Cut(e.Response.Header.Get("X-Amzn-Errortype"), ":")
	}
	var body struct {
		Message string `json:"message"` // or Message: the case does not count
		Type    string `json:"__type"`
	}
	_ = json.Unmarshal([]byte(e.RawJSON()), &body) // a proxy's page has neither
	a.message = body.Message
	if a.kind == "" {
		a.kind = body.Type[strings.LastIndexByte(body.Type, '#')+1:]
	}
	return a
}

// What Bedrock's messages say that its kinds do not (its page
// troubleshooting-api-error-codes, and what its users have published).
var (
	onDemand  = regexp.MustCompile(`(?i)on-demand throughput isn.t supported`)
	noModel   = regexp.MustCompile(`(?i)model identifier is invalid|not resolve the foundation model|end of its life|by provider as legacy`)
	ofADay    = regexp.MustCompile(`(?i)too many tokens per day`)
	noAccess  = regexp.MustCompile(`(?i)don.t have access to the model|model access is denied|not available for this account`)
	noPolicy  = regexp.MustCompile(`(?i)not authorized to perform`)
	badKey    = regexp.MustCompile(`(?i)api key|bearer token`)
	bodyLarge = regexp.MustCompile(`(?i)member must have length less than or equal to`)
	inputLong = regexp.MustCompile(`(?i)input is too long`)
)

// denial maps what Bedrock said.
func (m *Model) denial(a *apiError) error {
	e := &event.Error{Op: op, Code: a.kind, RetryAfter: a.after, Err: a}
	said := m.presentable(a.message)
	tell := func(kind event.ErrorKind, message, hint string) error {
		e.Kind, e.Message, e.Hint = kind, message, hint
		if said != "" {
			e.Message = strings.TrimSuffix(message, ".") + ": " + said
		}
		return e
	}
	unknown := "Amazon Bedrock has no model " + strconv.Quote(m.name) + " in " + m.aws.cfg.Region + "."
	const keys = "look at AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or at AWS_PROFILE"
	switch a.kind {
	case "ThrottlingException", "TooManyRequestsException":
		if ofADay.MatchString(a.message) {
			e.RetryAfter = 0
			return tell(event.ErrModel, "The account's tokens for today are used up.", "ask AWS for more in Service Quotas, or take another model")
		}
		return tell(event.ErrThrottled, "Amazon Bedrock is throttling.", "wait, or ask AWS for more in Service Quotas")
	case "ModelNotReadyException":
		return tell(event.ErrUnavailable, "The model is not ready at Amazon Bedrock.", "try again in a while")
	case "ServiceUnavailableException", "ServiceUnavailable":
		return tell(event.ErrOverloaded, "Amazon Bedrock is overloaded.", "try again later, or take an inference profile, which has more regions")
	case "ServiceQuotaExceededException":
		return tell(event.ErrModel, "The account's quota at Amazon Bedrock is used up.", "ask AWS for more in Service Quotas")
	case "ExpiredTokenException", "ExpiredToken", "RequestExpired":
		return tell(event.ErrModelAuth, "The AWS credentials have expired.", "sign in again, or take new credentials")
	case "UnrecognizedClientException", "InvalidClientTokenId", "MissingAuthenticationTokenException", "MissingAuthenticationToken",
		"IncompleteSignatureException", "IncompleteSignature", "NotAuthorized":
		return tell(event.ErrModelAuth, "Amazon Bedrock does not know the AWS credentials.", keys)
	case "InvalidSignatureException", "SignatureDoesNotMatch":
		return tell(event.ErrModelAuth, "Amazon Bedrock refused the signature of the request.", keys+"; the clock of this machine must be right, too")
	case "FTUFormNotFilled":
		return tell(event.ErrModelAuth, "The AWS account has not said what it uses Claude for.", "fill in Anthropic's form in the Bedrock console")
	case "AccessDeniedException", "AccessDenied", "OptInRequired":
		return m.accessDenied(a, tell)
	case "ResourceNotFoundException":
		return tell(event.ErrModelNotFound, unknown, "look at the models of the region in the Bedrock console")
	case "ValidationException":
		return m.invalid(a, tell)
	case "ModelErrorException", "ModelStreamErrorException", "ModelTimeoutException", "InternalServerException", "InternalFailure":
		return tell(event.ErrUnavailable, "Amazon Bedrock failed.", "try again; the AWS Health Dashboard may say more")
	}
	switch {
	case a.status == http.StatusTooManyRequests:
		return tell(event.ErrThrottled, "Amazon Bedrock is throttling.", "wait, or ask AWS for more in Service Quotas")
	case a.status == http.StatusUnauthorized || a.status == http.StatusForbidden:
		return m.accessDenied(a, tell)
	case a.status == http.StatusNotFound:
		return tell(event.ErrModelNotFound, unknown, "look at the models of the region, or at "+BedrockBaseVariable)
	case a.status == http.StatusRequestEntityTooLarge:
		return tell(event.ErrTooLarge, "The request is too large for Amazon Bedrock.", "send smaller or fewer files and images")
	case a.status == http.StatusServiceUnavailable:
		return tell(event.ErrOverloaded, "Amazon Bedrock is overloaded.", "try again later")
	case a.status == http.StatusRequestTimeout || a.status == http.StatusFailedDependency || a.status >= http.StatusInternalServerError:
		return tell(event.ErrUnavailable, "Amazon Bedrock failed.", "try again; the AWS Health Dashboard may say more")
	case a.status >= http.StatusBadRequest:
		return m.invalid(a, tell)
	default:
		return tell(event.ErrModel, "Amazon Bedrock gave an error.", "")
	}
}

// accessDenied maps a refusal of who asks.
func (m *Model) accessDenied(a *apiError, tell func(event.ErrorKind, string, string) error) error {
	switch {
	case noAccess.MatchString(a.message):
		return tell(event.ErrModelAuth, "The AWS account may not use the model "+strconv.Quote(m.name)+".",
			"ask for access to it in the Bedrock console, in "+m.aws.cfg.Region)
	case noPolicy.MatchString(a.message):
		return tell(event.ErrModelAuth, "The AWS identity may not call models.", "allow it bedrock:InvokeModelWithResponseStream on the model")
	case m.aws.cfg.BearerAuthTokenProvider != nil || badKey.MatchString(a.message):
		return tell(event.ErrModelAuth, "Amazon Bedrock refused the API key.", "look at "+BedrockKeyVariable)
	default:
		return tell(event.ErrModelAuth, "Amazon Bedrock does not allow this to the AWS identity.",
			"look at its policies, and at the account's access to the model")
	}
}

// invalid maps a refusal of what was asked.
func (m *Model) invalid(a *apiError, tell func(event.ErrorKind, string, string) error) error {
	switch {
	case inputLong.MatchString(a.message) || overflow.MatchString(a.message):
		return tell(event.ErrContextOverflow, "The conversation does not fit the model's context.", "shorten it, or begin a new session")
	case imageTooLarge.MatchString(a.message):
		return tell(event.ErrTooLarge, "An image is too large for the model.", "make it smaller, or send it as JPEG")
	case bodyLarge.MatchString(a.message):
		return tell(event.ErrTooLarge, "The request is too large for Amazon Bedrock.", "send smaller or fewer files and images")
	case onDemand.MatchString(a.message):
		return tell(event.ErrModelNotFound, "The model "+strconv.Quote(m.name)+" is only served through an inference profile.",
			"name the profile: put the group of regions in front, such as us., eu., apac. or global.")
	case noModel.MatchString(a.message):
		return tell(event.ErrModelNotFound, "Amazon Bedrock has no model "+strconv.Quote(m.name)+" in "+m.aws.cfg.Region+".",
			"look at the models of the region in the Bedrock console, or set AWS_REGION")
	default:
		return tell(event.ErrInvalid, "Amazon Bedrock refused the request.", "the model, its options or the conversation do not fit each other")
	}
}
