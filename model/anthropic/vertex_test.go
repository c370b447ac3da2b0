package anthropic_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/anthropic"
	"github.com/braidrun/braid/model/anthropic/anthropictest"
	"github.com/braidrun/braid/model/modeltest"
)

// openVertex makes a model that asks a server that is Vertex AI.
func openVertex(tb testing.TB, name string, opts []anthropic.Option, answers ...anthropictest.Answer) (*anthropic.Model, *anthropictest.Server) {
	tb.Helper()
	server := anthropictest.StartVertex(answers...)
	tb.Cleanup(server.Close)
	opts = append([]anthropic.Option{anthropic.BaseURL(server.URL), anthropic.HTTPClient(server.Client())}, opts...)
	m, err := anthropic.NewVertex(name, anthropictest.VertexProject, anthropictest.VertexLocation, anthropictest.Token, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return m, server
}

func TestVertexContract(t *testing.T) {
	t.Parallel()
	for name, cache := range map[string]anthropic.CachePoints{"claude-sonnet-5-5": anthropic.CacheAuto, "claude-haiku-4-5@20251001": anthropic.CacheExplicit} {
		t.Run(name+" "+string(cache), func(t *testing.T) {
			t.Parallel()
			p := provider("Claude on Vertex AI", anthropic.CacheExplicit)
			p.Without = append(p.Without, modeltest.ImageURLs)
			if name == sonnet {
				p.Without = append(p.Without, modeltest.ToolChoice)
			}
			p.LargestImage = 5 << 20 / 4 * 3
			p.Open = func(tb testing.TB, answers ...modeltest.Answer) (model.Model, modeltest.Peer) {
				tb.Helper()
				list := modeltest.Each(answers, onVertex)
				m, server := openVertex(tb, name, []anthropic.Option{anthropic.Stall(modeltest.Silence), anthropic.Cache(cache)}, list...)
				return m, peer{server}
			}
			modeltest.Run(t, p)
		})
	}
}

// Google's words for what the contract wants to go wrong (as users have published them); what
// Claude refuses is in Claude's words.
var googleFaults = map[modeltest.Fault]struct {
	status        int
	kind, message string
}{
	modeltest.Throttled: {
		http.StatusTooManyRequests, "RESOURCE_EXHAUSTED",
		"Quota exceeded for aiplatform.googleapis.com/online_prediction_requests_per_base_model with base model: anthropic-claude-sonnet-5-5. " +
			"Please submit a quota increase request. https://cloud.google.com/vertex-ai/docs/generative-ai/quotas-genai.",
	},
	modeltest.Overloaded:      {http.StatusServiceUnavailable, "UNAVAILABLE", "The service is currently unavailable."},
	modeltest.Unavailable:     {http.StatusInternalServerError, "INTERNAL", "Internal error encountered."},
	modeltest.Unauthenticated: {http.StatusUnauthorized, "UNAUTHENTICATED", "Request had invalid authentication credentials."},
	modeltest.Forbidden:       {http.StatusForbidden, "PERMISSION_DENIED", "Permission 'aiplatform.endpoints.predict' denied on resource."},
	modeltest.UnknownModel: {
		http.StatusNotFound, "NOT_FOUND", "Publisher Model `projects/p/locations/us-east5/publishers/anthropic/models/x` was not found or your project does not have access to it.",
	},
	modeltest.TooLarge: {http.StatusBadRequest, "INVALID_ARGUMENT", "Request payload size exceeds the limit: 31457280 bytes."},
}

func onVertex(a *modeltest.Answer) anthropictest.Answer {
	if f, ok := googleFaults[a.Fault]; ok {
		e := anthropictest.VertexError(f.status, f.kind, f.message)
		if a.RetryAfter > 0 {
			e.Header["Retry-After"] = strconv.Itoa(int(a.RetryAfter.Seconds()))
		}
		return e
	}
	return onWire(a)
}

// What Google says becomes a kind of ours, with the next step.
func TestVertexFailures(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status        int
		kind, message string
		want          event.ErrorKind
		says, hint    string
	}{
		{401, "UNAUTHENTICATED", "Request had invalid authentication credentials.", event.ErrModelAuth, "invalid authentication", "GOOGLE_APPLICATION_CREDENTIALS"},
		{
			403, "PERMISSION_DENIED", "Permission 'aiplatform.endpoints.predict' denied on resource '//aiplatform.googleapis.com/projects/x' (or it may not exist).",
			event.ErrModelAuth, "aiplatform.endpoints.predict", "GOOGLE_CLOUD_PROJECT",
		},
		{
			403, "PERMISSION_DENIED", "Vertex AI API has not been used in project 1234 before or it is disabled.",
			event.ErrModelAuth, "not enabled", "gcloud services enable",
		},
		{
			400, "FAILED_PRECONDITION", "Project `1234` is not allowed to use Publisher Model `projects/p/locations/l/publishers/anthropic/models/claude-3-sonnet@20240229`",
			event.ErrModelAuth, "may not use the model", "Model Garden",
		},
		{
			404, "NOT_FOUND", "Publisher Model `projects/p/locations/l/publishers/anthropic/models/x` was not found or your project does not have access to it.",
			event.ErrModelNotFound, `in the location "us-east5"`, "GOOGLE_CLOUD_LOCATION",
		},
		{400, "FAILED_PRECONDITION", "Publisher Model x is not servable in region us-east5.", event.ErrModelNotFound, "not servable", "GOOGLE_CLOUD_LOCATION"},
		{429, "RESOURCE_EXHAUSTED", "Quota exceeded for aiplatform.googleapis.com/x with base model: y.", event.ErrThrottled, "Quota exceeded", "GOOGLE_CLOUD_LOCATION=global"},
		{503, "UNAVAILABLE", "x", event.ErrOverloaded, "x", "again"},
		{500, "INTERNAL", "x", event.ErrUnavailable, "x", "again"},
		{504, "DEADLINE_EXCEEDED", "x", event.ErrUnavailable, "x", "again"},
		{499, "CANCELLED", "x", event.ErrUnavailable, "x", "again"},
		{400, "INVALID_ARGUMENT", "Request payload size exceeds the limit: 31457280 bytes.", event.ErrTooLarge, "too large", "smaller"},
		{400, "INVALID_ARGUMENT", "prompt is too long: 5 tokens > 4 maximum", event.ErrContextOverflow, "5 tokens", "shorten"},
		{400, "INVALID_ARGUMENT", "Invalid resource field value in the request: projects/test-project.", event.ErrInvalid, "Invalid resource", "GOOGLE_CLOUD_PROJECT"},
		{400, "INVALID_ARGUMENT", "no", event.ErrInvalid, "no", "fit"},
		{418, "", "x", event.ErrInvalid, "x", "fit"},
	} {
		for form, answer := range map[string]anthropictest.Answer{
			"a list": anthropictest.VertexError(tc.status, tc.kind, tc.message), "an object": plainly(anthropictest.VertexError(tc.status, tc.kind, tc.message)),
		} {
			m, server := openVertex(t, sonnet, nil, answer)
			e := failed(t, modeltest.Call(t.Context(), m, hello()))
			if e.Kind != tc.want || e.Code != tc.kind || !strings.Contains(e.Message, tc.says) || !strings.Contains(e.Hint, tc.hint) {
				t.Errorf("%s: %d %s %q: %s, code %s: %v", form, tc.status, tc.kind, tc.message, e.Kind, e.Code, e)
			}
			if n := len(server.Asked()); n != 1 {
				t.Errorf("%d requests", n)
			}
		}
	}
	// Claude's own errors come in Claude's form, before a stream and in it.
	for name, answer := range map[string]anthropictest.Answer{
		"before": anthropictest.Error(529, "overloaded_error", "Overloaded"),
		"inside": {Body: anthropictest.Begun(nil, event.Usage{}) + anthropictest.ErrorEvent("overloaded_error", "Overloaded")},
	} {
		m, _ := openVertex(t, sonnet, nil, answer)
		if e := failed(t, modeltest.Call(t.Context(), m, hello())); e.Kind != event.ErrOverloaded || !strings.Contains(e.Message, "Vertex AI is overloaded") {
			t.Errorf("%s: %v", name, e)
		}
	}
}

// plainly is an error of Google's without the list.
func plainly(a anthropictest.Answer) anthropictest.Answer {
	a.Body = strings.TrimSuffix(strings.TrimPrefix(a.Body, "["), "]")
	return a
}

// The stand-in refuses what Vertex AI refuses, and the model says what to do.
func TestVertexRefusals(t *testing.T) {
	t.Parallel()
	server := anthropictest.StartVertex()
	t.Cleanup(server.Close)
	give := func(token string, err error) func(context.Context) (string, error) {
		return func(context.Context) (string, error) { return token, err }
	}
	for name, tc := range map[string]struct {
		model, project, location string
		token                    func(context.Context) (string, error)
		want                     event.ErrorKind
		hint                     string
	}{
		"a wrong token":    {sonnet, anthropictest.VertexProject, anthropictest.VertexLocation, give("ya29.other", nil), event.ErrModelAuth, "gcloud auth"},
		"no token":         {sonnet, anthropictest.VertexProject, anthropictest.VertexLocation, give("", nil), event.ErrModelAuth, "gcloud auth"},
		"no credentials":   {sonnet, anthropictest.VertexProject, anthropictest.VertexLocation, give("", errors.New("gone")), event.ErrModelAuth, "gcloud auth"},
		"another project":  {sonnet, "other", anthropictest.VertexLocation, anthropictest.Token, event.ErrModelAuth, "GOOGLE_CLOUD_PROJECT"},
		"another location": {sonnet, anthropictest.VertexProject, "europe-west1", anthropictest.Token, event.ErrModelNotFound, "GOOGLE_CLOUD_LOCATION"},
		"no date":          {"claude-haiku-4-5", anthropictest.VertexProject, anthropictest.VertexLocation, anthropictest.Token, event.ErrModelNotFound, "Model Garden"},
	} {
		m, err := anthropic.NewVertex(tc.model, tc.project, tc.location, tc.token, anthropic.BaseURL(server.URL), anthropic.HTTPClient(server.Client()))
		if err != nil {
			t.Fatal(err)
		}
		e := failed(t, modeltest.Call(t.Context(), m, hello()))
		if e.Kind != tc.want || !strings.Contains(e.Hint, tc.hint) || strings.Contains(e.Message+e.Hint, "ya29") {
			t.Errorf("%s: %s: %v", name, e.Kind, e)
		}
	}
}

// Each location has its host; the model stands in the path, and nowhere else.
func TestVertexAddresses(t *testing.T) {
	t.Parallel()
	for location, host := range map[string]string{
		"global": "aiplatform.googleapis.com", "us": "aiplatform.us.rep.googleapis.com", "eu": "aiplatform.eu.rep.googleapis.com",
		"us-east5": "us-east5-aiplatform.googleapis.com", "europe-west1": "europe-west1-aiplatform.googleapis.com",
	} {
		var asked *http.Request
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			asked = r
			return nil, errors.New("no network")
		})}
		m, err := anthropic.NewVertex("claude-haiku-4-5@20251001", "domain.com:p", location, anthropictest.Token, anthropic.HTTPClient(client))
		if err != nil {
			t.Fatal(err)
		}
		e := failed(t, modeltest.Call(t.Context(), m, hello()))
		want := "https://" + host + "/v1/projects/domain.com:p/locations/" + location +
			"/publishers/anthropic/models/claude-haiku-4-5@20251001:streamRawPredict"
		if asked.URL.String() != want || !strings.Contains(e.Message, host) || !strings.Contains(e.Hint, "GOOGLE_CLOUD_LOCATION") {
			t.Errorf("%s: %v", asked.URL, e)
		}
		if info := m.Info(); info.Name != "vertex:claude-haiku-4-5@20251001" || info.ContextWindow != 200_000 || !info.Output {
			t.Errorf("%+v", info)
		}
	}
	m, server := openVertex(t, sonnet, []anthropic.Option{anthropic.Cache(anthropic.CacheAuto)}, anthropictest.Text("Hello."))
	if r := modeltest.Call(t.Context(), m, hello()); r.Err != nil {
		t.Fatal(r.Err)
	}
	asked := server.Asked()[0]
	body := string(asked.Body)
	if strings.Contains(body, `"model"`) || !strings.Contains(body, `"anthropic_version":"vertex-2023-10-16"`) || !strings.Contains(body, `"stream":true`) ||
		asked.Header.Get("Anthropic-Version") != "" || strings.Contains(body, `],"cache_control"`) || !strings.HasPrefix(body, `{"messages":[`) {
		t.Errorf("%s %v", body, asked.Header)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestNewVertexRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		model, project, location string
		token                    func(context.Context) (string, error)
		opt                      anthropic.Option
		want                     event.ErrorKind
		hint                     string
	}{
		"no name":         {"", "p", "global", anthropictest.Token, nil, event.ErrInvalid, "claude"},
		"a path":          {"../x", "p", "global", anthropictest.Token, nil, event.ErrInvalid, "claude"},
		"an operation":    {"claude:predict", "p", "global", anthropictest.Token, nil, event.ErrInvalid, "claude"},
		"no project":      {sonnet, "", "global", anthropictest.Token, nil, event.ErrInvalid, "GOOGLE_CLOUD_PROJECT"},
		"a strange one":   {sonnet, "p/../q", "global", anthropictest.Token, nil, event.ErrInvalid, "GOOGLE_CLOUD_PROJECT"},
		"no location":     {sonnet, "p", "", anthropictest.Token, nil, event.ErrInvalid, "GOOGLE_CLOUD_LOCATION"},
		"a host":          {sonnet, "p", "evil.example.com/", anthropictest.Token, nil, event.ErrInvalid, "GOOGLE_CLOUD_LOCATION"},
		"nobody":          {sonnet, "p", "global", nil, nil, event.ErrModelAuth, "gcloud auth"},
		"a version":       {sonnet, "p", "global", anthropictest.Token, anthropic.Version("2026-10-21"), event.ErrInvalid, "version"},
		"a strange stall": {sonnet, "p", "global", anthropictest.Token, anthropic.Stall(-1), event.ErrInvalid, "duration"},
	} {
		var opts []anthropic.Option
		if tc.opt != nil {
			opts = append(opts, tc.opt)
		}
		m, err := anthropic.NewVertex(tc.model, tc.project, tc.location, tc.token, opts...)
		var e *event.Error
		if m != nil || !errors.As(err, &e) || e.Kind != tc.want || !strings.Contains(e.Hint, tc.hint) {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
}

// What Vertex AI does not have is an error before anything is sent.
func TestVertexHasLess(t *testing.T) {
	t.Parallel()
	m, server := openVertex(t, "claude-opus-4-7", nil)
	warm := hello()
	temperature := 1.0
	warm.Options.Temperature = &temperature
	with := func(b event.Block) *model.Request {
		r := hello()
		r.Messages[0].Content = append(r.Messages[0].Content, b)
		return r
	}
	for name, req := range map[string]*model.Request{
		"an image's address": with(&event.Image{URL: "https://example.com/x.png"}), "a document's": with(&event.Document{URL: "https://example.com/x.pdf"}),
		"an uploaded image": with(&event.Image{URL: "anthropic-file:file_1"}), "a temperature": warm,
	} {
		if e := failed(t, modeltest.Call(t.Context(), m, req)); e.Kind != event.ErrUnsupported || e.Hint == "" || !strings.Contains(e.Message, "Vertex AI") {
			t.Errorf("%s: %v", name, e)
		}
	}
	if n := len(server.Asked()); n != 0 {
		t.Errorf("%d requests", n)
	}
	older, server := openVertex(t, "claude-haiku-4-5@20251001", nil, anthropictest.Text("a"))
	if r := modeltest.Call(t.Context(), older, warm); r.Err != nil || !strings.Contains(string(server.Asked()[0].Body), `"temperature":1`) {
		t.Errorf("%v", r.Err)
	}
}

// Each call asks for a token: one that is replaced is used at once.
func TestVertexTokensAreReplaced(t *testing.T) {
	t.Parallel()
	var sent []string
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		sent = append(sent, r.Header.Get("Authorization"))
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte(anthropictest.Text("a").Body))
	})
	n := 0
	m, err := anthropic.NewVertex(sonnet, "p", "global", func(context.Context) (string, error) { n++; return "t" + strconv.Itoa(n), nil },
		anthropic.BaseURL(s.URL), anthropic.HTTPClient(s.Client()), anthropic.Stall(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if r := modeltest.Call(t.Context(), m, hello()); r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	if !slices.Equal(sent, []string{"Bearer t1", "Bearer t2"}) {
		t.Errorf("%v", sent)
	}
}
