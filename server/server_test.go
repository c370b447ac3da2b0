package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/loopback"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/tool"
)

const token = "test-token-5f0c"

// parrot says what it was told, word by word, and does what it is told.
type parrot struct{ gate <-chan struct{} }

func (parrot) Info() model.Info { return model.Info{Name: "test:parrot", Simulated: true} }

func (p parrot) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		last := req.Messages[len(req.Messages)-1]
		text := "you said " + last.Text()
		for _, b := range last.Content {
			if r, ok := b.(*event.ToolResult); ok {
				text = "it is " + event.TextOf(r.Content)
			}
		}
		usage := model.Chunk{Kind: model.ChunkUsage, Usage: &event.Usage{Input: 7, Output: 3, Total: 10}}
		if name, ok := strings.CutPrefix(last.Text(), "use "); ok {
			_ = yield(model.Chunk{Kind: model.ChunkCall, ID: "call-" + req.Run, Text: name}, nil) &&
				yield(model.Chunk{Kind: model.ChunkCallInput, Text: "{}"}, nil) && yield(usage, nil) &&
				yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopToolUse}, nil)
			return
		}
		if strings.Contains(text, "break") {
			yield(model.Chunk{}, &event.Error{Kind: event.ErrModelAuth, Message: "the key is wrong"})
			return
		}
		for i, word := range strings.SplitAfter(text, " ") {
			if strings.Contains(text, "slowly") && i > 0 {
				select {
				case <-p.gate:
				case <-ctx.Done():
					yield(model.Chunk{}, ctx.Err())
					return
				}
			}
			if !yield(model.Chunk{Kind: model.ChunkText, Text: word}, nil) {
				return
			}
		}
		_ = yield(usage, nil) && yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn}, nil)
	}
}

// site is a server that is up, and one who asks it.
type site struct {
	*httptest.Server

	metrics *server.Metrics
	service *service.Service
	store   journal.Journal
	handler *server.Server
	gate    chan struct{}
	t       *testing.T
	// people, if it is set, stores what no route stores.
	people *directory.Directory
}

func open(t *testing.T, change func(*service.Options, *server.Options)) *site {
	t.Helper()
	s := &site{store: &journal.Memory{}, gate: make(chan struct{}), t: t}
	metrics := server.NewMetrics("test")
	so := service.Options{
		Journal: s.store, Rows: &service.MemoryRows{}, Observe: metrics.Observe,
		Agent: func(_ context.Context, r service.AgentRequest) (*braid.Agent, error) {
			if r.Model != "" && r.Model != "test:parrot" {
				return nil, &event.Error{Kind: event.ErrModelNotFound, Message: "there is no model " + r.Model, Hint: "GET /v1/models lists them"}
			}
			return braid.New("assistant", parrot{s.gate}, braid.Limit(r.Limits),
				braid.Func("clock", "", func(context.Context, struct{}) (string, error) { return "noon", nil }, tool.Pure()),
				braid.Func("wait", "", func(ctx context.Context, _ struct{}) (string, error) {
					select {
					case <-s.gate:
						return "over", nil
					case <-ctx.Done():
						return "", ctx.Err()
					}
				}, tool.Pure()),
				braid.Func("ask", "", func(ctx context.Context, _ struct{}) (bool, error) { return braid.Ask[bool](ctx, "May I?") }),
			), nil
		},
		Models:   func(context.Context) []service.Model { return []service.Model{{Name: "test:parrot", Simulated: true}} },
		LockWait: 50 * time.Millisecond,
	}
	vo := server.Options{Token: secret.New(token), Tenant: "default", Version: "test"}
	if change != nil {
		change(&so, &vo)
	}
	svc, err := service.New(so)
	if err != nil {
		t.Fatal(err)
	}
	s.service, vo.Service, s.metrics = svc, svc, metrics
	if err := svc.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	handler, err := server.New(vo, metrics)
	if err != nil {
		t.Fatal(err)
	}
	s.Server, s.handler = loopback.Start(handler), handler
	t.Cleanup(func() {
		if err := svc.Drain(context.Background()); err != nil {
			t.Error(err)
		}
		s.Client().CloseIdleConnections()
		s.Close()
	})
	return s
}

// ask sends a request; headers are name, value, name, value.
func (s *site) ask(method, path, body string, headers ...string) *http.Response {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := s.Client().Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// json asks and reads the answer, which must have that status.
func (s *site) json(status int, method, path, body string, headers ...string) map[string]any {
	s.t.Helper()
	res := s.ask(method, path, body, headers...)
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if res.StatusCode != status {
		s.t.Fatalf("%s %s: %d, want %d: %s", method, path, res.StatusCode, status, raw)
	}
	conforms(s.t, method, path, status, res.Header.Get("Content-Type"), raw)
	if len(raw) == 0 {
		return nil
	}
	var v map[string]any
	if err := json.Unmarshal(raw, &v); err != nil {
		s.t.Fatalf("%s %s: %v: %s", method, path, err, raw)
	}
	return v
}

func (s *site) conversation() string {
	s.t.Helper()
	return s.json(201, "POST", "/v1/conversations", "")["id"].(string)
}

// frame is one frame as it came.
type frame struct {
	id, name string
	data     map[string]any
}

// frames reads a stream to its end, or until stop says so.
func frames(t *testing.T, r io.Reader, stop func(frame) bool) (list []frame) {
	t.Helper()
	return framesOf(t, linesOf(r), stop)
}

// linesOf reads a stream line by line.
func linesOf(r io.Reader) *bufio.Scanner {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	return lines
}

// framesOf is frames for a stream that is read on later.
func framesOf(t *testing.T, lines *bufio.Scanner, stop func(frame) bool) (list []frame) {
	t.Helper()
	var f frame
	for lines.Scan() {
		switch line := lines.Text(); {
		case line == "":
			if f.name == "" {
				continue
			}
			list = append(list, f)
			if stop != nil && stop(f) {
				return list
			}
			f = frame{}
		case strings.HasPrefix(line, "id: "):
			f.id = line[4:]
		case strings.HasPrefix(line, "event: "):
			f.name = line[7:]
		case strings.HasPrefix(line, "data: "):
			if err := json.Unmarshal([]byte(line[6:]), &f.data); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
		}
	}
	return list
}

func names(list []frame) string {
	var b strings.Builder
	for i, f := range list {
		if i > 0 && f.name == list[i-1].name {
			continue
		}
		b.WriteString(f.name + " ")
	}
	return strings.TrimSpace(b.String())
}

func text(list []frame) string {
	var b strings.Builder
	for _, f := range list {
		if f.name == "text_delta" {
			b.WriteString(f.data["text"].(string))
		}
	}
	return b.String()
}

func TestARunAsAStream(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	conv := s.conversation()
	res := s.ask("POST", "/v1/conversations/"+conv+"/runs", `{"user_input":"use clock","executor":"web","metadata":{"page":"7"}}`)
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" || res.Header.Get("X-Run-Id") == "" {
		t.Fatalf("%d %v", res.StatusCode, res.Header)
	}
	list := frames(t, res.Body, nil)
	if got := names(list); got != "init user_message message tool_use tool_result text_delta message title result" {
		t.Errorf("the frames are %s", got)
	}
	first, last := list[0].data, list[len(list)-1].data
	if first["session_id"] != event.SessionID(conv, 1) || first["turn"] != 1.0 || first["model"] != "test:parrot" || first["metadata"].(map[string]any)["page"] != "7" {
		t.Errorf("init is %v", first)
	}
	if last["result"] != "it is noon" || text(list) != "it is noon" || last["is_error"] != false || last["num_turns"] != 2.0 ||
		last["total_cost_usd"] != nil || last["session_id"] != event.SessionID(conv, 1) || last["stop_reason"] != "end_turn" {
		t.Errorf("result is %v, the text %q", last, text(list))
	}
	if usage := last["usage"].(map[string]any); usage["input_tokens"] != 14.0 || usage["output_tokens"] != 6.0 {
		t.Errorf("usage is %v", usage)
	}
	// Nothing of the service's own is told.
	for _, f := range list {
		if raw, _ := json.Marshal(f.data); bytes.Contains(raw, []byte("braid.")) {
			t.Errorf("%s holds %s", f.name, raw)
		}
	}
	// The finished run is replayed, and ends.
	run := res.Header.Get("X-Run-Id")
	again := frames(t, s.ask("GET", "/v1/conversations/"+conv+"/runs/"+run+"/stream", "").Body, nil)
	if got := names(again); got != "init user_message message tool_use tool_result message result" {
		t.Errorf("again the frames are %s", got)
	}
	// And behind its end there is nothing.
	end := again[len(again)-1].id
	if rest := frames(t, s.ask("GET", "/v1/conversations/"+conv+"/runs/"+run+"/stream", "", "Last-Event-ID", end).Body, nil); len(rest) > 0 {
		t.Errorf("behind the end there is %s", names(rest))
	}
}

// until waits for what comes by itself. A minute is far more than any machine needs.
func (s *site) until(what string, come func() bool) {
	s.t.Helper()
	pause := 5 * time.Millisecond
	for end := time.Now().Add(time.Minute); !come(); time.Sleep(pause) {
		if time.Now().After(end) {
			s.t.Fatalf("never: %s", what)
		}
		pause = min(2*pause, 100*time.Millisecond)
	}
}

func TestTheThreeAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, nil)
		conv := s.conversation()
		runs := "/v1/conversations/" + conv + "/runs"
		one := s.json(200, "POST", runs, `{"user_input":"hello"}`, "Accept", "application/json")
		if one["result"] != "you said hello" || one["turn"] != 1.0 {
			t.Errorf("one JSON: %v", one)
		}
		res := s.ask("POST", runs, `{"user_input":"again"}`, "Prefer", "respond-async")
		if res.StatusCode != 202 || !strings.HasPrefix(res.Header.Get("Location"), runs+"/run_") {
			t.Fatalf("%d %v", res.StatusCode, res.Header)
		}
		var run map[string]any
		s.until("the run is over", func() bool {
			run = s.json(200, "GET", res.Header.Get("Location"), "")
			return run["status"] == "completed"
		})
		if run["result"].(map[string]any)["result"] != "you said again" {
			t.Errorf("the run is %v", run)
		}
		if list := s.json(200, "GET", runs, "")["data"].([]any); len(list) != 2 {
			t.Errorf("the runs are %v", list)
		}
	})
}

// Whatever fails inside, before a run or in it, the outside is told a code and words, and nothing of the cause: not
// in the answer, the stream, the run's row, the log or a replay.
func TestNothingInsideIsShown(t *testing.T) {
	t.Parallel()
	cause := errors.New("dial tcp 10.0.0.7:5432: password=hunter2 /srv/braid/secret.go:7")
	fault := func(kind event.ErrorKind) *event.Error {
		return &event.Error{Op: "op", Kind: kind, Message: "it went wrong", Err: cause}
	}
	for name, c := range map[string]struct {
		err    error
		status int
		code   string
	}{
		"one of ours":              {fault(event.ErrInternal), 500, "INTERNAL_ERROR"},
		"one that is out of reach": {fault(event.ErrUnavailable), 503, "UNAVAILABLE"},
		"the caller's":             {fault(event.ErrModelNotFound), 422, "MODEL_NOT_FOUND"},
		"somebody else's":          {cause, 500, "INTERNAL_ERROR"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var inside atomic.Bool
			s := open(t, func(o *service.Options, _ *server.Options) {
				o.Agent = func(context.Context, service.AgentRequest) (*braid.Agent, error) {
					if !inside.Load() {
						return nil, c.err
					}
					return braid.New("assistant", fails{fault(event.KindOf(c.err))}, braid.Retries(braid.Retry{Attempts: 1})), nil
				}
			})
			conv := "/v1/conversations/" + s.conversation()
			said := map[string]string{}
			read := func(what string, status int, method, path, body string, headers ...string) {
				t.Helper()
				res := s.ask(method, path, body, headers...)
				raw, err := io.ReadAll(res.Body)
				if err != nil || status != 0 && res.StatusCode != status {
					t.Errorf("%s: %d %s (%v)", what, res.StatusCode, raw, err)
				}
				said[what] = string(raw)
			}
			read("before a run", c.status, "POST", conv+"/runs", `{"user_input":"x"}`)
			if !strings.Contains(said["before a run"], `"`+c.code+`"`) {
				t.Errorf("before a run: %s, want %s", said["before a run"], c.code)
			}
			inside.Store(true)
			read("a stream", 200, "POST", conv+"/runs", `{"user_input":"x"}`)
			read("a result", 0, "POST", conv+"/runs", `{"user_input":"x"}`, "Accept", "application/json")
			read("runs", 200, "GET", conv+"/runs", "")
			read("events", 200, "GET", conv+"/events", "")
			read("an export", 200, "GET", conv+"/export", "")
			read("the conversation", 200, "GET", conv, "")
			for what, text := range said {
				for _, secret := range []string{"hunter2", "10.0.0.7", "secret.go", "goroutine "} {
					if strings.Contains(text, secret) {
						t.Errorf("%s tells %q: %s", what, secret, text)
					}
				}
			}
		})
	}
}

// fails is a model that fails with an error.
type fails struct{ err error }

func (fails) Info() model.Info { return model.Info{Name: "test:fails", Simulated: true} }

func (f fails) Stream(context.Context, *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) { yield(model.Chunk{}, f.err) }
}

func TestErrorsBeforeAndInAStream(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	conv := s.conversation()
	runs := "/v1/conversations/" + conv + "/runs"
	list := frames(t, s.ask("POST", runs, `{"user_input":"break"}`).Body, nil)
	last := list[len(list)-1]
	if last.name != "error" || last.data["code"] != "MODEL_AUTH" || last.data["request_id"] == "" {
		t.Errorf("the stream ends with %+v", last)
	}
	if e := s.json(502, "POST", runs, `{"user_input":"break"}`, "Accept", "application/json")["error"].(map[string]any); e["code"] != "MODEL_AUTH" {
		t.Errorf("as JSON: %v", e)
	}
	for _, c := range []struct {
		status             int
		code, method, path string
		body               string
		headers            []string
	}{
		{404, "CONVERSATION_NOT_FOUND", "POST", "/v1/conversations/conv_none/runs", `{"user_input":"x"}`, nil},
		{404, "CONVERSATION_NOT_FOUND", "GET", "/v1/conversations/..%2f..%2fetc", "", nil},
		{404, "RUN_NOT_FOUND", "GET", runs + "/run_none", "", nil},
		{404, "NOT_FOUND", "GET", "/v2", "", nil},
		{404, "NOT_FOUND", "GET", "/v1/conversations/" + conv + "/../../../etc/passwd", "", nil},
		{405, "METHOD_NOT_ALLOWED", "PUT", "/v1/conversations", `{}`, nil},
		{422, "MODEL_NOT_FOUND", "POST", runs, `{"user_input":"x","model":"none"}`, nil},
		{400, "INVALID_REQUEST", "POST", runs, `{"user_input":" "}`, nil},
		{400, "INVALID_REQUEST", "POST", runs, `{"user_input":"x","user_inputs":"y"}`, nil},
		{400, "INVALID_REQUEST", "POST", runs, `{"user_input":"x","user_input":"y"}`, nil},
		{400, "INVALID_REQUEST", "POST", runs, `{"user_input":7}`, nil},
		{400, "INVALID_REQUEST", "POST", runs, `{"user_input":"x"} {}`, nil},
		{400, "INVALID_REQUEST", "POST", runs, `not json`, nil},
		{400, "INVALID_REQUEST", "POST", runs, ``, nil},
		{400, "INVALID_REQUEST", "POST", runs, strings.Repeat("[", 100_000), nil},
		{400, "INVALID_REQUEST", "POST", runs, `{"user_input":"x","on_disconnect":"explode"}`, nil},
		{400, "INVALID_REQUEST", "POST", runs, `{"user_input":"x","policy":"shout"}`, nil},
		{400, "INVALID_REQUEST", "POST", runs, `{"user_input":"x","metadata":{"braid.model":"y"}}`, nil},
		{400, "INVALID_REQUEST", "POST", runs, `{"user_input":"x","attachments":[{"type":"image","mime_type":"image/png","data":"%%"}]}`, nil},
		{400, "INVALID_REQUEST", "POST", runs, `{"user_input":"x"}`, []string{"Idempotency-Key", strings.Repeat("k", 256)}},
		{413, "TOO_LARGE", "POST", runs, `{"user_input":"` + strings.Repeat("x", server.DefaultBodyBytes) + `"}`, nil},
		{415, "UNSUPPORTED_MEDIA_TYPE", "POST", runs, `{"user_input":"x"}`, []string{"Content-Type", "text/plain"}},
		{401, "UNAUTHENTICATED", "GET", "/v1/conversations", "", []string{"Authorization", ""}},
		{401, "UNAUTHENTICATED", "GET", "/v1/conversations", "", []string{"Authorization", "Bearer wrong"}},
		{401, "UNAUTHENTICATED", "GET", "/v1/conversations", "", []string{"Authorization", "Basic " + token}},
		{403, "PERMISSION_DENIED", "GET", "/healthz", "", []string{"Host", "evil.example"}},
		{403, "PERMISSION_DENIED", "GET", "/v1/conversations", "", []string{"Origin", "https://evil.example"}},
		{403, "PERMISSION_DENIED", "GET", "/v1/conversations", "", []string{"Origin", "null"}},
		{400, "INVALID_REQUEST", "GET", "/v1/conversations?limit=101", "", nil},
		{400, "INVALID_REQUEST", "GET", "/v1/conversations?limit=-1", "", nil},
		{400, "INVALID_REQUEST", "GET", "/v1/conversations?cursor=xyz", "", nil},
		{400, "INVALID_REQUEST", "GET", "/v1/conversations?sort=title", "", nil},
		{400, "INVALID_REQUEST", "GET", "/v1/conversations/" + conv + "/stream?after=-1", "", nil},
		{400, "INVALID_REQUEST", "GET", "/v1/conversations/" + conv + "/stream?after=99999", "", nil},
		{400, "INVALID_REQUEST", "GET", "/v1/conversations/" + conv + "/stream", "", []string{"Last-Event-ID", "1:2"}},
		{400, "INVALID_REQUEST", "GET", "/v1/conversations/" + conv + "/stream", "", []string{"Last-Event-ID", "\xff"}},
		{400, "INVALID_REQUEST", "GET", "/v1/conversations/" + conv + "/stream", "", []string{"Last-Event-ID", "1:99.99999"}},
		{400, "INVALID_REQUEST", "GET", "/v1/conversations/" + conv + "/stream?after=1:99.99999", "", nil},
		{404, "NOT_FOUND", "POST", "/v1/conversations/" + conv + "/questions/none", `{"answer":true}`, nil},
		{400, "INVALID_REQUEST", "POST", "/v1/conversations/" + conv + "/questions/none", `{}`, nil},
	} {
		got := s.json(c.status, c.method, c.path, c.body, c.headers...)["error"].(map[string]any)
		if got["code"] != c.code || got["message"] == "" || got["request_id"] == "" {
			t.Errorf("%s %s %.60s: %v, want %s", c.method, c.path, c.body, got, c.code)
		}
	}
}

func TestALockedConversationOverHTTP(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	conv := s.conversation()
	runs := "/v1/conversations/" + conv + "/runs"
	first := s.ask("POST", runs, `{"user_input":"use wait"}`)
	res := s.ask("POST", runs, `{"user_input":"hello"}`)
	if res.StatusCode != 409 || res.Header.Get("Retry-After") == "" || res.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("%d %v", res.StatusCode, res.Header)
	}
	second := s.ask("POST", runs, `{"user_input":"hello","policy":"queue"}`)
	close(s.gate)
	if got := frames(t, first.Body, nil); text(got) != "it is over" {
		t.Errorf("the first run says %q", text(got))
	}
	if got := frames(t, second.Body, nil); text(got) != "you said hello" {
		t.Errorf("the second run says %q", text(got))
	}
}

func TestTheSameKey(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	conv := s.conversation()
	runs := "/v1/conversations/" + conv + "/runs"
	one := s.ask("POST", runs, `{"user_input":"hello"}`, "Idempotency-Key", "k")
	a := frames(t, one.Body, nil)
	two := s.ask("POST", runs, `{"user_input":"hello"}`, "Idempotency-Key", "k")
	b := frames(t, two.Body, nil)
	if one.Header.Get("X-Run-Id") != two.Header.Get("X-Run-Id") || a[len(a)-1].data["result"] != b[len(b)-1].data["result"] {
		t.Errorf("%v\n%v", a, b)
	}
	if e := s.json(422, "POST", runs, `{"user_input":"other"}`, "Idempotency-Key", "k")["error"].(map[string]any); e["code"] != "IDEMPOTENCY_MISMATCH" {
		t.Errorf("another body: %v", e)
	}
}

func TestAReaderThatLeaves(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"continue", "cancel"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := open(t, nil)
			conv := s.conversation()
			runs := "/v1/conversations/" + conv + "/runs"
			ctx, leave := context.WithCancel(t.Context())
			req, err := http.NewRequestWithContext(ctx, "POST", s.URL+runs, strings.NewReader(`{"user_input":"speak slowly please","on_disconnect":"`+what+`"}`))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+token)
			req.Header.Set("Content-Type", "application/json")
			res, err := s.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			seen := frames(t, res.Body, func(f frame) bool { return f.name == "text_delta" })
			leave()
			run := res.Header.Get("X-Run-Id")
			if what == "continue" {
				// Come again in the middle of the step: a snapshot, then the rest.
				back := s.ask("GET", runs+"/"+run+"/stream", "", "Last-Event-ID", seen[len(seen)-1].id)
				list := frames(t, back.Body, func(f frame) bool { return f.name == "snapshot" })
				if len(list) != 1 || list[0].data["text"] != "you " {
					t.Errorf("coming back there is %v", list)
				}
				close(s.gate)
				rest := frames(t, back.Body, nil)
				if last := rest[len(rest)-1]; "you "+text(rest) != "you said speak slowly please" || last.name != "result" {
					t.Errorf("the rest is %q, %v", text(rest), last)
				}
				return
			}
			var got map[string]any
			s.until("the run is cancelled", func() bool {
				got = s.json(200, "GET", runs+"/"+run, "")
				return got["status"] == "cancelled"
			})
			if end := got["result"].(map[string]any); end["is_error"] != true || end["stop_reason"] != "cancelled" {
				t.Errorf("the run ended %v", end)
			}
		})
	}
}

func TestQuestionsOverHTTP(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	conv := s.conversation()
	runs := "/v1/conversations/" + conv + "/runs"
	res := s.ask("POST", runs, `{"user_input":"use ask"}`)
	asked := frames(t, res.Body, func(f frame) bool { return f.name == "question" })
	id := asked[len(asked)-1].data["question_id"].(string)
	open := s.json(200, "GET", "/v1/conversations/"+conv+"/questions", "")["data"].([]any)
	if len(open) != 1 || open[0].(map[string]any)["question_id"] != id || open[0].(map[string]any)["prompt"] != "May I?" {
		t.Fatalf("open are %v", open)
	}
	e := s.json(422, "POST", "/v1/conversations/"+conv+"/questions/"+id, `{"answer":"perhaps"}`)["error"].(map[string]any)
	if e["code"] != "ANSWER_INVALID" || e["hint"] == "" {
		t.Errorf("an answer that does not fit: %v", e)
	}
	s.json(200, "POST", "/v1/conversations/"+conv+"/questions/"+id, `{"answer":true}`)
	list := frames(t, res.Body, nil)
	if got := names(list); got != "answered tool_result text_delta message title result" || text(list) != "it is true" {
		t.Errorf("after the answer: %s: %q", got, text(list))
	}
	s.json(404, "POST", "/v1/conversations/"+conv+"/questions/"+id, `{"answer":false}`)
	// As JSON the caller is told that a person is asked.
	waiting := s.json(202, "POST", runs, `{"user_input":"use ask"}`, "Accept", "application/json")
	if waiting["status"] != "waiting" || waiting["question"].(map[string]any)["prompt"] != "May I?" {
		t.Errorf("as JSON: %v", waiting)
	}
}

func TestConversationsOverHTTP(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	made := s.json(201, "POST", "/v1/conversations", `{"title":"Plans","metadata":{"a":"b"}}`)
	id := made["id"].(string)
	got := s.json(200, "GET", "/v1/conversations/"+id, "")
	if got["title"] != "Plans" || got["status"] != "idle" || got["metadata"].(map[string]any)["a"] != "b" {
		t.Errorf("%v", got)
	}
	got = s.json(200, "PATCH", "/v1/conversations/"+id, `{"title":"Other","metadata":{"a":"","c":"d"}}`)
	if got["title"] != "Other" || len(got["metadata"].(map[string]any)) != 1 {
		t.Errorf("%v", got)
	}
	frames(t, s.ask("POST", "/v1/conversations/"+id+"/runs", `{"user_input":"hello"}`).Body, nil)
	events := s.json(200, "GET", "/v1/conversations/"+id+"/events?limit=2", "")
	if len(events["data"].([]any)) != 2 || events["last"] != 2.0 || events["has_more"] != true {
		t.Errorf("%v", events)
	}
	rest := s.json(200, "GET", "/v1/conversations/"+id+"/events?after=2", "")
	raw, _ := json.Marshal(rest)
	if rest["has_more"] != false || bytes.Contains(raw, []byte("braid.")) {
		t.Errorf("%s", raw)
	}
	export, _ := io.ReadAll(s.ask("GET", "/v1/conversations/"+id+"/export", "").Body)
	if n := bytes.Count(export, []byte("\n")); float64(n) != rest["last"] || bytes.Contains(export, []byte("braid.")) {
		t.Errorf("%d lines: %s", n, export)
	}
	fork := s.json(201, "POST", "/v1/conversations/"+id+"/fork", `{"at":2}`)
	if fork["forked_from"].(map[string]any)["conversation_id"] != id {
		t.Errorf("%v", fork)
	}
	if c := s.json(200, "GET", "/v1/conversations/"+id, ""); c["session_id"] != event.SessionID(id, 1) {
		t.Errorf("%v", c)
	}
	for n, reset := range []func() map[string]any{
		func() map[string]any { return s.json(200, "POST", "/v1/conversations/"+id+"/reset", "") },
		func() map[string]any { return s.json(200, "PATCH", "/v1/conversations/"+id, `{"session_id":null}`) },
	} {
		if c := reset(); c["session_id"] != nil {
			t.Errorf("after the reset: %v", c)
		}
		init := frames(t, s.ask("POST", "/v1/conversations/"+id+"/runs", `{"user_input":"anew"}`).Body, nil)[0]
		if init.data["session_id"] != event.SessionID(id, n+2) {
			t.Errorf("after the reset: %v", init.data)
		}
		run := s.json(200, "GET", "/v1/conversations/"+id+"/runs/"+init.data["run_id"].(string), "")
		if run["session_id"] != init.data["session_id"] {
			t.Errorf("%v", run)
		}
	}
	for _, other := range []string{`"` + event.SessionID(id, 1) + `"`, `""`, `0`, `{}`, `[null]`, `false`} {
		s.json(400, "PATCH", "/v1/conversations/"+id, `{"session_id":`+other+`}`)
	}
	s.json(200, "PATCH", "/v1/conversations/"+id, `{"archived":true}`)
	if e := s.json(409, "POST", "/v1/conversations/"+id+"/runs", `{"user_input":"x"}`)["error"].(map[string]any); e["code"] != "CONVERSATION_ARCHIVED" {
		t.Errorf("%v", e)
	}
	if list := s.json(200, "GET", "/v1/conversations", "")["data"].([]any); len(list) != 1 {
		t.Errorf("%v", list)
	}
	if list := s.json(200, "GET", "/v1/conversations?archived=true", "")["data"].([]any); len(list) != 1 {
		t.Errorf("%v", list)
	}
	s.json(204, "DELETE", "/v1/conversations/"+id, "")
	s.json(404, "GET", "/v1/conversations/"+id, "")

	for i := range 5 {
		s.json(201, "POST", "/v1/conversations", fmt.Sprintf(`{"title":"%d"}`, i))
	}
	seen := map[string]bool{}
	cursor := ""
	for {
		page := s.json(200, "GET", "/v1/conversations?limit=2&cursor="+cursor, "")
		for _, c := range page["data"].([]any) {
			seen[c.(map[string]any)["id"].(string)] = true
		}
		next, _ := page["next_cursor"].(string)
		if next == "" {
			break
		}
		cursor = next
	}
	if len(seen) != 6 {
		t.Errorf("%d conversations", len(seen))
	}
}

func TestTheRest(t *testing.T) {
	t.Parallel()
	counted := make(chan struct{})
	s := open(t, func(so *service.Options, _ *server.Options) {
		count := so.Observe
		so.Observe = func(tenant, life string, e *event.Event) {
			count(tenant, life, e)
			if _, over := e.Body.(*event.RunEnded); over {
				close(counted)
			}
		}
	})
	conv := s.conversation()
	frames(t, s.ask("POST", "/v1/conversations/"+conv+"/runs", `{"user_input":"use clock"}`).Body, nil)
	<-counted // readers get an event before the metrics do
	if got := s.json(200, "GET", "/healthz", "", "Authorization", ""); got["status"] != "ok" {
		t.Errorf("%v", got)
	}
	if got := s.json(200, "GET", "/readyz", "", "Authorization", ""); got["status"] != "ready" {
		t.Errorf("%v", got)
	}
	if got := s.json(200, "GET", "/v1/models", ""); len(got["data"].([]any)) != 1 {
		t.Errorf("%v", got)
	}
	priced := int64(2_500_000)
	s.metrics.Observe("", "", &event.Event{Body: &event.RunEnded{Status: event.RunCancelled, CostNanoUSD: &priced}})
	raw, _ := io.ReadAll(s.ask("GET", "/metrics", "").Body)
	for _, want := range []string{
		`braid_runs_total{status="completed",stop="end_turn"} 1`, `braid_steps_total{kind="tool",outcome="done"} 1`,
		"braid_cost_usd_total 0.0025\n", "braid_runs_unpriced_total 1\n",
		`braid_tokens_total{direction="input"} 14`, `braid_http_request_seconds_count{method="POST",route="/v1/conversations/{id}/runs",status="200"} 1`,
	} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	s.json(401, "GET", "/metrics", "", "Authorization", "")
}

func TestAStreamIsToldThatTheServerEnds(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	conv := s.conversation()
	res := s.ask("POST", "/v1/conversations/"+conv+"/runs", `{"user_input":"use ask"}`)
	frames(t, res.Body, func(f frame) bool { return f.name == "question" })
	if err := s.service.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	list := frames(t, res.Body, nil)
	if got := names(list); got != "notice" {
		t.Errorf("the stream ends with %s", got)
	}
}

func TestASilentStreamSaysThatItIsAlive(t *testing.T) {
	t.Parallel()
	s := open(t, func(_ *service.Options, o *server.Options) { o.Heartbeat = 20 * time.Millisecond })
	conv := s.conversation()
	res := s.ask("GET", "/v1/conversations/"+conv+"/stream", "")
	lines := bufio.NewScanner(res.Body)
	beats := 0
	for beats < 3 && lines.Scan() {
		if strings.HasPrefix(lines.Text(), ":") {
			beats++
		}
	}
	if beats != 3 {
		t.Errorf("%d beats", beats)
	}
}
