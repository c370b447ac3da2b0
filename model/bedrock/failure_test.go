package bedrock_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/bedrock"
	"github.com/braidrun/braid/model/bedrock/bedrocktest"
	"github.com/braidrun/braid/model/internal/recordings"
	"github.com/braidrun/braid/model/modeltest"
)

func hello() *model.Request {
	return &model.Request{Messages: []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "Hello."}}}}}
}

func failed(t *testing.T, r modeltest.Read) *event.Error {
	t.Helper()
	var e *event.Error
	if !errors.As(r.Err, &e) {
		t.Fatalf("no error of ours: %v", r.Err)
	}
	return e
}

// The API's errors by exception and message: troubleshooting-api-error-codes, the list of Strands
// (models/bedrock.py), and messages that users published.
func TestErrorsOfTheAPI(t *testing.T) {
	t.Parallel()
	const returned = "The model returned the following errors: "
	for _, tc := range []struct {
		status        int
		kind, message string
		header        map[string]string
		want          event.ErrorKind
		after         time.Duration
		says          string
	}{
		{429, "ThrottlingException", "Too many tokens, please wait before trying again.", map[string]string{"Retry-After": "3"}, event.ErrThrottled, 3 * time.Second, "Too many tokens"},
		{429, "ThrottlingException", "Too many requests, please wait before trying again.", map[string]string{"Retry-After": "soon"}, event.ErrThrottled, 0, "quotas"},
		{400, "ServiceQuotaExceededException", "Your request exceeds the service quota for your account.", nil, event.ErrThrottled, 0, "quotas"},
		{503, "ServiceUnavailableException", "Bedrock is unable to process your request.", nil, event.ErrOverloaded, 0, "unable to process"},
		{429, "ModelNotReadyException", "The model is not ready for inference.", nil, event.ErrUnavailable, 0, "not ready"},
		{408, "ModelTimeoutException", "Model has timed out in processing the request.", nil, event.ErrUnavailable, 0, "too long"},
		{500, "InternalServerException", "The system encountered an unexpected error during processing. Try your request again.", nil, event.ErrUnavailable, 0, "failed"},
		{424, "ModelErrorException", "The system encountered an unexpected error during processing. Try your request again.", nil, event.ErrUnavailable, 0, "failed"},
		{400, "ValidationException", "Input is too long for requested model.", nil, event.ErrContextOverflow, 0, "context"},
		{400, "ValidationException", returned + "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length", nil, event.ErrContextOverflow, 0, "178959"},
		{400, "ValidationException", returned + "prompt is too long: 903884 tokens > 200000 maximum", nil, event.ErrContextOverflow, 0, "903884"},
		{400, "ValidationException", "too many total text bytes: 30000000 > 25000000", nil, event.ErrContextOverflow, 0, ""},
		{400, "ValidationException", "This model's maximum context length is 131072 tokens. Please reduce the length of the prompt", nil, event.ErrContextOverflow, 0, ""},
		{400, "ValidationException", returned + "Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input to try again.", nil, event.ErrContextOverflow, 0, ""},
		{400, "ValidationException", "Malformed input request: #/inputText: expected maxLength: 50000, actual: 60000, please reformat your input and try again.", nil, event.ErrContextOverflow, 0, ""},
		{400, "ValidationException", "The maximum tokens you requested exceeds the model limit of 8192. Try again with a maximum tokens value that is lower than 8192.", nil, event.ErrInvalid, 0, "8192"},
		{400, "ValidationException", "The provided model identifier is invalid.", nil, event.ErrModelNotFound, 0, "us-east-1"},
		{404, "ResourceNotFoundException", "This model version has reached the end of its life. Please refer to the AWS documentation for more details.", nil, event.ErrModelNotFound, 0, "end of its life"},
		{404, "ResourceNotFoundException", "Could not resolve the foundation model from the provided model identifier.", nil, event.ErrModelNotFound, 0, ""},
		{
			400, "ValidationException", "Invocation of model ID amazon.nova-pro-v1:0 with on-demand throughput isn’t supported. " +
				"Retry your request with the ID or ARN of an inference profile that contains this model.",
			nil, event.ErrModelNotFound, 0, `"bedrock:us.amazon.nova-pro-v1:0"`,
		},
		{403, "AccessDeniedException", "You don't have access to the model with the specified model ID.", nil, event.ErrModelAuth, 0, "ask for access"},
		{
			403, "AccessDeniedException", "User: arn:aws:sts::123456789012:assumed-role/r/s is not authorized to perform: " +
				"bedrock:InvokeModelWithResponseStream on resource: arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-pro-v1:0",
			nil, event.ErrModelAuth, 0, "User: [arn] is not authorized",
		},
		{403, "AccessDeniedException", "Authentication failed: Please make sure your API Key is valid.", nil, event.ErrModelAuth, 0, "AWS_BEARER_TOKEN_BEDROCK"},
		{403, "UnrecognizedClientException", "The security token included in the request is invalid.", nil, event.ErrModelAuth, 0, "AWS_BEARER_TOKEN_BEDROCK"},
		{403, "ExpiredTokenException", "The security token included in the request is expired", nil, event.ErrModelAuth, 0, "expired"},
		{403, "InvalidSignatureException", "Signature expired: 20260101T000000Z is now earlier than", nil, event.ErrModelAuth, 0, "clock"},
		{403, "", "Forbidden", nil, event.ErrModelAuth, 0, ""},
		{413, "RequestEntityTooLargeException", "Request size limit exceeded", nil, event.ErrTooLarge, 0, ""},
		{413, "", "", nil, event.ErrTooLarge, 0, ""},
		{400, "ValidationException", returned + "messages.0.content.0.image.source.base64: image exceeds 5 MB maximum: 6 bytes > 5 bytes", nil, event.ErrTooLarge, 0, ""},
		{400, "ValidationException", "A conversation must start with a user message.", nil, event.ErrInvalid, 0, "refused"},
		{418, "TeapotException", "hm", nil, event.ErrInvalid, 0, "hm"},
		{502, "", "", nil, event.ErrUnavailable, 0, ""},
		{504, "SomethingNew", "", nil, event.ErrUnavailable, 0, ""},
		{400, "ValidationException", "the key AKIAABCDEFGHIJKLMNOP is\nwrong", nil, event.ErrInvalid, 0, "the key [redacted] is wrong"},
	} {
		for _, whole := range []bool{false, true} {
			a := bedrocktest.Error(tc.status, tc.kind, tc.message)
			maps.Copy(a.Header, tc.header)
			how := bedrock.StreamAuto
			if whole {
				how = bedrock.Whole
			}
			m, server := open(t, pro, []bedrock.Option{bedrock.Answers(how)}, a)
			e := failed(t, modeltest.Call(t.Context(), m, hello()))
			if e.Kind != tc.want || e.RetryAfter != tc.after || e.Hint == "" || !strings.Contains(e.Error(), tc.says) || e.Code != tc.kind {
				t.Errorf("%d %s %q:\n %s %v %v, want %s", tc.status, tc.kind, tc.message, e.Kind, e.RetryAfter, e, tc.want)
			}
			if strings.Contains(e.Error(), "123456789012") {
				t.Errorf("an account is told: %v", e)
			}
			if n := len(server.Asked()); n != 1 {
				t.Errorf("%s: %d requests", tc.kind, n)
			}
		}
	}
}

// If Nova cannot write a call, the model asks once more. Then it tells Nova what to do
// (prompting-tool-troubleshooting).
func TestACallThatNovaCannotWrite(t *testing.T) {
	t.Parallel()
	const message = "The model produced an invalid sequence as part of ToolUse. Please refer to the model tool use troubleshooting guide."
	for name, a := range map[string]bedrocktest.Answer{
		"at once":       bedrocktest.Error(424, "ModelErrorException", message),
		"in the stream": {Body: bedrocktest.Begun(nil) + bedrocktest.Exception("modelStreamErrorException", message)},
	} {
		m, server := open(t, pro, nil, a, a, a, bedrocktest.Text("Hello."))
		agent := braid.New("a", m, braid.Retries(braid.Retry{Attempts: 6, Base: time.Millisecond, Exact: true}))
		_, err := agent.Run(t.Context(), "Hello.")
		if !errors.Is(err, event.ErrModel) || !strings.Contains(err.Error(), "allow a longer answer") || len(server.Asked()) != 2 {
			t.Errorf("%s: %v after %d requests", name, err, len(server.Asked()))
		}
		m, server = open(t, pro, nil, a, bedrocktest.Text("Hello."))
		agent = braid.New("a", m, braid.Retries(braid.Retry{Attempts: 6, Base: time.Millisecond, Exact: true}))
		if r, err := agent.Run(t.Context(), "Hello."); err != nil || r.Text() != "Hello." || len(server.Asked()) != 2 {
			t.Errorf("%s: %v after %d requests", name, err, len(server.Asked()))
		}
	}
}

func TestNotTheAPI(t *testing.T) {
	t.Parallel()
	html := map[string]string{"Content-Type": "text/html"}
	for name, tc := range map[string]struct {
		answer bedrocktest.Answer
		want   event.ErrorKind
	}{
		"a page of a proxy":    {bedrocktest.Answer{Status: 502, Header: html, Body: "<html>Bad Gateway</html>"}, event.ErrUnavailable},
		"a page that is found": {bedrocktest.Answer{Header: html, Body: "<html>Welcome</html>"}, event.ErrModel},
		"a page that is not":   {bedrocktest.Answer{Status: 404, Header: html, Body: "<html>404</html>"}, event.ErrModelNotFound},
		"an answer at once":    {bedrocktest.Whole(nil, "end_turn", event.Usage{}), event.ErrModel},
		"an empty stream":      {bedrocktest.Answer{Body: ""}, event.ErrStreamCut},
		"no frame":             {bedrocktest.Answer{Body: strings.Repeat("data: {}\n\n", 9)}, event.ErrStreamCut},
		"no JSON in an event":  {bedrocktest.Answer{Body: bedrocktest.Event("messageStop", `{"stop`)}, event.ErrStreamCut},
		"an end without cause": {bedrocktest.Answer{Body: bedrocktest.Event("messageStop", `{}`)}, event.ErrStreamCut},
	} {
		m, _ := open(t, pro, nil, tc.answer)
		if e := failed(t, modeltest.Call(t.Context(), m, hello())); e.Kind != tc.want || e.Hint == "" {
			t.Errorf("%s: %s, want %s: %v", name, e.Kind, tc.want, e)
		}
	}
	for name, tc := range map[string]struct {
		answer bedrocktest.Answer
		want   event.ErrorKind
	}{
		"a stream":        {bedrocktest.Text("Hello."), event.ErrModel},
		"half an answer":  {bedrocktest.Answer{Header: map[string]string{"Content-Type": "application/json"}, Body: `{"output":`}, event.ErrStreamCut},
		"a cut answer":    {bedrocktest.Answer{Header: map[string]string{"Content-Type": "application/json"}, Body: `{"output":{}}`, Cut: 5}, event.ErrStreamCut},
		"an endless wait": {bedrocktest.Answer{Header: map[string]string{"Content-Type": "application/json"}, Body: `{`, Stall: true}, event.ErrStreamCut},
	} {
		synctest.Test(t, func(t *testing.T) {
			m, _ := open(t, pro, []bedrock.Option{bedrock.Answers(bedrock.Whole)}, tc.answer)
			if e := failed(t, modeltest.Call(t.Context(), m, hello())); e.Kind != tc.want || e.Hint == "" {
				t.Errorf("at once, %s: %s, want %s: %v", name, e.Kind, tc.want, e)
			}
		})
	}
	m, err := bedrock.New(pro, bedrocktest.Config(), bedrock.BaseURL("http://127.0.0.1:1"))
	if err != nil {
		t.Fatal(err)
	}
	if e := failed(t, modeltest.Call(t.Context(), m, hello())); e.Kind != event.ErrUnavailable || !strings.Contains(e.Hint, "us-east-1") {
		t.Errorf("nobody there: %v", e)
	}
}

// A stream and a whole response give the same answer.
func TestByteByByte(t *testing.T) {
	t.Parallel()
	chunks := []model.Chunk{
		{Kind: model.ChunkText, Text: "Hello, 世界"},
		{Kind: model.ChunkCall, Index: 1, ID: "c1", Text: "add"},
		{Kind: model.ChunkCallInput, Index: 1, Text: `{"a":`},
		{Kind: model.ChunkCallInput, Index: 1, Text: `1}`},
	}
	a := bedrocktest.Stream(chunks, "tool_use", event.Usage{Input: 1, Output: 2, Total: 3})
	slow := a
	slow.Slow = true
	m, _ := open(t, pro, nil, a, slow)
	one, other := modeltest.Call(t.Context(), m, hello()), modeltest.Call(t.Context(), m, hello())
	one.ID, other.ID = "", ""
	left, _ := json.Marshal(one)
	right, _ := json.Marshal(other)
	if one.Err != nil || string(left) != string(right) {
		t.Errorf("%s\n%s", left, right)
	}
	for _, n := range recordings.Borders(a.Body) {
		cut := a
		cut.Cut = n
		m, _ := open(t, pro, nil, cut)
		if e := failed(t, modeltest.Call(t.Context(), m, hello())); e.Kind != event.ErrStreamCut {
			t.Errorf("cut at %d: %v", n, e)
		}
	}
}

// The model waits for the usage after the end signal, but not for ever. Without it the answer is
// complete and its usage unknown.
func TestNothingBehindTheEndSignal(t *testing.T) {
	t.Parallel()
	body := bedrocktest.Begun([]model.Chunk{{Kind: model.ChunkText, Text: "Hello."}}) + bedrocktest.Stopped("end_turn")
	synctest.Test(t, func(t *testing.T) {
		m, server := open(t, pro, nil, bedrocktest.Answer{Body: body}, bedrocktest.Answer{Body: body, Stall: true})
		for range 2 {
			r := modeltest.Call(t.Context(), m, hello())
			if r.Err != nil || r.Stop != event.StopEndTurn || r.Usage != (event.Usage{}) {
				t.Errorf("%+v", r)
			}
		}
		if !server.Left(time.Second) {
			t.Error("the connection stays open")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		client := &http.Client{Transport: wire(func(r *http.Request) io.ReadCloser { return &paced{ctx: r.Context(), pieces: []string{body}} })}
		m, err := bedrock.New(pro, bedrocktest.Config(), bedrock.HTTPClient(client), bedrock.Stall(0))
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		if r := modeltest.Call(t.Context(), m, hello()); r.Err != nil || time.Since(begun) != 5*time.Second {
			t.Errorf("%v after %v", r.Err, time.Since(begun))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if r := modeltest.Call(ctx, m, hello()); !errors.Is(r.Err, event.ErrTimeout) {
			t.Errorf("cancelled behind the end signal: %v", r.Err)
		}
	})
}

// The stand-in verifies both kinds of keys.
func TestCredentials(t *testing.T) {
	t.Parallel()
	server := bedrocktest.Start()
	t.Cleanup(server.Close)
	wrong := bedrocktest.Config()
	wrong.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: bedrocktest.KeyID, SecretAccessKey: "another", SessionToken: bedrocktest.Token}, nil
	})
	elsewhere := bedrocktest.Config()
	elsewhere.Region = "eu-west-1"
	gone := bedrocktest.Config()
	gone.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{}, errors.New("the session of bob has expired")
	})
	for name, tc := range map[string]struct {
		cfg  aws.Config
		want event.ErrorKind
		code string
	}{
		"signed":       {bedrocktest.Config(), "", ""},
		"a key":        {bedrocktest.KeyConfig(), "", ""},
		"a wrong one":  {wrong, event.ErrModelAuth, "InvalidSignatureException"},
		"elsewhere":    {elsewhere, event.ErrModelAuth, "InvalidSignatureException"},
		"none be had":  {gone, event.ErrModelAuth, ""},
		"both at once": {both(), "", ""},
	} {
		server.Add(bedrocktest.Text("Hello."))
		m, err := bedrock.New(pro, tc.cfg, bedrock.BaseURL(server.URL+"/"), bedrock.HTTPClient(server.Client()))
		if err != nil {
			t.Fatal(err)
		}
		r := modeltest.Call(t.Context(), m, hello())
		if tc.want == "" {
			if r.Err != nil || r.ID == "" {
				t.Errorf("%s: %v", name, r.Err)
			}
			continue
		}
		if e := failed(t, r); e.Kind != tc.want || e.Code != tc.code || strings.Contains(e.Error(), "bob") {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// Signed requests go only to the given address.
func TestNoRedirectIsFollowed(t *testing.T) {
	t.Parallel()
	other := bedrocktest.Start(bedrocktest.Text("Hello."))
	t.Cleanup(other.Close)
	server := bedrocktest.Start(bedrocktest.Answer{Status: 307, Header: map[string]string{"Location": other.URL + "/model/" + pro + "/converse-stream"}})
	t.Cleanup(server.Close)
	m, err := bedrock.New(pro, bedrocktest.KeyConfig(), bedrock.BaseURL(server.URL))
	if err != nil {
		t.Fatal(err)
	}
	if e := failed(t, modeltest.Call(t.Context(), m, hello())); e.Kind != event.ErrModel || len(other.Asked()) != 0 {
		t.Errorf("%v; %d requests elsewhere", e, len(other.Asked()))
	}
}

func both() aws.Config {
	cfg := bedrocktest.KeyConfig()
	cfg.Credentials = bedrocktest.Config().Credentials
	return cfg
}

// Requests contain only the given settings: no other key of the environment, nothing of the
// machine.
func TestTheEnvironmentIsNotRead(t *testing.T) {
	for _, name := range []string{
		"AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION",
		"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "AWS_PROFILE",
	} {
		t.Setenv(name, "https://other.example.com")
	}
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	t.Setenv("_X_AMZN_TRACE_ID", "Root=1")
	t.Setenv("AWS_EXECUTION_ENV", "here")
	m, server := open(t, pro, nil, bedrocktest.Text("Hello."))
	if r := modeltest.Call(t.Context(), m, hello()); r.Err != nil {
		t.Fatal(r.Err)
	}
	asked := server.Asked()[0]
	h := asked.Header
	if asked.Path != "/model/amazon.nova-pro-v1%3A0/converse-stream" || !strings.HasPrefix(h.Get("Authorization"), "AWS4-HMAC-SHA256 Credential="+bedrocktest.KeyID) {
		t.Errorf("%s %v", asked.Path, h)
	}
	if h.Get("User-Agent") != "braid" || h.Get("X-Amzn-Trace-Id") != "" || h.Get("Content-Type") != "application/json" || h.Get("X-Amz-User-Agent") != "" {
		t.Errorf("headers %v", h)
	}
	// A key in the configuration takes precedence over one in the environment.
	server.Add(bedrocktest.Text("Hello."))
	m, err := bedrock.New(pro, bedrocktest.KeyConfig(), bedrock.BaseURL(server.URL), bedrock.HTTPClient(server.Client()))
	if err != nil {
		t.Fatal(err)
	}
	if r := modeltest.Call(t.Context(), m, hello()); r.Err != nil || server.Asked()[1].Header.Get("Authorization") != "Bearer "+bedrocktest.Key {
		t.Errorf("%v %v", r.Err, server.Asked()[1].Header)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	none := aws.Config{Region: "us-east-1"}
	anonymous := aws.Config{Region: "us-east-1", Credentials: aws.AnonymousCredentials{}}
	nowhere := bedrocktest.Config()
	nowhere.Region = ""
	for name, tc := range map[string]struct {
		name string
		cfg  aws.Config
		opt  bedrock.Option
		want event.ErrorKind
	}{
		"no key":        {pro, none, nil, event.ErrModelAuth},
		"nobody's key":  {pro, anonymous, nil, event.ErrModelAuth},
		"no region":     {pro, nowhere, nil, event.ErrInvalid},
		"no name":       {"", bedrocktest.Config(), nil, event.ErrInvalid},
		"a strange one": {"nova\nx", bedrocktest.Config(), nil, event.ErrInvalid},
		"a long one":    {strings.Repeat("x", 3000), bedrocktest.Config(), nil, event.ErrInvalid},
		"an address":    {pro, bedrocktest.Config(), bedrock.BaseURL("host"), event.ErrInvalid},
		"a client":      {pro, bedrocktest.Config(), bedrock.HTTPClient(nil), event.ErrInvalid},
		"a stall":       {pro, bedrocktest.Config(), bedrock.Stall(-1), event.ErrInvalid},
		"a cache":       {pro, bedrocktest.Config(), bedrock.Cache("much"), event.ErrInvalid},
		"an id":         {pro, bedrocktest.Config(), bedrock.As(""), event.ErrInvalid},
		"a way":         {pro, bedrocktest.Config(), bedrock.Answers("fast"), event.ErrInvalid},
		"a guardrail":   {pro, bedrocktest.Config(), bedrock.Guard(bedrock.Guardrail{ID: "x"}), event.ErrInvalid},
		"a trace":       {pro, bedrocktest.Config(), bedrock.Guard(bedrock.Guardrail{ID: "x", Version: "1", Trace: "some"}), event.ErrInvalid},
		"fields":        {pro, bedrocktest.Config(), bedrock.Fields(json.RawMessage(`[1]`)), event.ErrInvalid},
		"null fields":   {pro, bedrocktest.Config(), bedrock.Fields(json.RawMessage(`null`)), event.ErrInvalid},
		"metadata": {pro, bedrocktest.Config(), bedrock.Metadata(map[string]string{
			"1": "", "2": "", "3": "", "4": "", "5": "", "6": "", "7": "", "8": "", "9": "", "10": "", "11": "", "12": "", "13": "", "14": "", "15": "", "16": "", "17": "",
		}), event.ErrInvalid},
		"a tier":    {pro, bedrocktest.Config(), bedrock.Tier("gold"), event.ErrInvalid},
		"a latency": {pro, bedrocktest.Config(), bedrock.Latency("low"), event.ErrInvalid},
	} {
		var opts []bedrock.Option
		if tc.opt != nil {
			opts = append(opts, tc.opt)
		}
		m, err := bedrock.New(tc.name, tc.cfg, opts...)
		var e *event.Error
		if m != nil || !errors.As(err, &e) || e.Kind != tc.want || e.Hint == "" {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
}

// A server may answer before it has read the whole request. The rest can still be read.
func TestARequestOutlivesTheBeginOfItsAnswer(t *testing.T) {
	t.Parallel()
	var sent []byte
	var failure error
	client := &http.Client{Transport: wire(func(r *http.Request) io.ReadCloser {
		return &late{Reader: strings.NewReader(bedrocktest.Text("Hello.").Body), read: func() {
			sent, failure = io.ReadAll(r.Body)
		}}
	})}
	m, err := bedrock.New(pro, bedrocktest.Config(), bedrock.HTTPClient(client))
	if err != nil {
		t.Fatal(err)
	}
	if r := modeltest.Call(t.Context(), m, hello()); r.Err != nil || failure != nil || !json.Valid(sent) {
		t.Errorf("%v, %v: %s", r.Err, failure, sent)
	}
}

// late is a reader that calls read before its first byte.
type late struct {
	io.Reader

	read func()
}

func (l *late) Read(b []byte) (int, error) {
	if l.read != nil {
		l.read()
		l.read = nil
	}
	return l.Reader.Read(b)
}

func (*late) Close() error { return nil }

// wire is a transport in memory, for tests with a synthetic clock.
type wire func(*http.Request) io.ReadCloser

func (w wire) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/vnd.amazon.eventstream"}}, Body: w(r), Request: r,
		ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

// paced returns one piece per read, after a pause.
type paced struct {
	ctx    context.Context
	pieces []string
	pause  time.Duration
}

func (p *paced) Read(b []byte) (int, error) {
	if len(p.pieces) == 0 {
		<-p.ctx.Done()
		return 0, p.ctx.Err()
	}
	t := time.NewTimer(p.pause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-p.ctx.Done():
		return 0, p.ctx.Err()
	}
	n := copy(b, p.pieces[0])
	if p.pieces[0] = p.pieces[0][n:]; p.pieces[0] == "" {
		p.pieces = p.pieces[1:]
	}
	return n, nil
}

func (p *paced) Close() error { return nil }

// Only silence of the API ends a call. Long answers and slow readers do not.
func TestStall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		whole := bedrocktest.Text("one ", "two ", "three").Body
		var events []string
		last := 0
		for _, n := range append(recordings.Borders(whole), len(whole)) {
			events = append(events, whole[last:n])
			last = n
		}
		call := func(stall, pause, reader time.Duration, pieces []string) (modeltest.Read, time.Duration) {
			client := &http.Client{Transport: wire(func(r *http.Request) io.ReadCloser {
				return &paced{ctx: r.Context(), pieces: append([]string(nil), pieces...), pause: pause}
			})}
			m, err := bedrock.New(pro, bedrocktest.Config(), bedrock.HTTPClient(client), bedrock.Stall(stall))
			if err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			var chunks []model.Chunk
			var failure error
			for c, err := range m.Stream(t.Context(), hello()) {
				if err != nil {
					failure = err
					break
				}
				chunks = append(chunks, c)
				time.Sleep(reader)
			}
			return modeltest.Put(chunks, failure), time.Since(begun)
		}
		if r, took := call(time.Minute, 4*time.Second, 0, events); r.Err != nil || took < 28*time.Second {
			t.Errorf("a slow answer: %v after %v", r.Err, took)
		}
		if r, _ := call(time.Minute, time.Second, time.Hour, events); r.Err != nil {
			t.Errorf("a slow reader: %v", r.Err)
		}
		if r, took := call(0, 24*time.Hour, 0, events[:6]); r.Err != nil || took < 24*time.Hour {
			t.Errorf("no bound: %v after %v", r.Err, took)
		}
		r, took := call(time.Minute, time.Second, 0, events[:4])
		e := failed(t, r)
		if want := 4*time.Second + time.Minute; took != want || e.Kind != event.ErrStreamCut || e.Code != "stall" || !strings.Contains(e.Message, "1m0s") {
			t.Errorf("a stall after %v, want %v: %v", took, want, e)
		}
	})
}

// The connection is used again after a complete answer.
func TestConnectionsAreUsedAgain(t *testing.T) {
	t.Parallel()
	const calls = 20
	answers := make([]bedrocktest.Answer, calls)
	for i := range answers {
		answers[i] = bedrocktest.Text("Hello.")
	}
	m, server := open(t, pro, nil, answers...)
	fresh := 0
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
		if !c.Reused {
			fresh++
		}
	}})
	for range calls {
		if r := modeltest.Call(ctx, m, hello()); r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	if n := len(server.Asked()); fresh != 1 || n != calls {
		t.Errorf("%d connections for %d calls", fresh, n)
	}
}
