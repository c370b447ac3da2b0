package braid

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/guardrail"
)

// GuardPlace is where a guardrail looks.
type GuardPlace string

// The places of a [Guard].
const (
	// GuardInput is what an agent is given: the input of the run, messages that arrive while it is open,
	// [hook.AfterRun].GoOn, and what an agent that is used as a tool is called with.
	GuardInput GuardPlace = GuardPlace(guardrail.Input)
	// GuardOutput is what an agent says: text, thinking, the arguments of tool calls, summaries, a result
	// that becomes the answer ([tool.ReturnDirect]), the words with which a hook answers instead of the model,
	// and the message of a failure, because a provider may repeat the request in it.
	GuardOutput GuardPlace = GuardPlace(guardrail.Output)
	// GuardResult is what tools give: results, errors, progress, questions, the words with which a hook
	// cancels a call, and the answer of an agent that is used as a tool.
	GuardResult GuardPlace = GuardPlace(guardrail.Result)
)

// Guard adds a guardrail: check is given each text that passes at these places, at all of them where
// none is named, and gives what may stand in its place, which is the text itself where nothing is wrong
// with it. Texts in JSON (arguments, structured results) are checked one by one, and so are the addresses of files.
//
// What was taken out never reaches the log, a stream, a model or a hook behind it, except [hook.BeforeRun],
// which sees the input first. What a hook changes passes the guardrails again; what [hook.BeforeModel] puts into
// a request, answers to questions and state pass none. An
// [event.Redacted] that is Clean records under name where it was, but for summaries, and what the store keeps of a
// run's own input is erased with it. The live pieces of answers are not shown where a guardrail looks at output: the whole answer comes at once.
//
// An error of check, or a panic, lets nothing pass: the run fails, the model's call fails,
// or the tool's result is an error. The root agent's guardrails hold for all that work in its
// runs; each is asked what the one before it has left. check is called from several goroutines
// at once and stops when its context is cancelled. It is asked again for what a driver that
// died had not written.
func Guard(name string, check func(ctx context.Context, text string) (string, error), places ...GuardPlace) Part {
	return partFunc(func(a *Agent) error {
		bad := func(message, hint string) error {
			return &event.Error{Op: "agent " + a.set.name, Kind: event.ErrInvalid, Message: message, Hint: hint}
		}
		switch {
		case name == "":
			return bad("a guardrail has no name", "give it one: it stands in the log")
		case check == nil:
			return bad("the guardrail "+name+" checks nothing", "pass a function")
		}
		var looks []guardrail.Place
		for _, p := range places {
			if p != GuardInput && p != GuardOutput && p != GuardResult {
				return bad("a guardrail cannot look at "+quote(string(p)), "use GuardInput, GuardOutput or GuardResult")
			}
			looks = append(looks, guardrail.Place(p))
		}
		safe := func(ctx context.Context, text string) (passed string, err error) {
			err = shielded("guardrail "+name, "the guardrail", func() (err error) { passed, err = check(ctx, text); return err })
			return passed, err
		}
		a.set.guards = append(a.set.guards, guard{guardrail.Rule{Name: name, Check: safe}, looks})
		return nil
	})
}

// GuardsOf adds the guardrails of another agent, those that it has now: for an agent that works on what that one has said,
// such as one that sums it up. A nil agent has none.
func GuardsOf(of *Agent) Part {
	return partFunc(func(a *Agent) error {
		if of != nil {
			a.set.guards = append(a.set.guards, of.set.guards...)
		}
		return nil
	})
}

// guard is a guardrail and the places where it looks; none is all of them.
type guard struct {
	guardrail.Rule
	places []guardrail.Place
}

// guardsOf returns the guardrails that look at a place for what an agent does. The root agent's come first, and the
// mask of the run's secrets before them, so that no check sees a secret.
func (d *driver) guardsOf(agent *driveAgent, place guardrail.Place) []guardrail.Rule {
	if len(d.cfg.agent.guards) == 0 && len(agent.guards) == 0 && d.cfg.maskRules == nil {
		return nil
	}
	all := slices.Concat(d.cfg.maskRules, d.cfg.agent.guards)
	if agent != d.cfg.agent {
		all = append(all, agent.guards...)
	}
	var list []guardrail.Rule
	for _, g := range all {
		if len(g.places) == 0 || slices.Contains(g.places, place) {
			list = append(list, g.Rule)
		}
	}
	return list
}

// filter runs guardrails while the driver waits, and returns the names of those that took something out. After an
// error nothing may pass, and what f has written must not be read, because f may still be running.
func (d *driver) filter(guards []guardrail.Rule, f func(*guardrail.Filter)) (by []string, err error) {
	var filter *guardrail.Filter
	back := d.aside(func() {
		ctx, cancel := afterwards(d.ctx, d.cfg.agent.limits.Grace)
		defer cancel()
		filter = guardrail.New(ctx, guards)
		f(filter)
	})
	if !back {
		return nil, &event.Error{
			Op: "guardrail", Kind: event.ErrCancelled, Message: "the run was stopped before its guardrails had looked at it",
		}
	}
	return filter.By(), filter.Err()
}

// filterText is [driver.filter] for one text.
func (d *driver) filterText(guards []guardrail.Rule, text string) (passed string, by []string, err error) {
	if len(guards) == 0 {
		return text, nil, nil
	}
	if by, err = d.filter(guards, func(f *guardrail.Filter) { passed = f.Text(text) }); err != nil {
		return "", nil, err
	}
	return passed, by, nil
}

// filterBlocks is [driver.filter] for content. Content of which nothing is left is "[redacted]".
func (d *driver) filterBlocks(guards []guardrail.Rule, in []event.Block) (passed []event.Block, by []string, err error) {
	if len(guards) == 0 {
		return in, nil, nil
	}
	if by, err = d.filter(guards, func(f *guardrail.Filter) { passed = f.Blocks(in) }); err != nil {
		return nil, nil, err
	}
	if len(passed) == 0 && len(in) > 0 {
		passed = fold.RedactedContent
	}
	return passed, by, nil
}

// filterClosing passes what an agent used as a tool returns through its parent's guardrails. typed says that the
// answer is JSON.
func (d *driver) filterClosing(s *fold.Scope, b *event.ScopeClosed, typed bool) (by []string) {
	guards := d.guardsOf(d.agentIn(s.Parent), guardrail.Result)
	if len(guards) == 0 {
		return nil
	}
	var output []event.Block
	var fault error
	by, err := d.filter(guards, func(f *guardrail.Filter) {
		if typed {
			output = []event.Block{&event.Text{Text: string(f.JSON(json.RawMessage(event.TextOf(b.Output))))}}
		} else {
			output = f.Blocks(b.Output)
		}
		if b.Err != nil {
			fault = f.Error(b.Err)
		}
	})
	switch {
	case err != nil:
		b.Output, b.Err = nil, hookError(err)
		return nil
	case len(output) == 0 && len(b.Output) > 0:
		output = fold.RedactedContent
	}
	b.Output = output
	if fault != nil {
		b.Err = hookError(fault)
	}
	return by
}

// filterAsked passes the questions of a tool or a hook through the guardrails at results.
func (d *driver) filterAsked(agent *driveAgent, asked []event.Asked) (by [][]string, err error) {
	guards := d.guardsOf(agent, guardrail.Result)
	by = make([][]string, len(asked))
	if len(guards) == 0 {
		return by, nil
	}
	for i := range asked {
		q := asked[i]
		if by[i], err = d.filter(guards, func(f *guardrail.Filter) {
			q.Prompt, q.Payload, q.Schema = f.Text(q.Prompt), f.JSON(q.Payload), f.MaskJSON(q.Schema)
		}); err != nil {
			return nil, err
		}
		asked[i].Prompt, asked[i].Payload, asked[i].Schema = q.Prompt, q.Payload, q.Schema
	}
	return by, nil
}

// record writes which guardrails have taken something out of the event that was written last.
func (d *driver) record(s *fold.Scope, step string, attempt int, by []string) {
	for i, name := range by {
		d.add(s, step, attempt, &event.Redacted{Target: d.view.Last - int64(i), Reason: name, Clean: true})
	}
}

// addInput passes an input of the root agent through its guardrails, and writes it. Where a guardrail fails, the run
// fails and the input is written as "[redacted]".
func (d *driver) addInput(s *fold.Scope, content []event.Block, body func([]event.Block) event.Body) {
	guards := d.guardsOf(d.cfg.agent, guardrail.Input)
	if len(guards) == 0 {
		d.add(s, "", 0, body(content))
		return
	}
	filter := guardrail.New(d.ctx, guards)
	var passed []event.Block
	back := d.aside(func() { passed = filter.Blocks(content) })
	by := []string{guards[0].Name}
	switch {
	case !back:
		passed = nil
	case filter.Err() != nil:
		passed = nil
		d.broke(filter.Err())
	default:
		by = filter.By()
	}
	if len(passed) == 0 {
		passed = fold.RedactedContent
	}
	d.add(s, "", 0, body(passed))
	d.record(s, "", 0, by)
}

// filter passes a model's answer through guardrails. Where one fails, the call fails.
func (e *modelEnd) filter(f *guardrail.Filter) {
	e.partial = f.Blocks(e.partial)
	if e.message != nil {
		e.message.Response, e.message.Model = f.Mask(e.message.Response), f.Mask(e.message.Model)
		if content := f.Blocks(e.message.Content); len(content) != len(e.message.Content) || !slices.Equal(content, e.message.Content) {
			if len(content) == 0 {
				content = fold.RedactedContent
			}
			e.message.Content = content
		}
	}
	e.guardedBy = addNames(e.guardedBy, f.By())
	e.err = f.Error(e.err)
	if f.Err() != nil {
		e.message, e.partial, e.err, e.guardedBy = nil, nil, f.Err(), nil
	}
}

// guardResult is the stage of the guardrails at results.
func (d *driver) guardResult(w *work) {
	c, end := w.call, w.end
	guards := c.guardrails()
	if len(guards) == 0 {
		return
	}
	var ctx context.Context = c
	if c.Err() != nil {
		ctx = context.WithoutCancel(c)
	}
	f := guardrail.New(ctx, guards)
	r := end.made
	*r = *f.Result(r)
	if end.failure != nil {
		end.failure = hookError(f.Error(end.failure))
	}
	if f.Err() != nil {
		end.failure = hookError(f.Err())
		r.IsError, r.Structured = true, nil
		r.Content = []event.Block{&event.Text{Text: "Error: " + end.failure.Message + "."}}
	}
	if len(r.Content) == 0 {
		r.Content = fold.RedactedContent
	}
	c.mu.Lock()
	c.guard.by = addNames(c.guard.by, f.By())
	c.mu.Unlock()
}

// addNames adds names to a list that does not have them yet.
func addNames(list, names []string) []string {
	for _, name := range names {
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// guardrails returns those that look at what the call gives.
func (c *runningCall) guardrails() []guardrail.Rule {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.guard.rules
}
