package gemini_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/gemini"
	"github.com/braidrun/braid/model/gemini/geminitest"
	"github.com/braidrun/braid/model/modeltest"
	"github.com/braidrun/braid/secret"
)

const flash = "gemini-3.6-flash"

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

const quota = "You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: " +
	"https://ai.google.dev/gemini-api/docs/rate-limits.\n* Quota exceeded for metric: " +
	"generativelanguage.googleapis.com/generate_content_free_tier_requests, limit: 20\nPlease retry in 47.434392449s."

// The API's errors by status, message and details (docs/troubleshooting, and messages that users
// published).
func TestErrorsOfTheAPI(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status        int
		kind, message string
		details       []string
		header        map[string]string
		want          event.ErrorKind
		after         time.Duration
		says          string
	}{
		{400, "INVALID_ARGUMENT", "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).", nil, nil, event.ErrContextOverflow, 0, "1200293"},
		{400, "INVALID_ARGUMENT", "The input token count exceeds the maximum number of tokens allowed 1048576.", nil, nil, event.ErrContextOverflow, 0, "1048576"},
		{400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", []string{geminitest.Reason("API_KEY_INVALID")}, nil, event.ErrModelAuth, 0, "not valid"},
		{400, "INVALID_ARGUMENT", "API key expired. Please renew the API key.", []string{geminitest.Reason("API_KEY_INVALID")}, nil, event.ErrModelAuth, 0, "expired"},
		{400, "INVALID_ARGUMENT", "Request payload size exceeds the limit: 104857600 bytes.", nil, nil, event.ErrTooLarge, 0, "104857600"},
		{400, "INVALID_ARGUMENT", "Function calling with a response mime type: 'application/json' is unsupported", nil, nil, event.ErrInvalid, 0, "unsupported"},
		{400, "FAILED_PRECONDITION", "User location is not supported for the API use.", nil, nil, event.ErrModel, 0, "location"},
		{400, "FAILED_PRECONDITION", "Gemini API free tier is not available in your country. Please enable billing on your project in Google AI Studio.", nil, nil, event.ErrModel, 0, "country"},
		{401, "UNAUTHENTICATED", "Request had invalid authentication credentials.", nil, nil, event.ErrModelAuth, 0, "credentials"},
		{403, "PERMISSION_DENIED", "Your API key was reported as leaked. Please use another API key.", nil, nil, event.ErrModelAuth, 0, "leaked"},
		{403, "PERMISSION_DENIED", "This API method requires billing to be enabled.", []string{geminitest.Reason("BILLING_DISABLED")}, nil, event.ErrModel, 0, "billing"},
		{404, "NOT_FOUND", "models/gemini-9 is not found for API version v1beta, or is not supported for generateContent.", nil, nil, event.ErrModelNotFound, 0, flash},
		{429, "RESOURCE_EXHAUSTED", quota, []string{geminitest.RetryIn(47434 * time.Millisecond)}, nil, event.ErrThrottled, 47434 * time.Millisecond, "quota"},
		{429, "RESOURCE_EXHAUSTED", quota, nil, map[string]string{"Retry-After": "17"}, event.ErrThrottled, 17 * time.Second, "quota"},
		{429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota).", nil, nil, event.ErrThrottled, 0, "exhausted"},
		{429, "RESOURCE_EXHAUSTED", "x", []string{geminitest.RetryIn(-time.Second)}, nil, event.ErrThrottled, 0, "x"},
		{429, "RESOURCE_EXHAUSTED", "x", []string{geminitest.RetryIn(2000 * time.Hour)}, nil, event.ErrThrottled, 24 * time.Hour, "x"},
		{429, "RESOURCE_EXHAUSTED", "x", []string{`{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "soon"}`}, nil, event.ErrThrottled, 0, "x"},
		{429, "RESOURCE_EXHAUSTED", "Your prepayment credits are depleted. Please go to AI Studio to manage your project and billing.", nil, map[string]string{"Retry-After": "17"}, event.ErrModel, 0, "depleted"},
		{500, "INTERNAL", "An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting", nil, nil, event.ErrUnavailable, 0, "internal"},
		{503, "UNAVAILABLE", "The model is overloaded. Please try again later.", nil, nil, event.ErrOverloaded, 0, "overloaded"},
		{503, "UNAVAILABLE", "This model is currently experiencing high demand. Spikes in demand are usually temporary. Please try again later.", nil, map[string]string{"Retry-After": "4"}, event.ErrOverloaded, 4 * time.Second, "demand"},
		{503, "UNAVAILABLE", "The service is going away.", nil, nil, event.ErrUnavailable, 0, "going away"},
		{504, "DEADLINE_EXCEEDED", "Deadline expired before operation could complete.", nil, nil, event.ErrUnavailable, 0, "Deadline"},
		{499, "CANCELLED", "The operation was cancelled.", nil, nil, event.ErrUnavailable, 0, "cancelled"},
		{409, "ABORTED", "x", nil, nil, event.ErrUnavailable, 0, "x"},
		{418, "SOMETHING_NEW", "x", nil, nil, event.ErrInvalid, 0, "x"},
		{
			400, "INVALID_ARGUMENT", "the key " + geminitest.Key + " or AIzaSyOther-0123456789012345678901234567 or ya29.a0AfB_something-0123456 is wrong", nil, nil,
			event.ErrInvalid, 0, "the key [redacted] or [redacted] or [redacted] is wrong",
		},
		{400, "INVALID_ARGUMENT", "two\nlines\x1b[31m " + strings.Repeat("long ", 200), nil, nil, event.ErrInvalid, 0, "two lines [31m long"},
	} {
		answer := geminitest.Error(tc.status, tc.kind, tc.message, tc.details...)
		maps.Copy(answer.Header, tc.header)
		array := answer
		array.Body = "[" + answer.Body + "]"
		for form, answer := range map[string]geminitest.Answer{"object": answer, "array": array} {
			m, server := open(t, flash, nil, answer)
			e := failed(t, modeltest.Call(t.Context(), m, hello()))
			if e.Kind != tc.want || e.RetryAfter != tc.after || e.Code != tc.kind || !strings.Contains(e.Message, tc.says) || e.Hint == "" {
				t.Errorf("%d %s %q, an %s: %s after %v, code %s: %v", tc.status, tc.kind, tc.message, form, e.Kind, e.RetryAfter, e.Code, e)
			}
			all := fmt.Sprintf("%v %+v %v %+v", e, e, e.Err, e.Err)
			if strings.Contains(all, "AIza") || strings.Contains(all, "Bearer") || strings.ContainsAny(e.Message, "\n\x1b") || len(e.Message) > 500 {
				t.Errorf("the error shows too much: %s", all)
			}
			if n := len(server.Asked()); n != 1 {
				t.Errorf("%d requests", n)
			}
		}
	}
}

func TestRetryAfterADate(t *testing.T) {
	t.Parallel()
	answer := geminitest.Error(429, "RESOURCE_EXHAUSTED", "x")
	answer.Header["Retry-After"] = time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	m, _ := open(t, flash, nil, answer)
	if e := failed(t, modeltest.Call(t.Context(), m, hello())); e.RetryAfter < 58*time.Minute || e.RetryAfter > time.Hour {
		t.Errorf("after %v", e.RetryAfter)
	}
}

// Responses that are not the API's: a proxy's page, plain text, an address without a server.
func TestWhatIsNotTheAPI(t *testing.T) {
	t.Parallel()
	page := map[string]string{"Content-Type": "text/html"}
	for name, tc := range map[string]struct {
		answer geminitest.Answer
		want   event.ErrorKind
	}{
		"a page of a proxy":    {geminitest.Answer{Status: 502, Header: page, Body: "<html>Bad Gateway</html>"}, event.ErrUnavailable},
		"a page that is found": {geminitest.Answer{Header: page, Body: "<html>Welcome</html>"}, event.ErrModel},
		"a page that is not":   {geminitest.Answer{Status: 404, Header: page, Body: "<html>404</html>"}, event.ErrModelNotFound},
		"a page of Google's for what is too large": {
			geminitest.Answer{Status: 413, Header: page, Body: "<html>413. That's an error.</html>"},
			event.ErrTooLarge,
		},
		"an error without words": {geminitest.Answer{Status: 429, Header: page}, event.ErrThrottled},
		"an endless error":       {geminitest.Answer{Status: 500, Header: page, Body: strings.Repeat("<p>", 1<<20)}, event.ErrUnavailable},
		"an answer at once": {
			geminitest.Answer{Header: map[string]string{"Content-Type": "application/json"}, Body: `{"candidates":[]}`},
			event.ErrStreamCut,
		},
		"JSON of something else": {
			geminitest.Answer{Header: map[string]string{"Content-Type": "application/json"}, Body: `{"status":"ok"}`},
			event.ErrModel,
		},
		"nothing at all":        {geminitest.Answer{Status: 204}, event.ErrModel},
		"an empty stream":       {geminitest.Answer{Body: ""}, event.ErrStreamCut},
		"no JSON in an event":   {geminitest.Answer{Body: "data: {\"candidates\":\n\n"}, event.ErrStreamCut},
		"an end without reason": {geminitest.Answer{Body: "data: {\"candidates\":[{\"index\":0}]}\n\n"}, event.ErrStreamCut},
		"an error that nobody knows": {
			geminitest.Answer{Body: geminitest.ErrorEvent(0, "MYSTERY", "hm")}, event.ErrModel,
		},
		"an overflow in the stream": {
			geminitest.Answer{Body: geminitest.ErrorEvent(400, "INVALID_ARGUMENT", "The input token count (5) exceeds the maximum number of tokens allowed (4).")},
			event.ErrContextOverflow,
		},
		"a limit in the stream": {
			geminitest.Answer{Body: geminitest.ErrorText(429, "RESOURCE_EXHAUSTED", "slow down", geminitest.RetryIn(time.Second))},
			event.ErrThrottled,
		},
	} {
		m, _ := open(t, flash, nil, tc.answer)
		if e := failed(t, modeltest.Call(t.Context(), m, hello())); e.Kind != tc.want || e.Hint == "" {
			t.Errorf("%s: %s, want %s: %v", name, e.Kind, tc.want, e)
		}
	}
	m, err := gemini.New(flash, secret.New("k"), gemini.BaseURL("http://127.0.0.1:1"))
	if err != nil {
		t.Fatal(err)
	}
	if e := failed(t, modeltest.Call(t.Context(), m, hello())); e.Kind != event.ErrUnavailable || !strings.Contains(e.Hint, gemini.BaseVariable) {
		t.Errorf("nobody there: %v", e)
	}
}

// A key is sent only to the given address, whoever made the client.
func TestNoRedirectIsFollowed(t *testing.T) {
	t.Parallel()
	other := geminitest.Start(geminitest.Text("Hello."))
	t.Cleanup(other.Close)
	for _, client := range []*http.Client{{}, other.Client()} {
		server := geminitest.Start(geminitest.Answer{
			Status: 307, Header: map[string]string{"Location": other.URL + "/v1beta/models/" + flash + ":streamGenerateContent?alt=sse"},
		})
		t.Cleanup(server.Close)
		m, err := gemini.New(flash, secret.New(geminitest.Key), gemini.BaseURL(server.URL), gemini.HTTPClient(client))
		if err != nil {
			t.Fatal(err)
		}
		if e := failed(t, modeltest.Call(t.Context(), m, hello())); e.Kind != event.ErrModel || len(other.Asked()) != 0 {
			t.Errorf("%v; %d requests elsewhere", e, len(other.Asked()))
		}
		client.CloseIdleConnections()
	}
}

// The stand-in refuses a wrong key as the API does.
func TestAWrongKey(t *testing.T) {
	t.Parallel()
	server := geminitest.Start()
	t.Cleanup(server.Close)
	m, err := gemini.New(flash, secret.New("AIzaWrong-000000000000"), gemini.BaseURL(server.URL+"/"), gemini.HTTPClient(server.Client()))
	if err != nil {
		t.Fatal(err)
	}
	if e := failed(t, modeltest.Call(t.Context(), m, hello())); e.Kind != event.ErrModelAuth || !strings.Contains(e.Hint, gemini.KeyVariable) {
		t.Errorf("%v", e)
	}
}

func TestACallThatIsTooLong(t *testing.T) {
	t.Parallel()
	m, server := open(t, flash, nil)
	server.Window = 1000
	req := hello()
	req.Instructions = strings.Repeat("word ", 1000)
	if e := failed(t, modeltest.Call(t.Context(), m, req)); e.Kind != event.ErrContextOverflow {
		t.Errorf("%v", e)
	}
	server.Largest = 2000
	if e := failed(t, modeltest.Call(t.Context(), m, req)); e.Kind != event.ErrTooLarge {
		t.Errorf("%v", e)
	}
}

// Requests contain only the given settings: no other key or project of the environment, no other
// address, no backend.
func TestTheEnvironmentChangesNothing(t *testing.T) { //nolint:paralleltest // it sets the environment
	for name, value := range map[string]string{
		"GOOGLE_API_KEY": "AIzaEnvironment-00000000", "GOOGLE_GENAI_USE_VERTEXAI": "true", "GOOGLE_GENAI_USE_ENTERPRISE": "1",
		"GOOGLE_CLOUD_PROJECT": "other", "GOOGLE_CLOUD_LOCATION": "other", "GOOGLE_CLOUD_REGION": "other",
		"GOOGLE_GEMINI_BASE_URL": "https://other.example.com", "GOOGLE_VERTEX_BASE_URL": "https://other.example.com",
		"GOOGLE_APPLICATION_CREDENTIALS": "/nowhere",
	} {
		t.Setenv(name, value)
	}
	token := func(context.Context) (string, error) { return geminitest.Token, nil }
	for want, opts := range map[string][]gemini.Option{
		"/v1beta/models/" + flash + ":streamGenerateContent": nil,
		"/v1beta1/projects/mine/locations/europe-west4/publishers/google/models/" + flash + ":streamGenerateContent": {
			gemini.Vertex("mine", "europe-west4", token),
		},
	} {
		m, server := open(t, flash, opts, geminitest.Text("Hello."))
		if r := modeltest.Call(t.Context(), m, hello()); r.Err != nil {
			t.Fatal(r.Err)
		}
		asked := server.Asked()[0]
		h := asked.Header
		key, bearer := geminitest.Key, ""
		if opts != nil {
			key, bearer = "", "Bearer "+geminitest.Token
		}
		if asked.Path != want || h.Get("X-Goog-Api-Key") != key || h.Get("Authorization") != bearer {
			t.Errorf("%s: headers %v", asked.Path, h)
		}
		if h.Get("User-Agent") != "braid" || h.Get("Accept") != "text/event-stream" || h.Get("Content-Type") != "application/json" {
			t.Errorf("headers %v", h)
		}
	}
}

// Without an address the vendor's own is used, whatever the environment says.
func TestTheVendorsAddresses(t *testing.T) {
	t.Setenv("GOOGLE_GEMINI_BASE_URL", "https://other.example.com")
	t.Setenv("GOOGLE_VERTEX_BASE_URL", "https://other.example.com")
	for want, opts := range map[string][]gemini.Option{
		"https://generativelanguage.googleapis.com":      nil,
		"https://aiplatform.googleapis.com":              {gemini.Vertex("p", "global", nil)},
		"https://aiplatform.eu.rep.googleapis.com":       {gemini.Vertex("p", "eu", nil)},
		"https://europe-west4-aiplatform.googleapis.com": {gemini.Vertex("p", "europe-west4", nil)},
	} {
		asked := ""
		client := &http.Client{Transport: wire(func(r *http.Request) io.ReadCloser {
			asked = r.URL.Scheme + "://" + r.URL.Host
			return io.NopCloser(strings.NewReader(geminitest.Text("Hello.").Body))
		})}
		m, err := gemini.New(flash, secret.New("k"), append(opts, gemini.HTTPClient(client))...)
		if err != nil {
			t.Fatal(err)
		}
		if r := modeltest.Call(t.Context(), m, hello()); r.Err != nil || asked != want {
			t.Errorf("asked %s, want %s: %v", asked, want, r.Err)
		}
	}
}

// Each call to Vertex AI asks for a token. If there is none, the call fails with the reason.
func TestVertexTokens(t *testing.T) {
	t.Parallel()
	server := geminitest.Start(geminitest.Text("Hello."))
	t.Cleanup(server.Close)
	ask := func(token gemini.TokenSource) modeltest.Read {
		m, err := gemini.New(flash, secret.Secret{}, gemini.Vertex("p", "us", token), gemini.BaseURL(server.URL), gemini.HTTPClient(server.Client()))
		if err != nil {
			t.Fatal(err)
		}
		return modeltest.Call(t.Context(), m, hello())
	}
	if r := ask(func(context.Context) (string, error) { return geminitest.Token, nil }); r.Err != nil {
		t.Error(r.Err)
	}
	if e := failed(t, ask(func(context.Context) (string, error) { return "ya29.old-0123456789", nil })); e.Kind != event.ErrModelAuth {
		t.Error(e)
	}
	e := failed(t, ask(func(context.Context) (string, error) { return "", errors.New("no credentials") }))
	if e.Kind != event.ErrModelAuth || !strings.Contains(e.Hint, "credentials") || len(server.Asked()) != 2 {
		t.Error(e, len(server.Asked()))
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	key := secret.New("AIzaKey")
	for name, tc := range map[string]struct {
		name string
		key  secret.Secret
		opt  gemini.Option
		want event.ErrorKind
	}{
		"no key":            {flash, secret.Secret{}, nil, event.ErrModelAuth},
		"no key for Vertex": {flash, secret.Secret{}, gemini.Vertex("p", "global", nil), event.ErrModelAuth},
		"no name":           {"", key, nil, event.ErrInvalid},
		"a strange one":     {"gemini\nx", key, nil, event.ErrInvalid},
		"a path":            {"a/../b", key, nil, event.ErrInvalid},
		"a query":           {"gemini?x", key, nil, event.ErrInvalid},
		"an address":        {flash, key, gemini.BaseURL("host"), event.ErrInvalid},
		"a client":          {flash, key, gemini.HTTPClient(nil), event.ErrInvalid},
		"a stall":           {flash, key, gemini.Stall(-1), event.ErrInvalid},
		"a level":           {flash, key, gemini.ThinkingLevel("DEEP"), event.ErrInvalid},
		"a level before 3":  {"gemini-2.5-pro", key, gemini.ThinkingLevel(gemini.LevelLow), event.ErrInvalid},
		"half a setting":    {flash, key, gemini.Safety(gemini.SafetySetting{Category: "HARM_CATEGORY_HARASSMENT"}), event.ErrInvalid},
		"a cache":           {flash, key, gemini.CachedContent("mine"), event.ErrInvalid},
		"a project":         {flash, key, gemini.Vertex("a b", "global", nil), event.ErrInvalid},
		"a location":        {flash, key, gemini.Vertex("p", "host/", nil), event.ErrInvalid},
	} {
		var opts []gemini.Option
		if tc.opt != nil {
			opts = append(opts, tc.opt)
		}
		m, err := gemini.New(tc.name, tc.key, opts...)
		var e *event.Error
		if m != nil || !errors.As(err, &e) || e.Kind != tc.want || e.Hint == "" || strings.Contains(err.Error(), "AIza") {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
}

// wire is a transport in memory, for tests with a synthetic clock.
type wire func(*http.Request) io.ReadCloser

func (w wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: w(r), Request: r,
		ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

// paced returns one piece per read, after a pause. Then it stays silent or ends.
type paced struct {
	ctx    context.Context
	pieces []string
	pause  time.Duration
	ends   bool
}

func (p *paced) Read(b []byte) (int, error) {
	if len(p.pieces) == 0 {
		if p.ends {
			return 0, io.EOF
		}
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

// Only silence of the API ends a call. Long answers and slow readers do not. After the finish
// reason more may come, but not for ever.
func TestStall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		whole := geminitest.Text("one ", "two ", "three").Body
		events := strings.SplitAfter(whole, "\r\n\r\n")
		events = events[:len(events)-1]
		call := func(stall, pause, reader time.Duration, ends bool, pieces []string) (modeltest.Read, time.Duration) {
			client := &http.Client{Timeout: time.Second, Transport: wire(func(r *http.Request) io.ReadCloser {
				return &paced{ctx: r.Context(), pieces: append([]string(nil), pieces...), pause: pause, ends: ends}
			})}
			m, err := gemini.New(flash, secret.New("k"), gemini.HTTPClient(client), gemini.Stall(stall))
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
		if r, took := call(time.Minute, 59*time.Second, 0, true, events); r.Err != nil || took != 4*59*time.Second {
			t.Errorf("a slow answer: %v after %v", r.Err, took)
		}
		if r, _ := call(time.Minute, time.Second, time.Hour, true, events); r.Err != nil {
			t.Errorf("a slow reader: %v", r.Err)
		}
		if r, took := call(0, 24*time.Hour, 0, true, events); r.Err != nil || took < 24*time.Hour {
			t.Errorf("no bound: %v after %v", r.Err, took)
		}
		r, took := call(time.Minute, time.Second, 0, false, events[:3])
		e := failed(t, r)
		if want := 3*time.Second + time.Minute; took != want || e.Kind != event.ErrStreamCut || e.Code != "stall" || !strings.Contains(e.Message, "1m0s") {
			t.Errorf("a stall after %v, want %v: %v", took, want, e)
		}
		// The server does not close the stream after its end.
		r, took = call(time.Minute, time.Second, 0, false, events)
		if r.Err != nil || r.Stops != 1 || took != 4*time.Second+2*time.Second {
			t.Errorf("a stream that stays open: %v after %v", r.Err, took)
		}
		// More text follows a finish reason.
		r, _ = call(time.Minute, time.Second, 0, false, append([]string{events[3]}, events...))
		if text := event.TextOf(r.Content); r.Err != nil || r.Stops != 1 || text != "one two three" {
			t.Errorf("a reason in the middle: %v, %q", r.Err, text)
		}
	})
}

// The connection is used again after a complete answer.
func TestConnectionsAreUsedAgain(t *testing.T) {
	t.Parallel()
	const calls = 20
	answers := make([]geminitest.Answer, calls)
	for i := range answers {
		answers[i] = geminitest.Text("Hello.")
	}
	m, server := open(t, flash, nil, answers...)
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
