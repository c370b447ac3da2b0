package agentcore_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/server/agentcore"
	"github.com/braidrun/braid/service"
)

// invoked is an invocation that is under way in a bubble.
type invoked struct {
	leave context.CancelFunc
	// answer can be read once done is closed.
	answer answer
	done   chan struct{}
}

// invoke begins an invocation without a network, and returns when the server waits.
func (s *site) invoke(body string, headers ...string) *invoked {
	ctx, leave := context.WithCancel(s.t.Context())
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/invocations", strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set(sessionHeader, session)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	in := &invoked{leave: leave, done: make(chan struct{})}
	go func() {
		defer close(in.done)
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, r)
		in.answer = answer{w.Code, w.Header(), w.Body.String()}
	}()
	synctest.Wait()
	return in
}

// cut breaks the invocation's connection off.
func (in *invoked) cut() {
	in.leave()
	<-in.done
	synctest.Wait()
}

// whole has a model that speaks slowly say everything, and gives the answer.
func (s *site) whole(in *invoked, pieces int) answer {
	for range pieces {
		select {
		case s.gate <- struct{}{}:
		case <-in.done:
		}
	}
	<-in.done
	return in.answer
}

// joined are a stream's frames; the pieces of a text, which come in any sizes, are one.
func joined(body string) string {
	var texts, others strings.Builder
	for _, f := range frames(clocked.ReplaceAllString(body, `"$1": 0`)) {
		if strings.Contains(f, `"contentBlockDelta": {"delta": {"text": `) {
			_, rest, _ := strings.Cut(f, `"text": "`)
			text, _, _ := strings.Cut(rest, `"`)
			texts.WriteString(text)
			continue
		}
		others.WriteString(f + "\n")
	}
	return others.String() + texts.String()
}

// A reader whose connection breaks and who repeats the invocation in time is given the whole stream, as one
// who was never cut; the run goes on meanwhile, and happens once.
func TestAReaderThatComesBack(t *testing.T) {
	t.Parallel()
	const prompt = "slowly one two"
	for name, c := range map[string]struct {
		headers []string
		grace   time.Duration
		away    []time.Duration
		want    string
		calls   int64
	}{
		"at once":                       {away: []time.Duration{0}, want: "end_turn", calls: 1},
		"in time":                       {away: []time.Duration{agentcore.DefaultGrace - time.Millisecond}, want: "end_turn", calls: 1},
		"in time, twice":                {away: []time.Duration{6 * time.Second, 6 * time.Second}, want: "end_turn", calls: 1},
		"in a time of the operator's":   {grace: time.Minute, away: []time.Duration{59 * time.Second}, want: "end_turn", calls: 1},
		"for JSON":                      {headers: []string{"Accept", "application/json"}, away: []time.Duration{time.Second}, want: "end_turn", calls: 1},
		"too late":                      {away: []time.Duration{agentcore.DefaultGrace + time.Millisecond}, want: "cancelled", calls: 1},
		"where the operator gives none": {grace: -1, away: []time.Duration{0}, want: "cancelled", calls: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := bubble(t, func(o *agentcore.Options) { o.Grace = c.grace })
				headers := append([]string{retryHeader, "id"}, c.headers...)
				in := s.invoke(promptBody(prompt), headers...)
				for i, away := range c.away {
					if i == 0 {
						s.gate <- struct{}{} // it has said a part
						synctest.Wait()
					}
					in.cut()
					time.Sleep(away)
					synctest.Wait()
					in = s.invoke(promptBody(prompt), headers...)
				}
				var got answer
				if c.want == "end_turn" {
					got = s.whole(in, len(strings.Fields("you said "+prompt))-2)
				} else {
					<-in.done
					got = in.answer
				}
				if !strings.Contains(got.body, `"stop_reason": "`+c.want+`"`) || s.calls.Load() != c.calls {
					t.Errorf("it got %s after %d calls of the model", got.body, s.calls.Load())
				}
				if c.want != "end_turn" || len(c.headers) > 0 {
					return
				}
				fresh := bubble(t, nil)
				want := fresh.whole(fresh.invoke(promptBody(prompt)), len(strings.Fields("you said "+prompt))-1)
				if joined(got.body) != joined(want.body) {
					t.Errorf("it got\n%s\nwant\n%s", joined(got.body), joined(want.body))
				}
			})
		})
	}
}

// Whoever goes on with another request does not wait for the one that was left: it ends at once.
func TestAnotherRequestAfterLeaving(t *testing.T) {
	t.Parallel()
	for name, headers := range map[string][]string{"with an id": {retryHeader, "another"}, "without": nil, "whose id begins so": {retryHeader, "id2"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := bubble(t, nil)
				s.invoke(promptBody("slowly please"), retryHeader, "id").cut()
				begun := time.Now()
				s.direct(http.MethodPost, "/invocations", promptBody("hello"), headers...).has(t, 200, `"stop_reason": "end_turn"`)
				if took := time.Since(begun); took > time.Second {
					t.Errorf("it waited for %v", took)
				}
				s.direct(http.MethodPost, "/invocations", promptBody("slowly please"), retryHeader, "id").has(t, 200, `"stop_reason": "cancelled"`)
			})
		})
	}
}

// So it is where that one leaves while the other request waits.
func TestAnotherRequestBeforeLeaving(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := bubble(t, nil)
		first := s.invoke(promptBody("slowly please"), retryHeader, "id")
		second := s.invoke(promptBody("hello"), retryHeader, "another")
		first.cut()
		begun := time.Now()
		<-second.done
		second.answer.has(t, 200, `"stop_reason": "end_turn"`)
		if took := time.Since(begun); took > time.Second {
			t.Errorf("it waited for %v", took)
		}
	})
}

// A reader beside the one who left keeps the run, also when that one's time is over.
func TestAnotherReaderKeepsTheRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := bubble(t, nil)
		one, two := s.invoke(promptBody("slowly please"), retryHeader, "id"), s.invoke(promptBody("slowly please"), retryHeader, "id")
		one.cut()
		time.Sleep(2 * agentcore.DefaultGrace)
		s.whole(two, 3).has(t, 200, `"stop_reason": "end_turn"`)
		// Who closes the server meanwhile does not cancel.
		three := s.invoke(promptBody("slowly again"), retryHeader, "three")
		three.cut()
		if err := s.handler.Close(context.Background()); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * agentcore.DefaultGrace)
	})
}

// Answers that an SDK sends again are the same answers: their stream is the first one's, from its beginning.
func TestRepeatedAnswers(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	id := interrupt.FindStringSubmatch(s.say("use ask", "Accept", "application/json").body)[1]
	body := func(token, value string) string {
		return `{"prompt": [{"interruptResponse": {"interruptId": "` + token + `", "response": ` + value + `}}]}`
	}
	ask := func(token, value string, headers ...string) answer {
		return s.ask(http.MethodPost, "/invocations", body(token, value), headers...)
	}
	first := ask(id, "true", retryHeader, "answer")
	first.has(t, 200, "it is true", `"stop_reason": "end_turn"`)
	calls := s.calls.Load()
	again := ask(id, " true ", retryHeader, "answer")
	if joined(again.body) != joined(first.body) {
		t.Errorf("first\n%s\nand again\n%s", joined(first.body), joined(again.body))
	}
	ask(id, "true", retryHeader, "answer", "Accept", "application/json").has(t, 200, `"it is true"`, `"end_turn"`)
	s.say("hello").has(t, 200)
	if again := ask(id, "true", retryHeader, "answer"); joined(again.body) != joined(first.body) {
		t.Errorf("after another run\n%s", again.body)
	}
	if got := s.calls.Load(); got != calls+1 {
		t.Errorf("the model was called %d times more", got-calls)
	}
	const refused = "an answer does not belong to an open interrupt"
	ask(id, "false", retryHeader, "answer").has(t, 400, refused)
	ask(id, "true").has(t, 400, refused)
	ask("other", "true", retryHeader, "answer").has(t, 400, refused)
	ask(id, "true", retryHeader, "answer", sessionHeader, strings.Repeat("z", 40)).has(t, 400, refused)
	ask(id, "true", retryHeader, "answer", aUser, "eve").has(t, 404, "no such session")
}

// An id belongs to its session, its user and its tenant: the same id of others begins a run of theirs, and
// shows them nothing.
func TestAnIDOfOthers(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	s.say("use clock", retryHeader, "id").has(t, 200, "noon")
	if n := s.calls.Load(); n != 2 {
		t.Fatalf("%d calls", n)
	}
	for name, headers := range map[string][]string{
		"another session":  {sessionHeader, strings.Repeat("z", 40)},
		"no session":       {sessionHeader, ""},
		"no session, user": {sessionHeader, "", aUser, "eve"},
	} {
		before := s.calls.Load()
		a := s.say("hello", append([]string{retryHeader, "id"}, headers...)...)
		a.has(t, 200, "you ", `"stop_reason": "end_turn"`)
		if strings.Contains(a.body, "noon") || s.calls.Load() != before+1 {
			t.Errorf("%s: %s", name, a.body)
		}
	}
	s.say("use clock", retryHeader, "id", aUser, "eve").has(t, 404, "no such session")
	for _, other := range []string{"hello", "use clock "} {
		s.say(other, retryHeader, "id").has(t, 400, "was used for another request")
	}
	s.ask(http.MethodPost, "/invocations", `{"prompt": "use clock", "model": "test:scripted"}`, retryHeader, "id").has(t, 400, "was used for another request")
	// A tenant that has the same session's name.
	c := s.client(acme)
	out, err := c.InvokeAgentRuntime(t.Context(), invocation("hello"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Response.Close()
	if b, err := io.ReadAll(out.Response); err != nil || strings.Contains(string(b), "noon") {
		t.Errorf("%s %v", b, err)
	}
}

// After its conversation has gone an id is new: nothing of what was there comes back.
func TestAnIDAfterItsConversation(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	s.say("use clock", retryHeader, "id").has(t, 200, "noon")
	conv, err := s.service.ConversationNamed(t.Context(), here, "agentcore session "+session)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.service.DeleteConversation(t.Context(), here, conv.ID); err != nil {
		t.Fatal(err)
	}
	before := s.calls.Load()
	s.say("hello", retryHeader, "id").has(t, 200, "you ")
	if s.calls.Load() != before+1 {
		t.Error("nothing ran")
	}
	s.ends(here, event.RunCompleted)
	runs, err := s.service.ListRuns(t.Context(), here, conv.ID, 0, 0)
	if err != nil || len(runs) != 1 || slices.ContainsFunc(runs, func(r journal.Run) bool { return r.Turn != 1 }) {
		t.Errorf("%+v %v", runs, err)
	}
}

// Of two servers on one database the one that the client repeated its request at keeps the run: the one that
// it left does not cancel it.
func TestAReaderThatComesBackElsewhere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		back bool
		want event.RunStatus
	}{"back": {true, event.RunCompleted}, "gone": {false, event.RunCancelled}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store, rows := &journal.Memory{}, &service.MemoryRows{}
				one, two := beside(t, store, rows), beside(t, store, rows)
				first := one.invoke(promptBody("slowly please"), retryHeader, "id")
				first.cut()
				if c.back {
					time.Sleep(time.Second)
					second := two.invoke(promptBody("slowly please"), retryHeader, "id")
					time.Sleep(2 * agentcore.DefaultGrace)
					one.whole(second, 3).has(t, 200, "you said slowly please", `"stop_reason": "end_turn"`)
				} else {
					time.Sleep(agentcore.DefaultGrace + time.Second)
				}
				one.ends(here, c.want)
				if n := one.calls.Load() + two.calls.Load(); n != 1 {
					t.Errorf("the model was called %d times", n)
				}
			})
		})
	}
}

// beside is one of several servers on the same stores, without a network.
func beside(t *testing.T, store journal.Journal, rows service.Rows) *site {
	t.Helper()
	s := &site{t: t, gate: make(chan struct{})}
	var err error
	s.service, err = service.New(service.Options{
		Journal: store, Rows: rows, Shared: true,
		Agent: func(context.Context, service.AgentRequest) (*braid.Agent, error) {
			return braid.New("guide", scripted{s.gate, &s.calls}, s.tools()), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.service.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s.handler, err = agentcore.New(agentcore.Options{Service: s.service, Token: secret.New(token)}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.handler.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if err := s.service.Drain(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}
