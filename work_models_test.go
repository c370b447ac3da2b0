package braid_test

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
)

// metering counts the calls of a model.
type metering struct {
	braid.Model

	calls map[string]int
}

func (c metering) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	kind := c.Info().Name
	if isSummary(req) {
		kind = "summary"
	}
	c.calls[kind]++
	return c.Model.Stream(ctx, req)
}

// What an engine puts in place of models is called for each call: the agent's, those of agents below it, of models that
// stand in, and for summaries. An error of it is the call's, and one of a quota is not waited for.
func TestWorkModels(t *testing.T) {
	t.Parallel()
	ctx, calls := t.Context(), map[string]int{}
	instead := func(m braid.Model) braid.Model { return metering{m, calls} }
	drive := func(a *braid.Agent, store journal.Store, n int) *braid.Result {
		t.Helper()
		run := fmt.Sprint("r", n)
		if _, err := store.Admit(ctx, journal.Run{ID: run, Conversation: "c", Agent: a.Name(), Input: userSays(fmt.Sprint("question ", n))}); err != nil {
			t.Fatal(err)
		}
		r, err := a.Drive(ctx, braid.Open(store, "c"), run, braid.Work{Models: instead})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	turn := int64(0)
	summed := braid.New("a", summariser(1000, func(int) int64 { turn += 100; return turn }), braid.Manage(braid.Management{By: braid.Summarize{Recent: 2}}))
	store := &journal.Memory{}
	for n := range 9 {
		drive(summed, store, n)
	}
	if calls["summary"] == 0 || calls["test:recorder"] < 9 {
		t.Errorf("the calls are %v", calls)
	}

	clear(calls)
	sub := braid.New("sub", calledAs{name: "test:sub", Model: answers(says("done"))})
	main := &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
		if req.Cycle == 1 {
			return chunks(asksFor("sub", `{"input":"work"}`))
		}
		return failing(&event.Error{Kind: event.ErrOverloaded})
	}}
	drive(braid.New("b", calledAs{name: "test:main", Model: main}, braid.AsTool(sub, "Works."), braid.Fallback([]event.ErrorKind{event.ErrOverloaded}, calledAs{name: "test:other", Model: answers(says("well"))})), &journal.Memory{}, 1)
	if calls["test:main"] != 2 || calls["test:sub"] != 1 || calls["test:other"] != 1 {
		t.Errorf("the calls are %v", calls)
	}

	clear(calls)
	none := calledAs{name: "test:none", Model: &script{next: func(context.Context, *model.Request) iter.Seq2[model.Chunk, error] {
		return failing(&event.Error{Kind: event.ErrQuota, Message: "nothing is left", RetryAfter: 3600e9})
	}}}
	if r := drive(braid.New("c", none), &journal.Memory{}, 1); r.Status != event.RunFailed || calls["test:none"] != 1 {
		t.Errorf("the run %s after %v", r.Status, calls)
	}
}

// calledAs gives a model a name.
type calledAs struct {
	braid.Model

	name string
}

func (n calledAs) Info() model.Info {
	info := n.Model.Info()
	info.Name = n.name
	return info
}
