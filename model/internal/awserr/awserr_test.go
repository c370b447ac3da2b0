package awserr_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model/internal/awserr"
)

var asked = awserr.Asked{Op: "model test", Model: "anthropic.claude-sonnet-4-5-20250929-v1:0", Region: "eu-west-1", Variable: "THE_KEY"}

func TestFailure(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status        int
		kind, message string
		want          event.ErrorKind
		says, hint    string
	}{
		{429, "ThrottlingException", "Too many tokens, please wait before trying again.", event.ErrThrottled, "throttling", "quotas"},
		{429, "ThrottlingException", "Too many tokens per day, please wait before trying again.", event.ErrModel, "today", "another model"},
		{0, "throttlingException", "x", event.ErrThrottled, "throttling", "wait"},
		{400, "ServiceQuotaExceededException", "x", event.ErrThrottled, "quota", "quotas"},
		{503, "ServiceUnavailableException", "x", event.ErrOverloaded, "overloaded", "profile"},
		{429, "ModelNotReadyException", "x", event.ErrUnavailable, "not ready", "again"},
		{408, "ModelTimeoutException", "x", event.ErrUnavailable, "too long", "again"},
		{500, "InternalServerException", "x", event.ErrUnavailable, "failed", "again"},
		{424, "ModelErrorException", "x", event.ErrUnavailable, "the model failed", "again"},
		{424, "ModelErrorException", "Input is too long for requested model.", event.ErrContextOverflow, "does not fit", "shorten"},
		{400, "ValidationException", "Input is too long for requested model.", event.ErrContextOverflow, "does not fit", "shorten"},
		{0, "validationException", "prompt is too long: 5 tokens > 4 maximum", event.ErrContextOverflow, "5 tokens", "shorten"},
		{400, "ValidationException", "x", event.ErrInvalid, "refused", "fit"},
		{0, "validationException", "x", event.ErrInvalid, "refused", "fit"},
		{
			400, "ValidationException", "Value at 'body' failed to satisfy constraint: Member must have length less than or equal to 25000000",
			event.ErrTooLarge, "too large", "smaller",
		},
		{400, "ValidationException", "a.source: image exceeds 5 MB maximum: 6160400 bytes > 5242880 bytes", event.ErrTooLarge, "too large", "smaller"},
		{413, "", "", event.ErrTooLarge, "too large", "smaller"},
		{
			400, "ValidationException", "Invocation of model ID x with on-demand throughput isn\u2019t supported.", event.ErrModelNotFound, "profiles only",
			`"bedrock:eu.anthropic.claude-sonnet-4-5-20250929-v1:0"`,
		},
		{400, "ValidationException", "The provided model identifier is invalid.", event.ErrModelNotFound, `in the region "eu-west-1"`, "AWS_REGION"},
		{404, "ResourceNotFoundException", "x", event.ErrModelNotFound, asked.Model, "bedrock:eu."},
		{404, "FTUFormNotFilled", "x", event.ErrModelAuth, "has not said", "form"},
		{403, "AccessDeniedException", "You don't have access to the model with the specified model ID.", event.ErrModelAuth, "this model", `"eu-west-1"`},
		{403, "AccessDeniedException", "Please make sure your API Key is valid.", event.ErrModelAuth, "key", "THE_KEY"},
		{
			403, "AccessDeniedException", "User: arn:aws:iam::123456789012:user/eve is not authorized to perform: bedrock:InvokeModel",
			event.ErrModelAuth, "User: [arn] is not", "bedrock:InvokeModelWithResponseStream",
		},
		{403, "ExpiredTokenException", "x", event.ErrModelAuth, "expired", "sign in again"},
		{403, "UnrecognizedClientException", "x", event.ErrModelAuth, "does not know", "AWS_ACCESS_KEY_ID"},
		{403, "InvalidSignatureException", "x", event.ErrModelAuth, "signature", "clock"},
		{403, "", "Forbidden", event.ErrModelAuth, "credentials", "AWS credentials"},
		{404, "UnknownOperationException", "", event.ErrModelNotFound, "no model", "regions"},
		{502, "", "", event.ErrUnavailable, "failed", "again"},
		{429, "", "", event.ErrThrottled, "throttling", "wait"},
		{503, "", "", event.ErrOverloaded, "overloaded", "later"},
		{418, "SomethingNew", "x", event.ErrInvalid, "refused", "fit"},
		{0, "somethingNew", "x", event.ErrModel, "gave an error", "again"},
	} {
		s := &awserr.Said{Status: tc.status, Kind: tc.kind, Message: tc.message}
		e := s.Failure(asked)
		if e.Kind != tc.want || !strings.Contains(e.Message, tc.says) || !strings.Contains(e.Hint, tc.hint) || e.Code != tc.kind || e.Op != asked.Op {
			t.Errorf("%d %s %q: %s: %q (%q)", tc.status, tc.kind, tc.message, e.Kind, e.Message, e.Hint)
		}
		if !errors.Is(e, tc.want) || !errors.Is(e, s) {
			t.Errorf("%v does not hold what was said", e)
		}
	}
}

func TestWhatWasSaid(t *testing.T) {
	t.Parallel()
	header := func(pairs ...string) http.Header {
		h := http.Header{}
		for i := 0; i < len(pairs); i += 2 {
			h.Set(pairs[i], pairs[i+1])
		}
		return h
	}
	now := time.Now()
	for name, tc := range map[string]struct{ got, want awserr.Said }{
		"by header": {
			*awserr.Before(429, header("X-Amzn-ErrorType", "ThrottlingException:http://x/", "X-Amzn-RequestId", "7", "Retry-After", "3"), []byte(`{"message":"slow"}`), now),
			awserr.Said{Status: 429, Kind: "ThrottlingException", Message: "slow", RequestID: "7", After: 3 * time.Second},
		},
		"by body": {
			*awserr.Before(424, nil, []byte(`{"__type":"com.amazon#ModelErrorException:x","Message":"no","originalStatusCode":429}`), now),
			awserr.Said{Status: 424, Kind: "ModelErrorException", Message: "no", Original: 429},
		},
		"an error in a stream": {*awserr.Exception("InternalError", "no", nil), awserr.Said{Kind: "InternalError", Message: "no"}},
		"of the model itself": {
			*awserr.Exception("modelStreamErrorException", "", []byte(`{"originalStatusCode":429,"originalMessage":"slow"}`)),
			awserr.Said{Kind: "modelStreamErrorException", Message: "slow", Original: 429},
		},
		"a page":       {*awserr.Before(502, nil, []byte("<html>"), now), awserr.Said{Status: 502}},
		"in a stream":  {*awserr.Exception("modelStreamErrorException", "", []byte(`{"message":"no"}`)), awserr.Said{Kind: "modelStreamErrorException", Message: "no"}},
		"without more": {*awserr.Exception("x", "", nil), awserr.Said{Kind: "x"}},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, tc.got, tc.want)
		}
	}
	if s := (&awserr.Said{Status: 429, Kind: "A", RequestID: "7"}).Error(); s != "429 A, request 7" {
		t.Errorf("%q", s)
	}
}
