package agentcore_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/server/agentcore"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/tool"
)

// However work ends that nobody waits for, nothing of it keeps the machine busy afterwards: an
// executor that is done is idle.
func TestIdleOnceWorkIsOver(t *testing.T) {
	t.Parallel()
	goOn := func(n int) func(*site, string) {
		return func(s *site, _ string) {
			for range n {
				s.gate <- struct{}{}
			}
		}
	}
	stop := func(s *site, session string) {
		s.direct(http.MethodPost, "/runtimes/"+encoded(arn)+"/stopruntimesession", `{}`, sessionHeader, session).has(s.t, 200)
	}
	for name, c := range map[string]struct {
		// prompt begins the work, end ends it where it does not end by itself.
		prompt string
		end    func(s *site, session string)
		tool   func(ctx context.Context) error
	}{
		"it is answered":             {prompt: "slowly", end: goOn(2)},
		"the model fails":            {prompt: "slowly break it", end: goOn(1)},
		"a person is asked":          {prompt: "use ask"},
		"it is stopped":              {prompt: "slowly", end: stop},
		"it is stopped in a tool":    {prompt: "use wait", end: stop},
		"a tool fails":               {prompt: "use odd", tool: func(context.Context) error { return errors.New("no") }},
		"a tool panics":              {prompt: "use odd", tool: func(context.Context) error { panic("no") }},
		"a tool is left behind":      {prompt: "use odd", end: stop, tool: func(context.Context) error { time.Sleep(time.Hour); return nil }},
		"there is no such tool":      {prompt: "use nothing"},
		"a tool's time is over":      {prompt: "use odd", tool: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }},
		"a tool ends the whole turn": {prompt: "use odd", tool: func(ctx context.Context) error { tool.EndTurn(ctx); return nil }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &site{t: t, gate: make(chan struct{})}
				odd := func(ctx context.Context, _ struct{}) (string, error) { return "", c.tool(ctx) }
				agent := braid.New("guide", scripted{s.gate, &s.calls}, s.tools(), braid.Retries(braid.Retry{Attempts: 1}),
					braid.Func("odd", "", odd, tool.Timeout(30*time.Minute)))
				var err error
				if s.handler, err = agentcore.ForAgent(t.Context(), agent, agentcore.Options{Token: secret.New(token), Runtime: arn}); err != nil {
					t.Fatal(err)
				}
				for i := range 3 { // what each leaves behind would add up
					session := "00000000-0000-4000-8000-00000000010" + strconv.Itoa(i)
					s.direct(http.MethodPost, "/invocations", promptBody(c.prompt), "Prefer", "respond-async", sessionHeader, session).has(t, 202)
					if c.end != nil {
						synctest.Wait()
						s.direct(http.MethodGet, "/ping", "").has(t, 200, "HealthyBusy")
						c.end(s, session)
					}
				}
				time.Sleep(40 * time.Minute)
				s.direct(http.MethodGet, "/ping", "").has(t, 200, `"Healthy"`)
				if left := s.handler.Tasks(); len(left) != 0 {
					t.Errorf("%d tasks are left", len(left))
				}
				time.Sleep(time.Hour) // what was left behind ends
				if err := s.handler.Close(context.Background()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// stuck is a journal that answers nobody while its gate is closed.
type stuck struct {
	journal.Memory
	closed atomic.Bool
	open   chan struct{}
}

func (s *stuck) Commit(ctx context.Context, l journal.Lease, b journal.Batch) error {
	if s.closed.Load() {
		<-s.open
	}
	return s.Memory.Commit(ctx, l, b)
}

// The platform kills a machine that does not answer /ping: it is answered whatever tools, models
// and the store are doing, and how many there are of them.
func TestThePingWaitsForNobody(t *testing.T) {
	t.Parallel()
	store := &stuck{open: make(chan struct{})}
	var spinning atomic.Int64
	var enough atomic.Bool
	s := open(t, func(so *service.Options, _ *agentcore.Options) {
		so.Journal = store
		agent := so.Agent
		so.Agent = func(ctx context.Context, r service.AgentRequest) (*braid.Agent, error) {
			a, err := agent(ctx, r)
			if err != nil {
				return nil, err
			}
			return a.Use(braid.Func("spin", "", func(context.Context, struct{}) (string, error) {
				spinning.Add(1)
				for !enough.Load() { //nolint:revive // a tool that computes, and looks at no context
				}
				return "done", nil
			}, tool.Pure())), nil
		}
	})
	prefer := func(i int) []string {
		return []string{"Prefer", "respond-async", sessionHeader, "00000000-0000-4000-8000-0000000002" + strconv.Itoa(10+i)}
	}
	n := runtime.GOMAXPROCS(0)
	for i := range n {
		s.ask(http.MethodPost, "/invocations", promptBody("use spin"), prefer(i)...).has(t, 202)
	}
	for spinning.Load() < int64(n) {
		time.Sleep(time.Millisecond)
	}
	s.ask(http.MethodPost, "/invocations", promptBody("slowly"), prefer(n)...).has(t, 202) // a model that is silent
	store.closed.Store(true)
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		res, err := s.Client().Do(s.request(ctx, http.MethodGet, "/ping", "", "Authorization", ""))
		cancel()
		if err != nil {
			t.Error(err)
			break
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != http.StatusOK || !strings.Contains(string(body), "HealthyBusy") {
			t.Errorf("%s %s, %v", res.Status, body, err)
		}
	}
	close(store.open)
	enough.Store(true)
	for range 2 {
		s.gate <- struct{}{}
	}
}
