package anthropic_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptrace"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go/auth/bearer"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/anthropic"
	"github.com/braidrun/braid/model/anthropic/anthropictest"
	"github.com/braidrun/braid/model/modeltest"
)

const haiku = "us.anthropic.claude-haiku-4-5-20251001-v1:0"

// What Bedrock says becomes a kind of ours, with the next step.
func TestBedrockFailures(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status        int
		kind, message string
		want          event.ErrorKind
		says, hint    string
	}{
		{429, "ThrottlingException", "Too many tokens, please wait before trying again.", event.ErrThrottled, "Too many tokens", "quotas"},
		{429, "ThrottlingException", "Too many tokens per day, please wait before trying again.", event.ErrModel, "used up", "quotas"},
		{400, "ServiceQuotaExceededException", "Your request exceeds the service quota for your account.", event.ErrThrottled, "quota", "quotas"},
		{429, "ModelNotReadyException", "Model is not ready for inference.", event.ErrUnavailable, "not ready", "again"},
		{408, "ModelTimeoutException", "The request took too long to process.", event.ErrUnavailable, "too long", "again"},
		{424, "ModelErrorException", "The request failed due to an error while processing the model.", event.ErrUnavailable, "failed", "again"},
		{500, "InternalServerException", "x", event.ErrUnavailable, "x", "again"},
		{503, "ServiceUnavailableException", "Bedrock is unable to process your request.", event.ErrOverloaded, "unable", "inference profile"},
		{
			403, "AccessDeniedException", "You don't have access to the model with the specified model ID.", event.ErrModelAuth,
			"this model", `console of the region "us-east-1"`,
		},
		{
			403, "AccessDeniedException", "User: arn:aws:iam::123456789012:user/eve is not authorized to perform: bedrock:InvokeModelWithResponseStream",
			event.ErrModelAuth, "User: [arn] is not", "bedrock:InvokeModelWithResponseStream",
		},
		{403, "AccessDeniedException", "Authentication failed: Please make sure your API Key is valid.", event.ErrModelAuth, "API Key", "AWS_BEARER_TOKEN_BEDROCK"},
		{403, "ExpiredTokenException", "The security token included in the request is expired", event.ErrModelAuth, "expired", "sign in again"},
		{403, "UnrecognizedClientException", "The security token included in the request is invalid.", event.ErrModelAuth, "does not know", "AWS_ACCESS_KEY_ID"},
		{403, "InvalidSignatureException", "Signature expired: 20261121T000000Z is now earlier than 20261121T001000Z", event.ErrModelAuth, "signature", "clock"},
		{404, "FTUFormNotFilled", "Model use case details have not been submitted for this account.", event.ErrModelAuth, "uses the model for", "form"},
		{404, "ResourceNotFoundException", "Could not resolve the foundation model from the provided model identifier.", event.ErrModelNotFound, "us-east-1", "inference profiles"},
		{400, "ValidationException", "The provided model identifier is invalid.", event.ErrModelNotFound, "no model", "AWS_REGION"},
		{
			400, "ValidationException", "Invocation of model ID anthropic.claude-sonnet-4-5-20250929-v1:0 with on-demand throughput isn\u2019t supported. " +
				"Retry your request with the ID or ARN of an inference profile that contains this model.",
			event.ErrModelNotFound, "inference profile", "bedrock:us.anthropic.claude",
		},
		{400, "ValidationException", "Input is too long for requested model.", event.ErrContextOverflow, "too long", "shorten"},
		{400, "ValidationException", "prompt is too long: 207791 tokens > 200000 maximum", event.ErrContextOverflow, "207791", "shorten"},
		{
			400, "ValidationException", "messages.0.content.0.image.source.base64: image exceeds 5 MB maximum: 6160400 bytes > 5242880 bytes",
			event.ErrTooLarge, "image", "smaller",
		},
		{
			400, "ValidationException",
			"1 validation error detected: Value at 'body' failed to satisfy constraint: Member must have length less than or equal to 25000000",
			event.ErrTooLarge, "too large", "fewer",
		},
		{400, "ValidationException", "messages.1: Field required", event.ErrInvalid, "Field required", "fit"},
		{400, "ValidationException", "bad key ABSKdGVzdA0000000000000000 or AKIAIOSFODNN7EXAMPLE", event.ErrInvalid, "bad key [redacted] or [redacted]", "fit"},
		{418, "SomethingNew", "x", event.ErrInvalid, "x", "fit"},
		{502, "", "", event.ErrUnavailable, "failed", "again"},
		{413, "", "", event.ErrTooLarge, "too large", "fewer"},
	} {
		m, server := openBedrock(t, haiku, nil, anthropictest.BedrockError(tc.status, tc.kind, tc.message))
		e := failed(t, modeltest.Call(t.Context(), m, hello()))
		if e.Kind != tc.want || e.Code != tc.kind || !strings.Contains(e.Message, tc.says) || !strings.Contains(e.Hint, tc.hint) {
			t.Errorf("%d %s %q: %s, code %s: %q (%q)", tc.status, tc.kind, tc.message, e.Kind, e.Code, e.Message, e.Hint)
		}
		if all := fmt.Sprintf("%v %+v %v %+v", e, e, e.Err, e.Err); strings.Contains(all, "AWS4") || strings.Contains(all, "session-token") || strings.Contains(all, "AKIATEST") {
			t.Errorf("the error shows too much: %s", all)
		}
		if n := len(server.Asked()); n != 1 {
			t.Errorf("%d requests", n)
		}
	}
}

// Exceptions inside of a stream, and what is no stream of Bedrock.
func TestBedrockFailuresInTheStream(t *testing.T) {
	t.Parallel()
	begun := anthropictest.Frames(anthropictest.Begun([]model.Chunk{{Kind: model.ChunkText, Text: "so"}}, event.Usage{Input: 1}))
	whole := anthropictest.BedrockText("so").Body
	changed := []byte(whole)
	changed[len(changed)/2] ^= 1
	html := map[string]string{"Content-Type": "text/html"}
	for name, tc := range map[string]struct {
		answer anthropictest.Answer
		want   event.ErrorKind
	}{
		"throttled": {anthropictest.Answer{Body: begun + anthropictest.Exception("throttlingException", "Too many requests")}, event.ErrThrottled},
		"too long": {
			anthropictest.Answer{Body: begun + anthropictest.Exception("validationException", "Input is too long for requested model.")},
			event.ErrContextOverflow,
		},
		"broken model":                    {anthropictest.Answer{Body: begun + anthropictest.Exception("modelStreamErrorException", "x")}, event.ErrUnavailable},
		"slow model":                      {anthropictest.Answer{Body: anthropictest.Exception("modelTimeoutException", "x")}, event.ErrUnavailable},
		"one of a kind that nobody knows": {anthropictest.Answer{Body: begun + anthropictest.Exception("mysteryException", "x")}, event.ErrModel},
		"Claude's own": {
			anthropictest.Answer{Body: begun + anthropictest.Frames(anthropictest.ErrorEvent("overloaded_error", "Overloaded"))}, event.ErrOverloaded,
		},
		"nothing":             {anthropictest.Answer{}, event.ErrStreamCut},
		"one that ends":       {anthropictest.Answer{Body: begun}, event.ErrStreamCut},
		"one that is cut":     {anthropictest.Answer{Body: whole, Cut: len(begun) + 20}, event.ErrStreamCut},
		"one that is short":   {anthropictest.Answer{Body: whole, Short: len(begun) + 20}, event.ErrStreamCut},
		"one that is damaged": {anthropictest.Answer{Body: string(changed)}, event.ErrStreamCut},
		"server-sent events":  {anthropictest.Answer{Body: anthropictest.Text("so").Body, Header: map[string]string{"Content-Type": "text/event-stream"}}, event.ErrModel},
		"a page":              {anthropictest.Answer{Body: "<html>", Header: html}, event.ErrModel},
		"a page of a proxy":   {anthropictest.Answer{Status: 502, Body: "<html>", Header: html}, event.ErrUnavailable},
	} {
		m, _ := openBedrock(t, haiku, nil, tc.answer)
		if e := failed(t, modeltest.Call(t.Context(), m, hello())); e.Kind != tc.want {
			t.Errorf("%s: %s, want %s: %v", name, e.Kind, tc.want, e)
		}
	}
}

// Who asks is what was given, in both ways, and nobody else: not even the key that
// the environment holds, which the SDK would take.
func TestBedrockAsksAsItWasTold(t *testing.T) { //nolint:paralleltest // it sets the environment
	for _, set := range []string{"", "ABSKother"} {
		t.Setenv("AWS_BEARER_TOKEN_BEDROCK", set)
		t.Setenv("AWS_ACCESS_KEY_ID", "AKIAOTHER")
		t.Setenv("ANTHROPIC_API_KEY", "sk-ant-other")
		t.Setenv("ANTHROPIC_BASE_URL", "https://other.example.com")
		server := anthropictest.StartBedrock()
		t.Cleanup(server.Close)
		both := server.Signed()
		both.BearerAuthTokenProvider = bearer.StaticTokenProvider{Token: bearer.Token{Value: "of an SSO profile"}}
		first := server.Keyed()
		first.Credentials, first.AuthSchemePreference = aws.AnonymousCredentials{}, []string{"httpBearerAuth"}
		for name, cfg := range map[string]aws.Config{"signed": server.Signed(), "with a key": server.Keyed(), "both": both, "the key first": first} {
			server.Add(anthropictest.BedrockText("Hello."))
			m, err := anthropic.NewBedrock(haiku, cfg, anthropic.HTTPClient(server.Client()))
			if err != nil {
				t.Fatal(err)
			}
			if r := modeltest.Call(t.Context(), m, hello()); r.Err != nil {
				t.Errorf("%s: %v", name, r.Err)
			}
			asked := server.Asked()[len(server.Asked())-1]
			if strings.HasPrefix(asked.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ") != (name == "signed" || name == "both") || asked.Refused != "" {
				t.Errorf("%s: %v %s", name, asked.Header, asked.Refused)
			}
			if asked.Path != "/model/us.anthropic.claude-haiku-4-5-20251001-v1:0/invoke-with-response-stream" || asked.Header.Get("X-Api-Key") != "" {
				t.Errorf("%s: %s %v", name, asked.Path, asked.Header)
			}
			if b := string(asked.Body); !strings.Contains(b, `"anthropic_version":"bedrock-2023-05-31"`) || strings.Contains(b, `"stream"`) || strings.Contains(b, `"model"`) {
				t.Errorf("%s: %s", name, b)
			}
		}
	}
}

// An ARN has letters that mean something in a path, and is signed like that.
func TestBedrockARN(t *testing.T) {
	t.Parallel()
	const arn = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/" + haiku
	m, server := openBedrock(t, arn, nil, anthropictest.BedrockText("Hello."))
	if r := modeltest.Call(t.Context(), m, hello()); r.Err != nil {
		t.Fatal(r.Err)
	}
	if path := server.Asked()[0].Path; !strings.Contains(path, ":inference-profile%2Fus.") {
		t.Errorf("%s", path)
	}
	if info := m.Info(); info.Name != "bedrock:"+arn || !info.Output {
		t.Errorf("%+v", info)
	}
}

// The stand-in refuses what Bedrock refuses, and the model says what to do.
func TestBedrockRefusals(t *testing.T) {
	t.Parallel()
	server := anthropictest.StartBedrock()
	t.Cleanup(server.Close)
	wrong := server.Signed()
	wrong.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "AKIATEST000000000000", SecretAccessKey: "other", SessionToken: "session-token"}, nil
	})
	unknown := server.Signed()
	unknown.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "AKIAOTHER", SecretAccessKey: "other"}, nil
	})
	none := server.Signed()
	none.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{}, errors.New("the SSO session has expired: AKIASECRET0000000000")
	})
	elsewhere := server.Signed()
	elsewhere.Region = "eu-west-1"
	key := server.Keyed()
	key.BearerAuthTokenProvider = bearer.StaticTokenProvider{Token: bearer.Token{Value: "ABSKother"}}
	noKey := server.Keyed()
	noKey.BearerAuthTokenProvider = bearer.TokenProviderFunc(func(context.Context) (bearer.Token, error) { return bearer.Token{}, errors.New("gone") })
	nobody := server.Signed()
	address := "http://127.0.0.1:1"
	nobody.BaseEndpoint = &address
	for name, tc := range map[string]struct {
		model string
		cfg   aws.Config
		want  event.ErrorKind
		hint  string
	}{
		"a wrong secret":    {haiku, wrong, event.ErrModelAuth, "AWS_SECRET_ACCESS_KEY"},
		"an unknown key":    {haiku, unknown, event.ErrModelAuth, "AWS_ACCESS_KEY_ID"},
		"no credentials":    {haiku, none, event.ErrModelAuth, "sign in again"},
		"another region":    {haiku, elsewhere, event.ErrModelAuth, "AWS_ACCESS_KEY_ID"},
		"a wrong API key":   {haiku, key, event.ErrModelAuth, "AWS_BEARER_TOKEN_BEDROCK"},
		"no API key":        {haiku, noKey, event.ErrModelAuth, "AWS_BEARER_TOKEN_BEDROCK"},
		"no profile":        {"anthropic.claude-haiku-4-5-20251001-v1:0", server.Signed(), event.ErrModelNotFound, "bedrock:us.anthropic.claude"},
		"no such model":     {"us.anthropic.sonnet", server.Signed(), event.ErrModelNotFound, "AWS_REGION"},
		"nobody at the end": {haiku, nobody, event.ErrUnavailable, "us-east-1"},
	} {
		m, err := anthropic.NewBedrock(tc.model, tc.cfg, anthropic.HTTPClient(server.Client()))
		if err != nil {
			t.Fatal(err)
		}
		e := failed(t, modeltest.Call(t.Context(), m, hello()))
		if e.Kind != tc.want || !strings.Contains(e.Hint, tc.hint) || strings.Contains(e.Message+e.Hint, "AKIA") {
			t.Errorf("%s: %s: %v", name, e.Kind, e)
		}
	}
}

func TestNewBedrockRefuses(t *testing.T) {
	t.Parallel()
	signed := aws.Config{Region: "us-east-1", Credentials: aws.AnonymousCredentials{}}
	for name, tc := range map[string]struct {
		model string
		cfg   aws.Config
		opt   anthropic.Option
		want  event.ErrorKind
		hint  string
	}{
		"no name":        {"", signed, nil, event.ErrInvalid, anthropic.BedrockDefault},
		"a strange name": {"anthropic claude", signed, nil, event.ErrInvalid, anthropic.BedrockDefault},
		"no region":      {haiku, aws.Config{Credentials: aws.AnonymousCredentials{}}, nil, event.ErrInvalid, "AWS_REGION"},
		"a strange one":  {haiku, aws.Config{Region: "evil.example.com/", Credentials: aws.AnonymousCredentials{}}, nil, event.ErrInvalid, "AWS_REGION"},
		"nobody":         {haiku, aws.Config{Region: "us-east-1"}, nil, event.ErrModelAuth, "AWS_BEARER_TOKEN_BEDROCK"},
		"a version":      {haiku, signed, anthropic.Version("2026-10-21"), event.ErrInvalid, "version"},
		"a stall":        {haiku, signed, anthropic.Stall(-1), event.ErrInvalid, "duration"},
	} {
		var opts []anthropic.Option
		if tc.opt != nil {
			opts = append(opts, tc.opt)
		}
		m, err := anthropic.NewBedrock(tc.model, tc.cfg, opts...)
		var e *event.Error
		if m != nil || !errors.As(err, &e) || e.Kind != tc.want || !strings.Contains(e.Hint, tc.hint) {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
	m, err := anthropic.NewBedrock(haiku, signed, anthropic.Cache(anthropic.CacheAuto))
	if err != nil {
		t.Fatal(err)
	}
	if info := m.Info(); info.Name != "bedrock:"+haiku || info.ContextWindow != 200_000 || !info.Output {
		t.Errorf("%+v", info)
	}
}

// What Bedrock does not have is told beforehand.
func TestBedrockIsToldBeforehand(t *testing.T) {
	t.Parallel()
	m, server := openBedrock(t, "us.anthropic.claude-opus-4-7-v1", nil)
	picture := hello()
	picture.Messages[0].Content = append(picture.Messages[0].Content, &event.Image{URL: "https://example.com/x.png"})
	document := hello()
	document.Messages[0].Content = append(document.Messages[0].Content, &event.Document{URL: "https://example.com/x.pdf"})
	warm := hello()
	temperature := 1.0
	warm.Options.Temperature = &temperature
	for name, req := range map[string]*model.Request{"an image's address": picture, "a document's": document, "a temperature": warm} {
		if e := failed(t, modeltest.Call(t.Context(), m, req)); e.Kind != event.ErrUnsupported || e.Hint == "" {
			t.Errorf("%s: %v", name, e)
		}
	}
	if n := len(server.Asked()); n != 0 {
		t.Errorf("%d requests", n)
	}
	// An older model takes one, and answers on the same connection.
	older, server := openBedrock(t, haiku, nil, anthropictest.BedrockText("a"), anthropictest.BedrockText("b"), anthropictest.BedrockText("c"))
	fresh := 0
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
		if !c.Reused {
			fresh++
		}
	}})
	for range 3 {
		if r := modeltest.Call(ctx, older, warm); r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	if n := len(server.Asked()); n != 3 || fresh != 1 {
		t.Errorf("%d requests on %d connections", n, fresh)
	}
	if h := server.Asked()[0].Header; h.Get("Accept") != "application/vnd.amazon.eventstream" || h.Get("Traceparent") != "" || h.Get("User-Agent") != "braid" {
		t.Errorf("headers %v", h)
	}
}

// Credentials go nowhere but to the address that was given.
func TestBedrockFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	other := anthropictest.StartBedrock(anthropictest.BedrockText("Hello."))
	t.Cleanup(other.Close)
	server := anthropictest.StartBedrock(anthropictest.Answer{Status: 307, Header: map[string]string{"Location": other.URL}})
	t.Cleanup(server.Close)
	m, err := anthropic.NewBedrock(haiku, server.Signed())
	if err != nil {
		t.Fatal(err)
	}
	if e := failed(t, modeltest.Call(t.Context(), m, hello())); e.Kind != event.ErrModel || len(other.Asked()) != 0 {
		t.Errorf("%v; %d requests elsewhere", e, len(other.Asked()))
	}
}
