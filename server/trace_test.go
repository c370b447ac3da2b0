package server_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/service"
)

func TestARequestsTraceReachesItsRun(t *testing.T) {
	t.Parallel()
	seen := make(chan string, 1)
	s := open(t, func(o *service.Options, _ *server.Options) {
		agent := o.Agent
		o.Agent = func(ctx context.Context, r service.AgentRequest) (*braid.Agent, error) {
			a, err := agent(ctx, r)
			return a.Use(braid.On(func(_ context.Context, e *hook.BeforeDrive) error {
				seen <- e.Trace
				return nil
			})), err
		}
	})
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for _, c := range []struct {
		headers []string
		want    string
	}{
		{[]string{"Traceparent", parent}, parent},
		{[]string{"Traceparent", parent, "Tracestate", "vendor=1,other=2"}, parent + " vendor=1,other=2"},
		{[]string{"Traceparent", "00-nonsense-01"}, ""},
		{[]string{"Tracestate", "vendor=1"}, ""},
		{nil, ""},
	} {
		runs := "/v1/conversations/" + s.conversation() + "/runs"
		id := s.json(200, "POST", runs, `{"user_input":"hello"}`, append(c.headers, "Accept", "application/json")...)["run_id"]
		if got := <-seen; got != c.want {
			t.Errorf("%q: the run has the trace %q", c.headers, got)
		}
		for _, path := range []string{runs, strings.TrimSuffix(runs, "/runs") + "/events"} {
			raw, err := io.ReadAll(s.ask("GET", path, "").Body)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(raw), "traceparent") || strings.Contains(string(raw), parent) {
				t.Errorf("%v: %s shows it: %s", id, path, raw)
			}
		}
	}
}
