package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/braidrun/braid/client"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/wire/native"
	"github.com/braidrun/braid/wire/wiretest"
)

// shown is what a reader has of a stream in the end: its durable frames, and what
// its screen shows.
func shown(frames iter.Seq2[native.Frame, error]) (durable []string, screen string, err error) {
	var s client.Screen
	var b strings.Builder
	for f, err := range frames {
		if err != nil && !isError(f) {
			return nil, "", err
		}
		s.Apply(f)
		switch f.(type) {
		case *native.TextDelta, *native.Thinking, *native.Snapshot, *native.ToolProgress:
		default:
			durable = append(durable, f.FrameName()+" "+string(native.AppendJSON(nil, f)))
		}
		if native.Terminal(f) {
			slices.SortFunc(s.Answers, func(a, b *native.Answer) int { return strings.Compare(a.Step, b.Step) })
			for _, a := range s.Answers {
				if !a.Void { // what a void one had said depends on when one looked
					fmt.Fprintf(&b, "%s %q %q\n", a.Step, a.Thinking(), a.Text())
				}
			}
			fmt.Fprintln(&b, len(s.Calls), len(s.Questions), s.End.FrameName())
		}
	}
	return durable, b.String(), nil
}

func isError(f native.Frame) bool {
	_, ok := f.(*native.Error)
	return ok
}

// Wherever connections are cut, and whatever fails between, the reader is given what a
// reader without cuts is given.
func TestStreamsSurviveEveryCut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		events := wiretest.Conversation().Draw(rt, "conversation")
		one := rapid.Bool().Draw(rt, "one run")
		if one {
			end := slices.IndexFunc(events, func(e event.Event) bool { _, ok := e.Body.(*event.RunEnded); return ok })
			events = events[:end+1]
		}
		type step struct {
			how, now, cut int
		}
		plan := make([]step, rapid.IntRange(0, 8).Draw(rt, "connections"))
		for i := range plan {
			plan[i] = step{rapid.IntRange(0, 5).Draw(rt, "how"), rapid.IntRange(0, 1000).Draw(rt, "now"), rapid.IntRange(0, 5000).Draw(rt, "cut")}
		}
		var bad error // a bubble must be left before the test can fail
		synctest.Test(t, func(t *testing.T) {
			fail := func(format string, args ...any) {
				if bad == nil {
					bad = fmt.Errorf(format, args...)
				}
			}
			cuts := 0
			play := func(plan []step) (durable []string, screen string, err error) {
				now, n := 0, 0
				key := ""
				f := &fake{answer: func(_ int, r *request) (*http.Response, error) {
					n++
					at := native.Cursor{}
					if id := r.header.Get("Last-Event-ID"); id != "" {
						c, err := native.ParseCursor(id)
						if err != nil {
							fail("%v", err)
						}
						at = c
					}
					if r.header.Get("Authorization") != "Bearer "+token {
						fail("the token is missing")
					}
					if r.method == http.MethodPost {
						if k := r.header.Get("Idempotency-Key"); k == "" || key != "" && k != key {
							fail("the run's key is %q and then %q", key, k)
						}
						key = r.header.Get("Idempotency-Key")
					}
					if n > len(plan) {
						return streamed(string(serve(events, at, len(events)))), nil
					}
					p := plan[n-1]
					switch p.how {
					case 0:
						return nil, errors.New("connection refused")
					case 1:
						return answer(503, "text/html", "<html>"), nil
					case 2:
						res := answer(503, "application/json", `{"error":{"code":"UNAVAILABLE","message":"it drains","retry_after":1}}`)
						return res, nil
					}
					now += p.now % (len(events) - now + 1)
					b := serve(events, at, now)
					b = b[:p.cut%(len(b)+1)]
					res := streamed("")
					res.Body = broken(b)
					if p.how == 3 { // closed, not cut: on the way, as by a server that drains
						res.Body = io.NopCloser(bytes.NewReader(b))
					}
					cuts++
					return res, nil
				}}
				c := f.client(t, client.Options{})
				if !one {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					n := len(events)
					return shown(func(yield func(native.Frame, error) bool) {
						ends := 0
						for f, err := range c.Follow(ctx, wiretest.Name, "", client.FollowOptions{}) {
							if !yield(f, err) {
								return
							}
							if native.Terminal(f) {
								if ends++; ends == runs(events[:n]) {
									return
								}
							}
						}
					})
				}
				return shown(c.Stream(t.Context(), wiretest.Name, "Hello!", client.RunOptions{}))
			}
			want, wantScreen, err := play(nil)
			if err != nil {
				fail("%v", err)
			}
			got, gotScreen, err := play(plan)
			if err != nil {
				fail("%v", err)
			}
			if !slices.Equal(got, want) || gotScreen != wantScreen {
				fail("after %d cuts:\n%s%s", cuts, cmp.Diff(want, got), cmp.Diff(wantScreen, gotScreen))
			}
		})
		if bad != nil {
			rt.Fatal(bad)
		}
	})
}

func runs(events []event.Event) int {
	n := 0
	for i := range events {
		if _, ok := events[i].Body.(*event.RunEnded); ok {
			n++
		}
	}
	return n
}

var (
	begins = &native.Init{RunID: "r1", SessionID: "c1.1", Turn: 1, Tools: []string{}, MCPServers: []native.Server{}}
	says   = &native.Message{Text: "Eight.", Place: native.Place{Step: "m1", Attempt: 1}}
	ends   = &native.Result{Result: "Eight.", Errors: []string{}, End: native.End{RunID: "r1", Status: event.RunCompleted}}
)

// errorOf reads a stream to its error.
func errorOf(frames iter.Seq2[native.Frame, error]) (n int, err error) {
	for f, e := range frames {
		if f != nil {
			n++
		}
		err = e
	}
	return n, err
}

// What the server refuses is not asked for again.
func TestRefusalsAreFinal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		status int
		mime   string
		body   string
		kind   event.ErrorKind
		code   string
		retry  time.Duration
		header string
	}{
		{"locked", 409, "application/json", `{"error":{"code":"CONVERSATION_LOCKED","message":"busy","retry_after":5}}`, event.ErrLocked, "CONVERSATION_LOCKED", 5 * time.Second, ""},
		{"locked, as a header says", 409, "application/json", `{"error":{"code":"CONVERSATION_LOCKED","message":"busy"}}`, event.ErrLocked, "CONVERSATION_LOCKED", 7 * time.Second, "7"},
		{"archived", 409, "application/json", `{"error":{"code":"CONVERSATION_ARCHIVED","message":"put away"}}`, event.ErrConflict, "CONVERSATION_ARCHIVED", 0, ""},
		{"no token", 401, "application/json", `{"error":{"code":"UNAUTHENTICATED","message":"who?"}}`, event.ErrUnauthenticated, "UNAUTHENTICATED", 0, ""},
		{"a word of the future", 418, "application/json", `{"error":{"code":"TEAPOT","message":"short and stout"}}`, event.ErrInternal, "TEAPOT", 0, ""},
		{"another server", 404, "text/html", "<html>", event.ErrInvalid, "", 0, ""},
		{"another server that answers all", 200, "text/html", "<html>", event.ErrInvalid, "", 0, ""},
		{"a frame that cannot be read", 200, "text/event-stream", "id: 1\nevent: init\ndata: {\n\n", event.ErrInvalid, "", 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := &fake{answer: func(int, *request) (*http.Response, error) {
				res := answer(c.status, c.mime, c.body)
				if c.header != "" {
					res.Header.Set("Retry-After", c.header)
				}
				return res, nil
			}}
			_, err := errorOf(f.client(t, client.Options{}).Stream(t.Context(), "c1", "Hello!", client.RunOptions{}))
			e, ok := errors.AsType[*event.Error](err)
			if !ok || e.Kind != c.kind || e.Code != c.code || e.RetryAfter != c.retry || e.Message == "" {
				t.Errorf("got %+v", err)
			}
			if len(f.seen) != 1 {
				t.Errorf("the server was asked %d times", len(f.seen))
			}
		})
	}
}

// A server that cannot be reached is given up in the end, having been given time.
func TestGivesUp(t *testing.T) {
	t.Parallel()
	for name, res := range map[string]func() (*http.Response, error){
		"refused": func() (*http.Response, error) { return nil, errors.New("connection refused") },
		"cut":     func() (*http.Response, error) { return streamed("id: 1\nevent: in"), nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := &fake{}
				f.answer = func(int, *request) (*http.Response, error) { return res() }
				begun := time.Now()
				n, err := errorOf(f.client(t, client.Options{Tries: 5, Wait: time.Second}).Stream(t.Context(), "c1", "Hello!", client.RunOptions{}))
				took := time.Since(begun)
				if n > 0 || !errors.Is(err, event.ErrUnavailable) || took < 10*time.Second || took > 40*time.Second {
					t.Errorf("after %v: %v", took, err)
				}
				if len(f.seen) != 5 {
					t.Errorf("the server was asked %d times", len(f.seen))
				}
			})
		})
	}
}

// A stream that gets on, however slowly, is never given up; and a server that says when
// to come again is obeyed.
func TestPatience(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const frames = 30
		f := &fake{answer: func(n int, r *request) (*http.Response, error) {
			last := 0
			if id := r.header.Get("Last-Event-ID"); id != "" {
				c, err := native.ParseCursor(id)
				if err != nil {
					return nil, err
				}
				last = int(c.Seq)
			}
			if n%2 == 0 {
				return answer(503, "application/json", `{"error":{"code":"UNAVAILABLE","message":"it drains","retry_after":20}}`), nil
			}
			var next native.Frame = says
			if last == frames-1 {
				next = ends
			}
			res := streamed("")
			res.Body = broken(native.AppendFrames(nil, native.Cursor{Seq: int64(last) + 1}, []native.Frame{next}))
			return res, nil
		}}
		begun := time.Now()
		n, err := errorOf(f.client(t, client.Options{Tries: 2}).Stream(t.Context(), "c1", "Hello!", client.RunOptions{}))
		if took := time.Since(begun); n != frames || err != nil || took < (frames-1)*20*time.Second {
			t.Errorf("%d frames in %v, %v", n, took, err)
		}
	})
}

// A stream that says nothing for long is one that was cut. A reader that takes its time
// is not.
func TestSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: func(n int, r *request) (*http.Response, error) {
			if n == 1 {
				res := streamed("")
				res.Body = &endless{Reader: strings.NewReader(wire(begins, says))}
				return res, nil
			}
			if got := r.header.Get("Last-Event-ID"); r.method != http.MethodGet || r.path != "/base/v1/conversations/c1/runs/r1/stream" || got != "2" {
				t.Errorf("it goes on with %s %s after %q", r.method, r.path, got)
			}
			return streamed(strings.Replace(wire(ends), "id: 1", "id: 3", 1)), nil
		}}
		begun := time.Now()
		var place string
		n := 0
		for _, err := range f.client(t, client.Options{Silence: time.Minute}).Stream(t.Context(), "c1", "Hello!", client.RunOptions{Place: &place}) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n == 1 {
				time.Sleep(time.Hour)
			}
		}
		if took := time.Since(begun) - time.Hour; n != 3 || took < time.Minute || took > 2*time.Minute || len(f.seen) != 2 || place != "3" {
			t.Errorf("%d frames in %v, %d requests, the place %s", n, took, len(f.seen), place)
		}
	})
}

// A stream that never begins is tried again, and a reader that goes away is obeyed.
func TestCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: func(int, *request) (*http.Response, error) {
			res := streamed("")
			res.Body = &endless{Reader: strings.NewReader(wire(begins))}
			return res, nil
		}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		n, err := errorOf(f.client(t, client.Options{}).Stream(ctx, "c1", "Hello!", client.RunOptions{}))
		if n != 1 || !errors.Is(err, event.ErrTimeout) {
			t.Errorf("%d frames, %v", n, err)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		for _, err = range f.client(t, client.Options{}).Stream(ctx, "c1", "Hello!", client.RunOptions{}) {
			stop()
		}
		if !errors.Is(err, event.ErrCancelled) {
			t.Errorf("got %v", err)
		}
		for _, err := range f.client(t, client.Options{}).Stream(t.Context(), "c1", "Hello!", client.RunOptions{}) {
			if err != nil {
				t.Error(err)
			}
			break
		}
	})
}

// The last frame is the last: nothing is asked for after it.
func TestNoResumeAfterTheEnd(t *testing.T) {
	t.Parallel()
	f := &fake{answer: func(int, *request) (*http.Response, error) {
		res := streamed("")
		res.Body = broken([]byte(wire(begins, says, ends)))
		return res, nil
	}}
	r, err := f.client(t, client.Options{}).Run(t.Context(), "c1", "Hello!", client.RunOptions{})
	if err != nil || r.Result != "Eight." || len(f.seen) != 1 {
		t.Errorf("%+v, %v after %d requests", r, err, len(f.seen))
	}
}

// Who attaches behind the end is given nothing, and no error.
func TestAttachBehindTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: func(_ int, r *request) (*http.Response, error) {
			switch r.path {
			case "/base/v1/conversations/c1/runs/r1/stream":
				return streamed(""), nil
			case "/base/v1/conversations/c1/runs/r1":
				return answer(200, "application/json", `{"id":"r1","turn":1,"status":"completed","metadata":{}}`), nil
			case "/base/v1/conversations/c1/events?after=9&limit=1000":
				return answer(200, "application/json", `{"data":[{"seq":10,"run":"r2","kind":"run_started","body":{}}],"last":10,"has_more":false}`), nil
			}
			return nil, errors.New("who asked for that?")
		}}
		n, err := errorOf(f.client(t, client.Options{}).Attach(t.Context(), "c1", "r1", "9", client.FollowOptions{}))
		if n != 0 || err != nil || len(f.seen) != 3 {
			t.Errorf("%d frames, %v after %d requests", n, err, len(f.seen))
		}
	})
}

// How runs end, as Run tells it.
func TestRun(t *testing.T) {
	t.Parallel()
	cancelled := &native.Result{
		Result: "Ei", IsError: true, Errors: []string{"cancelled"}, Error: &native.Error{Code: "CANCELLED", Message: "cancelled"},
		End: native.End{Status: event.RunCancelled},
	}
	for _, c := range []struct {
		name   string
		frames []native.Frame
		result string
		status event.RunStatus
		kind   event.ErrorKind
	}{
		{"completed", []native.Frame{begins, says, ends}, "Eight.", event.RunCompleted, ""},
		{"cancelled", []native.Frame{begins, cancelled}, "Ei", event.RunCancelled, event.ErrCancelled},
		{"failed", []native.Frame{begins, &native.Error{Code: "SDK_ERROR", Message: "no"}}, "", "", event.ErrModel},
		{"waiting", []native.Frame{begins, says, &native.Question{QuestionID: "q1"}}, "Eight.", event.RunWaiting, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := &fake{answer: func(int, *request) (*http.Response, error) { return streamed(wire(c.frames...)), nil }}
			r, err := f.client(t, client.Options{}).Run(t.Context(), "c1", "Hello!", client.RunOptions{})
			if event.KindOf(err) != c.kind || r == nil != (c.status == "") || r != nil && (r.Result != c.result || r.Status != c.status) {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}

// Questions are put to the reader's own function while they are open.
func TestAsk(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, open string
		status     int
		fail       error
		asked      int
		kind       event.ErrorKind
	}{
		{"open", `{"data":[{"question_id":"q1","ask":"approval","prompt":"Sure?"}]}`, 200, nil, 1, ""},
		{"answered before", `{"data":[]}`, 200, nil, 0, ""},
		{"answered meanwhile", `{"data":[{"question_id":"q1"}]}`, 410, nil, 1, ""},
		{"nobody there", `{"data":[{"question_id":"q1"}]}`, 200, &event.Error{Kind: event.ErrCancelled}, 1, event.ErrCancelled},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			answered := ""
			f := &fake{answer: func(_ int, r *request) (*http.Response, error) {
				switch {
				case strings.HasSuffix(r.path, "/runs"):
					return streamed(wire(begins, &native.Question{QuestionID: "q1"}, says, ends)), nil
				case strings.HasSuffix(r.path, "/questions"):
					return answer(200, "application/json", c.open), nil
				case strings.HasSuffix(r.path, "/questions/q1"):
					answered = r.body
					body := `{"id":"r1","turn":1,"status":"running"}`
					if c.status == 410 {
						body = `{"error":{"code":"GONE","message":"too late"}}`
					}
					return answer(c.status, "application/json", body), nil
				}
				return nil, errors.New("who asked for that?")
			}}
			asked := 0
			r, err := f.client(t, client.Options{}).Run(t.Context(), "c1", "Hello!", client.RunOptions{
				Ask: func(_ context.Context, q *native.Question) (any, error) {
					asked++
					return event.Approval{Approved: q.QuestionID == "q1"}, c.fail
				},
			})
			if asked != c.asked || event.KindOf(err) != c.kind || c.kind == "" && r.Result != "Eight." {
				t.Errorf("asked %d times: %+v, %v", asked, r, err)
			}
			if want := `{"answer":true}`; asked > 0 && c.fail == nil && answered != want {
				t.Errorf("it was sent %s", answered)
			}
		})
	}
}
