package service_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/tool"
)

// parrot is a model that says what it was told, and does what it is told.
type parrot struct{ requests chan<- []event.Message }

func (parrot) Info() model.Info { return model.Info{Name: "test:parrot"} }

func (p parrot) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		last := req.Messages[len(req.Messages)-1]
		text := last.Text()
		if p.requests != nil {
			p.requests <- req.Messages
		}
		for _, b := range last.Content {
			if _, ok := b.(*event.ToolResult); ok {
				text = "done"
			}
		}
		if name, ok := strings.CutPrefix(text, "use "); ok {
			_ = yield(model.Chunk{Kind: model.ChunkCall, ID: "c1", Text: name}, nil) &&
				yield(model.Chunk{Kind: model.ChunkCallInput, Text: "{}"}, nil) &&
				yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopToolUse}, nil)
			return
		}
		_ = yield(model.Chunk{Kind: model.ChunkText, Text: "you said " + text}, nil) &&
			yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn}, nil)
	}
}

type house struct {
	*service.Service

	store    *journal.Memory
	mu       sync.Mutex
	requests []service.AgentRequest
	seen     chan []event.Message
	// second, where it is set, is called once when an agent is asked for.
	second func()
}

var ann = service.Principal{Tenant: "acme", User: "ann"}

// open starts a service in a bubble of synctest.
func open(t *testing.T, change func(*service.Options)) *house {
	t.Helper()
	h := &house{store: &journal.Memory{}, seen: make(chan []event.Message, 100)}
	o := service.Options{
		Journal: h.store, Rows: &service.MemoryRows{},
		Agent: func(_ context.Context, r service.AgentRequest) (*braid.Agent, error) {
			h.mu.Lock()
			h.requests = append(h.requests, r)
			h.mu.Unlock()
			if r.Model != "" && r.Model != "test:parrot" {
				return nil, &event.Error{Kind: event.ErrModelNotFound, Message: "there is no model " + r.Model}
			}
			return braid.New("assistant", parrot{h.seen}, braid.Limit(r.Limits),
				braid.Func("sleep", "", func(ctx context.Context, _ struct{}) (string, error) {
					select {
					case <-time.After(time.Minute):
						return "slept", nil
					case <-ctx.Done():
						return "", ctx.Err()
					}
				}, tool.Pure()),
				braid.Func("ask", "", func(ctx context.Context, _ struct{}) (bool, error) { return braid.Ask[bool](ctx, "May I?") }),
			), nil
		},
	}
	if change != nil {
		change(&o)
	}
	s, err := service.New(o)
	if err != nil {
		t.Fatal(err)
	}
	h.Service = s
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Drain(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return h
}

func (h *house) conversation(t *testing.T) string {
	t.Helper()
	c, err := h.CreateConversation(t.Context(), ann, service.NewConversation{})
	if err != nil {
		t.Fatal(err)
	}
	return c.ID
}

// wait follows a run to its end and gives that.
func (h *house) wait(t *testing.T, conv string, s service.Started) *event.RunEnded {
	t.Helper()
	events, err := h.Export(t.Context(), ann, conv)
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		for e, err := range events {
			if err != nil {
				t.Fatal(err)
			}
			if b, ok := e.Body.(*event.RunEnded); ok && e.Run == s.Run.ID {
				return b
			}
		}
		time.Sleep(time.Second)
	}
	t.Fatal("the run comes to no end")
	return nil
}

func TestARun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		conv := h.conversation(t)
		r := service.RunRequest{
			Input: "hello   there\nyou", Executor: "web", Key: "k1", Metadata: map[string]string{"page": "7"},
			Limits: service.RunLimits{Cycles: 3, Time: time.Minute}, Tokens: map[string]secret.Secret{"t": secret.New("hush")},
		}
		started, err := h.StartRun(t.Context(), ann, conv, r)
		if err != nil || started.Joined || started.Run.Turn != 1 || started.After != 0 {
			t.Fatalf("%+v: %v", started, err)
		}
		if end := h.wait(t, conv, started); end.Status != event.RunCompleted {
			t.Errorf("it ended %+v", end)
		}
		again, err := h.StartRun(t.Context(), ann, conv, r)
		if err != nil || again.Run.ID != started.Run.ID {
			t.Errorf("the same request again: %+v: %v", again, err)
		}
		r.Executor = "mail"
		if _, err := h.StartRun(t.Context(), ann, conv, r); !service.KeyReused(err) {
			t.Errorf("another request of the same key: %v", err)
		}
		last := h.requests[0] // the one that was driven
		if last.Limits.Cycles != 3 || last.Limits.Active != time.Minute || last.Tokens["t"].Reveal() != "hush" || last.Tenant != "acme" {
			t.Errorf("the agent was asked for with %+v", last)
		}
		c, err := h.GetConversation(t.Context(), ann, conv)
		if err != nil || c.Title != "hello there you" || c.Status != "" {
			t.Errorf("%+v: %v", c, err)
		}
		runs, err := h.ListRuns(t.Context(), ann, conv, 0, 0)
		if err != nil || len(runs) != 1 || len(runs[0].Metadata) != 1 || runs[0].Metadata["page"] != "7" {
			t.Errorf("%+v: %v", runs, err)
		}
		// Nothing of the token is in the journal.
		events, _ := h.store.Read(t.Context(), conv, 0, 0)
		for _, e := range events {
			if raw, _ := json.Marshal(e); strings.Contains(string(raw), "hush") {
				t.Errorf("the token is in %s", raw)
			}
		}
	})
}

func TestALockedConversation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		conv := h.conversation(t)
		first, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "use sleep"})
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		_, err = h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "hello"})
		var e *event.Error
		if !errors.As(err, &e) || e.Kind != event.ErrLocked || e.RetryAfter <= 0 || time.Since(begun) != 5*time.Second {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		// One that ends in time lets the next one in at once.
		time.Sleep(53 * time.Second)
		begun = time.Now()
		second, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "hello"})
		if err != nil || second.Run.Turn != 2 || time.Since(begun) > 2500*time.Millisecond {
			t.Errorf("%+v after %v: %v", second, time.Since(begun), err)
		}
		h.wait(t, conv, first)
		h.wait(t, conv, second)
	})
}

func TestPoliciesOfARun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		policy braid.Policy
		joined bool
		first  event.RunStatus
		soon   bool
	}{
		{braid.Queue, false, event.RunCompleted, false},
		{braid.Steer, true, event.RunCompleted, false},
		{braid.Interrupt, false, event.RunCancelled, true},
	} {
		t.Run(string(c.policy), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := open(t, nil)
				conv := h.conversation(t)
				first, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "use sleep"})
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
				begun := time.Now()
				second, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "second", Policy: c.policy, Key: "k"})
				if err != nil || second.Joined != c.joined {
					t.Fatalf("%+v: %v", second, err)
				}
				if got := h.wait(t, conv, first); got.Status != c.first {
					t.Errorf("the first run ended %s", got.Status)
				}
				if got := h.wait(t, conv, second); got.Status != event.RunCompleted {
					t.Errorf("the second run ended %s", got.Status)
				}
				if soon := time.Since(begun) < 10*time.Second; soon != c.soon {
					t.Errorf("it took %v", time.Since(begun))
				}
				shown := 0
				for len(h.seen) > 0 {
					messages := <-h.seen
					if strings.Contains(messages[len(messages)-1].Text(), "second") {
						shown++
					}
				}
				if shown != 1 {
					t.Errorf("the message was shown %d times", shown)
				}
			})
		})
	}
}

func TestQuestionsAndAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		conv := h.conversation(t)
		started, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "use ask"})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		open, err := h.Questions(t.Context(), ann, conv)
		if err != nil || len(open) != 1 {
			t.Fatalf("%+v: %v", open, err)
		}
		c, err := h.GetConversation(t.Context(), ann, conv)
		if err != nil || c.Status != event.RunWaiting {
			t.Errorf("%+v: %v", c, err)
		}
		if _, err := h.Answer(t.Context(), ann, conv, "another", json.RawMessage("true")); !errors.Is(err, event.ErrNotFound) {
			t.Errorf("an unknown token: %v", err)
		}
		run, err := h.Answer(t.Context(), ann, conv, open[0].Token, json.RawMessage("true"))
		if err != nil || run.ID != started.Run.ID {
			t.Errorf("%+v: %v", run, err)
		}
		if end := h.wait(t, conv, started); end.Status != event.RunCompleted {
			t.Errorf("it ended %+v", end)
		}
		if _, err := h.Answer(t.Context(), ann, conv, open[0].Token, json.RawMessage("false")); err == nil {
			t.Error("it was answered twice")
		}
	})
}

func TestAnotherTenant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		conv := h.conversation(t)
		started, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "hello"})
		if err != nil {
			t.Fatal(err)
		}
		h.wait(t, conv, started)
		ctx, eve := t.Context(), service.Principal{Tenant: "evil", User: "ann"}
		title := "mine"
		for name, call := range map[string]func() error{
			"get": func() error { _, err := h.GetConversation(ctx, eve, conv); return err },
			"update": func() error {
				_, err := h.UpdateConversation(ctx, eve, conv, service.Changes{Title: &title})
				return err
			},
			"delete":    func() error { return h.DeleteConversation(ctx, eve, conv) },
			"reset":     func() error { _, err := h.ResetConversation(ctx, eve, conv); return err },
			"fork":      func() error { _, err := h.ForkConversation(ctx, eve, conv, 0); return err },
			"events":    func() error { _, err := h.Events(ctx, eve, conv, 0, 0); return err },
			"export":    func() error { _, err := h.Export(ctx, eve, conv); return err },
			"follow":    func() error { _, err := h.Follow(ctx, eve, conv, 0); return err },
			"run":       func() error { _, err := h.StartRun(ctx, eve, conv, service.RunRequest{Input: "x"}); return err },
			"runs":      func() error { _, err := h.ListRuns(ctx, eve, conv, 0, 0); return err },
			"get run":   func() error { _, err := h.GetRun(ctx, eve, conv, started.Run.ID); return err },
			"cancel":    func() error { return h.CancelRun(ctx, eve, conv, started.Run.ID) },
			"questions": func() error { _, err := h.Questions(ctx, eve, conv); return err },
			"answer":    func() error { _, err := h.Answer(ctx, eve, conv, "t", nil); return err },
			"title":     func() error { _, err := h.Title(ctx, eve, conv); return err },
		} {
			theirs := call()
			unknown := h.DeleteConversation(ctx, eve, "conv_doesnotexist")
			if !errors.Is(theirs, event.ErrNotFound) || message(theirs) != message(unknown) {
				t.Errorf("%s: %v", name, theirs)
			}
		}
		for _, bad := range []string{"", "conv_", "../x", "conv_a/b", "conv_" + strings.Repeat("a", 65), "run_abc"} {
			if _, err := h.GetConversation(ctx, ann, bad); !errors.Is(err, event.ErrNotFound) {
				t.Errorf("%q: %v", bad, err)
			}
		}
		if _, err := h.GetConversation(ctx, service.Principal{}, conv); !errors.Is(err, event.ErrPermission) {
			t.Errorf("nobody: %v", err)
		}
	})
}

func message(err error) string {
	if e, ok := errors.AsType[*event.Error](err); ok {
		return e.Message + e.Hint
	}
	return fmt.Sprint(err)
}

func TestResetForkArchiveAndDelete(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		ctx, conv := t.Context(), h.conversation(t)
		say := func(conv, text string) string {
			t.Helper()
			started, err := h.StartRun(ctx, ann, conv, service.RunRequest{Input: text, Key: "key-" + text})
			if err != nil {
				t.Fatal(err)
			}
			h.wait(t, conv, started)
			var all []string
			for _, m := range <-h.seen {
				all = append(all, m.Text())
			}
			// The same request once more is the same run.
			if again, err := h.StartRun(ctx, ann, conv, service.RunRequest{Input: text, Key: "key-" + text}); err != nil || again.Run.ID != started.Run.ID {
				t.Errorf("again: %+v: %v", again.Run, err)
			}
			return strings.Join(all, "|")
		}
		say(conv, "one")
		if got := say(conv, "two"); got != "one|you said one|two" {
			t.Errorf("the model was shown %s", got)
		}
		// Up to the end of the first run.
		var at int64
		events, _ := h.Events(ctx, ann, conv, 0, 0)
		for _, e := range events {
			if _, ok := e.Body.(*event.RunEnded); ok {
				at = e.Seq
				break
			}
		}
		fork, err := h.ForkConversation(ctx, ann, conv, at)
		if err != nil || fork.Origin != conv || fork.At != at {
			t.Fatalf("%+v: %v", fork, err)
		}
		if got := say(fork.ID, "three"); got != "one|you said one|three" {
			t.Errorf("the fork was shown %s", got)
		}
		if got := say(fork.ID, "four"); got != "one|you said one|three|you said three|four" {
			t.Errorf("the fork was shown %s", got)
		}
		whole, err := h.ForkConversation(ctx, ann, conv, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := say(whole.ID, "five"); got != "one|you said one|two|you said two|five" {
			t.Errorf("the fork was shown %s", got)
		}
		if _, err := h.ForkConversation(ctx, ann, conv, 10_000); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("a fork after the end: %v", err)
		}

		if _, err := h.ResetConversation(ctx, ann, conv); err != nil {
			t.Fatal(err)
		}
		if got := say(conv, "six"); got != "six" {
			t.Errorf("after the reset the model was shown %s", got)
		}
		if got := say(conv, "seven"); got != "six|you said six|seven" {
			t.Errorf("the model was shown %s", got)
		}

		yes := true
		if _, err := h.UpdateConversation(ctx, ann, conv, service.Changes{Archived: &yes}); err != nil {
			t.Fatal(err)
		}
		_, err = h.StartRun(ctx, ann, conv, service.RunRequest{Input: "x"})
		var e *event.Error
		if !errors.As(err, &e) || e.Code != "CONVERSATION_ARCHIVED" {
			t.Errorf("a run in the archive: %v", err)
		}
		if err := h.DeleteConversation(ctx, ann, conv); err != nil {
			t.Fatal(err)
		}
		if _, err := h.GetConversation(ctx, ann, conv); !errors.Is(err, event.ErrNotFound) {
			t.Errorf("it is still there: %v", err)
		}
		if left, err := h.store.Read(ctx, conv, 0, 0); err != nil || len(left) > 0 {
			t.Errorf("%d events are left: %v", len(left), err)
		}
		if runs, err := h.store.Runs(ctx, conv, 0, 0); err != nil || len(runs) > 0 {
			t.Errorf("%d runs are left: %v", len(runs), err)
		}
	})
}

func TestRequestsThatAreRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		conv := h.conversation(t)
		for _, c := range []struct {
			name string
			r    service.RunRequest
			want event.ErrorKind
		}{
			{"no input", service.RunRequest{Input: " \n"}, event.ErrInvalid},
			{"an unknown model", service.RunRequest{Input: "x", Model: "test:none"}, event.ErrModelNotFound},
			{"an unknown policy", service.RunRequest{Input: "x", Policy: "shout"}, event.ErrInvalid},
			{"a negative limit", service.RunRequest{Input: "x", Limits: service.RunLimits{Cycles: -1}}, event.ErrInvalid},
			{"reserved metadata", service.RunRequest{Input: "x", Metadata: map[string]string{"braid.model": "y"}}, event.ErrInvalid},
			{"a long executor", service.RunRequest{Input: "x", Executor: strings.Repeat("e", 201)}, event.ErrInvalid},
			{"a long model", service.RunRequest{Input: "x", Model: strings.Repeat("m", 201)}, event.ErrInvalid},
			{"many skills", service.RunRequest{Input: "x", Skills: strings.Split(strings.Repeat("s,", 65), ",")}, event.ErrInvalid},
			{"a skill without a name", service.RunRequest{Input: "x", Skills: []string{""}}, event.ErrInvalid},
			{"a long token", service.RunRequest{Input: "x", Tokens: map[string]secret.Secret{"t": secret.New(strings.Repeat("t", 16<<10+1))}}, event.ErrInvalid},
			{"a token without a name", service.RunRequest{Input: "x", Tokens: map[string]secret.Secret{"": secret.New("t")}}, event.ErrInvalid},
			{"bad UTF-8", service.RunRequest{Input: "x\xff"}, event.ErrInvalid},
		} {
			if _, err := h.StartRun(t.Context(), ann, conv, c.r); !errors.Is(err, c.want) {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		if runs, err := h.store.Queue(t.Context(), conv); err != nil || len(runs) > 0 {
			t.Errorf("something was admitted: %+v: %v", runs, err)
		}
	})
}

// A model that is gone when a run is driven ends the run; it does not hang.
func TestAModelThatIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		h := open(t, func(o *service.Options) {
			make := o.Agent
			o.Agent = func(ctx context.Context, r service.AgentRequest) (*braid.Agent, error) {
				if asked.Add(1) > 2 {
					return nil, &event.Error{Kind: event.ErrModelNotFound, Message: "it is gone"}
				}
				return make(ctx, r)
			}
		})
		conv := h.conversation(t)
		if _, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "use sleep"}); err != nil {
			t.Fatal(err)
		}
		started, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "hello", Policy: braid.Queue})
		if err != nil {
			t.Fatal(err)
		}
		if end := h.wait(t, conv, started); end.Status != event.RunFailed || end.Err == nil || end.Err.Kind != event.ErrModelNotFound {
			t.Errorf("it ended %+v", end)
		}
	})
}

// A drained service leaves its runs where they are, and the next service continues them.
func TestDraining(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &journal.Memory{}
		rows := &service.MemoryRows{}
		over := func(o *service.Options) { o.Journal, o.Rows = store, rows }
		h := open(t, over)
		conv := h.conversation(t)
		started, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "use sleep"})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if err := h.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "x", Policy: braid.Queue}); !errors.Is(err, event.ErrUnavailable) {
			t.Errorf("a drained service took a run: %v", err)
		}
		next := open(t, over)
		if end := next.wait(t, conv, started); end.Status != event.RunCompleted {
			t.Errorf("it ended %+v", end)
		}
	})
}

// A name of the caller's choice is one conversation in each tenant, whoever comes first.
func TestNamedConversations(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		if _, err := h.ConversationNamed(t.Context(), ann, "mine"); !errors.Is(err, event.ErrNotFound) {
			t.Error(err)
		}
		ids := make(chan string, 10)
		for range cap(ids) {
			go func() {
				c, err := h.OpenConversation(t.Context(), ann, "mine", service.NewConversation{Metadata: map[string]string{"k": "v"}})
				if err != nil {
					t.Error(err)
				}
				ids <- c.ID
			}()
		}
		first := <-ids
		for range cap(ids) - 1 {
			if id := <-ids; id != first {
				t.Errorf("%s and %s", id, first)
			}
		}
		c, err := h.ConversationNamed(t.Context(), ann, "mine")
		if err != nil || c.ID != first || c.Metadata["k"] != "v" {
			t.Error(c, err)
		}
		other, err := h.OpenConversation(t.Context(), service.Principal{Tenant: "bolt"}, "mine", service.NewConversation{})
		if err != nil || other.ID == first {
			t.Error(other.ID, err)
		}
		if _, err := h.GetConversation(t.Context(), service.Principal{Tenant: "bolt"}, first); !errors.Is(err, event.ErrNotFound) {
			t.Error(err)
		}
		if _, err := h.OpenConversation(t.Context(), service.Principal{}, "mine", service.NewConversation{}); !errors.Is(err, event.ErrPermission) {
			t.Error(err)
		}
	})
}

// A service that was not started accepts no run that nobody would drive, and says what is missing.
func TestAServiceThatIsNotStarted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := service.New(service.Options{
			Journal: &journal.Memory{}, Rows: &service.MemoryRows{},
			Agent: func(context.Context, service.AgentRequest) (*braid.Agent, error) {
				return braid.New("assistant", parrot{}), nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		c, err := s.CreateConversation(t.Context(), ann, service.NewConversation{})
		if err != nil {
			t.Fatal(err)
		}
		_, runErr := s.StartRun(t.Context(), ann, c.ID, service.RunRequest{Input: "hello"})
		for _, err := range []error{s.Ready(t.Context()), runErr} {
			if !errors.Is(err, event.ErrUnavailable) || !strings.Contains(err.Error(), "not started") {
				t.Errorf("it says %v", err)
			}
		}
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := s.StartRun(t.Context(), ann, c.ID, service.RunRequest{Input: "hello"}); err != nil || s.Ready(t.Context()) != nil {
			t.Errorf("started it says %v", err)
		}
		synctest.Wait()
		if err := s.Drain(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
