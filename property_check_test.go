package braid

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/braidrun/braid/internal/drive"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/braidrun/braid/tool"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/decide"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/fold/foldtest"
)

// validMessages holds messages against what every provider demands: they begin
// with the user and alternate, none is empty, and each call has its result in the
// next message, in request order, with no other results.
func validMessages(messages []event.Message) error {
	var open []*event.ToolCall
	for i, m := range messages {
		want := event.RoleUser
		if i%2 == 1 {
			want = event.RoleAssistant
		}
		if m.Role != want {
			return fmt.Errorf("message %d is the %s's", i, m.Role)
		}
		if len(m.Content) == 0 {
			return fmt.Errorf("message %d is empty", i)
		}
		results := 0
		for _, b := range m.Content {
			switch b := b.(type) {
			case nil:
				return fmt.Errorf("message %d holds nothing", i)
			case *event.Text:
				if b.Text == "" {
					return fmt.Errorf("message %d holds an empty text", i)
				}
			case *event.ToolResult:
				if results == len(open) || open[results].ID != b.Call {
					return fmt.Errorf("message %d has the result of %q at place %d of %d", i, b.Call, results, len(open))
				}
				if len(b.Content) == 0 {
					return fmt.Errorf("the result of %q is empty", b.Call)
				}
				results++
			}
		}
		if results != len(open) {
			return fmt.Errorf("message %d has %d results for %d calls", i, results, len(open))
		}
		open = m.Calls()
		for n, c := range open {
			if slices.ContainsFunc(open[:n], func(o *event.ToolCall) bool { return o.ID == c.ID }) || c.ID == "" {
				return fmt.Errorf("message %d has two calls of the id %q", i, c.ID)
			}
		}
		if len(open) > 0 && m.Role != event.RoleAssistant {
			return fmt.Errorf("message %d of the user calls", i)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("the last message has %d calls without results", len(open))
	}
	return nil
}

// checkLog holds a log whose runs have all ended against what a log promises.
func checkLog(log []*event.Event) error {
	for i, e := range log {
		if e.Seq != int64(i+1) {
			return fmt.Errorf("event %d has seq %d", i+1, e.Seq)
		}
	}
	for len(log) > 0 {
		n := 1
		for n < len(log) && log[n].Run == log[0].Run {
			n++
		}
		if err := checkRun(log[:n]); err != nil {
			return fmt.Errorf("%s: %w", log[0].Run, err)
		}
		log = log[n:]
	}
	return nil
}

// price is a sum of costs, unknown as soon as one of them is.
type price struct {
	nano    int64
	unknown bool
}

func (p price) add(nano *int64) price {
	if nano == nil {
		return price{p.nano, true}
	}
	return price{p.nano + *nano, p.unknown}
}

func (p price) is(nano *int64) bool {
	return p.unknown && nano == nil || !p.unknown && nano != nil && *nano == p.nano
}

type loggedStep struct {
	kind    event.StepKind
	attempt int
	open    bool
	asked   bool
	ended   bool
}

func checkRun(log []*event.Event) error {
	var usage event.Usage
	models := map[string]event.Usage{}
	cost, costs := price{}, map[string]price{} // of the run, and by model
	spend := func(name string, u event.Usage, nano *int64) {
		usage = usage.Add(u)
		cost = cost.add(nano)
		if u != (event.Usage{}) || nano == nil || *nano != 0 {
			models[name] = models[name].Add(u)
			costs[name] = costs[name].add(nano)
		}
	}
	steps := map[string]*loggedStep{}
	names := map[string]string{} // model step → model
	calls := map[string]string{} // step → call id
	asked := map[string]string{} // scope → the last model, and the one that is asked instead
	falls := map[string]string{}
	scopes := map[string]bool{"": true}
	tokens := map[string]bool{}
	cycles := 0
	for i, e := range log {
		bad := func(format string, args ...any) error {
			return fmt.Errorf("event %d (%s %s.%d): %s", e.Seq, e.Body.Kind(), e.Step, e.Attempt, fmt.Sprintf(format, args...))
		}
		if _, known := scopes[e.Scope]; !known {
			return bad("its scope %q was never opened", e.Scope)
		}
		s := steps[e.Step]
		if _, ok := e.Body.(*event.RunStarted); ok != (i == 0) {
			return bad("a run starts once, at its beginning")
		}
		if _, ok := e.Body.(*event.RunEnded); ok != (i == len(log)-1) {
			return bad("a run ends once, at its end")
		}
		switch b := e.Body.(type) {
		case *event.StepBegun:
			if s == nil {
				s = &loggedStep{kind: b.Step}
				steps[e.Step] = s
				if b.Step == event.StepModel && e.Scope == "" {
					cycles++
				}
			}
			if s.ended {
				return bad("it is finished and begins again")
			}
			if e.Attempt != s.attempt+1 {
				return bad("attempt %d follows %d", e.Attempt, s.attempt)
			}
			if s.open && s.kind == event.StepModel {
				return bad("its last attempt has no end")
			}
			s.attempt, s.open, s.asked = e.Attempt, true, false
			if b.Step == event.StepModel {
				names[e.Step] = b.Model
				last, instead := asked[e.Scope], falls[e.Scope]
				if instead == "" && last != "" && b.Model != last || instead != "" && (b.Model != instead || b.Why != event.WhyFallback) {
					return bad("because of %q it asks %s after %s, and %q was to be asked instead", b.Why, b.Model, last, instead)
				}
				if b.Why == event.WhyFallback && instead == "" {
					return bad("nothing says that it falls back")
				}
				asked[e.Scope], falls[e.Scope] = b.Model, ""
				if !slices.Contains([]event.Why{
					event.WhyInput, event.WhyToolResults, event.WhyRetry, event.WhyFallback, event.WhyTakenOver, event.WhyPaused, event.WhyRepeats,
				}, b.Why) {
					return bad("it goes on because of %q", b.Why)
				}
			} else if calls[e.Step] != b.Call {
				return bad("it is about call %q, want %q", b.Call, calls[e.Step])
			}
		case *event.AssistantMessage:
			if e.Step != "" {
				if s == nil || !s.open || s.attempt != e.Attempt {
					return bad("it ends a step that is not open")
				}
				s.open, s.ended = false, true
				spend(names[e.Step], b.Usage, b.CostNanoUSD)
			}
			for n, c := range event.CallsOf(b.Content) {
				calls[fold.StepName(e.Scope, 't', e.Cycle, n)] = c.ID
			}
		case *event.StepEnded:
			if b.Step == event.StepModel {
				if s == nil || !s.open || s.attempt != e.Attempt {
					return bad("it ends a step that is not open")
				}
				s.open = false
				if b.Fallback != "" && (b.RetryAt.IsZero() || b.RetryAt.After(e.Time)) {
					return bad("it waits to fall back")
				}
				falls[e.Scope] = b.Fallback
				spend(names[e.Step], b.Usage, b.CostNanoUSD)
				break
			}
			if s == nil {
				if e.Attempt != 0 {
					return bad("it ends a step that never began")
				}
				s = &loggedStep{}
				steps[e.Step] = s
			} else if s.ended || s.attempt != e.Attempt || !s.open && !s.asked {
				return bad("it ends a step that is not open: %+v", *s)
			}
			s.open, s.ended = false, true
			if b.Result == nil || b.Result.Call != calls[e.Step] {
				return bad("its result is not that of call %q", calls[e.Step])
			}
		case *event.Asked:
			if s == nil || s.attempt != e.Attempt || !s.open && !s.asked {
				return bad("it asks and is not open")
			}
			s.open, s.asked = false, true
			if _, twice := tokens[b.Token]; twice || b.Token == "" {
				return bad("its token is not new")
			}
			tokens[b.Token] = true
		case *event.Answered:
			if !tokens[b.Token] {
				return bad("it answers what nobody asks")
			}
			tokens[b.Token] = false
		case *event.ScopeOpened:
			if _, known := scopes[b.ID]; known {
				return bad("the scope was opened before")
			}
			scopes[b.ID] = true
		case *event.ScopeClosed:
			if !scopes[b.ID] {
				return bad("the scope is not open")
			}
			scopes[b.ID] = false
		case *event.RunEnded:
			if b.Usage != usage {
				return bad("its usage is %+v, the steps' %+v", b.Usage, usage)
			}
			split := map[string]event.Usage{}
			for _, m := range b.Models {
				split[m.Model] = m.Usage
				if !costs[m.Model].is(m.CostNanoUSD) {
					return bad("%s cost %s, its steps %+v", m.Model, asJSON(m.CostNanoUSD), costs[m.Model])
				}
			}
			if !cost.is(b.CostNanoUSD) {
				return bad("it cost %s, its steps %+v", asJSON(b.CostNanoUSD), cost)
			}
			if !maps.Equal(split, models) {
				return bad("its usage by model is %+v, the steps' %+v", split, models)
			}
			if b.Cycles != cycles {
				return bad("it counts %d cycles, want %d", b.Cycles, cycles)
			}
			if err := checkEnd(b); err != nil {
				return bad("%v", err)
			}
		}
	}
	for name, s := range steps {
		if s.kind != event.StepModel && !s.ended || s.open {
			return fmt.Errorf("step %s has no end", name)
		}
	}
	for step := range calls {
		if steps[step] == nil {
			return fmt.Errorf("the call of step %s has no result", step)
		}
	}
	for id, open := range scopes {
		if open && id != "" {
			return fmt.Errorf("scope %s is not closed", id)
		}
	}
	return nil
}

// checkOrders holds a log against what its agents were told: sequential tools, limits,
// and the tools that ended a turn.
func checkOrders(log []*event.Event, r *runPlan) error {
	type scope struct {
		agent               *agentPlan
		cycles, calls, open int
		stopped             bool
		last                string
	}
	scopes := map[string]*scope{"": {agent: r.agents[0]}}
	changed := map[string]*event.StateChanged{}
	told := map[string]toolIn{}
	end, ok := log[len(log)-1].Body.(*event.RunEnded)
	cancelled := ok && end.Status == event.RunCancelled
	for _, e := range log {
		bad := func(text string) error {
			return fmt.Errorf("event %d (%s of scope %q): %s", e.Seq, e.Step, e.Scope, text)
		}
		s := scopes[e.Scope]
		switch b := e.Body.(type) {
		case *event.RunStarted:
			scopes = map[string]*scope{"": {agent: r.agents[0]}}
		case *event.ScopeOpened:
			i := slices.IndexFunc(r.agents, func(a *agentPlan) bool { return a.name == b.Agent })
			scopes[b.ID] = &scope{agent: r.agents[i]}
			l := &r.agents[0].limits
			if l.Depth > 0 && b.Depth > l.Depth || l.Scopes > 0 && len(scopes) > l.Scopes {
				return bad("the run has more agents than it may")
			}
		case *event.AssistantMessage:
			for n, c := range event.CallsOf(b.Content) {
				var in toolIn
				if c.Args != nil && c.Name != "missing" && decodeToolIn(c.Args, &in) == nil {
					told[fold.StepName(e.Scope, 't', e.Cycle, n)] = in
				}
				s.calls++
			}
			s.open = 0
			s.last = event.TextOf(b.Content)
		case *event.StateChanged:
			changed[e.Step] = b
		case *event.StepBegun:
			l := &s.agent.limits
			if b.Step == event.StepTool {
				if s.open++; s.open > 1 && s.agent.sequential {
					return bad("two tools of a sequential agent are open")
				}
				break
			}
			s.cycles = max(s.cycles, e.Cycle)
			switch {
			case l.Cycles > 0 && s.cycles > l.Cycles || l.ToolCalls > 0 && s.calls >= l.ToolCalls && e.Attempt == 1:
				return bad("it is beyond the limit")
			case s.stopped:
				return bad("a tool had ended the turn")
			}
		case *event.Asked:
			if b.Index == 0 || s.open > 0 {
				s.open--
			}
		case *event.StepEnded:
			if b.Step == event.StepTool {
				s.stopped = s.stopped || b.EndTurn
				s.open--
				if child := scopes[e.Step]; child != nil && b.Err == nil && !child.stopped && !strings.HasSuffix(event.TextOf(b.Result.Content), child.last) {
					return bad("its result is not the agent's last word, which is " + child.last)
				}
				if b.Outcome != event.OutcomeDone && !cancelled {
					return bad("nobody cancelled it, and it ended " + string(b.Outcome))
				}
				in := told[e.Step]
				if in.Do == "state" && in.Key != "temp:t" && b.Outcome == event.OutcomeDone && !b.Result.IsError {
					if c := changed[e.Step]; c == nil || strings.HasPrefix(in.Key, "-") != (len(c.Delete) == 1) || len(c.Delete)+len(c.Set) != 1 {
						return bad("what the tool did to the state is not in the log")
					}
				}
				if in.End && b.Outcome == event.OutcomeDone && !b.EndTurn && in.Do != "ask" {
					return bad("the tool ended the turn, and the log does not say so")
				}
			}
		}
	}
	return nil
}

// checkEnd holds the three ways of saying how a run ended against each other.
func checkEnd(b *event.RunEnded) error {
	status, isError := event.RunCompleted, true
	switch b.Why {
	case event.WhyEndTurn, event.WhyToolStop, event.WhyModelStop, event.WhyNothing:
		isError = false
	case event.WhyMaxTokens, event.WhyLimit:
	case event.WhyCancelled, event.WhyDeadline:
		status = event.RunCancelled
	case event.WhyFailed:
		status = event.RunFailed
	default:
		return fmt.Errorf("it ended because of %q", b.Why)
	}
	if b.Why == event.WhyFailed && b.Err != nil && b.Err.Kind == event.ErrCancelled || b.Stop == event.StopPause {
		return fmt.Errorf("a cancelled or paused model call ended it: %s, %v", b.Stop, b.Err)
	}
	if b.Status != status || isError != (b.Err != nil) || b.Stop == "" {
		return fmt.Errorf("it ended %s by %q because of %q with %v", b.Status, b.Stop, b.Why, b.Err)
	}
	return nil
}

// checkFold folds a log event by event and looks at what the models would see
// after each. At some events the fold is compared with one from scratch.
func checkFold(log []*event.Event, scratch func(n int) bool) error {
	warm := fold.New(nil)
	for n, e := range log {
		warm.Add(e)
		if err := validMessages(warm.Past.Messages); err != nil {
			return fmt.Errorf("after event %d, the past: %w", n+1, err)
		}
		decide := scratch(n + 1)
		for _, s := range warm.Run.Scopes {
			if err := validMessages(s.Transcript.Messages); err != nil {
				return fmt.Errorf("after event %d, scope %q: %w\n%s", n+1, s.ID, err, show(s.Transcript.Messages))
			}
		}
		if !decide {
			continue
		}
		cold := fold.New(log[:n+1])
		calls := countTalk(cold)
		if err := sameView(warm, cold); err != nil {
			return fmt.Errorf("after event %d, the fold is not that from scratch: %w", n+1, err)
		}
		// Another run may be let in though this one never came to its end.
		for _, body := range []event.Body{
			&event.RunStarted{Agent: "root", Session: 1}, &event.UserMessage{Content: tool.Text("next").Content},
		} {
			cold.Add(&event.Event{Header: event.Header{Seq: cold.Last + 1, Run: "next"}, Body: body})
		}
		if err := validMessages(cold.Run.Scopes[0].Transcript.Messages); err != nil {
			return fmt.Errorf("after event %d and another run's begin: %w", n+1, err)
		}
		if got := countTalk(cold); got != calls {
			return fmt.Errorf("after event %d and another run's begin, the model sees %d calls, want %d", n+1, got, calls)
		}
	}
	return nil
}

// checkTorn folds what is left of a log when events are lost from its middle and
// others stand there twice, as a log may look that another version wrote: nobody
// is shown an invalid history for it, and Next says something.
func checkTorn(log []*event.Event, agent *drive.Agent, team map[string]*drive.Agent, seed uint64) error {
	lose := rand.New(rand.NewPCG(seed, uint64(len(log))))
	v := fold.New(nil)
	for n, e := range log {
		switch lose.IntN(12) {
		case 0, 1:
			continue
		case 2:
			v.Add(e)
		}
		calls := countTalk(v)
		v.Add(e)
		if err := validMessages(v.Past.Messages); err != nil {
			return fmt.Errorf("seed %d, after event %d, the past: %w", seed, n+1, err)
		}
		if v.Run == nil {
			continue
		}
		if _, ok := e.Body.(*event.RunEnded); !ok && countTalk(v) < calls {
			return fmt.Errorf("seed %d, after event %d: %d calls were known, and %d are", seed, n+1, calls, countTalk(v))
		}
		for _, s := range v.Run.Scopes {
			if err := validMessages(s.Transcript.Messages); err != nil {
				return fmt.Errorf("seed %d, after event %d, scope %q: %w", seed, n+1, s.ID, err)
			}
			a := agent
			if team[s.Agent] != nil {
				a = team[s.Agent]
			}
			p := decide.Policy{}
			a.DecidePolicy(&p, a.Current(), s, nil)
			if cmd := decide.Next(decide.LLM{}, s, &p, e.Time); cmd.Why == "" && cmd.Do != decide.Tools && cmd.Do != decide.Agents {
				return fmt.Errorf("seed %d, after event %d, scope %q: Next does %d and gives no reason", seed, n+1, s.ID, cmd.Do)
			}
		}
	}
	return nil
}

// checkHidden compacts and redacts a log at random places: the histories stay
// valid, and what is redacted is shown to nobody.
func checkHidden(log []*event.Event, seed uint64) error {
	pick := rand.New(rand.NewPCG(seed, uint64(len(log))))
	gone := map[event.Block]int64{}
	hide := func(e *event.Event) {
		switch said := e.Body.(type) {
		case *event.UserMessage:
			for _, block := range said.Content {
				gone[block] = e.Seq
			}
		case *event.AssistantMessage:
			for _, block := range said.Content {
				gone[block] = e.Seq
			}
		case *event.StepEnded:
			if said.Result != nil {
				gone[said.Result] = e.Seq
			}
		}
	}
	hidden := slices.Clone(log)
	for range 1 + pick.IntN(3) {
		e := &event.Event{Header: event.Header{Seq: int64(len(hidden) + 1), Run: log[len(log)-1].Run}}
		a, b := 1+pick.Int64N(int64(len(log))), 1+pick.Int64N(int64(len(log)))
		if pick.IntN(2) == 0 {
			c := &event.Compacted{From: min(a, b), To: max(a, b)}
			if pick.IntN(4) > 0 {
				c.Summary = tool.Text("in short").Content
			}
			e.Scope, e.Body = log[c.From-1].Scope, c
			c.Cut = pick.IntN(4) == 0
			if keep := c.From + pick.Int64N(c.To-c.From+1); pick.IntN(2) == 0 {
				c.Keep = []int64{keep}
			}
			for _, covered := range log[c.From-1 : c.To] {
				if covered.Scope == e.Scope && !c.Cut && !slices.Contains(c.Keep, covered.Seq) {
					hide(covered)
				}
			}
		} else {
			r := &event.Redacted{Target: a}
			if opened, ok := log[a-1].Body.(*event.ScopeOpened); ok {
				for _, block := range opened.Input {
					gone[block] = a
				}
			}
			if pick.IntN(2) == 0 {
				r.Replacement = tool.Text("covered").Content
			}
			e.Body = r
			hide(log[a-1])
		}
		hidden = append(hidden, e)
	}
	// What is left of an erased event is what its redaction shows.
	for _, e := range log {
		if r, ok := e.Body.(*event.Redacted); ok {
			for _, b := range r.Replacement {
				delete(gone, b)
			}
		}
	}
	v := fold.New(nil)
	for _, e := range hidden {
		v.Hidden.Note(e)
	}
	v.Hidden.Settle(1)
	for n, e := range hidden {
		v.Add(e)
		talks := [][]event.Message{v.Past.Messages}
		for _, s := range v.Run.Scopes {
			talks = append(talks, s.Transcript.Messages)
		}
		for _, messages := range talks {
			if err := validMessages(messages); err != nil {
				return fmt.Errorf("seed %d, after event %d of the hidden log: %w\n%s", seed, n+1, err, showLog(hidden[len(log):]))
			}
		}
		if n < len(hidden)-1 {
			continue
		}
		for _, messages := range talks {
			for _, m := range messages {
				for _, b := range m.Content {
					if seq, ok := gone[b]; ok {
						return fmt.Errorf("event %d is hidden and shown:\n%s", seq, show(messages))
					}
				}
			}
		}
	}
	v.Stale = false
	return sameView(v, fold.New(hidden))
}

// countTalk counts the calls that the next run sees of the session, or would see
// if the open run ended now without failing.
func countTalk(v *fold.Conversation) int {
	messages, n := v.Past.Messages, 0
	if v.Open() {
		root := v.Run.Scopes[0]
		messages = root.Transcript.Messages
		n = len(event.CallsOf(root.Batch.Asking))
	}
	for _, m := range messages {
		n += len(m.Calls())
	}
	return n
}

// sameView compares two folds in everything that the log decides: not what
// runs, and not the state that is never stored.
func sameView(a, b *fold.Conversation) error {
	if a.Last != b.Last || a.Turn != b.Turn || a.Session != b.Session || a.Stale != b.Stale {
		return fmt.Errorf("%+v and %+v", *a, *b)
	}
	if !reflect.DeepEqual(a.Past.Messages, b.Past.Messages) {
		return fmt.Errorf("the pasts differ:\n%s---\n%s", show(a.Past.Messages), show(b.Past.Messages))
	}
	if !sameState(a.State.WithPrefix(""), b.State.WithPrefix("")) {
		return fmt.Errorf("the states are %s and %s", mustJSON(a.State.WithPrefix("")), mustJSON(b.State.WithPrefix("")))
	}
	if !reflect.DeepEqual(a.Run, b.Run) && foldtest.Deep(a.Run, "Transcript.kept") != foldtest.Deep(b.Run, "Transcript.kept") {
		return fmt.Errorf("the runs differ:\n%s---\n%s", dump(a), dump(b))
	}
	return nil
}

func sameState(a, b map[string]json.RawMessage) bool {
	return maps.EqualFunc(a, b, func(x, y json.RawMessage) bool { return string(x) == string(y) })
}

// dump writes a fold for people, and for comparing folds of events that are not
// the same ones in memory.
func dump(v *fold.Conversation) string {
	var sb strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&sb, format+"\n", args...) }
	line("last %d turn %d session %d", v.Last, v.Turn, v.Session)
	line("past %s", fingerprint(v.Past.Messages))
	line("state %s", mustJSON(v.State.Kept))
	r := v.Run
	if r == nil {
		return sb.String()
	}
	line("run %s %s first %d usage %+v models %+v metrics %+v", r.ID, r.Agent, r.First, r.Usage, r.Models, r.Metrics)
	line("last message %s", fingerprint([]event.Message{r.LastMessage}))
	line("effects %s ended %s", asJSON(r.Effects), asJSON(r.Ended))
	for _, q := range r.Questions {
		line("question %s %s %s answered %v %s by %s", q.Token, q.Step, q.Scope, q.Answered, q.Value, q.By)
	}
	for _, s := range r.Scopes {
		line("scope %q agent %s depth %d closed %v cycle %d fresh %q stop %q settled %d end %v calls %d %d spent %+v %s", s.ID, s.Agent,
			s.Depth, asJSON(s.Closed), s.Cycle, s.Fresh, s.Answer.Stop, s.Batch.Settled, s.Batch.EndTurn,
			s.Totals.ModelCalls, s.Totals.ToolCalls, s.Totals.Spent, s.Totals.Refused)
		line("  talk %s", fingerprint(s.Transcript.Messages))
		line("  model %d %s.%d %d %s %s %v %s %s newest %d %v %s", s.Model.State, s.Model.Step, s.Model.Attempt, s.Model.Tries, s.Model.Name, asJSON(s.Model.Err),
			s.Model.RetryAt.UnixNano(), s.Model.Fallback, s.LastModel, s.Newest.Seq, s.Newest.Whole, fingerprint([]event.Message{{Content: s.Newest.Content}}))
		if s.Opener != nil {
			line("  opened by %s of %q", s.Opener.Step, s.Parent.ID)
		}
		line("  asking %s", fingerprint([]event.Message{{Content: s.Batch.Asking}}))
		for _, c := range s.Batch.Calls {
			line("  call %s %s %d %s state %d attempt %d effect %q asks %d child %v result %s", c.ID, c.Name, c.Index, c.Step,
				c.State, c.Attempt, c.Effect, len(c.Extra().Questions), c.Child != nil, asJSON(c.Result))
		}
	}
	return sb.String()
}

func asJSON(v any) string { return string(mustJSON(v)) }

// mergedState is the state as the documentation says it: later wins.
func mergedState(log []*event.Event) map[string]json.RawMessage {
	state := map[string]json.RawMessage{}
	for _, e := range log {
		if b, ok := e.Body.(*event.StateChanged); ok {
			maps.Copy(state, b.Set)
			for _, key := range b.Delete {
				delete(state, key)
			}
		}
	}
	return state
}

// checkHandles compares what a conversation shows that is warm with what one
// shows that is opened anew, and both with the log.
func checkHandles(conv *Conversation) error {
	ctx := deadlineless
	cold := &Conversation{log: drive.Handle{ID: conv.log.ID, Store: conv.log.Store}}
	log := conv.logged()
	if conv.log.Warm == nil {
		return errors.New("the conversation is not warm after a run")
	}
	warm, err := conv.Messages(ctx)
	if err != nil {
		return err
	}
	anew, err := cold.Messages(ctx)
	if err != nil {
		return err
	}
	if fingerprint(warm) != fingerprint(anew) {
		return fmt.Errorf("warm messages differ from cold ones:\n%s---\n%s", show(warm), show(anew))
	}
	if err := validMessages(warm); err != nil {
		return err
	}
	for _, c := range []*Conversation{conv, cold} {
		state, err := c.State(ctx)
		if err != nil {
			return err
		}
		if want := mergedState(log); !sameState(state, want) {
			return fmt.Errorf("the state is %s, want %s", mustJSON(state), mustJSON(want))
		}
		open, err := c.Questions(ctx)
		if err != nil || len(open) != 0 {
			return fmt.Errorf("%d questions after the end: %w", len(open), err)
		}
	}
	if v := conv.log.Warm; v.Missing() > 0 { // no model has seen them
		parts, err := conv.log.Store.StoredParts(ctx, conv.log.ID)
		first, ok := v.Older(conv.log.ID, parts)
		if err != nil || !ok {
			return fmt.Errorf("the older messages cannot be read: %w", err)
		}
		v.Complete(first)
	}
	return sameView(conv.log.Warm, fold.New(log))
}

// checkJSON encodes a log, decodes it and folds what came of it.
func checkJSON(log []*event.Event, exact bool) error {
	back := make([]*event.Event, len(log))
	for i, e := range log {
		b, err := event.AppendJSON(nil, e)
		if err != nil {
			return fmt.Errorf("event %d: %w", e.Seq, err)
		}
		got, err := event.Decode(b)
		if err != nil {
			return fmt.Errorf("event %d: %w\n%s", e.Seq, err, b)
		}
		again, err := event.AppendJSON(nil, &got)
		if err != nil || string(again) != string(b) {
			return fmt.Errorf("event %d is written %s and then %s: %w", e.Seq, b, again, err)
		}
		if exact {
			if diff := cmp.Diff(*e, got, sameEvents...); diff != "" {
				return fmt.Errorf("event %d comes back another: %s", e.Seq, diff)
			}
		}
		back[i] = &got
	}
	if a, b := dump(fold.New(log)), dump(fold.New(back)); a != b {
		return fmt.Errorf("the decoded log folds to another view:\n%s---\n%s", a, b)
	}
	return nil
}

// sameEvents leaves out what is not stored: causes of errors and monotonic clocks;
// an empty list is none.
var sameEvents = []cmp.Option{
	cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) }),
	cmpopts.IgnoreFields(event.Error{}, "Err"),
	cmpopts.EquateEmpty(),
}
