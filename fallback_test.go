package braid_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
)

// listed is a model of a list: it fails with its errors, one a call, and then answers.
type listed struct {
	name   string
	fails  []error
	answer []model.Chunk
	price  int64 // of a token in nano-dollars; negative for unknown
	output bool
	asked  []*model.Request
}

func (m *listed) Info() model.Info {
	info := model.Info{Name: m.name, Output: m.output}
	if m.price >= 0 {
		info.Cost = func(u event.Usage) (int64, bool) { return u.Total * m.price, true }
	}
	return info
}

func (m *listed) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	own := *req
	m.asked = append(m.asked, &own)
	if n := len(m.asked); n <= len(m.fails) {
		return failing(m.fails[n-1])
	}
	answer := m.answer
	if answer == nil {
		answer = says(m.name + " says")
	}
	return chunks(answer)
}

func fault(kind event.ErrorKind) error { return &event.Error{Kind: kind, Message: "no"} }

// begun lists how the model calls of a run began: "why model attempt".
func begun(t *testing.T, conv *braid.Conversation) (list []string) {
	t.Helper()
	for e, err := range conv.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := e.Body.(*event.StepBegun); ok && b.Step == event.StepModel {
			list = append(list, string(b.Why)+" "+b.Model+" "+string(rune('0'+e.Attempt)))
		}
	}
	return list
}

// Which model is asked after a failure, by its kind and its place in the list.
func TestAFailureGoesToTheNextModel(t *testing.T) {
	t.Parallel()
	throttled, overflow, auth := fault(event.ErrThrottled), fault(event.ErrContextOverflow), fault(event.ErrModelAuth)
	all := []event.ErrorKind{event.ErrThrottled, event.ErrContextOverflow, event.ErrModelAuth, event.ErrModelNotFound, event.ErrStreamCut}
	for _, c := range []struct {
		name  string
		kinds []event.ErrorKind
		fails [3][]error
		want  string
		err   event.ErrorKind
		waits time.Duration
	}{
		{"nothing fails", all, [3][]error{}, "input a 1", "", 0},
		{"throttled", all, [3][]error{{throttled}}, "input a 1, fallback b 2", "", 0},
		{"a kind that is never repeated", all, [3][]error{{auth}}, "input a 1, fallback b 2", "", 0},
		{"too long for it", all, [3][]error{{overflow}}, "input a 1, fallback b 2", "", 0},
		{"unknown", all, [3][]error{{fault(event.ErrModelNotFound)}}, "input a 1, fallback b 2", "", 0},
		{"one after another", all, [3][]error{{throttled}, {auth}}, "input a 1, fallback b 2, fallback c 3", "", 0},
		{"a kind that is not named, repeated", all, [3][]error{{fault(event.ErrOverloaded)}}, "input a 1, retry a 2", "", time.Second},
		{"a kind that is not named, not repeated", []event.ErrorKind{event.ErrThrottled}, [3][]error{{auth}}, "input a 1", event.ErrModelAuth, 0},
		{"repeated, then named", all, [3][]error{{fault(event.ErrOverloaded), throttled}}, "input a 1, retry a 2, fallback b 3", "", time.Second},
		{"attempts are counted for each model", []event.ErrorKind{event.ErrModelAuth}, [3][]error{
			{throttled, throttled, auth}, {throttled, throttled},
		}, "input a 1, retry a 2, retry a 3, fallback b 4, retry b 5, retry b 6", "", 6 * time.Second},
		{
			"and are used up on the second",
			[]event.ErrorKind{event.ErrModelAuth},
			[3][]error{{auth}, {throttled, throttled, throttled}},
			"input a 1, fallback b 2, retry b 3, retry b 4", event.ErrThrottled, 3 * time.Second,
		},
		{
			"the last one keeps to the policy", all,
			[3][]error{{throttled}, {throttled}, {throttled}},
			"input a 1, fallback b 2, fallback c 3, retry c 4", "", time.Second,
		},
		{
			"the last one fails for good", all,
			[3][]error{{throttled}, {throttled}, {auth}},
			"input a 1, fallback b 2, fallback c 3", event.ErrModelAuth, 0,
		},
		{
			"the last one does not hold it either", all,
			[3][]error{{overflow}, {overflow}, {overflow}},
			"input a 1, fallback b 2, fallback c 3", event.ErrContextOverflow, 0,
		},
		{"a plain error", []event.ErrorKind{event.ErrModel}, [3][]error{{errors.New("bad gateway")}}, "input a 1, fallback b 2", "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				list := []*listed{{name: "a"}, {name: "b"}, {name: "c"}}
				for i := range list {
					list[i].fails = c.fails[i]
				}
				agent := braid.New("root", list[0], braid.Fallback(c.kinds, list[1], list[2]), braid.Limit(braid.Limits{Cycles: 1}),
					braid.Retries(braid.Retry{Attempts: 3, Base: time.Second, Exact: true}))
				conv, start := braid.NewConversation(), time.Now()
				_, err := agent.Run(t.Context(), "go", braid.In(conv))
				if event.KindOf(err) != c.err || time.Since(start) != c.waits {
					t.Errorf("it ended with %v after %v, want %q after %v", err, time.Since(start), c.err, c.waits)
				}
				if got := strings.Join(begun(t, conv), ", "); got != c.want {
					t.Errorf("got  %s\nwant %s", got, c.want)
				}
			})
		})
	}
}

// The run stays with the model that answered; the next one begins with the first again.
func TestARunStaysWithItsFallback(t *testing.T) {
	t.Parallel()
	a := &listed{name: "a", fails: []error{fault(event.ErrOverloaded)}}
	b := &listed{name: "b"}
	first := true
	a.answer = says("a again")
	b.answer = asksFor("add", `{"a":1,"b":2}`)
	agent := braid.New("root", a, braid.Fallback([]event.ErrorKind{event.ErrOverloaded}, b),
		braid.Func("add", "", func(_ context.Context, in addIn) (int, error) {
			if !first {
				b.answer = says("done")
			}
			first = false
			return in.A, nil
		}))
	conv := braid.NewConversation()
	for range 2 {
		if _, err := agent.Run(t.Context(), "go", braid.In(conv)); err != nil {
			t.Fatal(err)
		}
	}
	want := "input a 1, fallback b 2, tool_results b 1, tool_results b 1, input a 1"
	if got := strings.Join(begun(t, conv), ", "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// What watchers are told: the model that is asked next, and that nothing is waited for.
func TestAFallbackIsToldInTheEvents(t *testing.T) {
	t.Parallel()
	half := append(says("half an ans")[:1], model.Chunk{})
	a := &script{next: func(context.Context, *model.Request) iter.Seq2[model.Chunk, error] {
		return func(yield func(model.Chunk, error) bool) {
			if yield(half[0], nil) {
				yield(model.Chunk{}, fault(event.ErrOverloaded))
			}
		}
	}}
	agent := braid.New("root", a, braid.Fallback([]event.ErrorKind{event.ErrOverloaded}, &listed{name: "b"}))
	var r braid.Result
	told := 0
	for e, err := range agent.Stream(t.Context(), "go", braid.Into(&r)) {
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := e.Body.(*event.StepEnded); ok {
			told++
			if b.Fallback != "b" || !b.RetryAt.Equal(e.Time) || b.Err.Kind != event.ErrOverloaded {
				t.Errorf("the failed call ended with %+v", b)
			}
		}
	}
	if told != 1 || r.Text() != "b says" || len(r.Partial) != 0 || r.Metrics.Cycles != 1 {
		t.Errorf("%d calls failed, and the run says %q, %d cycles", told, r.Text(), r.Metrics.Cycles)
	}
}

// A driver that dies between two calls, or in one, is followed by one that goes on with the
// model that the log names, also where the list has changed since.
func TestAFallbackOutlivesItsDriver(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	log := func() []event.Event {
		return []event.Event{
			{Body: &event.RunStarted{Agent: "root", Turn: 1, Session: 1}},
			{Body: &event.UserMessage{Content: []event.Block{&event.Text{Text: "go"}}}},
			{Header: event.Header{Cycle: 1, Step: "m1", Attempt: 1}, Body: &event.StepBegun{Step: event.StepModel, Why: event.WhyInput, Model: "a"}},
			{Header: event.Header{Cycle: 1, Step: "m1", Attempt: 1}, Body: &event.StepEnded{
				Step: event.StepModel, Outcome: event.OutcomeFailed, RetryAt: at, Fallback: "b", Err: &event.Error{Kind: event.ErrModelAuth},
			}},
			{Header: event.Header{Cycle: 1, Step: "m1", Attempt: 2}, Body: &event.StepBegun{Step: event.StepModel, Why: event.WhyFallback, Model: "b"}},
		}
	}
	for _, c := range []struct {
		name string
		died int // the events that the log holds
		list []string
		want string
	}{
		{"before the first call ended", 3, []string{"a", "b", "c"}, "input a 1, taken_over a 2"},
		{"between the calls", 4, []string{"a", "b", "c"}, "input a 1, fallback b 2"},
		{"in the second call", 5, []string{"a", "b", "c"}, "input a 1, fallback b 2, taken_over b 3"},
		{"in the second call, which is the first of the list now", 5, []string{"b", "a"}, "input a 1, fallback b 2, taken_over b 3"},
		{"between the calls, and the model has gone", 4, []string{"x", "c"}, "input a 1, fallback x 2"},
		{"in the second call, and the list has gone", 5, []string{"a"}, "input a 1, fallback b 2, taken_over a 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			store := journal.NewMemory(journal.MemoryOptions{})
			row, err := store.Admit(t.Context(), journal.Run{ID: "run", Conversation: "c", Agent: "root", Input: []event.Message{
				{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "go"}}},
			}})
			if err != nil {
				t.Fatal(err)
			}
			opened, err := store.Acquire(t.Context(), row.ID, 0)
			if err != nil {
				t.Fatal(err)
			}
			b := journal.Batch{Release: true}
			for i, e := range log()[:c.died] {
				e.Seq, e.Conversation, e.Run, e.Time = int64(i+1), "c", "run", at
				b.Events = append(b.Events, &e)
			}
			if err := store.Commit(t.Context(), opened.Lease, b); err != nil {
				t.Fatal(err)
			}
			var models []braid.Model
			for _, name := range c.list {
				models = append(models, &listed{name: name})
			}
			agent := braid.New("root", models[0])
			if len(models) > 1 {
				agent.Use(braid.Fallback([]event.ErrorKind{event.ErrModelAuth}, models[1:]...))
			}
			conv := braid.Open(store, "c")
			if _, err := agent.Resume(t.Context(), conv); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(begun(t, conv), ", "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// A list that makes no sense is told when the agent is made.
func TestWrongFallbacks(t *testing.T) {
	t.Parallel()
	b := &listed{name: "b"}
	some := []event.ErrorKind{event.ErrThrottled}
	for name, part := range map[string]braid.Part{
		"no kinds": braid.Fallback(nil, b), "no models": braid.Fallback(some), "nil": braid.Fallback(some, nil),
		"twice": braid.Fallback(some, b, b), "the agent's own": braid.Fallback(some, &listed{name: "a"}),
		"no kind": braid.Fallback([]event.ErrorKind{"bad weather"}, b),
	} {
		err := braid.New("root", &listed{name: "a"}, part).Err()
		var e *event.Error
		if !errors.As(err, &e) || e.Kind != event.ErrInvalid || e.Hint == "" || !strings.Contains(e.Error(), "root") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Where a model of the list follows a script, nobody is told that a real one answers.
func TestASimulatedFallbackMarksTheRun(t *testing.T) {
	t.Parallel()
	r, err := braid.New("root", &listed{name: "a"}, braid.Fallback([]event.ErrorKind{event.ErrThrottled}, simulated{})).Run(t.Context(), "go")
	if err != nil || !r.Simulated {
		t.Errorf("simulated %v, %v", r.Simulated, err)
	}
}

type simulated struct{ braid.Model }

func (simulated) Info() model.Info { return model.Info{Name: "s", Simulated: true} }

// Each agent of a team has a list of its own, and each call of one begins at its head.
func TestAgentsUsedAsToolsFallBackByThemselves(t *testing.T) {
	t.Parallel()
	sub := &listed{name: "sub a", fails: []error{fault(event.ErrThrottled)}}
	child := braid.New("child", sub, braid.Fallback([]event.ErrorKind{event.ErrThrottled}, &listed{name: "sub b"}))
	root := answers(asksFor("child", `{"input":"x"}`), asksFor("child", `{"input":"y"}`), says("done"))
	conv := braid.NewConversation()
	if _, err := braid.New("root", root, braid.AsTool(child, "")).Run(t.Context(), "go", braid.In(conv)); err != nil {
		t.Fatal(err)
	}
	got := slices.DeleteFunc(begun(t, conv), func(s string) bool { return !strings.Contains(s, "sub") })
	if want := "input sub a 1, fallback sub b 2, input sub a 1"; strings.Join(got, ", ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), want)
	}
}
