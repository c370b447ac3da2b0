package agentcore_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/server/agentcore"
	"github.com/braidrun/braid/service"
)

var here = service.Principal{Tenant: "default"}

// begin begins a stream and reads until a text has come.
func (s *site) begin(ctx context.Context, prompt, until string, headers ...string) *http.Response {
	s.t.Helper()
	res, err := s.Client().Do(s.request(ctx, http.MethodPost, "/invocations", promptBody(prompt), headers...))
	if err != nil {
		s.t.Fatal(err)
	}
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		if strings.Contains(lines.Text(), until) {
			return res
		}
	}
	s.t.Fatalf("%q did not come: %v", until, lines.Err())
	return nil
}

func TestLeavingCancels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		// Of an answer that was left in its middle, the next turn's model is told that it was interrupted. It repeats that.
		for name, prompt := range map[string]string{"while the model speaks": "slowly please", "while a tool works": "use wait"} {
			s := open(t, nil)
			ctx, leave := context.WithCancel(t.Context())
			res := s.begin(ctx, prompt, "contentBlockDelta")
			leave()
			_ = res.Body.Close()
			s.ends(here, event.RunCancelled)
			if a := s.say("hello"); !strings.Contains(a.body, `"stop_reason": "end_turn"`) {
				t.Errorf("%s: the next turn is %s", name, a.body)
			} else if marked := strings.Contains(a.body, `"interrupted "`); marked != (prompt == "slowly please") {
				t.Errorf("%s: the interrupted answer is marked: %v, in %s", name, marked, a.body)
			}
		}
		// So it is where one value is waited for.
		s := open(t, nil)
		ctx, leave := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, leave) // nothing else is left to do by then
		if _, err := s.Client().Do(s.request(ctx, http.MethodPost, "/invocations", promptBody("slowly"), "Accept", "application/json")); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		s.ends(here, event.RunCancelled)
	})
}

// Only the last of a run's readers cancels it by leaving.
func TestTheLastReaderCancels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, nil)
		first, leaveFirst := context.WithCancel(t.Context())
		second, leaveSecond := context.WithCancel(t.Context())
		defer leaveSecond()
		a := s.begin(first, "slowly please", `"you "`, retryHeader, "same")
		b := s.begin(second, "slowly please", `"you "`, retryHeader, "same")
		leaveFirst()
		_ = a.Body.Close()
		synctest.Wait() // for the server to find it out
		for range 3 {
			s.gate <- struct{}{}
		}
		rest, err := io.ReadAll(b.Body)
		_ = b.Body.Close()
		if err != nil || !strings.Contains(string(rest), `{"result"`) || s.calls.Load() != 1 {
			t.Errorf("%v %s", err, rest)
		}
		s.ends(here, event.RunCompleted)
	})
}

// A request that is repeated gets the first one's stream, whether that is over or not.
func TestRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, nil)
		first := s.say("use clock", retryHeader, "one")
		again := s.say("use clock", retryHeader, "one")
		if s.calls.Load() != 2 {
			t.Errorf("the model was called %d times", s.calls.Load())
		}
		merged := func(a answer) (texts, others string) {
			for _, f := range frames(clocked.ReplaceAllString(a.body, `"$1": 0`)) {
				if strings.Contains(f, "contentBlockDelta") {
					_, rest, _ := strings.Cut(f, `"text": "`)
					text, _, _ := strings.Cut(rest, `"`)
					texts += text
					continue
				}
				others += f + "\n"
			}
			return texts, others
		}
		firstTexts, firstRest := merged(first)
		againTexts, againRest := merged(again)
		if firstTexts != againTexts || firstRest != againRest {
			t.Errorf("first\n%s\nand again\n%s", first.body, again.body)
		}
		s.ask(http.MethodPost, "/invocations", promptBody("another"), retryHeader, "one").has(t, 400, "was used for another request")
		s.say("use clock", retryHeader, "two").has(t, 200)
		if s.calls.Load() != 4 {
			t.Errorf("the model was called %d times", s.calls.Load())
		}
		// A failed agent is not run again either.
		before := s.calls.Load()
		for range 3 {
			s.say("break now", retryHeader, "three", "Accept", "application/json").has(t, 424)
		}
		if n := s.calls.Load() - before; n != 1 {
			t.Errorf("a failed agent ran %d times", n)
		}
		// Nor is one that waits for an answer.
		s.say("use ask", retryHeader, "four").has(t, 200, `"stop_reason": "interrupt"`)
		s.say("use ask", retryHeader, "four").has(t, 200, `"stop_reason": "interrupt"`)
	})
}

// A session that waits for answers takes nothing else, and says so.
func TestWaiting(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	a := s.say("use ask", "Accept", "application/json")
	id := interrupt.FindStringSubmatch(a.body)[1]
	s.say("hello").has(t, 400, "waits for answers to its interrupts")
	s.say("hello", retryHeader, "new").has(t, 400, "waits for answers to its interrupts")
	s.ask(http.MethodPost, "/invocations", `{"prompt": [{"interruptResponse": {"interruptId": "other", "response": true}}]}`).has(t, 400)
	body := `{"prompt": [{"interruptResponse": {"interruptId": "` + id + `", "response": true}}]}`
	s.ask(http.MethodPost, "/invocations", body, sessionHeader, strings.Repeat("z", 40)).has(t, 400, "belong to an open interrupt")
	s.ask(http.MethodPost, "/invocations", body).has(t, 200, "it is true")
	s.ask(http.MethodPost, "/invocations", body).has(t, 400, "belong to an open interrupt")
}

// Two runs at once in one session: the second waits a little, and is to come again.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, nil)
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		res := s.begin(ctx, "slowly please", `"you "`)
		defer res.Body.Close()
		a := s.say("hello")
		a.has(t, 409, "another run of the conversation is open")
		if a.head.Get(errorType) != "RetryableConflictException" || a.head.Get("Retry-After") != "5" {
			t.Error(a.head)
		}
		s.say("hello", sessionHeader, "").has(t, 200)
	})
}

// bubble opens a handler without a network, for tests whose clock is not the real one.
func bubble(t *testing.T, change func(*agentcore.Options)) *site {
	t.Helper()
	s := &site{t: t, gate: make(chan struct{})}
	agent := braid.New("guide", scripted{s.gate, &s.calls}, s.tools())
	o := agentcore.Options{Token: secret.New(token)}
	if change != nil {
		change(&o)
	}
	var err error
	if s.handler, err = agentcore.ForAgent(t.Context(), agent, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.handler.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *site) direct(method, path, body string, headers ...string) answer {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), method, "http://localhost"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set(sessionHeader, session)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return answer{w.Code, w.Header(), w.Body.String()}
}

// Ten minutes later the same id is another request.
func TestRepeatedLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := bubble(t, nil)
		say := func(prompt, id string, calls int64) {
			t.Helper()
			s.direct(http.MethodPost, "/invocations", promptBody(prompt), retryHeader, id).has(t, 200, `{"result"`)
			if got := s.calls.Load(); got != calls {
				t.Errorf("after %q the model was called %d times, want %d", prompt, got, calls)
			}
		}
		say("hello", "id", 1)
		time.Sleep(9*time.Minute + 59*time.Second)
		say("hello", "id", 1)
		time.Sleep(2 * time.Second)
		say("hello", "id", 2)
		time.Sleep(9 * time.Minute)
		say("hello", "id", 2)
		say("hello", "id 1", 3) // which is an id of its own
		time.Sleep(11 * time.Minute)
		say("another", "id", 4)
		say("another", "id", 4)
	})
}

func TestHealth(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var custom func() agentcore.Health
		s := bubble(t, func(o *agentcore.Options) {
			o.Debug = true
			o.Health = func() agentcore.Health {
				if custom == nil {
					return ""
				}
				return custom()
			}
		})
		begun := time.Now()
		at := func(want string, since time.Time) {
			t.Helper()
			a := s.direct(http.MethodGet, "/ping", "")
			body := `{"status":"` + want + `","time_of_last_update":` + strconv.FormatInt(since.Unix(), 10) + `}`
			if a.body != body {
				t.Errorf("%s, want %s", a.body, body)
			}
		}
		at("Healthy", begun)
		time.Sleep(time.Minute)
		at("Healthy", begun)
		done := s.handler.Task("index")
		busy := time.Now()
		time.Sleep(time.Minute)
		at("HealthyBusy", busy)
		s.direct(http.MethodPost, "/invocations", `{"_agent_core_app_action": "job_status"}`).has(t, 200, `{"active_count":1,"running_jobs":[{"name":"index","duration":60}]}`)
		other := s.handler.Task("other")
		other()
		at("HealthyBusy", busy)
		done()
		done()
		free := time.Now()
		time.Sleep(time.Minute)
		at("Healthy", free)
		// What is forced goes before what the program says, and that before the tasks.
		custom = func() agentcore.Health { return agentcore.Busy }
		at("HealthyBusy", time.Now())
		s.direct(http.MethodPost, "/invocations", `{"_agent_core_app_action": "force_healthy"}`).has(t, 200, `{"forced_status":"Healthy"}`)
		at("Healthy", time.Now())
		s.direct(http.MethodPost, "/invocations", `{"_agent_core_app_action": "clear_forced_status"}`).has(t, 200, `{"forced_status":"Cleared"}`)
		at("HealthyBusy", time.Now())
		custom = func() agentcore.Health { panic("it does not know") }
		at("Healthy", time.Now())
		s.direct(http.MethodPost, "/invocations", `{"_agent_core_app_action": "force_busy"}`).has(t, 200, "HealthyBusy")
		s.direct(http.MethodPost, "/invocations", `{"_agent_core_app_action": "ping_status"}`).has(t, 200, `{"status":"HealthyBusy"`)
		s.direct(http.MethodPost, "/invocations", `{"_agent_core_app_action": "explode"}`).has(t, 400, `{"error":"Unknown action: explode"}`)
	})
}

// A run that nobody waits for keeps the machine until it is over.
func TestAsynchronous(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := bubble(t, nil)
		a := s.direct(http.MethodPost, "/invocations", promptBody("slowly"), "Prefer", "respond-async")
		a.has(t, 202, `{"status":"accepted","runtimeSessionId":"`+session+`","run":"run_`)
		synctest.Wait()
		s.direct(http.MethodGet, "/ping", "").has(t, 200, "HealthyBusy")
		for range 2 {
			s.gate <- struct{}{}
		}
		synctest.Wait()
		s.direct(http.MethodGet, "/ping", "").has(t, 200, `"Healthy"`)
		s.direct(http.MethodPost, "/invocations", promptBody("count")).has(t, 200, "III")
		// One that is under way when the handler is closed does not hold it.
		s.direct(http.MethodPost, "/invocations", promptBody("slowly"), "Prefer", "respond-async").has(t, 202)
	})
}
