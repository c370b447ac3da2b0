package braid

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/model"

	"github.com/braidrun/braid/event"
)

// A casePlan is one generated case: a conversation with runs before, the run that is
// looked at, and what happens to it. It says everything about the case except
// the order in which parallel steps come back.
type casePlan struct {
	before []*runPlan
	main   *runPlan
	// cuts are the places where the log is cut, in 1/256 of its length; all cuts
	// at every event. again cuts the log of what was resumed once more. json
	// sends the log through its JSON.
	cuts  []int
	all   bool
	again int
	json  bool
}

// runPlan is one run: a tree of agents, the first being the root.
type runPlan struct {
	agents []*agentPlan
	cancel cancelKind
	// at is the event of the stream, from 1, at which the run is cancelled.
	at int
	// single answers one question at a time, and by way of Run.
	single bool
}

type cancelKind int

const (
	noCancel cancelKind = iota
	byBreak
	byContext
	byHandle
	byTool
	byDeadline
	byMail
)

// agentPlan is what one agent's model says: turns, and then last in every cycle
// after them.
type agentPlan struct {
	name       string
	children   []int
	sequential bool
	turns      []turnPlan
	last       lastKind
	limits     Limits
	// fallbacks counts the models behind the first, for failures of the kinds falls;
	// unpriced is the first of them whose price nobody knows, from 1.
	fallbacks int
	// setups says that its models take changes inside the conversation. told is what its
	// instructions end with.
	setups   bool
	told     int
	falls    []event.ErrorKind
	unpriced int
}

// lastKind is how an agent's model ends.
type lastKind int

const (
	lastText lastKind = iota
	lastEmpty
	lastMaxTokens
	lastRefusal
	lastForeignStop
	lastSequence
	lastFatal
	lastPanic
	lastCutCall
)

// turnPlan is one cycle of a model: the attempts that fail, and the answer.
type turnPlan struct {
	fails    int
	failure  int
	thinking bool
	text     bool
	paused   bool
	// guard is 1 where a guardrail takes the person's message back, 2 the answer.
	guard int
	calls []callPlan
}

type callPlan struct {
	// tool is the name that is called; child is the agent's where it is one.
	tool string
	id   string
	args string
}

// toolIn is what the plan's tools are told to do.
type toolIn struct {
	Do     string `json:"do,omitempty"`
	Asks   int    `json:"asks,omitempty"`
	Gather bool   `json:"gather,omitempty"`
	Answer string `json:"answer,omitempty"`
	Key    string `json:"key,omitempty"`
	Delay  int    `json:"delay,omitempty"`
	End    bool   `json:"end,omitempty"`
}

// choose draws an index with the given weights. Rapid's own ranges prefer small
// numbers, which would leave the rarer kinds out; bits do not.
func choose(t *rapid.T, weights ...int) int {
	const bits = 6
	n, sum := 0, 0
	for range bits {
		n <<= 1
		if rapid.Bool().Draw(t, "") {
			n |= 1
		}
	}
	for _, w := range weights {
		sum += w
	}
	n = n * sum >> bits
	for i, w := range weights {
		if n < w {
			return i
		}
		n -= w
	}
	return len(weights) - 1
}

// chance is true once in 64/n.
func chance(t *rapid.T, n int) bool { return choose(t, 64-n, n) == 1 }

func drawPlan(t *rapid.T) *casePlan {
	p := &casePlan{}
	for range choose(t, 9, 5, 2) {
		p.before = append(p.before, drawBefore(t))
	}
	p.main = drawRun(t)
	p.all = chance(t, 2)
	p.json = p.all || chance(t, 16)
	for range 1 + choose(t, 2, 1) {
		p.cuts = append(p.cuts, choose(t, 1, 1, 1, 1, 1, 1, 1, 1)*32+choose(t, 1, 1, 1, 1, 1, 1, 1, 1)*4)
	}
	if chance(t, 12) {
		p.again = 1 + choose(t, 1, 1, 1, 1, 1, 1, 1, 1)*32
	}
	return p
}

// drawBefore is a short run without agents as tools that completes or fails.
func drawBefore(t *rapid.T) *runPlan {
	root := &agentPlan{name: "root", last: []lastKind{lastText, lastFatal, lastPanic}[choose(t, 5, 5, 1)]}
	if chance(t, 40) {
		root.turns = []turnPlan{{calls: []callPlan{drawCall(t, 0, false)}}}
	}
	root.setups, root.told = chance(t, 40), choose(t, 1, 1, 1)
	r := &runPlan{agents: []*agentPlan{root}}
	if chance(t, 4) {
		r.cancel, r.at = byContext, 1+choose(t, 1, 1, 1, 1, 1, 1)
	}
	return r
}

func drawRun(t *rapid.T) *runPlan {
	r := &runPlan{single: chance(t, 20)}
	r.cancel = []cancelKind{noCancel, byBreak, byContext, byHandle, byTool, byDeadline, byMail}[choose(t, 36, 3, 3, 3, 4, 2, 3)]
	r.at = 1 + choose(t, 1, 1, 1, 1, 1, 1, 1, 1)*3 + choose(t, 1, 1, 1)
	n := 1 + choose(t, 10, 5, 2, 1)
	for i := range n {
		a := &agentPlan{name: "root"}
		if i > 0 {
			a.name = fmt.Sprintf("sub%d", i)
			parent := r.agents[choose(t, []int{1, 1, 1}[:i]...)]
			parent.children = append(parent.children, i)
		}
		r.agents = append(r.agents, a)
	}
	// The parents' turns are drawn after their children are known.
	for _, a := range r.agents {
		drawAgent(t, r, a)
	}
	root := &r.agents[0].limits
	root.Parallel = []int{0, 1, 2}[choose(t, 6, 2, 2)]
	if n > 1 && chance(t, 6) {
		root.Depth = 1
	}
	if n > 1 && chance(t, 6) {
		root.Scopes = 2
	}
	if n == 1 && chance(t, 4) {
		// With agents side by side it depends on their speed when it is reached.
		root.TotalTokens = 60
	}
	return r
}

func drawAgent(t *rapid.T, r *runPlan, a *agentPlan) {
	a.sequential = chance(t, 10)
	a.setups, a.told = chance(t, 32), choose(t, 1, 1, 1)
	if chance(t, 16) {
		a.fallbacks = 1 + choose(t, 1, 1)
		a.falls = [][]event.ErrorKind{{event.ErrThrottled}, {event.ErrOverloaded, event.ErrStreamCut}, {event.ErrThrottled, event.ErrOverloaded}}[choose(t, 1, 1, 1)]
	}
	if chance(t, 8) {
		a.unpriced = 1 + choose(t, 1, 1)
	}
	if chance(t, 5) {
		a.limits.Cycles = 1 + choose(t, 1, 1)
	}
	if chance(t, 4) {
		a.limits.ToolCalls = 1 + choose(t, 1, 1, 1)
	}
	turns := choose(t, 2, 6, 4, 2)
	if len(a.children) > 0 && turns == 0 {
		turns = 1
	}
	for range turns {
		a.turns = append(a.turns, drawTurn(t, r, a))
	}
	a.last = lastKind(choose(t, 44, 3, 3, 3, 1, 1, 3, 1, 2))
}

func drawTurn(t *rapid.T, r *runPlan, a *agentPlan) turnPlan {
	turn := turnPlan{
		fails: choose(t, 26, 3, 1), failure: choose(t, 1, 1, 1), thinking: chance(t, 12), text: chance(t, 16),
		paused: chance(t, 3), guard: choose(t, 28, 2, 2),
	}
	if turn.paused {
		return turn
	}
	cancels := r.cancel == byTool
	for i := range 1 + choose(t, 4, 5, 3, 1, 1) {
		c := drawCall(t, i, cancels)
		if len(a.children) > 0 && chance(t, 24) {
			child := r.agents[a.children[choose(t, []int{1, 1, 1}[:len(a.children)]...)]]
			c.tool, c.args = child.name, fmt.Sprintf(`{"input":"task %d of %s"}`, i, a.name)
			if chance(t, 3) {
				c.args = []string{`{}`, `{"input":7}`, `{"inp`}[choose(t, 1, 1, 1)]
			}
		}
		turn.calls = append(turn.calls, c)
	}
	return turn
}

func drawCall(t *rapid.T, i int, cancels bool) callPlan {
	c := callPlan{tool: []string{"pure", "idem", "unsafe", "recon", "missing"}[choose(t, 8, 6, 7, 6, 1)]}
	c.id = []string{fmt.Sprintf("c%d", i), "same", ""}[choose(t, 26, 2, 2)]
	if chance(t, 3) {
		c.args = []string{`{"do":`, `{"do":"ok","do":"ok"}`, `{"unknown":1}`, `[]`, strings.Repeat("[", 600)}[choose(t, 1, 1, 1, 1, 1)]
		return c
	}
	in := toolIn{
		Do: []string{"", "error", "panic", "ask", "state", "structured", "empty", "iserror", "hold", "deaf"}[choose(t,
			20, 4, 2, 7, 6, 2, 1, 1, 2, 1)],
		Delay: choose(t, 3, 1, 1), End: chance(t, 1),
	}
	if cancels && chance(t, 12) {
		in.Do = "hold"
	}
	switch in.Do {
	case "ask":
		in.Asks, in.Gather = 1+choose(t, 5, 2, 1), chance(t, 32)
		in.Answer = []string{"bool", "string", "null", "bad"}[choose(t, 4, 3, 2, 1)]
	case "state":
		in.Key = []string{"own", "shared", "app:a", "user:u", "temp:t", "-own", "-shared"}[choose(t, 4, 2, 1, 1, 1, 1, 1)]
	}
	c.args = string(mustJSON(in))
	return c
}

// text is the plan's chunks for one call of a model.
func (a *agentPlan) answer(req *model.Request, seen string) ([]model.Chunk, error) {
	if req.Cycle > len(a.turns) {
		return a.ending(seen)
	}
	turn := &a.turns[req.Cycle-1]
	if req.Attempt <= turn.fails {
		return turn.fail()
	}
	list := []model.Chunk{{Kind: model.ChunkResponse, ID: "answer", Text: "the provider's own name"}}
	switch {
	case turn.guard == 1 && req.Cycle == 1:
		list = append(list, model.Chunk{Kind: model.ChunkRedactInput, Text: guarded(req)})
	case turn.guard == 2:
		list = append(list, model.Chunk{Kind: model.ChunkText, Index: 9, Text: "a secret"}, model.Chunk{Kind: model.ChunkCall, Index: 10, ID: "no", Text: "unsafe"},
			model.Chunk{Kind: model.ChunkRedactOutput, Index: 9, Text: "a cover"})
	}
	if turn.thinking {
		list = append(list, model.Chunk{Kind: model.ChunkThinking, Index: 0, Text: "hm"}, model.Chunk{Kind: model.ChunkSignature, Index: 0, Text: "sig"})
	}
	if turn.text || turn.paused {
		list = append(list, model.Chunk{Kind: model.ChunkText, Index: 1, Text: fmt.Sprintf("cycle %d of ", req.Cycle)},
			model.Chunk{Kind: model.ChunkText, Index: 1, Text: a.name})
	}
	for i, c := range turn.calls {
		half := len(c.args) / 2
		list = append(list, model.Chunk{Kind: model.ChunkCall, Index: i + 2, ID: c.id, Text: c.tool},
			model.Chunk{Kind: model.ChunkCallInput, Index: i + 2, Text: c.args[:half]},
			model.Chunk{Kind: model.ChunkCallInput, Index: i + 2, Text: c.args[half:]})
	}
	stop := event.StopToolUse
	if turn.paused {
		stop = event.StopPause
	}
	return append(list,
		model.Chunk{Kind: model.ChunkUsage, Usage: &event.Usage{Input: int64(10 * req.Cycle), Output: 5, CacheRead: 3}},
		model.Chunk{Kind: model.ChunkStop, Stop: stop}), nil
}

// guarded is what a guardrail puts in place of a person's message: the same, however
// often it is asked.
func guarded(req *model.Request) string {
	text := ""
	for _, b := range req.Messages[len(req.Messages)-1].Content {
		if t, ok := b.(*event.Text); ok {
			text = t.Text
		}
	}
	return "guarded: " + strings.TrimPrefix(text, "guarded: ")
}

func (turn *turnPlan) fail() ([]model.Chunk, error) {
	part := []model.Chunk{
		{Kind: model.ChunkText, Text: "half an ans"}, {Kind: model.ChunkUsage, Usage: &event.Usage{Input: 2, Output: 1}},
	}
	switch turn.failure {
	case 0:
		return nil, &event.Error{Kind: event.ErrThrottled, Message: "slow down"}
	case 1:
		return part, &event.Error{Kind: event.ErrOverloaded, Message: "busy"}
	default:
		return part, nil // no terminal signal
	}
}

// ending is a model's last answer. Its text names all that the model was shown,
// so that two runs that end with the same text saw the same.
func (a *agentPlan) ending(seen string) ([]model.Chunk, error) {
	usage := model.Chunk{Kind: model.ChunkUsage, Usage: &event.Usage{Input: 7, Output: 4, Total: 11}}
	text := model.Chunk{Kind: model.ChunkText, Text: a.name + " saw " + seen}
	stop := event.StopEndTurn
	switch a.last {
	case lastText:
	case lastEmpty:
		return []model.Chunk{usage, {Kind: model.ChunkStop, Stop: stop}}, nil
	case lastMaxTokens:
		stop = event.StopMaxTokens
	case lastRefusal:
		stop = event.StopRefusal
	case lastForeignStop:
		stop = "moon_phase"
	case lastSequence:
		stop = event.StopSequence
	case lastFatal:
		return []model.Chunk{text, usage}, &event.Error{Kind: event.ErrModel, Message: "the model broke"}
	case lastPanic:
		panic("a model that panics")
	case lastCutCall:
		return []model.Chunk{
			text,
			{Kind: model.ChunkCall, Index: 1, ID: "cut", Text: "pure"},
			{Kind: model.ChunkCallInput, Index: 1, Text: `{"do`},
			usage,
			{Kind: model.ChunkStop, Stop: event.StopMaxTokens},
		}, nil
	}
	return []model.Chunk{text, usage, {Kind: model.ChunkStop, Stop: stop}}, nil
}

// GoString is how rapid shows a plan that failed.
func (p *casePlan) GoString() string {
	var sb strings.Builder
	sb.WriteByte('\n')
	for i, r := range append(append([]*runPlan(nil), p.before...), p.main) {
		fmt.Fprintf(&sb, "run %d: cancel %d at %d, single %v\n", i+1, r.cancel, r.at, r.single)
		for _, a := range r.agents {
			fmt.Fprintf(&sb, "  %s: children %v, sequential %v, last %d, limits %+v, %d fallbacks for %v, unpriced %d\n", a.name, a.children, a.sequential, a.last, a.limits,
				a.fallbacks, a.falls, a.unpriced)
			for n, turn := range a.turns {
				fmt.Fprintf(&sb, "    %d: fails %d by %d, thinking %v, text %v, paused %v, guard %d\n", n+1, turn.fails, turn.failure, turn.thinking, turn.text,
					turn.paused, turn.guard)
				for _, c := range turn.calls {
					fmt.Fprintf(&sb, "      %s %q %.60s\n", c.tool, c.id, c.args)
				}
			}
		}
	}
	fmt.Fprintf(&sb, "cuts %v, all %v, again %d\n", p.cuts, p.all, p.again)
	return sb.String()
}
