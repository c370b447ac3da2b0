package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/flow"
	"github.com/braidrun/braid/journal"
)

// scenario defines the agents, the models' scripts and the clients of a case.
type scenario struct {
	name string
	root string
	// scripts holds the output of each agent's model by cycle.
	scripts map[string][]reply
	// make returns the agent, once for all processes: it must not hold state of a process.
	make  func(s *scenario) *braid.Agent
	agent *braid.Agent
	// setup writes an earlier history.
	setup func(w *world)
	// clients starts the clients.
	clients func(w *world)
	// loops makes every process crash after a while; drains makes some processes drain.
	loops, drains bool
}

// crashAfter returns the number of calls of seams after which a process of the restart loop
// crashes; 0 is never.
func (s *scenario) crashAfter(w *world, generation int) int64 {
	if !s.loops || generation > 8 {
		return 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return int64(12 + w.draw.IntN(40))
}

// scenarios holds all scenarios by name.
var scenarios = index(
	text(), tools(), waits(), cancels(), steers(), policies(), nested(), flows(), compacted(), summed(),
	loop(), retries(), falls(), late(), drains(), mixed(), deadly(),
)

func index(list ...*scenario) map[string]*scenario {
	m := map[string]*scenario{}
	for _, s := range list {
		s.agent = s.make(s)
		m[s.name] = s
	}
	return m
}

// names lists the scenarios in order.
func names() []string {
	var list []string
	for name := range scenarios {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// solo returns a maker of one agent with tools.
func solo(kit func() []braid.Tool) func(*scenario) *braid.Agent {
	return func(s *scenario) *braid.Agent {
		m := &simModel{agent: s.root, script: s.scripts[s.root]}
		a := braid.New(s.root, m, braid.Retries(braid.Retry{Exact: true, Base: time.Second, Attempts: 8}))
		if kit != nil {
			a.Use(braid.Tools(kit()...))
		}
		return a
	}
}

// text is a question with an answer, twice.
func text() *scenario {
	return &scenario{
		name: "text", root: "writer",
		scripts: map[string][]reply{"writer": {{text: "a first answer"}}},
		make:    solo(nil),
		clients: func(w *world) {
			w.viewer("eve")
			w.client("ann", func(c *client) {
				c.submit("say something")
				c.see(ended(1))
				c.submit("say more")
			})
		},
	}
}

// kit returns a tool of each class.
func kit() []braid.Tool {
	return []braid.Tool{
		&simTool{name: "look", class: event.EffectPure},
		&simTool{name: "put", class: event.EffectIdempotent},
		&simTool{name: "order", class: event.EffectReconcilable},
		&simTool{name: "pay", class: event.EffectUnsafe},
		&simTool{name: "build", class: event.EffectUnsafe, takes: 4 * time.Second},
	}
}

// tools is a parallel batch with a tool of every class, and one call after it.
func tools() *scenario {
	return &scenario{
		name: "tools", root: "worker",
		scripts: map[string][]reply{"worker": {
			{text: "all of them", calls: []want{{"look", "{}"}, {"put", "{}"}, {"order", "{}"}, {"pay", "{}"}, {"build", "{}"}}},
			{text: "once more", calls: []want{{"pay", "{}"}}},
			{text: "all is done"},
		}},
		make: solo(kit),
		clients: func(w *world) {
			w.viewer("eve")
			w.viewer("bob")
			w.client("ann", func(c *client) { c.submit("do all of it") })
		},
	}
}

// waits is a run that asks two questions beside a working tool. Two clients answer each question
// differently.
func waits() *scenario {
	return &scenario{
		name: "wait", root: "clerk",
		scripts: map[string][]reply{"clerk": {
			{text: "may I", calls: []want{{"ask", "{}"}, {"build", "{}"}, {"beg", "{}"}}},
			{text: "thank you"},
		}},
		make: solo(func() []braid.Tool {
			return append(kit(), &simTool{name: "ask", class: event.EffectUnsafe, ask: "may I?"},
				&simTool{name: "beg", class: event.EffectIdempotent, ask: "please?"})
		}),
		clients: func(w *world) {
			w.viewer("eve")
			w.client("ann", func(c *client) { c.submit("ask me") })
			late := time.Duration(w.any(3)) * 3 * time.Second
			for _, who := range []string{"bob", "joe"} {
				w.client(who, func(c *client) {
					c.questions(func(q event.Event) {
						if late > 0 {
							lapse(late)
						}
						c.answer(q, who+" says so")
					})
				})
			}
		},
	}
}

// cancels is a run that is cancelled before, during or after its work, with a second run queued
// behind it.
func cancels() *scenario {
	return &scenario{
		name: "cancel", root: "clerk",
		scripts: map[string][]reply{"clerk": {
			{text: "let me see", calls: []want{{"build", "{}"}, {"put", "{}"}}},
			{text: "may I", calls: []want{{"ask", "{}"}}},
			{text: "thank you", slow: 2 * time.Second},
		}},
		make: solo(func() []braid.Tool {
			return append(kit(), &simTool{name: "ask", class: event.EffectUnsafe, ask: "may I?"})
		}),
		clients: func(w *world) {
			w.viewer("eve")
			when, turns, soon := w.any(6), w.any(60), w.any(16)
			w.client("ann", func(c *client) {
				run := c.submit("go on")
				switch when {
				case 0:
				case 1:
					c.at(turns)
				case 2:
					c.see(begun(event.StepTool, 1))
				case 3:
					c.see(asked(1))
				case 4:
					// About where the run is parked.
					c.see(begun(event.StepTool, 3))
					c.at(c.w.gate.turns + soon)
				case 5:
					q, ok := c.see(asked(1))
					if !ok {
						return
					}
					c.answer(q, "yes")
					c.at(c.w.gate.turns + turns/4)
				}
				c.cancel(run)
				c.see(ended(1))
			})
		},
	}
}

// steers is messages that join a run, also while it waits.
func steers() *scenario {
	return &scenario{
		name: "steer", root: "clerk",
		scripts: map[string][]reply{"clerk": {
			{text: "let me see", calls: []want{{"put", "{}"}}},
			{text: "may I", calls: []want{{"ask", "{}"}, {"pay", "{}"}}},
			{text: "thank you"},
		}},
		make: solo(func() []braid.Tool {
			return append(kit(), &simTool{name: "ask", class: event.EffectIdempotent, ask: "may I?"})
		}),
		clients: func(w *world) {
			w.viewer("eve")
			first, turns := w.any(40), w.any(80)
			w.client("ann", func(c *client) {
				c.submit("begin")
				c.at(first)
				for i := range 3 {
					c.send(fmt.Sprintf("steer %d", i+1), braid.Steer)
					c.at(c.w.gate.turns + turns/3)
				}
			})
			w.client("bob", says("yes"))
		},
	}
}

// policies is messages under all four policies while runs are open.
func policies() *scenario {
	return &scenario{
		name: "policies", root: "clerk",
		scripts: map[string][]reply{"clerk": {
			{text: "let me see", calls: []want{{"build", "{}"}}},
			{text: "done"},
		}},
		make: solo(kit),
		clients: func(w *world) {
			w.viewer("eve")
			for i, p := range []braid.Policy{braid.Reject, braid.Queue, braid.Steer, braid.Interrupt} {
				turns := w.any(120)
				w.client(fmt.Sprintf("%c-%s", 'a'+i, p), func(c *client) {
					c.at(turns)
					c.send("first by "+string(p), p)
					c.at(c.w.gate.turns + turns/2)
					c.send("second by "+string(p), p)
				})
			}
		},
	}
}

// nested is agents as tools, two levels deep, with a question at the bottom.
func nested() *scenario {
	return &scenario{
		name: "nested", root: "boss",
		scripts: map[string][]reply{
			"boss": {
				{text: "ask the others", calls: []want{{"lead", `{"input":"see to it"}`}, {"pay", "{}"}}},
				{text: "well done"},
			},
			"lead": {
				{text: "ask the clerk", calls: []want{{"hand", `{"input":"do it"}`}, {"put", "{}"}}},
				{text: "it is done"},
			},
			"hand": {
				{text: "may I", calls: []want{{"ask", "{}"}, {"order", "{}"}}},
				{text: "I did"},
			},
		},
		make: func(s *scenario) *braid.Agent {
			retry := braid.Retries(braid.Retry{Exact: true, Base: time.Second, Attempts: 8})
			of := func(name string) *simModel { return &simModel{agent: name, script: s.scripts[name]} }
			hand := braid.New("hand", of("hand"), retry,
				braid.Tools(append(kit(), &simTool{name: "ask", class: event.EffectUnsafe, ask: "may I?"})...))
			lead := braid.New("lead", of("lead"), retry, braid.Tools(kit()...), braid.AsTool(hand, "does it"))
			return braid.New("boss", of("boss"), retry, braid.Tools(kit()...), braid.AsTool(lead, "sees to it"))
		},
		clients: func(w *world) {
			w.viewer("eve")
			w.client("ann", func(c *client) { c.submit("have it done") })
			w.client("joe", says("go ahead"))
		},
	}
}

// flows is a sequence in a sequence, with tools, a question, and an agent that works twice.
func flows() *scenario {
	return &scenario{
		name: "flows", root: "report",
		scripts: map[string][]reply{
			"hand": {
				{text: "may I", calls: []want{{"ask", "{}"}, {"order", "{}"}}},
				{text: "I did"},
			},
			"clerk": {
				{text: "first this", calls: []want{{"pay", "{}"}, {"put", "{}"}}},
				{text: "it is done"},
			},
		},
		make: func(s *scenario) *braid.Agent {
			of := func(name string, more ...braid.Tool) *braid.Agent {
				return braid.New(name, &simModel{agent: name, script: s.scripts[name]},
					braid.Retries(braid.Retry{Exact: true, Base: time.Second, Attempts: 8}), braid.Tools(append(kit(), more...)...))
			}
			clerk := of("clerk")
			hand := of("hand", &simTool{name: "ask", class: event.EffectUnsafe, ask: "may I?"})
			return flow.Sequence("report", clerk, flow.Sequence("inner", hand, clerk))
		},
		clients: func(w *world) {
			w.viewer("eve")
			w.client("ann", func(c *client) { c.submit("have it done") })
			w.client("joe", says("go ahead"))
		},
	}
}

// The texts of the summary that replaces compacted messages.
const (
	forgotten = "what was said long ago"
	summary   = "a summary of long ago"
)

// compacted is a conversation whose beginning was compacted before it continues.
func compacted() *scenario {
	return &scenario{
		name: "compacted", root: "writer",
		scripts: map[string][]reply{"writer": {
			{text: "let me see", calls: []want{{"put", "{}"}}},
			{text: "an answer"},
		}},
		make:  solo(kit),
		setup: longAgo,
		clients: func(w *world) {
			w.viewer("eve")
			w.client("ann", func(c *client) {
				c.submit("go on")
				c.see(ended(3))
				c.submit("and on")
			})
		},
	}
}

// longAgo writes a run, and its compaction by the next run, as a driver would.
func longAgo(w *world) {
	write := func(run string, bodies ...event.Body) {
		ctx := context.Background()
		row, err := w.base.Admit(ctx, journal.Run{ID: run, Conversation: talk, Tenant: tenant, Agent: w.scenario.root})
		if err != nil {
			w.fail("P1", "what was long ago cannot be admitted: %v", err)
			return
		}
		w.alias(run)
		w.mu.Lock()
		w.record.run(run, talk).row = row
		w.mu.Unlock()
		o, err := w.base.Acquire(ctx, run, 0)
		if err != nil {
			w.fail("P1", "what was long ago cannot be taken: %v", err)
			return
		}
		p := &process{w: w, name: "p0", base: w.base, buried: make(chan struct{})}
		w.acquired(p, run, o, nil)
		b := journal.Batch{Status: event.RunCompleted}
		for i, body := range bodies {
			e := &event.Event{Header: event.Header{
				Seq: o.Last + int64(i) + 1, Conversation: talk, Run: run, Author: event.UserAuthor, Time: time.Now(),
			}, Body: body}
			if m, ok := body.(*event.AssistantMessage); ok {
				e.Author, m.Stop = w.scenario.root, event.StopEndTurn
			}
			b.Events = append(b.Events, e)
		}
		w.committed(p, o.Lease, b, w.base.Commit(ctx, o.Lease, b))
	}
	said := func(text string) []event.Block { return []event.Block{&event.Text{Text: text}} }
	end := &event.RunEnded{Status: event.RunCompleted, Stop: event.StopEndTurn, Why: event.WhyEndTurn, CostNanoUSD: new(int64)}
	write("old", &event.RunStarted{Agent: w.scenario.root, Turn: 1, Session: 1},
		&event.UserMessage{Content: said(forgotten)}, &event.AssistantMessage{Content: said("an old answer")}, end)
	write("compact", &event.RunStarted{Agent: w.scenario.root, Turn: 2, Session: 1},
		&event.Compacted{From: 2, To: 3, Summary: said(summary), Trigger: "manual"}, end)
}

// summing is the instruction for a summary.
const summing = "sum it up"

// summed is work that is compacted before nearly every model call: by an agent, and by two
// sub-agents in parallel. The provider always counts more tokens than fit their context.
func summed() *scenario {
	work := []reply{
		{text: "first", calls: []want{{"look", "{}"}, {"pay", "{}"}}},
		{text: "second", calls: []want{{"put", "{}"}}},
		{text: "third", calls: []want{{"order", "{}"}}},
		{text: "done"},
	}
	return &scenario{
		name: "summed", root: "boss",
		scripts: map[string][]reply{
			"boss": {
				{text: "both of you", calls: []want{{"left", `{"input":"go left"}`}, {"right", `{"input":"go right"}`}}},
				{text: "and I", calls: []want{{"look", "{}"}, {"put", "{}"}}},
				{text: "and again", calls: []want{{"pay", "{}"}}},
				{text: "all is done"},
			},
			"left": work, "right": work,
		},
		make: func(s *scenario) *braid.Agent {
			of := func(name string) *braid.Agent {
				return braid.New(name, &simModel{agent: name, script: s.scripts[name]},
					braid.Retries(braid.Retry{Exact: true, Base: time.Second, Attempts: 8}), braid.Tools(kit()...),
					braid.Manage(braid.Management{Context: 100, By: braid.Summarize{Recent: -1, Instructions: summing}}))
			}
			return of("boss").Use(braid.AsTool(of("left"), "goes left"), braid.AsTool(of("right"), "goes right"))
		},
		clients: func(w *world) {
			w.viewer("eve")
			w.client("ann", func(c *client) { c.submit("do all of it") })
		},
	}
}

// loop is a batch of tools in processes that keep crashing.
func loop() *scenario {
	s := tools()
	s.name, s.loops = "loop", true
	return s
}

// retries is a model that is throttled until the run is parked.
func retries() *scenario {
	throttled := func(after time.Duration) *event.Error {
		return &event.Error{Op: "model", Kind: event.ErrThrottled, Message: "too much", RetryAfter: after}
	}
	return &scenario{
		name: "retry", root: "worker",
		scripts: map[string][]reply{"worker": {
			{text: "at last", calls: []want{{"pay", "{}"}}, errs: []*event.Error{throttled(2 * time.Second), throttled(33 * time.Second)}},
			{text: "done"},
		}},
		make: solo(kit),
		clients: func(w *world) {
			w.viewer("eve")
			w.client("ann", func(c *client) { c.submit("try hard") })
		},
	}
}

// falls is an agent with a list of models, of which the first two fail with errors that are not
// retried.
func falls() *scenario {
	fails := func(kind event.ErrorKind) *event.Error { return &event.Error{Op: "model", Kind: kind, Message: "no"} }
	return &scenario{
		name: "fallback", root: "worker",
		scripts: map[string][]reply{"worker": {
			{text: "pays", calls: []want{{"pay", "{}"}}, errs: []*event.Error{fails(event.ErrThrottled)}},
			{text: "looks", calls: []want{{"look", "{}"}}, errs: []*event.Error{fails(event.ErrContextOverflow), fails(event.ErrThrottled)}},
			{text: "done"},
		}},
		make: func(s *scenario) *braid.Agent {
			var more []braid.Model
			for n := range 2 {
				more = append(more, &simModel{agent: s.root, script: s.scripts[s.root], nth: n + 1})
			}
			kinds := []event.ErrorKind{event.ErrThrottled, event.ErrContextOverflow}
			return solo(kit)(s).Use(braid.Fallback(kinds, more...))
		},
		clients: func(w *world) {
			w.viewer("eve")
			w.client("ann", func(c *client) {
				c.submit("whoever can")
				c.see(ended(1))
				c.submit("and again")
			})
		},
	}
}

// late is a tool that is abandoned, and returns while the run does something else.
func late() *scenario {
	return &scenario{
		name: "late", root: "worker",
		scripts: map[string][]reply{"worker": {
			{text: "both", calls: []want{{"linger", "{}"}, {"put", "{}"}}},
			{text: "another one", calls: []want{{"nap", "{}"}}},
			{text: "done"},
		}},
		make: func(s *scenario) *braid.Agent {
			return solo(func() []braid.Tool {
				return append(kit(), &simTool{name: "linger", class: event.EffectUnsafe, takes: 4 * time.Second},
					&simTool{name: "nap", class: event.EffectPure, takes: 2500 * time.Millisecond})
			})(s).Use(braid.Limit(braid.Limits{ToolTime: 3 * time.Second}))
		},
		clients: func(w *world) {
			w.viewer("eve")
			w.client("ann", func(c *client) { c.submit("do both") })
		},
	}
}

// drains is processes that are replaced while they work.
func drains() *scenario {
	return &scenario{
		name: "drain", root: "worker", drains: true,
		scripts: map[string][]reply{"worker": {
			{text: "let me see", calls: []want{{"build", "{}"}, {"ask", "{}"}, {"pay", "{}"}}},
			{text: "once more", calls: []want{{"order", "{}"}, {"build", "{}"}}},
			{text: "done", slow: 3 * time.Second},
		}},
		make: solo(func() []braid.Tool {
			return append(kit(), &simTool{name: "ask", class: event.EffectUnsafe, ask: "may I?"})
		}),
		clients: func(w *world) {
			w.viewer("eve")
			first, second := w.any(70), w.any(70)
			w.client("ann", func(c *client) { c.submit("do it, whoever you are") })
			w.client("joe", says("yes"))
			w.client("operator", func(c *client) {
				for _, turns := range []int{first, second} {
					c.at(c.w.gate.turns + turns)
					if p := c.w.reach(); p != nil {
						c.at(0)
						p.leave()
					}
				}
			})
		},
	}
}

// says answers every question with the same value.
func says(value string) func(c *client) {
	return func(c *client) { c.questions(func(q event.Event) { c.answer(q, value) }) }
}

// mixed combines all of these.
func mixed() *scenario {
	return &scenario{
		name: "mixed", root: "clerk",
		scripts: map[string][]reply{"clerk": {
			{text: "let me see", calls: []want{{"pay", "{}"}, {"ask", "{}"}, {"order", "{}"}}},
			{text: "done"},
		}},
		make: solo(func() []braid.Tool {
			return append(kit(), &simTool{name: "ask", class: event.EffectIdempotent, ask: "may I?"})
		}),
		clients: func(w *world) {
			w.viewer("eve")
			w.viewer("bob")
			turns := w.any(80)
			w.client("ann", func(c *client) {
				c.submit("begin")
				c.at(turns)
				c.send("by the way", braid.Steer)
				c.send("and then", braid.Queue)
			})
			w.client("joe", says("yes"))
			if w.any(2) == 0 {
				w.client("kim", func(c *client) {
					c.see(begun(event.StepTool, 2))
					c.cancel("ann-1")
				})
			}
		},
	}
}
