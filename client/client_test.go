package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/client"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
)

// What each call asks, and what it makes of the answer.
func TestCalls(t *testing.T) {
	t.Parallel()
	const conversation = `{"id":"c1","title":"Sums","archived":false,"metadata":{"a":"1"},"created_at":"2026-11-20T12:00:00Z","updated_at":"2026-11-20T12:00:00Z","status":"idle"}`
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	whole := client.Conversation{ID: "c1", Title: "Sums", Metadata: map[string]string{"a": "1"}, CreatedAt: at, UpdatedAt: at, Status: "idle"}
	title, yes := "Sums", true
	for _, c := range []struct {
		name   string
		call   func(ctx context.Context, c *client.Client) (any, error)
		asks   string
		answer string
		want   any
	}{
		{
			"create", func(ctx context.Context, c *client.Client) (any, error) {
				return c.Create(ctx, client.NewConversation{Title: "Sums"})
			},
			`POST /base/v1/conversations {"title":"Sums"}`, conversation, whole,
		},
		{
			"get", func(ctx context.Context, c *client.Client) (any, error) { return c.Get(ctx, "c1") },
			`GET /base/v1/conversations/c1 `, conversation, whole,
		},
		{
			"update", func(ctx context.Context, c *client.Client) (any, error) {
				return c.Update(ctx, "c1", client.Changes{Title: &title, Archived: &yes, Metadata: map[string]string{"b": ""}})
			},
			`PATCH /base/v1/conversations/c1 {"title":"Sums","archived":true,"metadata":{"b":""}}`, conversation, whole,
		},
		{
			"delete", func(ctx context.Context, c *client.Client) (any, error) { return nil, c.Delete(ctx, "c1") },
			`DELETE /base/v1/conversations/c1 `, "", nil,
		},
		{
			"reset", func(ctx context.Context, c *client.Client) (any, error) { return c.Reset(ctx, "c1") },
			`POST /base/v1/conversations/c1/reset `, conversation, whole,
		},
		{
			"fork", func(ctx context.Context, c *client.Client) (any, error) { return c.Fork(ctx, "c1", 7) },
			`POST /base/v1/conversations/c1/fork {"at":7}`, conversation, whole,
		},
		{
			"export", func(ctx context.Context, c *client.Client) (any, error) {
				var w strings.Builder
				err := c.Export(ctx, "c1", &w)
				return w.String(), err
			},
			`GET /base/v1/conversations/c1/export `, "{}\n{}\n", "{}\n{}\n",
		},
		{
			"questions", func(ctx context.Context, c *client.Client) (any, error) {
				list, err := c.Questions(ctx, "c1")
				return fmt.Sprintf("%d %s %s %s", len(list), list[0].QuestionID, list[0].Ask, list[0].ToolInput), err
			},
			`GET /base/v1/conversations/c1/questions `, `{"data":[{"question_id":"q1","ask":"approval","prompt":"?","tool_input":{"a":1}}]}`,
			`1 q1 approval {"a":1}`,
		},
		{
			"answer", func(ctx context.Context, c *client.Client) (any, error) { return nil, c.Answer(ctx, "c1", "q1", nil) },
			`POST /base/v1/conversations/c1/questions/q1 {"answer":null}`, `{"id":"r1"}`, nil,
		},
		{
			"runs", func(ctx context.Context, c *client.Client) (any, error) {
				list, err := c.Runs(ctx, "c1")
				return fmt.Sprintf("%d %s %s %s", len(list), list[0].ID, list[0].Status, list[0].Result.Result), err
			},
			`GET /base/v1/conversations/c1/runs?after=0&limit=1000 `, `{"data":[{"id":"r1","turn":1,"status":"completed","result":{"result":"8"}}]}`, `1 r1 completed 8`,
		},
		{
			"run", func(ctx context.Context, c *client.Client) (any, error) {
				r, err := c.GetRun(ctx, "c1", "r1+")
				return fmt.Sprintf("%s %d %s", r.ID, r.Turn, r.Error.Code), err
			},
			`GET /base/v1/conversations/c1/runs/r1+ `, `{"id":"r1+","turn":2,"status":"failed","error":{"code":"SDK_ERROR"}}`, `r1+ 2 SDK_ERROR`,
		},
		{
			"cancel", func(ctx context.Context, c *client.Client) (any, error) { return nil, c.Cancel(ctx, "c1", "r1") },
			`POST /base/v1/conversations/c1/runs/r1/cancel `, `{"id":"r1"}`, nil,
		},
		{
			"models", func(ctx context.Context, c *client.Client) (any, error) { return c.Models(ctx) },
			`GET /base/v1/models `, `{"data":[{"name":"demo","simulated":true,"available":true}]}`,
			[]client.Model{{Name: "demo", Simulated: true, Available: true}},
		},
		{
			"start", func(ctx context.Context, c *client.Client) (any, error) {
				return c.Start(ctx, "c1", "Hello!", client.RunOptions{
					Executor: "ann", Tokens: map[string]secret.Secret{"jira": secret.New("s3")}, Model: "demo", Policy: "steer", Key: "k1",
					Limits: client.Limits{Cycles: 3, Time: 1500 * time.Millisecond}, OutputSchema: json.RawMessage(`{"type":"object"}`),
					Instructions: "Rhyme.", ModelOptions: client.Settings{Effort: "low"}, ToolChoice: client.ToolChoice{Mode: "one", Tool: "add"},
					CancelOnDisconnect: true, Attachments: []client.Attachment{{Type: "image", MIME: "image/png", Data: []byte("png")}},
				})
			},
			`POST /base/v1/conversations/c1/runs {"user_input":"Hello!","executor":"ann","tokens":{"jira":"s3"},"model":"demo",` +
				`"limits":{"max_turns":3,"timeout_seconds":2},"output_schema":{"type":"object"},` +
				`"instructions":"Rhyme.","model_options":{"effort":"low"},"tool_choice":{"mode":"one","tool":"add"},"policy":"steer","on_disconnect":"cancel",` +
				`"attachments":[{"type":"image","mime_type":"image/png","data":"cG5n"}]}`,
			`{"id":"r1","turn":1,"status":"queued","stream":"/x"}`,
			client.RunState{ID: "r1", Turn: 1, Status: event.RunQueued},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := &fake{answer: func(int, *request) (*http.Response, error) { return answer(200, "application/json", c.answer), nil }}
			got, err := c.call(t.Context(), f.client(t, client.Options{}))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			r := f.seen[0]
			if asks := r.method + " " + r.path + " " + r.body; len(f.seen) != 1 || asks != c.asks {
				t.Errorf("%d requests, the first one\n%s\nwant\n%s", len(f.seen), asks, c.asks)
			}
			if r.header.Get("Authorization") != "Bearer "+token || (r.header.Get("Content-Type") == "application/json") != (r.body != "") {
				t.Errorf("the headers are %v", r.header)
			}
		})
	}
}

// Lists are read page by page, and no further than the reader wants.
func TestPages(t *testing.T) {
	t.Parallel()
	f := &fake{answer: func(n int, r *request) (*http.Response, error) {
		switch r.path {
		case "/base/v1/conversations?archived=true":
			return answer(200, "application/json", `{"data":[{"id":"c1"},{"id":"c2"}],"next_cursor":"x y"}`), nil
		case "/base/v1/conversations?archived=true&cursor=x+y":
			return answer(200, "application/json", `{"data":[{"id":"c3"}],"next_cursor":null}`), nil
		case "/base/v1/conversations/c1/events?after=3&limit=1000":
			return answer(200, "application/json", `{"data":[{"seq":4,"kind":"escalated","body":{}}],"last":6,"has_more":true}`), nil
		case "/base/v1/conversations/c1/events?after=6&limit=1000":
			return answer(200, "application/json", `{"data":[],"last":6,"has_more":true}`), nil
		case "/base/v1/conversations/c1/runs?after=0&limit=1000":
			return answer(200, "application/json", `{"data":[{"id":"r1","turn":1},{"id":"r2","turn":2}],"last":2,"has_more":true}`), nil
		case "/base/v1/conversations/c1/runs?after=2&limit=1000":
			return answer(200, "application/json", `{"data":[{"id":"r3","turn":3}],"last":3,"has_more":false}`), nil
		}
		return nil, fmt.Errorf("request %d: %s", n, r.path)
	}}
	c := f.client(t, client.Options{})
	if runs, err := c.Runs(t.Context(), "c1"); err != nil || len(runs) != 3 || runs[2].ID != "r3" {
		t.Errorf("the runs are %+v, %v", runs, err)
	}
	got := ""
	for conv, err := range c.List(t.Context(), client.Filter{Archived: true}) {
		if err != nil {
			t.Fatal(err)
		}
		got += conv.ID + " "
	}
	for _, err := range c.List(t.Context(), client.Filter{Archived: true}) {
		if err != nil {
			t.Error(err)
		}
		break
	}
	for e, err := range c.Events(t.Context(), "c1", 3) {
		if err != nil {
			t.Fatal(err)
		}
		got += fmt.Sprint(e.Seq)
	}
	if got != "c1 c2 c3 4" || len(f.seen) != 7 {
		t.Errorf("got %s in %d requests", got, len(f.seen))
	}
	for _, err := range c.List(t.Context(), client.Filter{}) {
		if !errors.Is(err, event.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
	}
	for _, err := range c.Events(t.Context(), "c2", 0) {
		if !errors.Is(err, event.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
	}
}

// A name that no server gives is not put into a path.
func TestNamesAreNotPaths(t *testing.T) {
	t.Parallel()
	f := &fake{answer: func(int, *request) (*http.Response, error) { return nil, errors.New("asked") }}
	c := f.client(t, client.Options{})
	for _, name := range []string{"", ".", "..", "a/b", "a?b", "a#b", "%2e%2e", "a b", "é", "a\n"} {
		_, err := c.Get(t.Context(), name)
		_, start := c.Start(t.Context(), name, "", client.RunOptions{})
		_, stream := errorOf(c.Stream(t.Context(), name, "", client.RunOptions{}))
		_, attach := errorOf(c.Attach(t.Context(), "c1", "x"+name+"/", "", client.FollowOptions{}))
		for _, err := range []error{err, start, stream, attach, c.Cancel(t.Context(), "c1", name), c.Answer(t.Context(), "c1", name, 1)} {
			if !errors.Is(err, event.ErrNotFound) {
				t.Errorf("%q: %v", name, err)
			}
		}
	}
	if _, err := errorOf(c.Attach(t.Context(), "c1", "", "", client.FollowOptions{})); !errors.Is(err, event.ErrNotFound) {
		t.Errorf("a run without a name: %v", err)
	}
	if len(f.seen) > 0 {
		t.Errorf("it asked %+v", f.seen)
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"http://localhost:7777", "https://braid.example/api/"} {
		if _, err := client.New(address, secret.New(token), client.Options{}); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, address := range []string{
		"", "localhost:7777", "ftp://x", "http://", "http://user:pass@x", "http://x?a=b", "http://x#a", "http://x\n", "/v1", "unix:///x",
	} {
		if _, err := client.New(address, secret.New(token), client.Options{}); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// The token goes to the server that it is for, wherever that one points.
func TestRedirectsDoNotCarryTheTokenAway(t *testing.T) {
	t.Parallel()
	var elsewhere []string
	thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		elsewhere = append(elsewhere, r.URL.Path, r.Header.Get("Authorization"))
		_, _ = io.WriteString(w, `{"id":"stolen"}`)
	}))
	defer thief.Close()
	moved := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/here" {
			_, _ = io.WriteString(w, `{"id":"moved","title":"`+r.Header.Get("Authorization")+`"}`)
			return
		}
		http.Redirect(w, r, moved, http.StatusTemporaryRedirect)
	}))
	defer server.Close()
	c, err := client.New(server.URL, secret.New(token), client.Options{HTTP: server.Client(), Tries: 1})
	if err != nil {
		t.Fatal(err)
	}
	// localhost is a name of the same machine, and another host.
	for _, to := range []string{thief.URL + "/x", strings.Replace(thief.URL, "127.0.0.1", "localhost", 1), "//" + strings.TrimPrefix(thief.URL, "http://")} {
		moved = to
		_, err := c.Get(t.Context(), "c1")
		_, stream := errorOf(c.Stream(t.Context(), "c1", "a secret", client.RunOptions{}))
		if !errors.Is(err, event.ErrInvalid) || !errors.Is(stream, event.ErrInvalid) {
			t.Errorf("sent to %s: %v, %v", to, err, stream)
		}
	}
	if len(elsewhere) > 0 {
		t.Errorf("the other server was asked %q", elsewhere)
	}
	moved = "/here"
	conv, err := c.Get(t.Context(), "c1")
	if err != nil || conv.ID != "moved" || conv.Title != "Bearer "+token {
		t.Errorf("on the same server: %+v, %v", conv, err)
	}
	moved = "/round"
	if _, err = c.Get(t.Context(), "c1"); !errors.Is(err, event.ErrInvalid) {
		t.Errorf("in a circle: %v", err)
	}
	server.Client().CloseIdleConnections()
}

// Nothing that is printed of a client holds the token.
func TestTheTokenIsNotPrinted(t *testing.T) {
	t.Parallel()
	f := &fake{answer: func(int, *request) (*http.Response, error) { return nil, errors.New("connection refused") }}
	c := f.client(t, client.Options{Tries: 1})
	_, err := c.Get(t.Context(), "c1")
	o := client.RunOptions{Tokens: map[string]secret.Secret{"a": secret.New(token)}}
	for _, text := range []string{fmt.Sprintf("%v %+v %#v %s", c, *c, o, err), fmt.Sprintf("%+v", errors.Unwrap(err))} {
		if strings.Contains(text, token) {
			t.Errorf("it prints %s", text)
		}
	}
}

// A run is begun once, however often that was asked for, and a server that says no is
// believed.
func TestStartTriesAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: func(n int, _ *request) (*http.Response, error) {
			switch n {
			case 1:
				return nil, errors.New("connection reset")
			case 2:
				return answer(502, "text/html", ""), nil
			}
			return answer(202, "application/json", `{"id":"r1","turn":1,"status":"running"}`), nil
		}}
		r, err := f.client(t, client.Options{}).Start(t.Context(), "c1", "Hello!", client.RunOptions{})
		if err != nil || r.ID != "r1" || len(f.seen) != 3 {
			t.Fatalf("%+v, %v after %d requests", r, err, len(f.seen))
		}
		key := f.seen[0].header.Get("Idempotency-Key")
		for _, r := range f.seen {
			if k := r.header.Get("Idempotency-Key"); k == "" || k != key || r.header.Get("Prefer") != "respond-async" {
				t.Errorf("the headers are %v", r.header)
			}
		}
		f.answer = func(int, *request) (*http.Response, error) {
			return answer(422, "application/json", `{"error":{"code":"MODEL_NOT_FOUND","message":"no"}}`), nil
		}
		if _, err = f.client(t, client.Options{}).Start(t.Context(), "c1", "", client.RunOptions{}); !errors.Is(err, event.ErrModelNotFound) || len(f.seen) != 4 {
			t.Errorf("%v after %d requests", err, len(f.seen))
		}
	})
}

// An answer that does not come is not waited for, for ever.
func TestTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: func(int, *request) (*http.Response, error) {
			res := answer(200, "application/json", "")
			res.Body = &endless{Reader: strings.NewReader(`{"id":`)}
			return res, nil
		}}
		begun := time.Now()
		_, err := f.client(t, client.Options{Timeout: time.Minute}).Get(t.Context(), "c1")
		if took := time.Since(begun); !errors.Is(err, event.ErrTimeout) || took != time.Minute {
			t.Errorf("%v after %v", err, took)
		}
	})
}
