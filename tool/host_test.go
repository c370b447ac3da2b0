package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/tool"
)

// host is a [tool.Host] without a loop.
type host struct {
	values   map[string]json.RawMessage
	answers  []string
	asked    []event.Asked
	next     int
	news     []string
	ends     bool
	returns  bool
	approval *event.Approval
	secrets  map[string]secret.Secret
}

func (h *host) Ask(q *event.Asked) (json.RawMessage, error) {
	if h.next++; h.next <= len(h.answers) {
		return json.RawMessage(h.answers[h.next-1]), nil
	}
	h.asked = append(h.asked, *q)
	return nil, tool.ErrWaits
}

func (h *host) AnsweredBy(index int) string {
	if index < len(h.answers) {
		return "ann"
	}
	return ""
}

func (h *host) State(key string) (json.RawMessage, bool) {
	v, ok := h.values[key]
	return v, ok
}

func (h *host) SetState(key string, v json.RawMessage) {
	if v == nil {
		delete(h.values, key)
		return
	}
	h.values[key] = v
}

func (h *host) UpdateState(key string, change func(json.RawMessage) (json.RawMessage, error)) error {
	v, err := change(h.values[key])
	if err == nil {
		h.values[key] = v
	}
	return err
}

func (h *host) Progress(b *event.ToolProgress)     { h.news = append(h.news, b.Text+string(b.Data)) }
func (h *host) EndTurn()                           { h.ends = true }
func (h *host) FilesChanged([]event.FileChange)    {}
func (h *host) ReturnDirect()                      { h.returns = true }
func (h *host) ArtifactSaved(*event.ArtifactSaved) {}

func (h *host) Approval() (a event.Approval, by string, ok bool) {
	if h.approval == nil {
		return a, "", false
	}
	return *h.approval, "ann", true
}

func (h *host) Secret(name string) secret.Secret { return h.secrets[name] }

func newHost() *host { return &host{values: map[string]json.RawMessage{}} }

// call calls a tool without a loop.
func call(t *testing.T, h *host, one tool.Tool, args string) (tool.Output, error) {
	t.Helper()
	h.next = 0
	ctx := tool.NewCall(t.Context(), h, tool.Call{
		ID: "c1", Name: one.Spec().Name, Args: json.RawMessage(args), Conversation: "conv", Run: "run", Step: "t1.1", Agent: "a", Attempt: 1,
	})
	return one.Call(ctx, json.RawMessage(args))
}

type key struct{}

func TestACallIsTheContextOfItsTool(t *testing.T) {
	t.Parallel()
	one := tool.Func("look", "Looks.", func(ctx context.Context, _ struct{}) (string, error) {
		inner, cancel := context.WithCancel(ctx)
		defer cancel()
		c := tool.CallOf(inner)
		if c == nil || c.ID != "c1" || c.Agent != "a" || c.Attempt != 1 || inner.Value(key{}) != "of the caller" {
			t.Errorf("the call is %+v", c)
		}
		return c.Key(), nil
	})
	h := newHost()
	ctx := context.WithValue(t.Context(), key{}, "of the caller")
	c := tool.NewCall(ctx, h, tool.Call{ID: "c1", Conversation: "conv", Run: "run", Step: "t1.1", Agent: "a", Attempt: 1})
	if c.Host() != tool.Host(h) {
		t.Error("a call has another host than it was given")
	}
	out, err := one.Call(c, json.RawMessage(`{}`))
	if got := event.TextOf(out.Content); err != nil || got != "conv/run/t1.1" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestAToolUsesItsHost(t *testing.T) {
	t.Parallel()
	const count tool.State[int] = "count"
	one := tool.Func("all", "Does all.", func(ctx context.Context, _ struct{}) (string, error) {
		n, ok, err := count.Get(ctx)
		if ok || err != nil {
			t.Errorf("at first the count is %d, %v, %v", n, ok, err)
		}
		if err := count.Set(ctx, 2); err != nil {
			t.Error(err)
		}
		if err := count.Update(ctx, func(n int) (int, error) { return n + 1, nil }); err != nil {
			t.Error(err)
		}
		if err := tool.State[string]("gone").Delete(ctx); err != nil {
			t.Error(err)
		}
		if _, _, err := tool.State[string]("count").Get(ctx); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("a value of another type: %v", err)
		}
		for _, bad := range []tool.State[int]{"", "braid.x", "\xff"} {
			if err := bad.Set(ctx, 1); !errors.Is(err, event.ErrInvalid) {
				t.Errorf("the key %q: %v", bad, err)
			}
			if err := bad.Delete(ctx); !errors.Is(err, event.ErrInvalid) {
				t.Errorf("deleting the key %q: %v", bad, err)
			}
			if err := bad.Update(ctx, func(n int) (int, error) { return n, nil }); !errors.Is(err, event.ErrInvalid) {
				t.Errorf("updating the key %q: %v", bad, err)
			}
		}
		tool.Progress(ctx, "half\xff")
		tool.ProgressData(ctx, map[string]int{"done": 1})
		tool.ProgressData(ctx, func() {})
		tool.EndTurn(ctx)
		tool.ReturnDirect(ctx)
		a, by, ok := tool.ApprovalOf(ctx)
		if !ok || by != "ann" || !a.Approved {
			t.Errorf("the approval is %+v by %q, %v", a, by, ok)
		}
		return tool.SecretOf(ctx, "token").Reveal(), nil
	})
	h := newHost()
	h.values["gone"] = json.RawMessage(`"x"`)
	h.approval, h.secrets = &event.Approval{Approved: true}, map[string]secret.Secret{"token": secret.New("s3cret-token")}
	out, err := call(t, h, one, `{}`)
	if err != nil || event.TextOf(out.Content) != "s3cret-token" {
		t.Errorf("%v, %v", out, err)
	}
	if len(h.values) != 1 || string(h.values["count"]) != "3" {
		t.Errorf("the state is %s", h.values)
	}
	if !slices.Equal(h.news, []string{"half\uFFFD", `{"done":1}`}) || !h.ends || !h.returns {
		t.Errorf("the news are %q, ends %v, returns %v", h.news, h.ends, h.returns)
	}
}

func TestAToolAsksItsHost(t *testing.T) {
	t.Parallel()
	one := tool.Func("ask", "Asks.", func(ctx context.Context, _ struct{}) (string, error) {
		ok, err := tool.Ask[bool](ctx, "Go on?", tool.AskName("go"), tool.AskPayload(map[string]int{"n": 1}))
		if err != nil {
			return "", err
		}
		name, err := tool.Ask[*string](ctx, "Whose?")
		if err != nil {
			return "", err
		}
		if !ok || name != nil {
			t.Errorf("the answers are %v and %v", ok, name)
		}
		return tool.AnsweredBy(ctx, 0) + tool.AnsweredBy(ctx, 9), nil
	})
	h := newHost()
	if _, err := call(t, h, one, `{}`); !errors.Is(err, tool.ErrWaits) {
		t.Fatalf("without an answer: %v", err)
	}
	if q := h.asked[0]; len(h.asked) != 1 || q.Ask != event.AskApproval || q.Name != "go" || q.Prompt != "Go on?" ||
		string(q.Payload) != `{"n":1}` || string(q.Schema) != `{"type":"boolean"}` {
		t.Errorf("the question is %+v", h.asked)
	}
	h.answers = []string{`{"approved":true,"reason":"fine"}`, `null`}
	if out, err := call(t, h, one, `{}`); err != nil || event.TextOf(out.Content) != "ann" {
		t.Errorf("%v, %v", out, err)
	}
	h.answers = []string{`"no bool"`}
	if _, err := call(t, h, one, `{}`); !errors.Is(err, event.ErrInvalid) {
		t.Errorf("an answer of another type: %v", err)
	}
}

func TestAskingWithoutACall(t *testing.T) {
	t.Parallel()
	h := newHost()
	if _, err := tool.Ask[event.Approval](tool.WithAsker(t.Context(), h), "May it?"); !errors.Is(err, tool.ErrWaits) {
		t.Errorf("a hook that asks gets %v", err)
	}
	if len(h.asked) != 1 || string(h.asked[0].Schema) != string(tool.ApprovalSchema()) || h.asked[0].Ask != event.AskApproval {
		t.Errorf("the question is %+v", h.asked)
	}
	if _, err := tool.Ask[bool](tool.WithAsker(t.Context(), h), "x", tool.AskName("braid.x")); !errors.Is(err, event.ErrInvalid) {
		t.Errorf("a name that is taken: %v", err)
	}
}

func TestOutsideACall(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	tool.Progress(ctx, "x")
	tool.ProgressData(ctx, 1)
	tool.EndTurn(ctx)
	tool.ReturnDirect(ctx)
	if _, _, ok := tool.ApprovalOf(ctx); ok || tool.CallOf(ctx) != nil || tool.AnsweredBy(ctx, 0) != "" || tool.SecretOf(ctx, "x").Reveal() != "" {
		t.Error("something was found outside a call")
	}
	const s tool.State[int] = "n"
	_, _, get := s.Get(ctx)
	_, ask := tool.Ask[int](ctx, "x")
	update := s.Update(ctx, func(n int) (int, error) { return n, nil })
	for i, err := range []error{get, ask, update, s.Set(ctx, 1), s.Delete(ctx)} {
		if !errors.Is(err, event.ErrInvalid) {
			t.Errorf("number %d gives %v", i, err)
		}
	}
}

func TestAStreamShowsItsProgress(t *testing.T) {
	t.Parallel()
	one := tool.StreamFunc("count", "Counts.", func(context.Context, struct{}) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			_ = yield(1, nil) && yield(2, nil)
		}
	})
	h := newHost()
	out, err := call(t, h, one, `{}`)
	if err != nil || string(out.Structured) != "2" || !slices.Equal(h.news, []string{"1", "2"}) {
		t.Errorf("%+v, %v, news %q", out, err, h.news)
	}
}
