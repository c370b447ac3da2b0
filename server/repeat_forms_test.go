package server_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
)

// A key that was used in a conversation is of that conversation: whoever reaches it and sends the same request gets
// the same run, and nobody else learns that there is one.
func TestARepeatedRequestFromOtherKeys(t *testing.T) {
	t.Parallel()
	dir, with := withUsers(t, "alpha", "beta", "default")
	setTenant(t, dir, "alpha", func(x *directory.Tenant) { x.Retention.Conversations = 30 })
	s := open(t, with)
	bearer := func(key string) []string { return []string{"Authorization", "Bearer " + key} }
	ann, annToo, bob := bearer(userKey(t, dir, "alpha", "ann")), bearer(userKey(t, dir, "alpha", "ann")), bearer(userKey(t, dir, "alpha", "bob"))
	program, beta := bearer(userKey(t, dir, "alpha", "")), bearer(userKey(t, dir, "beta", "ann"))
	reads := bearer(userKey(t, dir, "alpha", "ann", service.ScopeRead))
	conv := s.json(201, "POST", "/v1/conversations", "", ann...)["id"].(string)
	runs, body := "/v1/conversations/"+conv+"/runs", `{"user_input":"slowly please now"}`
	first := s.read(runs, body, append(ann, "Idempotency-Key", "k")...)
	begun := first.until("text_delta")
	run := first.Header.Get("X-Run-Id")
	same := func(who []string) {
		t.Helper()
		again := s.read(runs, body, append(slices.Clone(who), "Idempotency-Key", "k")...)
		if got := again.until("text_delta"); !slices.Equal(kinds(got), kinds(begun)) || again.Header.Get("X-Run-Id") != run {
			t.Errorf("%q of run %s, want %q of %s", kinds(got), again.Header.Get("X-Run-Id"), kinds(begun), run)
		}
		_ = again.Body.Close()
	}
	refused := func(status int, code, body string, who []string) {
		t.Helper()
		for _, accept := range []string{"text/event-stream", "application/json"} {
			e := s.json(status, "POST", runs, body, append(slices.Clone(who), "Idempotency-Key", "k", "Accept", accept)...)
			if e := e["error"].(map[string]any); e["code"] != code || strings.Contains(e["message"].(string), run) {
				t.Errorf("%v, want %s", e, code)
			}
		}
	}
	same(annToo)
	same(program)
	const other = `{"user_input":"another"}`
	for _, who := range [][]string{ann, annToo, program} {
		refused(422, "IDEMPOTENCY_MISMATCH", other, who)
	}
	for _, who := range [][]string{bob, beta} {
		refused(404, "CONVERSATION_NOT_FOUND", body, who)
		refused(404, "CONVERSATION_NOT_FOUND", other, who)
	}
	refused(403, "SCOPE_MISSING", body, reads)
	close(s.gate)
	s.json(200, "POST", runs, body, append(slices.Clone(ann), "Idempotency-Key", "k", "Accept", "application/json")...)
	if n, err := s.service.Expire(t.Context(), time.Now().AddDate(0, 0, 31)); n != 1 || err != nil {
		t.Fatalf("%d expired: %v", n, err)
	}
	refused(410, "CONVERSATION_EXPIRED", body, ann)
	refused(404, "CONVERSATION_NOT_FOUND", body, bob)
	refused(404, "CONVERSATION_NOT_FOUND", body, beta)
	setTenant(t, dir, "alpha", func(x *directory.Tenant) { x.Status = directory.Inactive })
	if _, err := s.service.EraseTenant(t.Context(), operator, "alpha"); err != nil {
		t.Fatal(err)
	}
	refused(401, "UNAUTHENTICATED", body, ann)
	refused(404, "CONVERSATION_NOT_FOUND", body, beta)
}

// many says so many pieces at once, and then waits before it says the last one.
type many struct {
	pieces int
	said   chan<- struct{}
	gate   <-chan struct{}
}

func (many) Info() model.Info { return model.Info{Name: "test:many", Simulated: true} }

func (m many) Stream(ctx context.Context, _ *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		for range m.pieces {
			if !yield(model.Chunk{Kind: model.ChunkText, Text: "piece "}, nil) {
				return
			}
		}
		close(m.said)
		select {
		case <-m.gate:
		case <-ctx.Done():
			yield(model.Chunk{}, ctx.Err())
			return
		}
		_ = yield(model.Chunk{Kind: model.ChunkText, Text: "end"}, nil) &&
			yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn}, nil)
	}
}

// A repeated request whose run has said much already gets all of it: as one delta, a snapshot, or piece by piece,
// but always the whole, however slowly it is read and whatever HTTP it is asked by.
func TestARepeatedRequestOfALongAnswer(t *testing.T) {
	t.Parallel()
	for name, pieces := range map[string]int{"a few": 3, "more than a page": 300, "more than is kept": 5000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said, gate := make(chan struct{}), make(chan struct{})
			s := open(t, func(so *service.Options, _ *server.Options) {
				so.Agent = func(context.Context, service.AgentRequest) (*braid.Agent, error) {
					return braid.New("assistant", many{pieces, said, gate}), nil
				}
			})
			path, body := "/v1/conversations/"+s.conversation()+"/runs", `{"user_input":"go"}`
			first := s.read(path, body, "Idempotency-Key", "k")
			first.until("text_delta")
			<-said
			type reader struct {
				proto string
				lines *bufio.Scanner
			}
			var readers []reader
			again := s.read(path, body, "Idempotency-Key", "k")
			readers = append(readers, reader{"HTTP/1.1", again.lines}, reader{"HTTP/1.1 from the first request on", first.lines},
				reader{"HTTP/1.0", s.old(path, body)}, reader{"HTTP/2", s.newer(path, body)})
			value := make(chan map[string]any, 1)
			go func() {
				value <- s.json(200, "POST", path, body, "Idempotency-Key", "k", "Accept", "application/json")
			}()
			time.AfterFunc(20*time.Millisecond, func() { close(gate) })
			want := strings.Repeat("piece ", pieces) + "end"
			for _, r := range readers {
				list := framesOf(t, r.lines, nil)
				if len(list) == 0 {
					t.Errorf("%s: nothing came", r.proto)
					continue
				}
				end := list[len(list)-1]
				shown := ""
				for _, f := range list {
					switch f.name {
					case "text_delta":
						shown += f.data["text"].(string)
					case "snapshot":
						shown = f.data["text"].(string)
					}
				}
				if r.proto != "HTTP/1.1 from the first request on" && shown != want || end.name != "result" || end.data["result"] != want {
					t.Errorf("%s: it shows %d bytes and ends with %s, want %d bytes", r.proto, len(shown), end.name, len(want))
				}
			}
			if v := <-value; v["result"] != want {
				t.Errorf("as JSON it is %v", v["status"])
			}
		})
	}
}

// old repeats the request as a client of 1996 does: over a connection of its own, which ends with the answer.
func (s *site) old(path, body string) *bufio.Scanner {
	s.t.Helper()
	conn, err := (&net.Dialer{}).DialContext(s.t.Context(), "tcp", s.Listener.Addr().String())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	_, err = io.WriteString(conn, "POST "+path+" HTTP/1.0\r\nHost: localhost\r\nAuthorization: Bearer "+token+"\r\n"+
		"Content-Type: application/json\r\nIdempotency-Key: k\r\nContent-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"+body)
	if err != nil {
		s.t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || res.StatusCode != 200 || res.ProtoMinor != 0 && !res.Close {
		s.t.Fatalf("%+v %v", res, err)
	}
	return linesOf(res.Body)
}

// newer repeats the request over HTTP/2.
func (s *site) newer(path, body string) *bufio.Scanner {
	s.t.Helper()
	web := httptest.NewUnstartedServer(s.handler)
	web.EnableHTTP2 = true
	web.StartTLS()
	s.t.Cleanup(web.Close)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: web.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}, ForceAttemptHTTP2: true}
	s.t.Cleanup(transport.CloseIdleConnections)
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, web.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", "k")
	res, err := transport.RoundTrip(req)
	if err != nil || res.ProtoMajor != 2 || res.StatusCode != 200 {
		s.t.Fatalf("%+v %v", res, err)
	}
	s.t.Cleanup(func() { _ = res.Body.Close() })
	return linesOf(res.Body)
}
