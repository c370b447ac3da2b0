package braid

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/braidrun/braid/internal/drive"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// A world is what stands outside Braid while a plan is played: it writes down
// every call of a tool and of a model, and can end the run from outside. The
// tools and models find it in their context.
type world struct {
	mu sync.Mutex
	// entries counts how often a tool was entered, by Call.Key; effects how
	// often it got to its effect; reconciled how often the outside was asked.
	entries    map[string]int
	effects    map[string]int
	reconciled map[string]int
	known      map[string]bool
	// models counts the calls of models by scope and cycle.
	models map[string]int
	seen   []seenRequest
	faults []string

	// conv is where the run stands: what runs must be in its log before.
	conv  *Conversation
	input string
	// holding makes "hold" and "deaf" tools stop the run and stay.
	holding   bool
	cancelRun func()
	release   chan struct{}
}

// seenRequest is what a model was shown, with its fingerprint at that time.
type seenRequest struct {
	scope    string
	messages []event.Message
	prints   string
}

type worldKey struct{}

func newWorld() *world {
	return &world{
		entries: map[string]int{}, effects: map[string]int{}, reconciled: map[string]int{},
		known: map[string]bool{}, models: map[string]int{}, release: make(chan struct{}), cancelRun: func() {},
	}
}

func worldOf(ctx context.Context) *world { return ctx.Value(worldKey{}).(*world) }

func (w *world) fault(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

// verdict gives what went wrong, and at the end of a case also whether what was
// handed out has changed since.
func (w *world) verdict(end bool) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.seen {
		if end && fingerprint(s.messages) != s.prints {
			w.faults = append(w.faults, fmt.Sprintf("messages that scope %q was shown have changed afterwards", s.scope))
		}
	}
	return w.faults
}

// wanted is what the first request of a scope must say.
func (w *world) wanted(req *model.Request) string {
	if req.Scope != "" {
		return "task "
	}
	return w.input
}

func (w *world) entered(key string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.entries[key]
}

// planModel says what an agent's plan says. It is a function of the request.
type planModel struct {
	plan *agentPlan
	// nth is its place in the agent's list.
	nth int
}

func (m *planModel) Info() model.Info {
	info := model.Info{Name: "plan:root", Simulated: true}
	if m.plan != nil {
		info.Setups = m.plan.setups
		info.Name = fmt.Sprint("plan:", m.plan.name, strings.Repeat("+", m.nth))
		info.Cost = func(u event.Usage) (int64, bool) { return u.Total * int64(2+m.nth), m.plan.unpriced != m.nth+1 }
	}
	return info
}

func (m *planModel) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	w := worldOf(ctx)
	if err := validMessages(req.Messages); err != nil {
		w.fault("the model was shown what no provider takes, scope %q, cycle %d: %v\n%s", req.Scope, req.Cycle, err, show(req.Messages))
	}
	if !begun(w.conv.logged(), req.Run, fold.StepName(req.Scope, 'm', req.Cycle, 0), req.Attempt) {
		w.fault("the model call of cycle %d in scope %q is not in the log", req.Cycle, req.Scope)
	}
	if last := len(req.Messages) - 1; last < 0 || req.Cycle == 1 && !strings.Contains(req.Messages[last].Text(), w.wanted(req)) {
		w.fault("the model of scope %q is not told what is wanted, %q:\n%s", req.Scope, w.wanted(req), show(req.Messages))
	}
	if err := checkSetups(req, w.conv.logged(), m.Info().Setups); err != nil {
		w.fault("scope %q, cycle %d: %v", req.Scope, req.Cycle, err)
	}
	prints := fingerprint(req.Messages)
	w.mu.Lock()
	w.models[req.Run+"/"+fold.StepName(req.Scope, 'm', req.Cycle, 0)]++
	w.seen = append(w.seen, seenRequest{req.Scope, req.Messages, prints})
	w.mu.Unlock()
	return func(yield func(model.Chunk, error) bool) {
		list, err := m.plan.answer(req, prints)
		for i := range list {
			if ctx.Err() != nil {
				yield(model.Chunk{}, ctx.Err())
				return
			}
			if !yield(list[i], nil) {
				return
			}
		}
		if err != nil {
			yield(model.Chunk{}, err)
		}
	}
}

// agent makes the run's agents anew, as another process would.
func (r *runPlan) agent() *Agent {
	agents := make([]*Agent, len(r.agents))
	for i := len(r.agents) - 1; i >= 0; i-- {
		p := r.agents[i]
		a := New(p.name, &planModel{plan: p}, Limit(p.limits), Retries(Retry{Base: 1, Max: 1, Exact: true}),
			Func("pure", "", planTool, tool.Pure()), Func("idem", "", planTool, tool.Idempotent()), Func("unsafe", "", planTool),
			Func("recon", "", planTool, tool.Reconcile(planReconcile)))
		if p.told > 0 {
			a.Use(Instructions("Be brief."), From(moreWords(strings.Repeat("また", p.told))))
		}
		if p.told == 2 {
			a.Use(Func("more", "", planTool))
		}
		if p.fallbacks > 0 {
			var more []Model
			for n := range p.fallbacks {
				more = append(more, &planModel{plan: p, nth: n + 1})
			}
			a.Use(Fallback(p.falls, more...))
		}
		if p.sequential {
			a.Use(Sequential())
		}
		for _, c := range p.children {
			a.Use(AsTool(agents[c], ""))
		}
		agents[i] = a
	}
	return agents[0]
}

// deaf reports whether a tool of the run ignores its context.
func (r *runPlan) deaf() bool {
	for _, a := range r.agents {
		for i := range a.turns {
			for _, c := range a.turns[i].calls {
				if strings.Contains(c.args, `"deaf"`) {
					return true
				}
			}
		}
	}
	return false
}

var errPlanned = errors.New("this tool fails")

func planTool(ctx context.Context, in toolIn) (tool.Output, error) {
	c, w := tool.CallOf(ctx), worldOf(ctx)
	w.mu.Lock()
	w.entries[c.Key()]++
	w.mu.Unlock()
	if !begun(w.conv.logged(), c.Run, c.Step, c.Attempt) {
		w.fault("attempt %d of %s runs and is not in the log", c.Attempt, c.Step)
	}
	for range in.Delay {
		runtime.Gosched()
	}
	text := "did " + in.Do + " " + c.Step
	if in.Do == "ask" {
		answers, err := askAll(ctx, in)
		if err != nil {
			return tool.Output{}, err
		}
		text += answers
	}
	w.mu.Lock()
	w.effects[c.Key()]++
	w.mu.Unlock()
	if in.End {
		tool.EndTurn(ctx)
	}
	switch in.Do {
	case "error":
		return tool.Output{}, errPlanned
	case "panic":
		panic("this tool panics")
	case "state":
		return planState(ctx, c, in.Key)
	case "structured":
		return tool.Output{Structured: mustJSON(map[string]any{"step": c.Step})}, nil
	case "empty":
		return tool.Output{}, nil
	case "iserror":
		return tool.Output{Content: tool.Text("not like this " + c.Step).Content, IsError: true}, nil
	case "hold":
		if w.holding {
			tool.Progress(ctx, "holding")
			w.cancelRun()
			<-ctx.Done()
			return tool.Output{}, ctx.Err()
		}
	case "deaf":
		if w.holding {
			w.cancelRun()
			<-w.release
			_ = tool.State[any]("late").Set(ctx, c.Step)
			tool.Progress(ctx, "late")
		}
	}
	return tool.Text(text), nil
}

// planReconcile asks the outside: the world knows what another one, that
// stopped, had told it.
func planReconcile(ctx context.Context, raw json.RawMessage) (tool.Output, bool, error) {
	c, w := tool.CallOf(ctx), worldOf(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reconciled[c.Key()]++
	if !w.known[c.Key()] {
		return tool.Output{}, false, nil
	}
	var in toolIn
	if err := json.Unmarshal(raw, &in); err != nil {
		return tool.Output{}, false, err
	}
	return tool.Text("did " + in.Do + " " + c.Step), true, nil
}

// begun reports whether a log says that an attempt has begun. A straggler may ask
// when the next run has begun already.
func begun(log []*event.Event, run, step string, attempt int) bool {
	for _, e := range slices.Backward(log) {
		if e.Run != run {
			continue
		}
		if _, ok := e.Body.(*event.StepBegun); ok && e.Step == step && e.Attempt == attempt {
			return true
		}
		if _, ok := e.Body.(*event.RunStarted); ok {
			return false
		}
	}
	return false
}

// reconcilable reports whether planReconcile gives what the tool itself would
// have given: nothing is asked, nothing is set, nothing fails.
func (in *toolIn) reconcilable() bool { return in.Do == "" && !in.End }

func askAll(ctx context.Context, in toolIn) (string, error) {
	text := ""
	var first error
	for range in.Asks {
		var err error
		switch in.Answer {
		case "bool":
			var v bool
			v, err = Ask[bool](ctx, "ok?")
			text += fmt.Sprint(" ", v)
		case "null":
			var v *string
			v, err = Ask[*string](ctx, "anything?")
			text += fmt.Sprint(" ", v == nil)
		case "bad":
			// A schema that takes anything: otherwise the answer would be refused.
			_, err = Ask[string](ctx, "what?", func(q *event.Asked) error { q.Schema = json.RawMessage(`{}`); return nil })
		default:
			var v string
			v, err = Ask[string](ctx, "what?")
			text += " " + v
		}
		if err != nil && !in.Gather {
			return "", err
		}
		if first == nil {
			first = err
		}
	}
	return text + " " + tool.AnsweredBy(ctx, 0), first
}

func planState(ctx context.Context, c *Call, key string) (tool.Output, error) {
	remove := strings.HasPrefix(key, "-")
	key = strings.TrimPrefix(key, "-")
	if key == "own" {
		key = "own:" + c.Step
	}
	if err := tool.State[any](key).Set(ctx, c.Step); err != nil {
		return tool.Output{}, err
	}
	got, ok, err := tool.State[string](key).Get(ctx)
	if strings.HasPrefix(key, StateTemp) {
		got = c.Step // another call may have set it meanwhile
	}
	if err != nil || !ok || got != c.Step {
		return tool.Output{}, fmt.Errorf("the call does not see what it has set: %q %v %v", got, ok, err)
	}
	if remove {
		if err := tool.State[any](key).Delete(ctx); err != nil {
			return tool.Output{}, err
		}
		if _, ok, _ := tool.State[string](key).Get(ctx); ok {
			return tool.Output{}, errors.New("the call sees what it has removed")
		}
	}
	return tool.Text("set " + c.Step), nil
}

// answerTo gives the answer that the plan has for a question, whoever asks.
func answerTo(q *Question) Answer {
	var in toolIn
	if err := json.Unmarshal(q.Args, &in); err != nil {
		panic(err)
	}
	a := Answer{Token: q.Token, By: fmt.Sprint("person ", q.Index)}
	even := hash(q.Step)%2 == 0
	switch in.Answer {
	case "bool":
		a.Value = even
	case "null":
		if even {
			a.Value = "something"
		}
	case "bad":
		a.Value = 7
	default:
		a.Value = fmt.Sprint("answer to ", q.Step, q.Index)
	}
	return a
}

// deadline is a context whose time is over when somebody says so.
type deadline struct {
	context.Context
	over chan struct{}
	once sync.Once
}

func (d *deadline) Done() <-chan struct{} { return d.over }

func (d *deadline) expire() { d.once.Do(func() { close(d.over) }) }

func (d *deadline) Err() error {
	select {
	case <-d.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// play runs a plan's run in conv until it has ended, answering what is asked, and
// cancelling as it is planned. Without input it goes on with the open run.
func (w *world) play(base context.Context, conv *Conversation, r *runPlan, input string) (*Result, error) {
	base = context.WithValue(base, worldKey{}, w)
	w.conv = conv
	w.input = input
	agent := r.agent()
	w.holding = r.cancel == byTool && input != ""
	if w.holding && r.deaf() {
		agent.frozen.Limits.Grace = 1
	}
	n := 0
	var answered []Answer
	for round := 0; ; round++ {
		if round > 2000 { // a tree of agents may ask a few hundred times
			return nil, errors.New("the run does not end")
		}
		ctx := &deadline{Context: base, over: make(chan struct{})}
		running, cancel := context.WithCancel(ctx)
		w.cancelRun = cancel
		hangs := time.AfterFunc(30*time.Second, func() {
			w.fault("the run hangs")
			cancel()
		})
		result := &Result{}
		stream := agent.ResumeStream(running, conv, Answers(answered...), Into(result))
		if input != "" {
			stream = agent.Stream(running, input, In(conv), Into(result))
		}
		var failure error
		watch := watcher{world: w}
		for e, err := range stream {
			if err != nil {
				failure = err
				break
			}
			watch.see(&e)
			if n++; n != r.at {
				continue
			}
			stop := false
			if b, ok := e.Body.(*event.StepBegun); ok && b.Step == event.StepTool &&
				(r.cancel == byBreak || r.cancel == byContext || r.cancel == byHandle) {
				key := conv.log.ID + "/" + e.Run + "/" + e.Step
				entered := w.entered(key)
				defer func() {
					if w.entered(key) > entered {
						w.fault("%s ran after it was cancelled at its begin", key)
					}
				}()
			}
			switch r.cancel {
			case byBreak:
				stop = true
			case byContext:
				cancel()
			case byHandle:
				if err := conv.Cancel(base); err != nil {
					return nil, err
				}
			case byDeadline:
				ctx.expire()
			default:
			}
			if stop {
				break
			}
		}
		hangs.Stop()
		ctx.expire()
		cancel()
		v, err := conv.log.ColdView(base)
		if err != nil {
			return nil, err
		}
		if v.Run == nil || v.Run.Ended != nil {
			return result, failure
		}
		if failure != nil {
			return result, fmt.Errorf("the run stopped and has not ended: %w", failure)
		}
		open, err := conv.Questions(base)
		if err != nil {
			return nil, err
		}
		if due, err := conv.log.Store.Due(base, 0); err != nil || len(due) > 0 {
			return result, fmt.Errorf("the run waits for people and would be taken by a driver at once: %w", err)
		}
		if len(open) == 0 {
			return result, fmt.Errorf("the run waits and nothing is asked\n%s", showLog(conv.logged()))
		}
		input, answered = "", nil
		switch {
		case r.cancel == byMail:
			err = conv.Cancel(base)
		case r.single:
			answered = []Answer{answerTo(&open[0])}
		default:
			for i := range open {
				a := answerTo(&open[i])
				if err = conv.answer(base, a); err != nil {
					break
				}
			}
		}
		if err != nil {
			return nil, err
		}
	}
}

// watcher holds the promises of a stream: durable events in the order of the
// log, live ones numbered.
type watcher struct {
	world *world
	seq   int64
	n     int64
}

func (s *watcher) see(e *event.Event) {
	if e.Live() {
		if s.n++; e.N != s.n || e.Epoch == 0 || e.Seq != 0 {
			s.world.fault("live event %d is numbered %d of epoch %d", s.n, e.N, e.Epoch)
		}
		return
	}
	if s.seq != 0 && e.Seq != s.seq+1 {
		s.world.fault("event %d follows event %d", e.Seq, s.seq)
	}
	if e.Seq > int64(len(s.world.conv.logged())) {
		s.world.fault("event %d is sent and not in the log", e.Seq)
	}
	s.seq = e.Seq
}

// logged is the whole log of a conversation in memory.
func (c *Conversation) logged() []*event.Event {
	events, err := c.log.Store.Read(context.Background(), c.log.ID, 0, 0)
	if err != nil {
		panic(err)
	}
	return events
}

// cutLog gives a conversation whose log is a part of another's, as if the
// driver had died right after it. Its mail is lost.
func cutLog(log []*event.Event, inputs []string) (*Conversation, error) {
	ctx := context.Background()
	store := journal.NewMemory(journal.MemoryOptions{})
	conv := &Conversation{log: drive.Handle{ID: "conversation", Store: store, Own: true}}
	for len(log) > 0 {
		n := 1
		for n < len(log) && log[n].Run == log[0].Run {
			n++
		}
		run := log[:n]
		log = log[n:]
		row := journal.Run{ID: run[0].Run, Conversation: conv.log.ID, Agent: "root"}
		row.Input = []event.Message{event.UserText(inputs[conv.log.Runs])}
		conv.log.Runs++
		if _, err := store.Admit(ctx, row); err != nil {
			return nil, err
		}
		opened, err := store.Acquire(ctx, row.ID, 0)
		if err != nil {
			return nil, err
		}
		b := journal.Batch{Events: run, Release: true}
		if end, ok := run[n-1].Body.(*event.RunEnded); ok {
			b.Status = end.Status
		}
		if err := store.Commit(ctx, opened.Lease, b); err != nil {
			return nil, err
		}
		if err := storeFold(conv, opened.Lease); err != nil {
			return nil, err
		}
	}
	return conv, nil
}

// storeFold stores the fold of a log where that is possible, so that the conversation is opened from it.
func storeFold(conv *Conversation, l journal.Lease) error {
	s, ok := fold.New(conv.logged()).Store(conv.log.ID)
	if !ok {
		return nil
	}
	return conv.log.Store.StoreFold(context.Background(), l, journal.StoredFold{Seq: s.Seq, Head: s.Head, Parts: s.Parts})
}

func mustJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// hash is the same for the same text within one process.
func hash(s string) uint64 { return maphash.String(hashSeed, s) }

var hashSeed = maphash.MakeSeed()

// fingerprint is a short name for messages: the same for the same content.
func fingerprint(messages []event.Message) string {
	var buf []byte
	for _, m := range messages {
		var err error
		if buf, err = event.AppendMessage(buf, m); err != nil {
			panic(err)
		}
	}
	return fmt.Sprintf("%d messages %x", len(messages), hash(string(buf)))
}

// show writes messages for the report of a failure.
func show(messages []event.Message) string {
	var sb strings.Builder
	for _, m := range messages {
		b, err := event.AppendMessage(nil, m)
		fmt.Fprintf(&sb, "  %s %v\n", b, err)
	}
	return sb.String()
}

// showLog writes a log for the report of a failure.
func showLog(log []*event.Event) string {
	var sb strings.Builder
	for _, e := range log {
		c := *e
		c.Conversation, c.Time, c.Simulated = "", time.Time{}, false
		b, err := event.AppendJSON(nil, &c)
		if len(b) > 400 {
			b = append(b[:400], "…"...)
		}
		fmt.Fprintf(&sb, "  %s %v\n", b, err)
	}
	return sb.String()
}

// planConversation is a conversation of a known name, so that its log can be laid
// into another store.
func planConversation() *Conversation {
	c := NewConversation()
	c.log.ID, c.log.StoreEvery = "conversation", 1
	return c
}

// moreWords are a source of instructions alone.
type moreWords string

func (moreWords) Tools() []Tool { return nil }

func (w moreWords) Instructions() string { return string(w) }
