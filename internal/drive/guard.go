package drive

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/guardrail"
)

// guardsOf returns the guardrails that look at a place for what an agent does. The root agent's come first, and the
// mask of the run's secrets before them, so that no check sees a secret.
func (d *activeRun) guardsOf(agent *Agent, place guardrail.Place) []guardrail.Rule {
	if len(d.cfg.agent.Guards) == 0 && len(agent.Guards) == 0 && d.cfg.maskRules == nil {
		return nil
	}
	all := slices.Concat(d.cfg.maskRules, d.cfg.agent.Guards)
	if agent != d.cfg.agent {
		all = append(all, agent.Guards...)
	}
	var list []guardrail.Rule
	for _, g := range all {
		if len(g.Places) == 0 || slices.Contains(g.Places, place) {
			list = append(list, g.Rule)
		}
	}
	return list
}

// filter runs guardrails while the driver waits. It returns the names of those that removed something. After an error
// nothing may pass, and what f has written must not be read, because f may still be running.
func (d *activeRun) filter(guards []guardrail.Rule, f func(*guardrail.Filter)) (by []string, err error) {
	var filter *guardrail.Filter
	back := d.runHooks(func() {
		ctx, cancel := afterwards(d.ctx, d.cfg.agent.Limits.Grace)
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

// filterText is [activeRun.filter] for one text.
func (d *activeRun) filterText(guards []guardrail.Rule, text string) (passed string, by []string, err error) {
	if len(guards) == 0 {
		return text, nil, nil
	}
	if by, err = d.filter(guards, func(f *guardrail.Filter) { passed = f.Text(text) }); err != nil {
		return "", nil, err
	}
	return passed, by, nil
}

// filterBlocks is [activeRun.filter] for content. If nothing is left of it, it becomes "[redacted]".
func (d *activeRun) filterBlocks(guards []guardrail.Rule, in []event.Block) (passed []event.Block, by []string, err error) {
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
func (d *activeRun) filterClosing(s *fold.Scope, b *event.ScopeClosed, typed bool) (by []string) {
	guards := d.guardsOf(d.agentIn(s.Parent), guardrail.Result)
	if len(guards) == 0 {
		return nil
	}
	var output []event.Block
	var fault error
	by, err := d.filter(guards, func(f *guardrail.Filter) {
		if typed {
			output = []event.Block{&event.Text{Text: string(f.JSON(json.RawMessage(event.RawText(b.Output))))}}
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
func (d *activeRun) filterAsked(agent *Agent, asked []event.Asked) (by [][]string, err error) {
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

// record writes which guardrails removed something from the event before.
func (d *activeRun) record(s *fold.Scope, step string, attempt int, by []string) {
	for i, name := range by {
		d.add(s, step, attempt, &event.Redacted{Target: d.view.Last - int64(i), Reason: name, Clean: true})
	}
}

// addInput passes the root agent's input through its guardrails and writes it. If a guardrail fails, the run fails and
// the input is written as "[redacted]".
func (d *activeRun) addInput(s *fold.Scope, content []event.Block, body func([]event.Block) event.Body) {
	guards := d.guardsOf(d.cfg.agent, guardrail.Input)
	if len(guards) == 0 {
		d.add(s, "", 0, body(content))
		return
	}
	filter := guardrail.New(d.ctx, guards)
	var passed []event.Block
	back := d.runHooks(func() { passed = filter.Blocks(content) })
	by := []string{guards[0].Name}
	switch {
	case !back:
		passed = nil
	case filter.Err() != nil:
		passed = nil
		d.failWith(filter.Err())
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
func (d *activeRun) guardResult(w *Work) {
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
	files, _ := c.files()
	files = slices.Clone(files)
	for i := range files {
		files[i].Path = f.Text(files[i].Path)
	}
	if f.Err() != nil {
		files = nil
		end.failure = hookError(f.Err())
		r.IsError, r.Structured = true, nil
		r.Content = []event.Block{&event.Text{Text: "Error: " + end.failure.Message + "."}}
	}
	if len(r.Content) == 0 {
		r.Content = fold.RedactedContent
	}
	c.mu.Lock()
	extra := c.more()
	extra.guardedBy, extra.files = addNames(extra.guardedBy, f.By()), files
	c.mu.Unlock()
}

// addNames adds the names that a list does not have.
func addNames(list, names []string) []string {
	for _, name := range names {
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// guardrails returns the guardrails for the call's result.
func (c *runningCall) guardrails() []guardrail.Rule {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.guards
}
