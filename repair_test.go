package braid_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/model"
)

// broken are histories that other programs leave behind, and what a model is shown of them.
var broken = []struct {
	name   string
	in     []event.Message
	seen   string
	report string
}{
	{
		"a call without a result",
		[]event.Message{said(event.RoleUser, textOf("add")), said(event.RoleAssistant, callsAdd("c")), said(event.RoleUser, textOf("go on"))},
		"user:add assistant:[c] user:(c The tool call was interrupted before it gave a result.)go on",
		`message 1: the call "c" of "add" has no result, and got one that says so`,
	},
	{
		"one of two calls without a result",
		[]event.Message{said(event.RoleUser, textOf("add")), said(event.RoleAssistant, callsAdd("c"), callsAdd("d")), said(event.RoleUser, givesAdd("d"), textOf("go on"))},
		"user:add assistant:[c][d] user:(c The tool call was interrupted before it gave a result.)(d 3)go on",
		`message 1: the call "c" of "add" has no result, and got one that says so`,
	},
	{
		"a call that an answer follows",
		[]event.Message{said(event.RoleUser, textOf("add")), said(event.RoleAssistant, callsAdd("c")), said(event.RoleAssistant, textOf("3")), said(event.RoleUser, textOf("go on"))},
		"user:add assistant:[c] user:(c The tool call was interrupted before it gave a result.) assistant:3 user:go on",
		`message 1: the call "c" of "add" has no result, and got one that says so`,
	},
	{
		"a result at the beginning",
		[]event.Message{said(event.RoleUser, givesAdd("c")), said(event.RoleAssistant, textOf("3")), said(event.RoleUser, textOf("go on"))},
		"user:[The conversation goes on from here.] assistant:3 user:go on",
		`message 0: the result of "c" is left out, because the answer before it does not call it`,
	},
	{
		"a result that comes late",
		[]event.Message{said(event.RoleUser, textOf("add")), said(event.RoleAssistant, callsAdd("c")), said(event.RoleUser, textOf("wait")), said(event.RoleUser, givesAdd("c"), textOf("go on"))},
		"user:add assistant:[c] user:(c 3)waitgo on",
		`message 3: the result of "c" moved into the message after its call`,
	},
	{
		"calls in answers of their own",
		[]event.Message{
			said(event.RoleUser, textOf("add")), said(event.RoleAssistant, callsAdd("c")), said(event.RoleAssistant, callsAdd("d")),
			said(event.RoleUser, givesAdd("c"), givesAdd("d")), said(event.RoleUser, textOf("go on")),
		},
		"user:add assistant:[c][d] user:(c 3)(d 3)go on",
		"message 2: joined with the answer before it, whose results come later",
	},
	{
		"an empty answer",
		[]event.Message{said(event.RoleUser, textOf("add")), said(event.RoleAssistant), said(event.RoleUser, textOf("go on"))},
		"user:addgo on",
		"message 1: left out, because it is empty",
	},
	{
		"an empty message of the user",
		[]event.Message{said(event.RoleUser, textOf(" ")), said(event.RoleAssistant, textOf("3")), said(event.RoleUser, textOf("go on"))},
		"user:[The conversation goes on from here.] assistant:3 user:go on",
		"message 0: left out, because it is empty",
	},
	{
		"a call of the user, and its result",
		[]event.Message{said(event.RoleUser, textOf("add"), callsAdd("c")), said(event.RoleAssistant, textOf("3")), said(event.RoleUser, givesAdd("c"), textOf("go on"))},
		"user:add assistant:3 user:go on",
		`message 0: the call "c" of "add" is left out, because it stands in a user's message` + "\n" +
			`message 2: the result of "c" is left out, because the answer before it does not call it`,
	},
	{
		"two calls of one id",
		[]event.Message{said(event.RoleUser, textOf("add")), said(event.RoleAssistant, callsAdd("c"), callsAdd("c")), said(event.RoleUser, givesAdd("c"), givesAdd("c"), textOf("go on"))},
		"user:add assistant:[c][call_1] user:(c 3)(call_1 3)go on",
		`message 1: the call "c" of "add" got the id "call_1", because another call has its id`,
	},
}

func textOf(text string) event.Block { return &event.Text{Text: text} }
func callsAdd(id string) event.Block {
	return &event.ToolCall{ID: id, Name: "add", Args: []byte(`{"a":1,"b":2}`)}
}

func givesAdd(id string) event.Block {
	return &event.ToolResult{Call: id, Name: "add", Content: []event.Block{&event.Text{Text: "3"}}}
}

// Run and Load repair a broken history, in the result and in the log they say how, and no tool of it runs.
func TestForeignHistoriesAreRepaired(t *testing.T) {
	t.Parallel()
	for _, c := range broken {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := &heard{says: [][]model.Chunk{says("so")}}
			r, err := braid.New("root", m, braid.Func("add", "Adds.", add)).Run(t.Context(), "", braid.History(c.in...))
			if err != nil || brief(m.asked[0].Messages) != c.seen || strings.Join(r.Repaired, "\n") != c.report || r.Metrics.ToolCalls > 0 {
				t.Fatalf("%v: the model is shown\n%s\nwant\n%s\nand the report is %q", err, brief(m.asked[0].Messages), c.seen, r.Repaired)
			}
			if got := noticeOf(t, r.Conversation); got != c.report {
				t.Errorf("the log says %q", got)
			}
		})
		t.Run("loaded: "+c.name, func(t *testing.T) {
			t.Parallel()
			conv, loaded := braid.NewConversation(), braid.Result{}
			s := &braid.Snapshot{Schema: 1, Fields: []braid.SnapshotField{braid.SnapshotMessages}, Messages: c.in}
			if err := conv.Load(t.Context(), s, braid.Into(&loaded)); err != nil {
				t.Fatal(err)
			}
			if got := noticeOf(t, conv); got != c.report || strings.Join(loaded.Repaired, "\n") != c.report {
				t.Errorf("the log says %q, the result %q", got, loaded.Repaired)
			}
			m := &heard{says: [][]model.Chunk{says("so")}}
			if _, err := braid.New("root", m).Run(t.Context(), "!", braid.In(conv)); err != nil || brief(m.asked[0].Messages) != c.seen+"!" {
				t.Errorf("%v: the model is shown\n%s\nwant\n%s", err, brief(m.asked[0].Messages), c.seen+"!")
			}
		})
	}
}

func noticeOf(t *testing.T, conv *braid.Conversation) (text string) {
	t.Helper()
	for _, e := range logOfConversation(t, conv) {
		if b, ok := e.Body.(*event.Notice); ok && b.Code == event.NoticeRepaired {
			text += b.Text
		}
	}
	return text
}

// A history that ends with a call gets a result that says so. Its tool does not run: nobody knows whether it has.
func TestAHistoryThatEndsWithACall(t *testing.T) {
	t.Parallel()
	m := &heard{says: [][]model.Chunk{says("so")}}
	in := []event.Message{said(event.RoleUser, textOf("add")), said(event.RoleAssistant, callsAdd("c"))}
	r, err := braid.New("root", m, braid.Func("add", "Adds.", add)).Run(t.Context(), "", braid.History(in...))
	want := "user:add assistant:[c] user:(c The tool call was interrupted before it gave a result.)"
	if err != nil || len(m.asked) != 1 || brief(m.asked[0].Messages) != want || r.Metrics.ToolCalls != 0 || len(r.Repaired) != 1 {
		t.Errorf("%v: the model is shown %v, and the report is %q", err, m.asked, r.Repaired)
	}
}

// A history that ends with an answer is followed by a request to go on, which the report names. The model's answer is new.
func TestAHistoryThatEndsWithAnAnswer(t *testing.T) {
	t.Parallel()
	in := []event.Message{said(event.RoleUser, textOf("count")), said(event.RoleAssistant, textOf("1, 2"))}
	m := &heard{says: [][]model.Chunk{says("3, 4")}}
	replaces := braid.On(func(_ context.Context, e *hook.BeforeRun) error { e.Input = in; return nil })
	for _, c := range []struct {
		agent *braid.Agent
		text  string
		opts  []braid.RunOption
	}{
		{braid.New("root", m), "", []braid.RunOption{braid.History(in...)}},
		{braid.New("root", m, replaces), "go", nil},
	} {
		m.asked = nil
		r, err := c.agent.Run(t.Context(), c.text, c.opts...)
		want := "user:count assistant:1, 2 user:[Go on from the end of the message above.]"
		if err != nil || brief(m.asked[0].Messages) != want || r.Text() != "3, 4" {
			t.Errorf("%v: the model is shown %s, and answers %q", err, brief(m.asked[0].Messages), r.Text())
		}
		report := "message 1: a request to go on follows, because the history ends with an answer"
		if strings.Join(r.Repaired, "\n") != report || noticeOf(t, r.Conversation) != report {
			t.Errorf("the report is %q, the log says %q", r.Repaired, noticeOf(t, r.Conversation))
		}
	}
}

// A message that joins a run is repaired as any other, and the log says how.
func TestAMessageThatJoinsARunIsRepaired(t *testing.T) {
	t.Parallel()
	conv, report := braid.NewConversation(), `message 0: the result of "c" is left out, because the answer before it does not call it`
	var agent *braid.Agent
	steer := func(ctx context.Context, _ nothing) (string, error) {
		for _, in := range []event.Message{said(event.RoleAssistant, textOf("no")), said(event.RoleUser, givesAdd("c"))} {
			if _, err := agent.Send(ctx, conv, "", braid.History(in), braid.During(braid.Steer)); !errors.Is(err, event.ErrInvalid) {
				t.Errorf("a message that cannot join: %v", err)
			}
		}
		_, err := agent.Send(ctx, conv, "", braid.History(said(event.RoleUser, givesAdd("c"), textOf("rather this"))), braid.During(braid.Steer))
		return "sent", err
	}
	m := &heard{says: [][]model.Chunk{asksFor("steer", "{}"), says("so")}}
	agent = braid.New("root", m, braid.Func("steer", "", steer))
	r, err := agent.Run(t.Context(), "go", braid.In(conv))
	if err != nil || brief(m.asked[1].Messages) != "user:go assistant:[c0] user:(c0 sent)rather this" {
		t.Fatalf("%v: the model is shown %s", err, brief(m.asked[1].Messages))
	}
	if noticeOf(t, conv) != report || strings.Join(r.Repaired, "\n") != report {
		t.Errorf("the log says %q, the report is %q", noticeOf(t, conv), r.Repaired)
	}
}

// What hooks hand in passes the same check, so a request always pairs its calls with their results.
func TestHooksHandInRepairedHistories(t *testing.T) {
	t.Parallel()
	for _, c := range broken {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := &heard{says: [][]model.Chunk{says("so"), says("so")}}
			_, err := braid.New("root", m, braid.On(func(_ context.Context, e *hook.BeforeRun) error {
				e.Input = c.in
				return nil
			})).Run(t.Context(), "go")
			if err != nil || brief(m.asked[0].Messages) != c.seen {
				t.Errorf("before the run: %v: the model is shown\n%s\nwant\n%s", err, brief(m.asked[0].Messages), c.seen)
			}
			r, err := braid.New("root", m, braid.On(func(_ context.Context, e *hook.BeforeModel) error {
				e.Request.Messages = c.in
				return nil
			})).Run(t.Context(), "go")
			if err != nil || brief(m.asked[1].Messages) != c.seen {
				t.Errorf("before the model: %v: the model is shown\n%s\nwant\n%s", err, brief(m.asked[1].Messages), c.seen)
			}
			if got := noticeOf(t, r.Conversation); got != c.report {
				t.Errorf("before the model: the log says %q", got)
			}
		})
	}
	for name, in := range map[string][]event.Message{
		"a call of the user": {said(event.RoleUser, callsAdd("c"))}, "nothing": nil,
		"a nil block": {said(event.RoleUser, (*event.Text)(nil))}, "an unknown role": {said("system", textOf("x"))},
		"a result in a result": {said(event.RoleUser, textOf("add")), said(event.RoleAssistant, callsAdd("c")), said(event.RoleUser,
			&event.ToolResult{Call: "c", Content: []event.Block{givesAdd("d")}})},
	} {
		r, err := braid.New("root", answers(says("so")), braid.On(func(_ context.Context, e *hook.BeforeModel) error {
			e.Request.Messages = in
			return nil
		})).Run(t.Context(), "go")
		if !errors.Is(err, event.ErrInvalid) || r.Status != event.RunFailed || !strings.Contains(err.Error(), "a hook made a request") {
			t.Errorf("%s: the run is %s: %v", name, r.Status, err)
		}
	}
}
