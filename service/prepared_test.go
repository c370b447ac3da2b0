package service_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
)

// clerks are a service whose tenant has the agent clerk, with a tool that sleeps. It drives one run at a time.
type clerks struct {
	*house

	people *directory.Directory
	// built and listed count the agents that were made, and the workspaces that were looked at.
	built, listed atomic.Int32
}

func openClerks(t *testing.T, sleep time.Duration) *clerks {
	t.Helper()
	c := &clerks{people: people(t)}
	addAgent(t, c.people, "clerk", directory.AgentSpec{})
	setTenant(t, c.people, func(of *directory.Tenant) { of.Agent = "clerk" })
	c.house = open(t, func(o *service.Options) {
		o.Directory, o.Engine.Running = c.people, 1
		o.Workspace = func(context.Context, *service.ExecutionContext) (*service.Workspace, error) {
			c.listed.Add(1)
			return nil, nil
		}
		o.Agent = func(_ context.Context, r service.AgentRequest) (*braid.Agent, error) {
			c.built.Add(1)
			return braid.New(r.ID, parrot{}, braid.Func("sleep", "", func(ctx context.Context, _ struct{}) (string, error) {
				select {
				case <-time.After(sleep):
				case <-ctx.Done():
				}
				return "slept", ctx.Err()
			})), nil
		}
	})
	return c
}

func (c *clerks) start(t *testing.T, conv string, r service.RunRequest) service.Started {
	t.Helper()
	started, err := c.StartRun(t.Context(), ann, conv, r)
	if err != nil {
		t.Fatal(err)
	}
	return started
}

// A request's agent is verified and built once if the run is driven at once, whatever its policy.
func TestAnAgentIsBuiltOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := openClerks(t, 0)
		conv := c.conversation(t)
		for i, policy := range []braid.Policy{"", braid.Reject, braid.Queue, braid.Steer, braid.Interrupt} {
			started := c.start(t, conv, service.RunRequest{Input: "hello", Policy: policy})
			if end := c.wait(t, conv, started); end.Status != event.RunCompleted {
				t.Errorf("policy %q: it ended %+v", policy, end)
			}
			if built, listed, want := c.built.Load(), c.listed.Load(), int32(i+1); built != want || listed != want {
				t.Errorf("policy %q: after %d requests %d agents are built, %d workspaces listed", policy, want, built, listed)
			}
		}
		if n := c.PreparedAgents(); n > 0 {
			t.Errorf("%d agents are left of runs that were driven", n)
		}
	})
}

// The agent is built again if something may have changed between the acceptance of a run and its drive.
func TestAnAgentIsBuiltAgain(t *testing.T) {
	t.Parallel()
	const soon = 100 * time.Millisecond
	for name, tc := range map[string]struct {
		sleep time.Duration
		same  bool
		// change is made while the run waits.
		change func(t *testing.T, c *clerks)
		want   int32
		status event.RunStatus
	}{
		"nothing":                         {sleep: soon, want: 2, status: event.RunCompleted},
		"another run of the conversation": {sleep: soon, same: true, want: 3, status: event.RunCompleted},
		"time":                            {sleep: time.Minute, want: 3, status: event.RunCompleted},
		"another version of the agent": {sleep: soon, want: 3, status: event.RunCompleted, change: func(t *testing.T, c *clerks) {
			setAgent(t, c.people, "clerk", func(a *directory.Agent) { a.Instructions = "Be brief." })
		}},
		"the agent is switched off, and not built": {sleep: soon, want: 2, status: event.RunFailed, change: func(t *testing.T, c *clerks) {
			setAgent(t, c.people, "clerk", func(a *directory.Agent) { a.Status = directory.Inactive })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := openClerks(t, tc.sleep)
				busy, conv := c.conversation(t), c.conversation(t)
				if tc.same {
					conv = busy
				}
				c.start(t, busy, service.RunRequest{Input: "use sleep"})
				synctest.Wait()
				started := c.start(t, conv, service.RunRequest{Input: "hello", Policy: braid.Queue})
				if tc.change != nil {
					tc.change(t, c)
				}
				if end := c.wait(t, conv, started); end.Status != tc.status {
					t.Errorf("it ended %+v", end)
				}
				if built := c.built.Load(); built != tc.want {
					t.Errorf("for two requests %d agents are built, want %d", built, tc.want)
				}
			})
		})
	}
}
