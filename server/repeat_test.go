package server_test

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid/internal/race"
)

// reading is a stream that is read in parts.
type reading struct {
	*http.Response

	t     *testing.T
	lines *bufio.Scanner
}

func (s *site) read(path, body string, headers ...string) *reading {
	s.t.Helper()
	res := s.ask("POST", path, body, headers...)
	return &reading{res, s.t, linesOf(res.Body)}
}

// until reads up to a frame of that name.
func (r *reading) until(name string) []frame {
	r.t.Helper()
	return framesOf(r.t, r.lines, func(f frame) bool { return f.name == name })
}

// rest reads to the end.
func (r *reading) rest() []frame {
	r.t.Helper()
	return framesOf(r.t, r.lines, nil)
}

// kinds are the names and ids of the frames that stand for committed events.
func kinds(list []frame) (out []string) {
	for _, f := range list {
		switch f.name {
		case "text_delta", "thinking", "title", "tool_progress":
			continue
		}
		out = append(out, f.id+" "+f.name)
	}
	return out
}

// A request that is repeated under its key streams its run from the beginning, wherever the run is by now:
// with the ids that its events have, and with deltas that add up.
func TestARepeatedRequestGetsItsWholeRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		input, at string
		after     int
		then      func(s *site, conv string, f frame)
	}{
		"while the model speaks":  {input: "slowly please now", at: "text_delta", then: opened},
		"while a tool works":      {input: "use wait", at: "tool_use", then: opened},
		"while a question waits":  {input: "use ask", at: "question", then: answered},
		"after the first message": {input: "use wait", at: "message", then: opened},
		"after its end":           {input: "use clock", at: "result", then: func(*site, string, frame) {}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, nil)
			conv := s.conversation()
			runs, body := "/v1/conversations/"+conv+"/runs", `{"user_input":"`+c.input+`"}`
			s.json(200, "POST", runs, `{"user_input":"a run before it"}`, "Accept", "application/json")
			first := s.read(runs, body, "Idempotency-Key", "k")
			begun := first.until(c.at)
			again := s.read(runs, body, "Idempotency-Key", "k")
			if a, b := first.Header.Get("X-Run-Id"), again.Header.Get("X-Run-Id"); a != b {
				t.Fatalf("the run is %s, and repeated %s", a, b)
			}
			early := again.until(c.at)
			c.then(s, conv, begun[len(begun)-1])
			rest := append(slices.Clone(early), again.rest()...)
			whole := frames(t, s.ask("GET", runs+"/"+first.Header.Get("X-Run-Id")+"/stream", "").Body, nil)
			if got, want := kinds(rest), kinds(whole); !slices.Equal(got, want) {
				t.Errorf("the repeated request streams\n%q, want\n%q", got, want)
			}
			if early[0].name != "init" || early[0].id != begun[0].id {
				t.Errorf("it begins with %+v, the first with %+v", early[0], begun[0])
			}
			end := rest[len(rest)-1]
			if !strings.HasSuffix(text(rest), end.data["result"].(string)) || end.data["result"] == "" {
				t.Errorf("its deltas are %q, its result %q", text(rest), end.data["result"])
			}
			// With the id of a frame it goes on behind that one.
			at := slices.IndexFunc(rest, func(f frame) bool { return f.name == "user_message" })
			behind := frames(t, s.ask("POST", runs, body, "Idempotency-Key", "k", "Last-Event-ID", rest[at].id).Body, nil)
			if got, want := kinds(behind), kinds(whole)[2:]; !slices.Equal(got, want) {
				t.Errorf("behind %s it streams\n%q, want\n%q", rest[at].id, got, want)
			}
			if got := s.json(200, "POST", runs, body, "Idempotency-Key", "k", "Accept", "application/json"); got["result"] != end.data["result"] {
				t.Errorf("as JSON it is %v", got)
			}
			if list := s.json(200, "GET", runs, "")["data"].([]any); len(list) != 2 {
				t.Errorf("there are %d runs", len(list))
			}
		})
	}
}

func opened(s *site, _ string, _ frame) { close(s.gate) }

func answered(s *site, conv string, f frame) {
	s.json(200, "POST", "/v1/conversations/"+conv+"/questions/"+f.data["question_id"].(string), `{"answer":true}`)
}

// A message that joins a run streams from the model call that was under way, and so does the same request
// when it is repeated: before the message has entered the log, after that, and after the run's end.
func TestARepeatedMessageThatJoined(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	conv := s.conversation()
	runs := "/v1/conversations/" + conv + "/runs"
	first := s.read(runs, `{"user_input":"use wait"}`)
	first.until("tool_use")
	ask := func() *reading {
		return s.read(runs, `{"user_input":"and hello","policy":"steer"}`, "Idempotency-Key", "m")
	}
	one, two := ask(), ask()
	early := two.until("tool_use")
	s.gate <- struct{}{}
	a := one.rest()
	b := append(slices.Clone(early), two.rest()...)
	c := ask().rest()
	want := kinds(a)
	if !slices.Equal(kinds(b), want) || !slices.Equal(kinds(c), want) {
		t.Errorf("the message streams\n%q, repeated\n%q and after the end\n%q", want, kinds(b), kinds(c))
	}
	if got := strings.Join(want, " "); !strings.Contains(got, "message") || !strings.Contains(got, "user_message") || strings.Contains(got, "init") {
		t.Errorf("it streams %s", got)
	}
	if id := one.Header.Get("X-Run-Id"); id != first.Header.Get("X-Run-Id") || id != ask().Header.Get("X-Run-Id") {
		t.Errorf("it joined %s", id)
	}
	async := s.json(202, "POST", runs, `{"user_input":"and hello","policy":"steer"}`, "Idempotency-Key", "m", "Prefer", "respond-async")
	if async["status"] != "completed" || async["turn"] != 1.0 {
		t.Errorf("repeated after the end it is %v", async)
	}
}

// A run that a message with the policy steer begins has an id of the same form as others.
func TestRunsOfAllPoliciesHaveIDsOfOneForm(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	runs := "/v1/conversations/" + s.conversation() + "/runs"
	for _, policy := range []string{"", "reject", "queue", "steer", "interrupt"} {
		res := s.json(200, "POST", runs, `{"user_input":"hello","policy":"`+policy+`"}`, "Accept", "application/json")
		if id, ok := strings.CutPrefix(res["run_id"].(string), "run_"); !ok || id != strings.ToLower(id) || len(id) != 26 {
			t.Errorf("the policy %q gives the run %s", policy, res["run_id"])
		}
	}
}

// Whatever is repeated under a key gives nothing to those whose it is not.
func TestARepeatedRequestOfOthers(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	conv := s.conversation()
	runs := "/v1/conversations/" + conv + "/runs"
	s.read(runs, `{"user_input":"slowly please now"}`, "Idempotency-Key", "k").until("text_delta")
	refused := func(status int, code, method, path, body string, headers ...string) {
		t.Helper()
		if e := s.json(status, method, path, body, headers...)["error"].(map[string]any); e["code"] != code {
			t.Errorf("%s %s: %v, want %s", method, path, e, code)
		}
	}
	for _, accept := range []string{"text/event-stream", "application/json"} {
		refused(422, "IDEMPOTENCY_MISMATCH", "POST", runs, `{"user_input":"another"}`, "Idempotency-Key", "k", "Accept", accept)
		refused(422, "IDEMPOTENCY_MISMATCH", "POST", runs, `{"user_input":"slowly please now","executor":"web"}`, "Idempotency-Key", "k", "Accept", accept)
	}
	for _, id := range []string{"x", "1:", "-1", "01", "1:2", "9999", "1:99.99999"} {
		refused(400, "INVALID_REQUEST", "POST", runs, `{"user_input":"slowly please now"}`, "Idempotency-Key", "k", "Last-Event-ID", id)
	}
	close(s.gate)
	s.json(200, "POST", runs, `{"user_input":"slowly please now"}`, "Idempotency-Key", "k", "Accept", "application/json")
	s.json(204, "DELETE", "/v1/conversations/"+conv, "")
	refused(404, "CONVERSATION_NOT_FOUND", "POST", runs, `{"user_input":"slowly please now"}`, "Idempotency-Key", "k")
}

// Of two readers of a run that is to be cancelled with its reader, only the last one cancels it: the first
// connection of a client may break off after the client has repeated its request.
func TestTheFirstConnectionDoesNotCancelTheSecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, nil)
		runs := "/v1/conversations/" + s.conversation() + "/runs"
		body := `{"user_input":"slowly please now","on_disconnect":"cancel"}`
		first, second := s.read(runs, body, "Idempotency-Key", "k"), s.read(runs, body, "Idempotency-Key", "k")
		first.until("text_delta")
		second.until("text_delta")
		_ = first.Body.Close()
		s.streams(1)
		for range 4 {
			s.gate <- struct{}{}
		}
		rest := second.rest()
		if end := rest[len(rest)-1]; end.name != "result" || end.data["status"] != "completed" {
			t.Errorf("the run ends with %+v", end)
		}
		// Who leaves last cancels.
		third := s.read(runs, `{"user_input":"slowly once more","on_disconnect":"cancel"}`)
		third.until("text_delta")
		run := third.Header.Get("X-Run-Id")
		_ = third.Body.Close()
		s.until("the run is cancelled", func() bool { return s.json(200, "GET", runs+"/"+run, "")["status"] == "cancelled" })
	})
}

// streams waits until as many streams are open.
func (s *site) streams(n int) {
	s.t.Helper()
	s.until(fmt.Sprintf("%d streams are open", n), func() bool {
		body, err := io.ReadAll(s.ask("GET", "/metrics", "").Body)
		if err != nil {
			s.t.Fatal(err)
		}
		return strings.Contains(string(body), fmt.Sprintf("\nbraid_streams %d\n", n))
	})
}

// Runs that go on while the requests for them are cut at any byte and repeated, with the id of the last
// frame and without, by one client and by two at once.
func TestRandomCutsOfRepeatedRequests(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	runs := 60
	switch {
	case testing.Short():
		runs = 12
	case race.On:
		runs = 24
	}
	inputs := []string{"もし もし slowly さ て あ と は お わ り 🌏 です", "use wait", "use clock", "use ask"}
	var mu sync.Mutex
	repeats := 0
	for i := range runs {
		pick := rand.New(rand.NewPCG(uint64(i), 16))
		conv := s.conversation()
		path, body := "/v1/conversations/"+conv+"/runs", `{"user_input":"`+inputs[i%len(inputs)]+`"}`
		over := make(chan struct{})
		var feed sync.WaitGroup
		feed.Go(func() { // the world outside: pieces come, tools end, people answer
			said := map[any]bool{} // a question is open until its run has read the answer
			for {
				select {
				case <-over:
					return
				case s.gate <- struct{}{}:
				case <-time.After(2 * time.Millisecond):
				}
				for _, q := range s.json(200, "GET", "/v1/conversations/"+conv+"/questions", "")["data"].([]any) {
					if id := q.(map[string]any)["question_id"]; !said[id] {
						said[id] = true
						answered(s, conv, frame{data: q.(map[string]any)})
					}
				}
			}
		})
		readers := make([]*reader, 1+i%2)
		var wg sync.WaitGroup
		for n := range readers {
			r := &reader{handler: s.Config.Handler, path: path, post: body, key: "k", anew: (i/2+n)%2 == 0}
			readers[n] = r
			seed := pick.Uint64()
			wg.Go(func() {
				pick := rand.New(rand.NewPCG(seed, 1))
				for r.ends == 0 {
					r.connect(t, 1+pick.IntN(3000), time.Duration(1+pick.IntN(5))*time.Millisecond)
					mu.Lock()
					repeats++
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		close(over)
		feed.Wait()
		list := s.json(200, "GET", path, "")["data"].([]any)
		if len(list) != 1 {
			t.Fatalf("%q began %d runs", inputs[i%len(inputs)], len(list))
		}
		whole := &reader{handler: s.Config.Handler, path: path + "/" + list[0].(map[string]any)["id"].(string) + "/stream"}
		whole.connect(t, 1<<30, 0)
		for _, r := range readers {
			checkReader(t, r, whole)
		}
	}
	t.Logf("%d runs over %d connections: 0 frames lost, doubled or changed", runs, repeats)
}
