package anthropic_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/race"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/anthropic"
	"github.com/braidrun/braid/model/anthropic/anthropictest"
	"github.com/braidrun/braid/model/modeltest"
	"github.com/braidrun/braid/secret"
)

// places opens a model at an address on each platform.
func places(t *testing.T, address string, client *http.Client, opts ...anthropic.Option) map[string]*anthropic.Model {
	t.Helper()
	opts = append([]anthropic.Option{anthropic.BaseURL(address), anthropic.HTTPClient(client)}, opts...)
	own, err := anthropic.New(sonnet, secret.New(anthropictest.Key), opts...)
	if err != nil {
		t.Fatal(err)
	}
	credentials := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "AKIATEST000000000000", SecretAccessKey: "secret"}, nil
	})
	amazon, err := anthropic.NewBedrock(haiku, aws.Config{Region: "us-east-1", Credentials: credentials}, opts...)
	if err != nil {
		t.Fatal(err)
	}
	google, err := anthropic.NewVertex(sonnet, anthropictest.VertexProject, anthropictest.VertexLocation, anthropictest.Token, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*anthropic.Model{"api": own, "bedrock": amazon, "vertex": google}
}

// variables are what the hints name where the address is wrong.
var variables = map[string]string{
	"api": "ANTHROPIC_BASE_URL", "bedrock": "AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "vertex": "GOOGLE_CLOUD_LOCATION",
}

// textOf is the text of an answer.
func textOf(r modeltest.Read) string {
	var b strings.Builder
	for _, c := range r.Content {
		if text, ok := c.(*event.Text); ok {
			b.WriteString(text.Text)
		}
	}
	return b.String()
}

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// What goes out beside the body: nothing that the SDK would add.
func TestTheHeader(t *testing.T) {
	t.Parallel()
	var got http.Header
	var path string
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got, path = r.Header.Clone(), r.URL.EscapedPath()
		w.WriteHeader(http.StatusTeapot)
	})
	for name, want := range map[string]struct {
		path  string
		names []string
	}{
		"api": {"/gateway/v1/messages", []string{"Accept", "Accept-Encoding", "Anthropic-Version", "Authorization", "Content-Length", "Content-Type", "User-Agent"}},
		"bedrock": {
			"/gateway/model/us.anthropic.claude-haiku-4-5-20251001-v1:0/invoke-with-response-stream",
			[]string{"Accept", "Accept-Encoding", "Authorization", "Content-Length", "Content-Type", "User-Agent", "X-Amz-Date"},
		},
		"vertex": {
			"/gateway/v1/projects/test-project/locations/us-east5/publishers/anthropic/models/claude-sonnet-5-5:streamRawPredict",
			[]string{"Accept", "Accept-Encoding", "Authorization", "Content-Length", "Content-Type", "User-Agent"},
		},
	} {
		m := places(t, s.URL+"/gateway/", s.Client())[name]
		_ = modeltest.Call(t.Context(), m, hello())
		if path != want.path || len(got) != len(want.names) {
			t.Errorf("%s: %s %v", name, path, got)
		}
		for _, n := range want.names {
			if got.Get(n) == "" {
				t.Errorf("%s: no %s in %v", name, n, got)
			}
		}
		if got.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// endless writes until the client has gone, or a gigabyte.
func endless(w http.ResponseWriter, begin, piece string) (written int64) {
	_, _ = io.WriteString(w, begin)
	block := []byte(strings.Repeat(piece, max(1, 64<<10/len(piece))))
	for written < 1<<30 {
		n, err := w.Write(block)
		if written += int64(n); err != nil {
			break
		}
	}
	return written
}

// A server that never stops ends the call soon, and little of it is kept.
func TestBodiesWithoutEnd(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status       int
		kind         string
		begin, piece string
		most         int64
		want         event.ErrorKind
	}{
		"an error":             {400, "application/json", `{"type":"error","error":{"type":"invalid_request_error","message":"`, "long ", 8 << 20, event.ErrInvalid},
		"a page":               {200, "text/html", "<html><title>Hm</title>", "<p>hm</p>", 8 << 20, event.ErrModel},
		"an answer at once":    {200, "application/json", `{"type":"message","content":[{"type":"text","text":"`, "word ", 64 << 20, event.ErrStreamCut},
		"an event":             {200, "text/event-stream", "data: ", "long ", 64 << 20, event.ErrStreamCut},
		"spaces for an answer": {200, "application/json", "", " ", 64 << 20, event.ErrStreamCut},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var written atomic.Int64
			gone := make(chan struct{})
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				defer close(gone)
				w.Header().Set("Content-Type", tc.kind)
				w.WriteHeader(tc.status)
				written.Store(endless(w, tc.begin, tc.piece))
			})
			e := failed(t, modeltest.Call(t.Context(), places(t, s.URL, s.Client())["api"], hello()))
			<-gone
			if e.Kind != tc.want || len(e.Message) > 700 || written.Load() > tc.most {
				t.Errorf("%d bytes: %v", written.Load(), e)
			}
		})
	}
}

// Pages instead of the API: which address sent what, and which variable to look at.
func TestPages(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status     int
		kind, body string
		want       event.ErrorKind
		says       []string
	}{
		{200, "text/html; charset=utf-8", "<html><head><title>Sign in &amp; go</title>", event.ErrModel, []string{"a web page", "Sign in & go"}},
		{200, "", "hello", event.ErrModel, []string{"HOST"}},
		{200, "text/plain", "It works!\n", event.ErrModel, []string{"text/plain", "It works!"}},
		{200, "application/json", `"ok"`, event.ErrModel, []string{"application/json"}},
		{200, "application/json", `{"status":"ok"}`, event.ErrModel, []string{"application/json"}},
		{404, "text/html", "<html><title>404 Not Found</title>", event.ErrModelNotFound, []string{"status 404", "404 Not Found", "HOST"}},
		{502, "text/html", "<html><head><title>502 Bad Gateway</title></head><center>nginx</center>", event.ErrUnavailable, []string{"status 502", "Bad Gateway", "HOST"}},
		{403, "text/html", "<title>Blocked by policy</title>", event.ErrModelAuth, []string{"status 403", "Blocked by policy", "HOST"}},
		{500, "text/plain", "upstream connect error", event.ErrUnavailable, []string{"upstream connect error"}},
		{400, "", "", event.ErrInvalid, []string{"status 400"}},
	} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = []string{tc.kind}
			w.WriteHeader(tc.status)
			_, _ = io.WriteString(w, tc.body)
		})
		for name, m := range places(t, s.URL, s.Client()) {
			e := failed(t, modeltest.Call(t.Context(), m, hello()))
			if e.Kind != tc.want || !strings.Contains(e.Hint, variables[name]) {
				t.Errorf("%s, %d %q: %s: %v", name, tc.status, tc.body, e.Kind, e)
			}
			for _, says := range tc.says {
				if says == "HOST" {
					says = strings.TrimPrefix(s.URL, "http://")
				}
				if !strings.Contains(e.Message, says) {
					t.Errorf("%s, %d %q: %q is not in %v", name, tc.status, tc.body, says, e)
				}
			}
		}
	}
}

// Gateways write errors in forms of their own: what they say is shown.
func TestErrorsOfGateways(t *testing.T) {
	t.Parallel()
	for body, says := range map[string]string{
		`{"error":"no such route"}`:                                        "no such route",
		`{"message":"no Route matched"}`:                                   "no Route matched",
		`{"detail":"Not Found here"}`:                                      "Not Found here",
		`{"error":{"message":"quota of the team","code":7}}`:               "quota of the team",
		`{"error":{"type":7,"message":["x"]},"message":"two lines"}`:       "two lines",
		`{"error":null,"message":{"a":1}}`:                                 "refused the request",
		`[]`:                                                               "status 400",
		`{"error":{"message":"the key ` + anthropictest.Key + ` is old"}}`: "the key [redacted] is old",
	} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, body)
		})
		e := failed(t, modeltest.Call(t.Context(), places(t, s.URL, s.Client())["api"], hello()))
		if e.Kind != event.ErrInvalid || !strings.Contains(e.Message, says) || strings.Contains(fmt.Sprintf("%v %+v", e, e.Err), anthropictest.Key) {
			t.Errorf("%s: %v", body, e)
		}
	}
}

// A server that repeats the credential shows it to nobody, also where its form says nothing.
func TestACredentialThatIsRepeated(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, "refused: "+r.Header.Get("Authorization"))
	})
	m, err := anthropic.NewVertex(sonnet, "p", "global", func(context.Context) (string, error) { return "plain words", nil }, anthropic.BaseURL(s.URL))
	if err != nil {
		t.Fatal(err)
	}
	e := failed(t, modeltest.Call(t.Context(), m, hello()))
	if all := fmt.Sprintf("%v %+v %v", e, e.Err, errors.Unwrap(e)); e.Kind != event.ErrModelAuth || strings.Contains(all, "plain words") {
		t.Errorf("%s", all)
	}
}

// A redirect is not followed on any platform, whatever the client does, and says so.
func TestRedirects(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int64
	other := serve(t, func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) })
	for _, status := range []int{301, 302, 303, 307, 308} {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, status) })
		for name, m := range places(t, s.URL, &http.Client{Transport: s.Client().Transport}) { // one that follows
			e := failed(t, modeltest.Call(t.Context(), m, hello()))
			if e.Kind != event.ErrModel || !strings.Contains(e.Hint, variables[name]) || !strings.Contains(e.Message, "another address") {
				t.Errorf("%s, %d: %v", name, status, e)
			}
		}
	}
	if n := elsewhere.Load(); n != 0 {
		t.Errorf("%d requests elsewhere", n)
	}
}

// Streams and errors may come compressed.
func TestGzip(t *testing.T) {
	t.Parallel()
	pack := func(s string) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = io.WriteString(w, s)
		_ = w.Close()
		return b.Bytes()
	}
	fail := false
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		if fail {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write(pack(anthropictest.Error(400, "invalid_request_error", "prompt is too long: 5 tokens > 4 maximum").Body))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write(pack(anthropictest.Text("Hel", "lo.").Body))
	})
	m := places(t, s.URL, s.Client())["api"]
	if r := modeltest.Call(t.Context(), m, hello()); r.Err != nil || textOf(r) != "Hello." {
		t.Errorf("%v", r)
	}
	fail = true
	if e := failed(t, modeltest.Call(t.Context(), m, hello())); e.Kind != event.ErrContextOverflow {
		t.Errorf("%v", e)
	}
}

// An answer that came at once, as servers give it that know no streaming.
const atOnce = `{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[` +
	`{"type":"thinking","thinking":"Hm.","signature":"c2ln"},{"type":"text","text":"So \u00e9.","citations":[{"type":"char_location",` +
	`"cited_text":"q","document_title":"T","start_char_index":1,"end_char_index":2}]},` +
	`{"type":"server_tool_use","id":"s","name":"web_search","input":{"query":"x"}},` +
	`{"type":"tool_use","id":"t1","name":"add","input":{"a":1}},{"type":"tool_use","id":"t2","name":"now","input":{}}],` +
	`"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":5,"output_tokens":7,"cache_read_input_tokens":3}}`

func TestAnswersAtOnce(t *testing.T) {
	t.Parallel()
	body := atOnce
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = io.WriteString(w, body)
	})
	for name, m := range places(t, s.URL, s.Client()) {
		r := modeltest.Call(t.Context(), m, hello())
		if r.Err != nil || r.ID != "msg_1" || r.Model != "claude-x" || r.Stop != event.StopToolUse || r.Stops != 1 || r.Usage.Total != 15 {
			t.Errorf("%s: %+v", name, r)
		}
		var kinds []string
		for _, b := range r.Content {
			kinds = append(kinds, string(b.BlockKind()))
			if c, ok := b.(*event.ToolCall); ok && c.ID == "t1" && string(c.Args) != `{"a":1}` {
				t.Errorf("%s: %s", name, c.Args)
			}
		}
		if got := strings.Join(kinds, " "); got != "thinking text citation anthropic.server_tool_use tool_call tool_call" {
			t.Errorf("%s: %s", name, got)
		}
		if textOf(r) != "So é." {
			t.Errorf("%s: %q", name, textOf(r))
		}
	}
}

func TestStrangeAnswersAtOnce(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]event.ErrorKind{
		`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`:      event.ErrOverloaded,
		`{"error":{"type":"invalid_request_error","message":"prompt is too long"}}`:        event.ErrContextOverflow,
		`{"type":"message","content":[],"stop_reason":null}`:                               event.ErrStreamCut,
		`{"type":"message","content":"text","stop_reason":"end_turn"}`:                     event.ErrStreamCut,
		`{"type":"message","content":[7],"stop_reason":"end_turn"}`:                        event.ErrStreamCut,
		`{"type":"message","content":[{"type":"text","text":7}],"stop_reason":"end_turn"}`: event.ErrStreamCut,
		``:         event.ErrStreamCut,
		`null`:     event.ErrModel,
		`[]`:       event.ErrModel,
		`{}`:       event.ErrModel,
		`{"id":"`:  event.ErrStreamCut,
		"\xff\xfe": event.ErrModel,
	} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, body)
		})
		if e := failed(t, modeltest.Call(t.Context(), places(t, s.URL, s.Client())["api"], hello())); e.Kind != want {
			t.Errorf("%q: %s, want %s: %v", body, e.Kind, want, e)
		}
	}
}

// cutter answers with a piece of a body.
type cutter struct {
	kind, body string
	dropped    bool
}

func (c *cutter) RoundTrip(r *http.Request) (*http.Response, error) {
	_ = r.Body.Close()
	var in io.Reader = strings.NewReader(c.body)
	if c.dropped {
		in = io.MultiReader(in, broken{})
	}
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {c.kind}}, Body: io.NopCloser(in), Request: r, ProtoMajor: 1, ProtoMinor: 1}, nil
}

type broken struct{}

func (broken) Read([]byte) (int, error) {
	return 0, &net.OpError{Op: "read", Err: errors.New("connection reset by peer")}
}

// A body that is cut at any byte is no answer, in each form and on each platform, whether the
// connection breaks or ends in good order. Under the race detector it is cut at the ends of all
// lines and at some other bytes.
func TestCutAtAnyByte(t *testing.T) {
	t.Parallel()
	stream := anthropictest.Stream([]model.Chunk{
		{Kind: model.ChunkThinking, Text: "Hm."},
		{Kind: model.ChunkSignature, Text: "c2ln"},
		{Kind: model.ChunkText, Index: 1, Text: "So."},
		{Kind: model.ChunkCall, Index: 2, ID: "t", Text: "add"},
		{Kind: model.ChunkCallInput, Index: 2, Text: `{"a":1}`},
	}, "tool_use", event.Usage{Input: 1, Output: 1}).Body
	c := &cutter{}
	models := places(t, "http://host.example", &http.Client{Transport: c})
	for _, tc := range []struct{ name, kind, body string }{
		{"api", "text/event-stream", stream},
		{"vertex", "text/event-stream", stream},
		{"api", "application/json", atOnce},
		{"bedrock", "application/vnd.amazon.eventstream", anthropictest.Frames(stream)},
		{"bedrock", "application/json", atOnce},
	} {
		// The last line end of a stream says nothing any more.
		for n := range len(strings.TrimRight(tc.body, "\n")) {
			if race.On && n%41 > 0 {
				continue // one goroutine reads: make test-long cuts everywhere
			}
			for _, dropped := range []bool{false, true} {
				*c = cutter{tc.kind, tc.body[:n], dropped}
				r := modeltest.Call(t.Context(), models[tc.name], hello())
				e := failed(t, r)
				if r.Stops != 0 || e.Kind != event.ErrStreamCut {
					t.Fatalf("%s, %s, cut at %d of %d: %v", tc.name, tc.kind, n, len(tc.body), e)
				}
			}
		}
		*c = cutter{tc.kind, tc.body, false}
		if r := modeltest.Call(t.Context(), models[tc.name], hello()); r.Err != nil || r.Stops != 1 {
			t.Errorf("%s, %s, whole: %v", tc.name, tc.kind, r.Err)
		}
	}
}

// phase waits for the end of the call at one place of it.
type phase struct {
	at      string
	reached chan struct{}
}

func (p *phase) wait(ctx context.Context, at string) error {
	if p.at != at {
		return nil
	}
	close(p.reached)
	<-ctx.Done()
	return ctx.Err()
}

func (p *phase) RoundTrip(r *http.Request) (*http.Response, error) {
	defer r.Body.Close()
	if err := p.wait(r.Context(), "request"); err != nil {
		return nil, err
	}
	status, kind, body := 200, "text/event-stream", anthropictest.Begun([]model.Chunk{{Kind: model.ChunkText, Text: "So"}}, event.Usage{})
	switch p.at {
	case "error":
		status, kind, body = 400, "application/json", `{"type":"err`
	case "page":
		kind, body = "text/html", "<html>"
	case "at once":
		kind, body = "application/json", atOnce[:20]
	}
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {kind}}, Request: r, ProtoMajor: 1, ProtoMinor: 1,
		Body: io.NopCloser(io.MultiReader(strings.NewReader(body), waiting{p, r.Context()})),
	}, nil
}

type waiting struct {
	p   *phase
	ctx context.Context
}

func (w waiting) Read([]byte) (int, error) { return 0, w.p.wait(w.ctx, w.p.at) }

// Cancelling ends the call at each of its phases, with the error of a cancelled call; a
// stall likewise with its own.
func TestCancelAtEachPhase(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"token", "request", "error", "page", "at once", "stream"} {
		for _, stalled := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				p := &phase{at: at, reached: make(chan struct{})}
				m, err := anthropic.NewVertex(sonnet, "p", "global", func(ctx context.Context) (string, error) { return "t", p.wait(ctx, "token") },
					anthropic.HTTPClient(&http.Client{Transport: p}), anthropic.Stall(time.Minute))
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				go func() {
					<-p.reached
					if !stalled {
						cancel()
					}
				}()
				e := failed(t, modeltest.Call(ctx, m, hello()))
				want := event.ErrCancelled
				if stalled {
					want = event.ErrStreamCut
				}
				if e.Kind != want {
					t.Errorf("%s, stalled %t: %v", at, stalled, e)
				}
			})
		}
	}
}

// Connections are used again after whole answers, answers at once, errors and pages.
func TestConnectionsAreUsedAgainAfterAnything(t *testing.T) {
	t.Parallel()
	n := 0
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		n++
		switch n % 5 {
		case 0:
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, anthropictest.Text("So.").Body)
		case 1:
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, atOnce)
		case 2:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, anthropictest.Error(400, "invalid_request_error", strings.Repeat("long ", 1000)).Body)
		case 3:
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html>")
		case 4:
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"input_tokens":3,"inputTokens":3}`)
		}
	})
	m := places(t, s.URL, s.Client())["api"]
	fresh := 0
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
		if !c.Reused {
			fresh++
		}
	}})
	for i := range 20 {
		if i%5 == 3 {
			if got, err := m.CountTokens(ctx, hello()); err != nil || got != 3 {
				t.Errorf("%d, %v", got, err)
			}
			continue
		}
		_ = modeltest.Call(ctx, m, hello())
	}
	if fresh != 1 || n != 20 {
		t.Errorf("%d connections for %s requests", fresh, strconv.Itoa(n))
	}
}
