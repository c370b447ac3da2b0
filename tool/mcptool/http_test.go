package mcptool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/oauth2"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool/mcptool"
)

// house is an address behind which the server can change.
type house struct {
	*httptest.Server
	mu sync.Mutex
	h  http.Handler
}

func (h *house) move(in http.Handler) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.h = in
}

func newHouse(t *testing.T, in http.Handler) *house {
	t.Helper()
	h := &house{h: in}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		in := h.h
		h.mu.Unlock()
		in.ServeHTTP(w, r)
	}))
	t.Cleanup(h.Close)
	return h
}

// handler serves s, and at the end closes the sessions that nobody ended
// because the server was put aside.
func handler(t *testing.T, s *mcp.Server, o *mcp.StreamableHTTPOptions) http.Handler {
	t.Helper()
	t.Cleanup(func() {
		for one := range s.Sessions() {
			_ = one.Close()
		}
	})
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, o)
}

func at(h *house) mcptool.Config { return mcptool.Config{Name: "web", URL: h.URL} }

// A new server knows nothing of old sessions, and says 404.
func TestAServerThatIsStartedAgainBetweenCalls(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]*mcp.StreamableHTTPOptions{
		"sessions": {}, "sessions, json": {JSONResponse: true}, "stateless": {Stateless: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, handler(t, offering("first", "who"), o))
			s := connect(t, patient(), at(h))
			who := toolOf(t, s, "who")
			for _, next := range []string{"second", "third"} {
				h.move(handler(t, offering(next, "who", "more"), o))
				h.CloseClientConnections()
				moment(t)
				out, err := who.Call(t.Context(), nil)
				if err != nil || event.TextOf(out.Content) != next+" who" {
					t.Fatalf("%s: %+v, %v (%v)", next, out, err, cause(err))
				}
			}
			if name != "stateless" && len(s.Tools()) != 2 {
				t.Errorf("the tools of the new server were not listed: %q", names(s))
			}
		})
	}
}

// What servers say of a session that they do not know: with and without the
// words of the protocol, and as the TypeScript SDK and its examples do.
func TestAServerThatHasForgottenTheSession(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		again  bool
	}{
		"404":                       {404, ``, true},
		"404 with words":            {404, `{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}`, true},
		"400 of the examples":       {400, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}`, true},
		"400 for another reason":    {400, `{"jsonrpc":"2.0","error":{"code":-32602,"message":"zebra is missing"},"id":null}`, false},
		"forgotten again and again": {404, `{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inner := handler(t, offering("web", "x"), nil)
			var refused atomic.Int64
			h := newHouse(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				r.Body = io.NopCloser(strings.NewReader(string(body)))
				if strings.Contains(string(body), `"tools/call"`) && (refused.Add(1) == 1 || !c.again) {
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(c.status)
					fmt.Fprint(w, c.body)
					return
				}
				inner.ServeHTTP(w, r)
			}))
			s := connect(t, patient(), at(h))
			out, err := call(t, s, "x", "{}")
			switch {
			case c.again:
				if err != nil || event.TextOf(out.Content) != "web x" {
					t.Errorf("%+v, %v (%v)", out, err, cause(err))
				}
			case c.status == 400:
				if err != nil || !out.IsError || event.TextOf(out.Content) != "Error: zebra is missing" || refused.Load() != 1 {
					t.Errorf("%+v, %v (%v)", out, err, cause(err))
				}
			default:
				if !strings.Contains(fmt.Sprint(err), "has forgotten its session") || refused.Load() != 3 {
					t.Errorf("%+v, %v after %d tries", out, err, refused.Load())
				}
			}
		})
	}
}

// The port is dead for a while: what was not sent is sent later.
func TestAServerThatIsAwayForAMoment(t *testing.T) {
	t.Parallel()
	for _, o := range []*mcp.StreamableHTTPOptions{{}, {Stateless: true}} {
		h := newHouse(t, handler(t, offering("first", "who"), o))
		way := &road{}
		t.Cleanup(way.base.CloseIdleConnections)
		options := patient()
		options.Transport = way
		s := connect(t, options, at(h))
		who := toolOf(t, s, "who")
		way.closed.Store(2)
		out, err := who.Call(t.Context(), nil)
		if err != nil || event.TextOf(out.Content) != "first who" {
			t.Errorf("after a moment: %+v, %v (%v)", out, err, cause(err))
		}
		way.closed.Store(1000)
		if _, err := who.Call(t.Context(), nil); event.KindOf(err) != event.ErrUnavailable || !strings.Contains(err.Error(), "cannot be reached") {
			t.Errorf("while it is away: %v", err)
		}
		if n := 1000 - way.closed.Load(); n < 3 || n > 20 {
			t.Errorf("it was tried %d times", n)
		}
		way.closed.Store(0)
		_ = s.Close()
	}
}

// road is a way to servers that is closed for some requests.
type road struct {
	closed atomic.Int64
	base   http.Transport
}

func (r *road) RoundTrip(req *http.Request) (*http.Response, error) {
	if r.closed.Load() > 0 {
		r.closed.Add(-1)
		return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	}
	return r.base.RoundTrip(req)
}

// A server that is not there, at a port where nobody listens.
func TestAServerThatIsNotThere(t *testing.T) {
	t.Parallel()
	h := newHouse(t, http.NotFoundHandler())
	c := at(h)
	h.Close()
	_, err := mcptool.Connect(t.Context(), patient(), c)
	if event.KindOf(err) != event.ErrUnavailable || !strings.Contains(err.Error(), "cannot be reached") {
		t.Errorf("%v (%v)", err, cause(err))
	}
}

// A call that may have been carried out is not repeated, unless it may be.
func TestACutInTheMiddleOfACall(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tool    string
		trusted bool
		calls   int64
	}{{"echo", false, 1}, {"read", false, 1}, {"read", true, 3}, {"put", true, 3}} {
		inner := handler(t, everything(nil), &mcp.StreamableHTTPOptions{Stateless: true})
		var calls atomic.Int64
		h := newHouse(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if strings.Contains(string(body), `"tools/call"`) {
				calls.Add(1)
				hijack, _ := w.(http.Hijacker)
				conn, _, err := hijack.Hijack()
				if err == nil {
					_ = conn.Close()
				}
				return
			}
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			inner.ServeHTTP(w, r)
		}))
		o := patient()
		if c.trusted {
			o.Trusted = []string{"web"}
		}
		s := connect(t, o, at(h))
		_, err := call(t, s, c.tool, "{}")
		if event.KindOf(err) != event.ErrUnavailable || !strings.Contains(err.Error(), "may have taken effect or not") {
			t.Errorf("%+v: %v", c, err)
		}
		if n := calls.Load(); n != c.calls {
			t.Errorf("%+v: %d calls reached the server", c, n)
		}
		_ = s.Close()
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]struct {
		kind  event.ErrorKind
		words string
		state mcptool.State
	}{
		400: {event.ErrUnavailable, "status 400", mcptool.StateFailed},
		401: {event.ErrUnauthenticated, "credential", mcptool.StateNeedsAuth},
		403: {event.ErrPermission, "does not allow", mcptool.StateFailed},
		404: {event.ErrNotFound, "not at its address", mcptool.StateFailed},
		405: {event.ErrNotFound, "not at its address", mcptool.StateFailed},
		429: {event.ErrThrottled, "fewer requests", mcptool.StateFailed},
		500: {event.ErrUnavailable, "status 500", mcptool.StateFailed},
		503: {event.ErrUnavailable, "status 503", mcptool.StateFailed},
		200: {event.ErrUnavailable, "broke the connection", mcptool.StateFailed}, // a web page
		302: {event.ErrPermission, "another address", mcptool.StateFailed},
	} {
		h := newHouse(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
			w.WriteHeader(status)
			fmt.Fprint(w, "<html>secret words</html>")
		}))
		s, err := mcptool.Reach(t.Context(), patient(), at(h))
		if err != nil {
			t.Fatal(err)
		}
		st := s.Status()[0]
		if event.KindOf(st.Err) != want.kind || !strings.Contains(st.Err.Error(), want.words) || st.State != want.state {
			t.Errorf("%d: %s %v (%v)", status, st.State, st.Err, cause(st.Err))
		}
		if strings.Contains(st.Err.Error(), "secret") || strings.Contains(st.Err.Error(), "127.0.0.1") {
			t.Errorf("%d: the error shows too much: %v", status, st.Err)
		}
		_ = s.Close()
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	inner := handler(t, offering("web", "x"), nil)
	h := newHouse(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer key" || r.Header.Get("X-Tenant") != "a" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	c := at(h)
	if _, err := mcptool.Connect(t.Context(), patient(), c); event.KindOf(err) != event.ErrUnauthenticated {
		t.Errorf("without: %v", err)
	}
	c.Headers = hidden(map[string]string{"authorization": "Bearer key", "X-Tenant": "a"})
	if got := text(t, connect(t, patient(), c), "x", "{}"); got != "web x" {
		t.Errorf("with: %q", got)
	}
}

// A redirect on the same host is followed, with the message; one to another
// host is not, and no header reaches that.
func TestRedirects(t *testing.T) {
	t.Parallel()
	var strangers atomic.Int64
	other := newHouse(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strangers.Add(1) }))
	inner := handler(t, offering("web", "x"), nil)
	h := newHouse(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/mcp":
			http.Redirect(w, r, "/mcp/", http.StatusTemporaryRedirect)
		case "/mcp/":
			inner.ServeHTTP(w, r)
		default:
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		}
	}))
	c := at(h)
	c.Headers = hidden(map[string]string{"Authorization": "Bearer key"})
	c.URL = h.URL + "/mcp"
	if got := text(t, connect(t, patient(), c), "x", "{}"); got != "web x" {
		t.Errorf("on the same host: %q", got)
	}
	c.URL = h.URL + "/away"
	if _, err := mcptool.Connect(t.Context(), patient(), c); event.KindOf(err) != event.ErrPermission {
		t.Errorf("to another host: %v (%v)", err, cause(err))
	}
	// The older transport is told where to send messages.
	sse := newHouse(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "event: endpoint\ndata: %s/post\n\n", other.URL)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	c = at(sse)
	c.SSE, c.Headers = true, hidden(map[string]string{"Authorization": "Bearer key"})
	o := patient()
	o.ConnectTimeout = 2 * time.Second
	if _, err := mcptool.Connect(t.Context(), o, c); event.KindOf(err) != event.ErrPermission {
		t.Errorf("messages elsewhere: %v (%v)", err, cause(err))
	}
	if n := strangers.Load(); n != 0 {
		t.Errorf("%d requests reached another host", n)
	}
}

// A hundred megabytes, as one answer and as one event of a stream.
func TestAnAnswerOfAHundredMegabytes(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"application/json", "text/event-stream"} {
		inner := handler(t, everything(nil), &mcp.StreamableHTTPOptions{Stateless: true})
		var sent atomic.Int64
		h := newHouse(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			if !strings.Contains(string(body), `"tools/call"`) {
				inner.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Type", kind)
			if kind != "application/json" {
				fmt.Fprint(w, "id: 7\ndata: ")
			}
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"`)
			n, _ := io.Copy(w, io.LimitReader(zeros{}, 100<<20))
			sent.Store(n)
		}))
		s := connect(t, patient(), at(h))
		_, err := call(t, s, "echo", "{}")
		if event.KindOf(err) != event.ErrTooLarge || !strings.Contains(err.Error(), "more than 16777216 bytes") {
			t.Errorf("%s: %v (%v)", kind, err, cause(err))
		}
		eventually(t, "the server gave up", func() bool { return sent.Load() > 0 })
		if n := sent.Load(); n > 40<<20 {
			t.Errorf("%s: %d bytes were taken", kind, n)
		}
		_ = s.Close()
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	t.Parallel()
	inner := handler(t, everything(nil), &mcp.StreamableHTTPOptions{Stateless: true})
	for name, answer := range map[string]func(w http.ResponseWriter, r *http.Request){
		"a web page": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
		"half of JSON": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"json`)
		},
		"an empty stream": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "text/event-stream") },
		"a stream of nothing": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, ": hello\n\ndata: not JSON\n\n")
		},
		"another's answer": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, `data: {"jsonrpc":"2.0","id":"other","result":{"content":[{"type":"text","text":"not yours"}]}}`+"\n\n")
		},
		"a gateway's error": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
	} {
		h := newHouse(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			if strings.Contains(string(body), `"tools/call"`) {
				answer(w, r)
				return
			}
			inner.ServeHTTP(w, r)
		}))
		s := connect(t, patient(), at(h))
		out, err := call(t, s, "echo", "{}")
		if event.KindOf(err) != event.ErrUnavailable || !strings.Contains(err.Error(), "may have taken effect or not") || len(out.Content) > 0 {
			t.Errorf("%s: %+v, %v (%v)", name, out, err, cause(err))
		}
		_ = s.Close()
	}
}

// keyring is an authorization that gets its token when it is asked for one.
type keyring struct{ asked atomic.Int64 }

func (k *keyring) TokenSource(context.Context) (oauth2.TokenSource, error) {
	if k.asked.Load() == 0 {
		return nil, nil // the SDK's word for: no token yet
	}
	return oauth2.StaticTokenSource(&oauth2.Token{AccessToken: "fresh"}), nil
}

func (k *keyring) Authorize(_ context.Context, _ *http.Request, resp *http.Response) error {
	k.asked.Add(1)
	return resp.Body.Close()
}

func TestOAuth(t *testing.T) {
	t.Parallel()
	inner := handler(t, offering("web", "x"), nil)
	h := newHouse(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer fresh" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	k := &keyring{}
	o := patient()
	o.OAuth = func(c mcptool.Config) auth.OAuthHandler {
		if c.Name != "web" {
			return nil
		}
		return k
	}
	if got := text(t, connect(t, o, at(h)), "x", "{}"); got != "web x" || k.asked.Load() != 1 {
		t.Errorf("%q after %d authorizations", got, k.asked.Load())
	}
}

// A guard of outgoing connections sees everything.
func TestTransport(t *testing.T) {
	t.Parallel()
	h := newHouse(t, handler(t, offering("web", "x"), nil))
	o := patient()
	o.Transport = refusing{}
	_, err := mcptool.Connect(t.Context(), o, at(h))
	if event.KindOf(err) != event.ErrUnavailable || !errors.Is(err, errRefused) {
		t.Errorf("%v", err)
	}
}

var errRefused = errors.New("not there")

type refusing struct{}

func (refusing) RoundTrip(*http.Request) (*http.Response, error) { return nil, errRefused }

// Close leaves no connection open, also to a server that would keep it.
func TestCloseEndsConnections(t *testing.T) {
	t.Parallel()
	for _, o := range []*mcp.StreamableHTTPOptions{{}, {Stateless: true, PropagateRequestCancellation: true}} {
		var open atomic.Int64
		h := handler(t, offering("web", "x"), o)
		web := httptest.NewUnstartedServer(h)
		web.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				open.Add(1)
			case http.StateClosed, http.StateHijacked:
				open.Add(-1)
			}
		}
		web.Start()
		t.Cleanup(web.Close)
		s := connect(t, patient(), mcptool.Config{Name: "web", URL: web.URL})
		if got := text(t, s, "x", "{}"); got != "web x" || open.Load() == 0 {
			t.Errorf("%q over %d connections", got, open.Load())
		}
		_ = s.Close()
		eventually(t, "all connections are closed", func() bool { return open.Load() == 0 })
	}
}

// A call with a long way to go: events before the answer, cut anywhere into
// pieces, with both kinds of line ends.
func TestStreamsInPieces(t *testing.T) {
	t.Parallel()
	inner := handler(t, everything(nil), &mcp.StreamableHTTPOptions{Stateless: true})
	for _, end := range []string{"\n", "\r\n"} {
		for _, size := range []int{1, 2, 3, 7, 1000} {
			h := newHouse(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				r.Body = io.NopCloser(strings.NewReader(string(body)))
				var m struct {
					ID     json.RawMessage `json:"id"`
					Method string          `json:"method"`
				}
				if json.Unmarshal(body, &m) != nil || m.Method != "tools/call" {
					inner.ServeHTTP(w, r)
					return
				}
				w.Header().Set("Content-Type", "text/event-stream")
				all := ": comment" + end + end +
					`data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}` + end + end +
					"event: message" + end + `data: {"jsonrpc":"2.0","id":` + string(m.ID) + `,` + end +
					`data: "result":{"content":[{"type":"text","text":"読"}],"structuredContent":{"n":9007199254740993}}}` + end + end
				for len(all) > 0 {
					n := min(size, len(all))
					fmt.Fprint(w, all[:n])
					_ = http.NewResponseController(w).Flush()
					all = all[n:]
				}
			}))
			s := connect(t, patient(), at(h))
			out, err := call(t, s, "echo", "{}")
			if err != nil || event.TextOf(out.Content) != "読" || string(out.Structured) != `{"n":9007199254740993}` {
				t.Errorf("%q in pieces of %d: %+v, %v (%v)", end, size, out, err, cause(err))
			}
			_ = s.Close()
		}
	}
}
