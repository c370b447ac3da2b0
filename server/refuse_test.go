package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/loopback"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/service"
)

// real gives the address of the server behind the http.Server that braid serve uses.
func (s *site) real(t *testing.T, o server.Options) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.behind(t, l, o)
	return l.Addr().String()
}

// behind serves what comes to a listener.
func (s *site) behind(t *testing.T, l net.Listener, o server.Options) {
	t.Helper()
	o.Service, o.Token, o.Tenant = s.service, secret.New(token), "default"
	handler, err := server.New(o, s.metrics)
	if err != nil {
		t.Fatal(err)
	}
	h := handler.HTTP()
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(l) }()
	t.Cleanup(func() {
		_ = h.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
}

// say sends bytes and gives the connection.
func say(t *testing.T, addr, text string) net.Conn {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return c
}

// A body that does not come holds nobody up for longer than a body may take, whether
// anybody wants it or not.
func TestASlowBody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const most = 5 * time.Second
		s := open(t, nil)
		l := loopback.Listen()
		s.behind(t, l, server.Options{BodyTime: most})
		conv := s.conversation()
		for _, c := range []struct {
			name, line, token string
			status            int
		}{
			{"a run", "POST /v1/conversations/" + conv + "/runs", token, 400},
			{"no token", "POST /v1/conversations/" + conv + "/runs", "wrong", 401},
			{"a route without a body", "POST /v1/conversations/" + conv + "/reset", token, 200},
			{"no such path", "POST /v2", token, 404},
			{"another method", "PUT /v1/conversations", token, 405},
			{"another site", "POST /v1/conversations HTTP/1.1\r\nOrigin: https://evil.example\r\nX-Rest:", token, 403},
		} {
			conn, err := l.Dial(t.Context(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			if err := conn.SetDeadline(begun.Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(conn, c.line+" HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "+c.token+
				"\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"); err != nil {
				t.Fatal(err)
			}
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			_, left := io.Copy(io.Discard, conn)
			if took := time.Since(begun); res.StatusCode != c.status || left != nil || took > most+time.Second {
				t.Errorf("%s: %s after %v, want %d; the connection ends with %v", c.name, res.Status, took, c.status, left)
			}
			_, _ = res.Body.Close(), conn.Close()
		}
	})
}

// Many headers are refused or passed over, and the server lives on.
func TestTenThousandHeaders(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	addr := s.real(t, server.Options{})
	for _, c := range []struct {
		name, header string
		status       int
	}{
		{"short", "a:\r\n", 200},
		{"long", "X-Header: " + strings.Repeat("v", 90) + "\r\n", 431},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			conn := say(t, addr, "GET /v1/models HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "+token+"\r\n")
			go func() { _, _ = io.WriteString(conn, strings.Repeat(c.header, 10_000)+"\r\n") }() // it may be cut off
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if res.StatusCode != c.status {
				t.Errorf("%s, want %d", res.Status, c.status)
			}
		})
	}
}

// Paths that are not plain are answered like every path that there is not, and nobody is
// sent elsewhere.
func TestPathsThatLeadElsewhere(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	addr := s.real(t, server.Options{})
	for _, path := range []string{
		"/v1/../etc/passwd", "/v1/conversations/../../../etc/passwd", "//v1/conversations", "/v1/./conversations", "/v1//conversations",
		"/v1/conversations/..", "/v1/conversations/%2e%2e/x", "/v1/conversations/", "/%00", "/v1/conversations/%2e%2e%2fhealthz",
	} {
		conn := say(t, addr, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "+token+"\r\n\r\n")
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		var body struct {
			Error struct {
				Code      string `json:"code"`
				RequestID string `json:"request_id"`
			} `json:"error"`
		}
		if err := json.NewDecoder(res.Body).Decode(&body); err != nil || res.StatusCode != 404 || body.Error.RequestID == "" {
			t.Errorf("%s: %s %+v %v", path, res.Status, body, err)
		}
		_ = res.Body.Close()
	}
}

func TestBodiesThatTwoReadersTakeDifferently(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	conv := "/v1/conversations/" + s.conversation()
	for _, c := range []struct{ method, path, body string }{
		{"POST", conv + "/runs", `{"user_input":"x","USER_INPUT":"y"}`},
		{"POST", conv + "/runs", `{"User_Input":"x"}`},
		{"POST", conv + "/runs", `{"user_input":"x","limits":{"max_turns":1,"Max_Turns":2}}`},
		{"POST", conv + "/runs", `{"user_input":"x","limits":{"max_turns":1,"max_turns":2}}`},
		{"POST", conv + "/runs", `null`},
		{"POST", conv + "/runs", `["x"]`},
		{"POST", conv + "/runs", `{"user_input":"\ud800"}`},
		{"POST", conv + "/runs", "{\"user_input\":\"\xff\"}"},
		{"POST", conv + "/runs", `{"` + strings.Repeat("k", 10_000) + `":1}`},
		{"PATCH", conv, `null`},
		{"POST", "/v1/conversations", `null`},
		{"GET", "/v1/conversations?limit=%zz", ""},
		{"GET", "/v1/conversations?limit=1;archived=true", ""},
		{"GET", "/v1/conversations?limit=1&limit=2", ""},
		{"GET", "/v1/conversations?" + strings.Repeat("p", 10_000) + "=1", ""},
	} {
		e := s.json(400, c.method, c.path, c.body)["error"].(map[string]any)
		if m := e["message"].(string); len(m) > 400 {
			t.Errorf("%s %.60s: the message has %d bytes", c.method, c.path, len(m))
		}
	}
	// As long as anything is.
	end := s.json(200, "POST", conv+"/runs", `{"user_input":"x","limits":{"timeout_seconds":9223372036854775807}}`, "Accept", "application/json")
	if end["result"] != "you said x" {
		t.Errorf("%v", end)
	}
	s.json(400, "POST", conv+"/runs", `{"user_input":"x","limits":{"timeout_seconds":-9223372036854775808}}`)
}

// A HEAD of a stream must not keep its connection for as long as the stream lives.
func TestTheHeadOfAStream(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	res := s.ask("HEAD", "/v1/conversations/"+s.conversation()+"/stream", "")
	if res.StatusCode != 405 {
		t.Error(res.Status)
	}
}

// The operator's other sites are let in as browsers want it, and no other.
func TestAnotherSite(t *testing.T) {
	t.Parallel()
	s := open(t, func(_ *service.Options, o *server.Options) { o.Origins = []string{"https://chat.example"} })
	pre := s.ask("OPTIONS", "/v1/conversations", "", "Origin", "https://chat.example", "Access-Control-Request-Method", "POST", "Authorization", "")
	if pre.StatusCode != 204 || pre.Header.Get("Access-Control-Allow-Origin") != "https://chat.example" ||
		!strings.Contains(pre.Header.Get("Access-Control-Allow-Headers"), "Authorization") || pre.Header.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("%d %v", pre.StatusCode, pre.Header)
	}
	got := s.ask("GET", "/v1/conversations", "", "Origin", "https://chat.example")
	if got.StatusCode != 200 || got.Header.Get("Access-Control-Allow-Origin") != "https://chat.example" || got.Header.Get("Vary") != "Origin" {
		t.Errorf("%d %v", got.StatusCode, got.Header)
	}
	evil := s.ask("OPTIONS", "/v1/conversations", "", "Origin", "https://evil.example", "Access-Control-Request-Method", "POST")
	if evil.StatusCode != 403 || evil.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("%d %v", evil.StatusCode, evil.Header)
	}
	own := s.ask("GET", "/v1/conversations", "", "Origin", s.URL)
	if own.StatusCode != 200 || own.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("%d %v", own.StatusCode, own.Header)
	}
	// Without the operator's word nobody is told anything.
	if plain := open(t, nil).ask("OPTIONS", "/v1/conversations", "", "Access-Control-Request-Method", "POST"); plain.StatusCode != 405 {
		t.Error(plain.Status)
	}
}

// One key is one run, however many bring it at once.
func TestOneKeyFromFiftyClients(t *testing.T) {
	t.Parallel()
	s := open(t, func(o *service.Options, _ *server.Options) { o.LockWait = 10 * time.Second })
	conv := s.conversation()
	runs := "/v1/conversations/" + conv + "/runs"
	var mu sync.Mutex
	ids, ends := map[string]int{}, map[string]int{}
	var work sync.WaitGroup
	for i := range 50 {
		work.Go(func() {
			accept := []string{"text/event-stream", "application/json"}[i%2]
			res := s.ask("POST", runs, `{"user_input":"hello"}`, "Idempotency-Key", "once", "Accept", accept)
			raw, err := io.ReadAll(res.Body)
			if err != nil || res.StatusCode != 200 {
				t.Errorf("%s: %v: %s", res.Status, err, raw)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			ids[res.Header.Get("X-Run-Id")]++
			ends[fmt.Sprint(strings.Contains(string(raw), "you said hello"))]++
		})
	}
	work.Wait()
	if len(ids) != 1 || ends["true"] != 50 {
		t.Errorf("the runs are %v, whole answers %v", ids, ends)
	}
	if list := s.json(200, "GET", runs, "")["data"].([]any); len(list) != 1 {
		t.Errorf("%d runs are there", len(list))
	}
}

// What drives a run does not end because the server does: its reader did not leave.
func TestADrainCancelsNothing(t *testing.T) {
	t.Parallel()
	for _, accept := range []string{"text/event-stream", "application/json"} {
		t.Run(accept, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := open(t, func(o *service.Options, _ *server.Options) { o.Engine.Grace = 10 * time.Millisecond })
				conv := s.conversation()
				got := make(chan string, 1)
				begun := make(chan struct{})
				go func() {
					req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/v1/conversations/"+conv+"/runs",
						strings.NewReader(`{"user_input":"speak slowly please","on_disconnect":"cancel"}`))
					if err != nil {
						t.Error(err)
					}
					req.Header.Set("Authorization", "Bearer "+token)
					req.Header.Set("Content-Type", "application/json")
					req.Header.Set("Accept", accept)
					close(begun)
					res, err := s.Client().Do(req)
					if err != nil {
						got <- err.Error()
						return
					}
					defer res.Body.Close()
					raw, _ := io.ReadAll(res.Body) // the body says it
					got <- res.Status + string(raw)
				}()
				<-begun
				for {
					open, err := s.service.GetConversation(t.Context(), service.Principal{Tenant: "default"}, conv)
					if err != nil {
						t.Fatal(err)
					}
					if open.Status == "running" {
						break
					}
					time.Sleep(time.Millisecond)
				}
				if err := s.service.Drain(t.Context()); err != nil {
					t.Fatal(err)
				}
				answer := <-got
				if accept == "application/json" && !strings.HasPrefix(answer, "503") || accept != "application/json" && !strings.Contains(answer, "event: notice") {
					t.Errorf("the reader gets %s", answer)
				}
				row := s.json(200, "GET", "/v1/conversations/"+conv, "")
				open := row["open_runs"].([]any)[0].(map[string]any)
				run := s.json(200, "GET", "/v1/conversations/"+conv+"/runs/"+open["id"].(string), "")
				if run["cancel_requested"] != nil {
					t.Errorf("the run is %v", run)
				}
				// And nothing begins any more.
				if res := s.ask("POST", "/v1/conversations/"+conv+"/runs", `{"user_input":"x","policy":"queue"}`); res.StatusCode != 503 || res.Header.Get("Retry-After") == "" {
					t.Errorf("a run after the drain: %s %v", res.Status, res.Header)
				}
			})
		})
	}
}

// Who watches a conversation that is deleted is told so, and the stream ends.
func TestDeletingUnderAStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, nil)
		conv := "/v1/conversations/" + s.conversation()
		frames(t, s.ask("POST", conv+"/runs", `{"user_input":"hello"}`).Body, nil)
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
		defer stop()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+conv+"/stream", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		res, err := s.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		frames(t, res.Body, func(f frame) bool { return f.name == "result" })
		s.json(204, "DELETE", conv, "")
		list := frames(t, res.Body, nil)
		if len(list) != 1 || list[0].name != "notice" || list[0].data["code"] != "CONVERSATION_NOT_FOUND" {
			t.Errorf("the stream ends with %v", list)
		}
		s.json(404, "GET", conv+"/stream", "")
		s.json(404, "DELETE", conv, "")
	})
}

// awayRows are rows whose store may be away.
type awayRows struct {
	service.Rows

	away *atomic.Bool
}

func (a awayRows) List(ctx context.Context, tenant string, q service.Query) ([]service.Row, error) {
	if a.away.Load() {
		return nil, &event.Error{Kind: event.ErrUnavailable, Message: "the disk is gone"}
	}
	return a.Rows.List(ctx, tenant, q)
}

// A server without its stores is alive and not ready.
func TestAServerWithoutItsStores(t *testing.T) {
	t.Parallel()
	var away atomic.Bool
	s := open(t, func(o *service.Options, _ *server.Options) { o.Rows = awayRows{o.Rows, &away} })
	s.json(200, "GET", "/readyz", "", "Authorization", "")
	away.Store(true)
	s.json(503, "GET", "/readyz", "", "Authorization", "")
	s.json(200, "GET", "/healthz", "", "Authorization", "")
}
