package agentcore_test

import (
	"context"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service"
)

// dial opens a WebSocket.
func (s *site) dial(path string, o *websocket.DialOptions) (*websocket.Conn, *http.Response, error) {
	s.t.Helper()
	if o == nil {
		o = &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + token}, sessionHeader: {session}}}
	}
	o.HTTPClient = s.Client()
	conn, res, err := websocket.Dial(s.t.Context(), s.URL+path, o)
	if conn != nil {
		conn.SetReadLimit(64 << 20)
		s.t.Cleanup(func() { _ = conn.CloseNow() })
	}
	return conn, res, err
}

// talk sends a message and reads until one has a text in it.
func talk(t *testing.T, conn *websocket.Conn, body, until string) []string {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	if body != "" {
		if err := conn.Write(ctx, websocket.MessageText, []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for {
		_, b, err := conn.Read(ctx)
		if err != nil {
			t.Fatalf("%v after %s", err, got)
		}
		got = append(got, string(b))
		if strings.Contains(string(b), until) {
			return got
		}
	}
}

func TestSocket(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	conn, res, err := s.dial("/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	if res.Header.Get(sessionHeader) != session {
		t.Error(res.Header)
	}
	over := talk(t, conn, promptBody("use clock"), `{"result"`)
	same := frames(s.say("use clock", sessionHeader, strings.Repeat("c", 40)).body)
	if len(over) != len(same) || over[0] != same[0] || over[len(over)-1] != same[len(same)-1] {
		t.Errorf("over the socket came\n%s\nand over HTTP\n%s", strings.Join(over, "\n"), strings.Join(same, "\n"))
	}
	// What is wrong is told, and the next message is answered; all are one session.
	talk(t, conn, `{`, `{"error":"Invalid JSON","details":`)
	talk(t, conn, `{}`, `{"error":"the body has no prompt"`)
	talk(t, conn, promptBody("count"), `"text": "there are IIIII"`)
	talk(t, conn, "", `{"result"`)
	// Messages that come while one is being answered wait.
	_ = conn.Write(t.Context(), websocket.MessageText, []byte(promptBody("slowly")))
	_ = conn.Write(t.Context(), websocket.MessageText, []byte(promptBody("second")))
	for range 2 {
		s.gate <- struct{}{}
	}
	talk(t, conn, "", `you said slowly`)
	talk(t, conn, "", `you said second`)
	if err := conn.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Error(err)
	}
	// A large message comes whole.
	conn, _, err = s.dial("/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("長", 100_000)
	got := talk(t, conn, promptBody(long), `{"result"`)
	if !strings.Contains(got[len(got)-1], long) {
		t.Error("the long answer is not whole")
	}
}

func TestSocketOfAPage(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	protocols := func(token string) []string {
		return []string{"base64UrlBearerAuthorization." + base64.RawURLEncoding.EncodeToString([]byte(token)), "base64UrlBearerAuthorization"}
	}
	path := "/ws?X-Amzn-Bedrock-AgentCore-Runtime-Session-Id=" + session
	origin := http.Header{"Origin": {s.URL}}
	conn, res, err := s.dial(path, &websocket.DialOptions{Subprotocols: protocols(token), HTTPHeader: origin})
	if err != nil {
		t.Fatal(err)
	}
	if res.Header.Get(sessionHeader) != session || conn.Subprotocol() != "base64UrlBearerAuthorization" {
		t.Error(res.Header)
	}
	talk(t, conn, promptBody("hello"), `{"result"`)
	for name, o := range map[string]*websocket.DialOptions{
		"another token":  {Subprotocols: protocols("other"), HTTPHeader: origin},
		"no token":       {},
		"a foreign page": {Subprotocols: protocols(token), HTTPHeader: http.Header{"Origin": {"https://evil.example"}}},
	} {
		if _, res, err := s.dial(path, o); err == nil || res.StatusCode != 401 && res.StatusCode != 403 {
			t.Errorf("%s: %v %v", name, res, err)
		}
	}
	if _, res, err := s.dial("/ws?X-Amzn-Bedrock-AgentCore-Runtime-Session-Id=short", &websocket.DialOptions{Subprotocols: protocols(token)}); err == nil || res.StatusCode != 400 {
		t.Errorf("a short session: %v %v", res, err)
	}
	s.ask(http.MethodGet, "/ws", "").has(t, 426, "this path is a WebSocket")
	// AWS's door has one, too.
	conn, _, err = s.dial("/runtimes/"+encoded(arn)+"/ws?qualifier=DEFAULT", nil)
	if err != nil {
		t.Fatal(err)
	}
	talk(t, conn, promptBody("hello"), `{"result"`)
}

// Whoever closes the socket cancels the run.
func TestSocketLeft(t *testing.T) {
	t.Parallel()
	for _, how := range []func(*websocket.Conn){
		func(c *websocket.Conn) { _ = c.Close(websocket.StatusNormalClosure, "") },
		func(c *websocket.Conn) { _ = c.CloseNow() },
	} {
		s := open(t, nil)
		conn, _, err := s.dial("/ws", nil)
		if err != nil {
			t.Fatal(err)
		}
		talk(t, conn, promptBody("slowly please"), `"you "`)
		how(conn)
		s.ends(service.Principal{Tenant: "default"}, event.RunCancelled)
	}
}

// A closed handler ends its sockets.
func TestSocketWhenTheServerEnds(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	conn, _, err := s.dial("/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	talk(t, conn, promptBody("slowly please"), `"you "`)
	closed := make(chan error, 1)
	go func() { closed <- s.handler.Close(context.Background()) }()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	for {
		if _, _, err = conn.Read(ctx); err != nil {
			break
		}
	}
	if code := websocket.CloseStatus(err); code != websocket.StatusGoingAway {
		t.Errorf("closed with %d: %v", code, err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}
