package braid

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/secret"
)

// GuardPlace is where a guardrail looks.
type GuardPlace string

// The places of a [Guard].
const (
	// GuardInput is what an agent is given: the input of the run, messages that arrive while it is open,
	// [AfterRun].GoOn, and what an agent that is used as a tool is called with.
	GuardInput GuardPlace = "input"
	// GuardOutput is what an agent says: text, thinking, the arguments of tool calls, summaries, a result
	// that becomes the answer ([ReturnDirect]), the words with which a hook answers instead of the model,
	// and the message of a failure, because a provider may repeat the request in it.
	GuardOutput GuardPlace = "output"
	// GuardResult is what tools give: results, errors, progress, questions, the words with which a hook
	// cancels a call, and the answer of an agent that is used as a tool.
	GuardResult GuardPlace = "result"
)

// Guard adds a guardrail: check is given each text that passes at these places, at all of them where
// none is named, and gives what may stand in its place, which is the text itself where nothing is wrong
// with it. Texts in JSON (arguments, structured results) are checked one by one, and so are the addresses of files.
//
// What was taken out never reaches the log, a stream, a model or a hook behind it, except [BeforeRun],
// which sees the input first. What a hook changes passes the guardrails again; what [BeforeModel] puts into
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
			return &event.Error{Op: "agent " + a.name, Kind: event.ErrInvalid, Message: message, Hint: hint}
		}
		switch {
		case name == "":
			return bad("a guardrail has no name", "give it one: it stands in the log")
		case check == nil:
			return bad("the guardrail "+name+" checks nothing", "pass a function")
		}
		for _, p := range places {
			if p != GuardInput && p != GuardOutput && p != GuardResult {
				return bad("a guardrail cannot look at "+quote(string(p)), "use GuardInput, GuardOutput or GuardResult")
			}
		}
		a.guards = append(a.guards, guard{name: name, check: check, places: places})
		return nil
	})
}

// GuardsOf adds the guardrails of another agent, those that it has now: for an agent that works on what that one has said,
// such as one that sums it up. A nil agent has none.
func GuardsOf(of *Agent) Part {
	return partFunc(func(a *Agent) error {
		if of != nil {
			a.guards = append(a.guards, of.guards...)
		}
		return nil
	})
}

type guard struct {
	name   string
	check  func(ctx context.Context, text string) (string, error)
	places []GuardPlace
	// mask is set for the guardrail that hides the run's secrets, which has no check.
	mask *secret.Mask
}

// guardsOf lists the guardrails that look at a place for what an agent does.
func (d *driver) guardsOf(agent *Agent, place GuardPlace) []guard {
	if len(d.agent.guards) == 0 && len(agent.guards) == 0 && d.masks == nil {
		return nil
	}
	all := d.agent.guards
	if agent != d.agent {
		all = slices.Concat(all, agent.guards)
	}
	if d.masks != nil {
		all = slices.Concat(d.masks, all) // the others see no secrets
	}
	var list []guard
	for _, g := range all {
		if len(g.places) == 0 || slices.Contains(g.places, place) {
			list = append(list, g)
		}
	}
	return list
}

// foreign reports whether one of the guardrails is the program's own.
func foreign(guards []guard) bool {
	return slices.ContainsFunc(guards, func(g guard) bool { return g.mask == nil })
}

// sieve lets texts through guardrails, and knows what it has found.
type sieve struct {
	ctx    context.Context //nolint:containedctx // a sieve lives for one call
	guards []guard
	// by are the guardrails that have taken something out; err is the first that failed.
	by  []string
	err error
}

func (s *sieve) text(text string) string {
	for i := range s.guards {
		g := &s.guards[i]
		if text == "" || s.err != nil {
			return text
		}
		if g.mask != nil {
			text = g.mask.Hide(text)
			continue
		}
		h := hook{call: func(ctx context.Context, _ hookEvent) (err error) {
			passed, err := g.check(ctx, text)
			if err == nil && passed != text {
				text = validText(passed)
				if !slices.Contains(s.by, g.name) {
					s.by = append(s.by, g.name)
				}
			}
			return err
		}}
		if err := h.safely(s.ctx, nil); err != nil {
			e := &event.Error{
				Op: "guardrail " + g.name, Kind: event.ErrInternal,
				Message: "the guardrail " + g.name + " could not look at it, so that it does not pass",
				Hint:    "try again; the operator sees why", Err: err,
			}
			if errors.Is(err, context.Canceled) {
				e.Kind = event.ErrCancelled
			}
			s.err = e
		}
	}
	return text
}

// json lets the texts of a JSON value through.
func (s *sieve) json(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return raw
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var v any
	if decoder.Decode(&v) != nil {
		return raw
	}
	changed := false
	v = s.value(v, &changed)
	if !changed {
		return raw
	}
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		s.err = err
		return raw
	}
	return bytes.TrimSpace(buf.Bytes())
}

func (s *sieve) value(v any, changed *bool) any {
	pass := func(text string) string {
		passed := s.text(text)
		*changed = *changed || passed != text
		return passed
	}
	switch v := v.(type) {
	case string:
		return pass(v)
	case json.Number:
		if passed := pass(v.String()); passed != v.String() {
			return passed // a number that may not be said is no number any more
		}
		return v
	case []any:
		for i := range v {
			v[i] = s.value(v[i], changed)
		}
		return v
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, one := range v {
			out[pass(k)] = s.value(one, changed)
		}
		return out
	default:
		return v
	}
}

// blocks lets content through. The blocks that were given stay as they are.
func (s *sieve) blocks(in []event.Block) []event.Block {
	in = s.maskedAcross(in)
	out := in
	for i, b := range in {
		passed := s.block(b)
		if passed == b {
			continue
		}
		if len(out) > 0 && &out[0] == &in[0] {
			out = slices.Clone(in)
		}
		out[i] = passed
	}
	return slices.DeleteFunc(out, func(b event.Block) bool { return b == event.Block(taken) })
}

// taken stands for a block of which nothing may be left.
var taken = &event.RedactedThinking{}

func (s *sieve) block(b event.Block) event.Block {
	switch b := b.(type) {
	case *event.Text:
		if text := s.text(b.Text); text != b.Text {
			if text == "" {
				text = "[redacted]"
			}
			return &event.Text{Text: text, Signature: b.Signature}
		}
	case *event.Thinking:
		if s.text(b.Text) != b.Text || s.masked(b.Signature) != b.Signature {
			return taken // a provider refuses thinking that it has not signed
		}
	case *event.ToolCall:
		b = s.maskedCall(b)
		args, invalid := s.json(b.Args), s.text(b.Invalid)
		if string(args) != string(b.Args) || invalid != b.Invalid {
			c := *b
			c.Args, c.Invalid = args, invalid
			return &c
		}
		return b
	case *event.ToolResult:
		return s.result(b)
	case *event.Image:
		data, url := s.masked(string(b.Data)), s.address(b.URL)
		if data != string(b.Data) || url != b.URL {
			return &event.Image{MIME: b.MIME, Data: []byte(data), URL: url}
		}
	case *event.Media:
		if url := s.address(b.URL); url != b.URL {
			return &event.Media{Media: b.Media, MIME: b.MIME, URL: url}
		}
	case *event.Document:
		name, text := s.text(b.Name), s.text(b.Text)
		data, url := s.masked(string(b.Data)), s.address(b.URL)
		if name != b.Name || text != b.Text || data != string(b.Data) || url != b.URL {
			c := *b
			c.Name, c.Text, c.Data, c.URL = name, text, []byte(data), url
			return &c
		}
	case *event.Citation:
		title, url, q := s.text(b.Title), s.text(b.URL), s.text(b.Quote)
		if title != b.Title || url != b.URL || q != b.Quote {
			c := *b
			c.Title, c.URL, c.Quote = title, url, q
			return &c
		}
	case *event.Code:
		if code := s.text(b.Code); code != b.Code {
			return &event.Code{Language: b.Language, Code: code}
		}
	case *event.CodeResult:
		if out := s.text(b.Output); out != b.Output {
			return &event.CodeResult{Outcome: b.Outcome, Output: out}
		}
	case *event.UnknownBlock:
		if raw := s.json(b.Raw); string(raw) != string(b.Raw) {
			c := *b
			c.Raw = raw
			return &c
		}
	}
	return b
}

// address lets an address through: the model reads it, or its provider fetches it. One that is the data itself is no text.
func (s *sieve) address(url string) string {
	if strings.HasPrefix(url, "data:") {
		return s.masked(url)
	}
	return s.text(url)
}

// fault lets the words of an error through: a provider's may repeat what was said. An error that says
// something else then has no cause any more, for that would say it all the same.
func (s *sieve) fault(err error) error {
	if err == nil || s.err != nil {
		return err
	}
	if e, ok := errors.AsType[*event.Error](err); ok {
		c := *e
		c.Message, c.Hint = s.text(e.Message), s.text(e.Hint)
		changed := c.Message != e.Message || c.Hint != e.Hint
		if e.Err != nil && s.text(e.Err.Error()) != e.Err.Error() {
			c.Err, changed = s.cause(e.Err), true
		}
		if changed {
			return &c
		}
		return err
	}
	if words := s.text(err.Error()); words != err.Error() {
		return errors.New(words)
	}
	return err
}

// cause returns what is left of the cause of an error that guardrails have changed: its kind, by which fallbacks are
// chosen, and its words where only secrets were hidden, so that the operator learns what went wrong.
func (s *sieve) cause(err error) error {
	e, known := errors.AsType[*event.Error](err)
	words := ""
	if !foreign(s.guards) {
		words = s.text(err.Error())
	}
	switch {
	case known:
		return &event.Error{Kind: event.KindOf(e), Message: words}
	case words != "":
		return errors.New(words)
	default:
		return nil
	}
}

func (s *sieve) result(r *event.ToolResult) *event.ToolResult {
	given, raw := r.Content, s.json(r.Structured)
	if string(raw) != string(r.Structured) {
		given = slices.Clone(given)
		for i, b := range given {
			// The same JSON as text: escapes in it would hide from a guardrail what a model reads.
			if text, ok := b.(*event.Text); ok && text.Text == string(r.Structured) {
				given[i] = &event.Text{Text: string(raw), Signature: text.Signature}
			}
		}
	}
	content := s.blocks(given)
	if len(content) == len(r.Content) && slices.Equal(content, r.Content) && string(raw) == string(r.Structured) {
		return r
	}
	c := *r
	c.Content, c.Structured = content, raw
	return &c
}

// sift lets something pass guardrails while the driver waits, and returns the names of those that took
// something out. An error means that one of them could not look: nothing may pass, and what f has written
// must not be read, because f may still be running.
func (d *driver) sift(guards []guard, f func(*sieve)) (by []string, err error) {
	var s sieve
	back := d.aside(func() {
		ctx, cancel := afterwards(d.ctx, d.agent.limits.Grace)
		defer cancel()
		s = sieve{ctx: ctx, guards: guards}
		f(&s)
	})
	if !back {
		return nil, &event.Error{
			Op: "guardrail", Kind: event.ErrCancelled, Message: "the run was stopped before its guardrails had looked at it",
		}
	}
	return s.by, s.err
}

// siftText is sift for one text.
func (d *driver) siftText(guards []guard, text string) (passed string, by []string, err error) {
	if len(guards) == 0 {
		return text, nil, nil
	}
	if by, err = d.sift(guards, func(s *sieve) { passed = s.text(text) }); err != nil {
		return "", nil, err
	}
	return passed, by, nil
}

// siftBlocks is sift for content. Content of which nothing is left is "[redacted]".
func (d *driver) siftBlocks(guards []guard, in []event.Block) (passed []event.Block, by []string, err error) {
	if len(guards) == 0 {
		return in, nil, nil
	}
	if by, err = d.sift(guards, func(s *sieve) { passed = s.blocks(in) }); err != nil {
		return nil, nil, err
	}
	if len(passed) == 0 && len(in) > 0 {
		passed = fold.RedactedContent
	}
	return passed, by, nil
}

// siftClosing lets what an agent used as a tool gives its parent pass the parent's guardrails. typed says
// that the answer is JSON.
func (d *driver) siftClosing(s *fold.Scope, b *event.ScopeClosed, typed bool) []string {
	guards := d.guardsOf(d.agentIn(s.Parent), GuardResult)
	if len(guards) == 0 {
		return nil
	}
	var output []event.Block
	var fault error
	by, err := d.sift(guards, func(v *sieve) {
		if typed {
			output = []event.Block{&event.Text{Text: string(v.json(json.RawMessage(event.TextOf(b.Output))))}}
		} else {
			output = v.blocks(b.Output)
		}
		if b.Err != nil {
			fault = v.fault(b.Err)
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

// siftAsked lets the questions that a tool or a hook asks pass.
func (d *driver) siftAsked(agent *Agent, asked []event.Asked) (by [][]string, err error) {
	guards := d.guardsOf(agent, GuardResult)
	by = make([][]string, len(asked))
	if len(guards) == 0 {
		return by, nil
	}
	for i := range asked {
		q := asked[i]
		if by[i], err = d.sift(guards, func(v *sieve) {
			q.Prompt, q.Payload, q.Schema = v.text(q.Prompt), v.json(q.Payload), v.maskedJSON(q.Schema)
		}); err != nil {
			return nil, err
		}
		asked[i].Prompt, asked[i].Payload, asked[i].Schema = q.Prompt, q.Payload, q.Schema
	}
	return by, nil
}

// record writes that guardrails have taken something out of the event that was written last.
func (d *driver) record(s *fold.Scope, step string, attempt int, by []string) {
	for _, name := range by {
		d.add(s, step, attempt, &event.Redacted{Target: d.view.Last - int64(slices.Index(by, name)), Reason: name, Clean: true})
	}
}

// hear lets what somebody says to the root agent through its guardrails, and writes it.
func (d *driver) hear(s *fold.Scope, content []event.Block, body func([]event.Block) event.Body) {
	guards := d.guardsOf(d.agent, GuardInput)
	if len(guards) == 0 {
		d.add(s, "", 0, body(content))
		return
	}
	sieve := sieve{ctx: d.ctx, guards: guards}
	var passed []event.Block
	back := d.aside(func() { passed = sieve.blocks(content) })
	if !back || sieve.err != nil {
		passed = fold.RedactedContent
		if back {
			d.broke(sieve.err)
		}
	}
	if len(passed) == 0 {
		passed = fold.RedactedContent
	}
	d.add(s, "", 0, body(passed))
	by := sieve.by
	if !back || sieve.err != nil {
		by = []string{guards[0].name}
	}
	d.record(s, "", 0, by)
}

// sift lets a model's answer through the guardrails.
func (e *modelEnd) sift(ctx context.Context, guards []guard) {
	if len(guards) == 0 {
		return
	}
	s := sieve{ctx: ctx, guards: guards, by: e.siftedBy}
	e.partial = s.blocks(e.partial)
	if e.message != nil {
		e.message.Response, e.message.Model = s.masked(e.message.Response), s.masked(e.message.Model)
		if content := s.blocks(e.message.Content); len(content) != len(e.message.Content) || !slices.Equal(content, e.message.Content) {
			if len(content) == 0 {
				content = fold.RedactedContent
			}
			e.message.Content = content
		}
	}
	e.siftedBy = s.by
	e.err = s.fault(e.err)
	if s.err != nil {
		e.message, e.partial, e.err, e.siftedBy = nil, nil, s.err, nil
	}
}

// hushed keeps the pieces of an answer from being shown before it is whole.
func hushed(send func(event.Body) bool) func(event.Body) bool {
	return func(b event.Body) bool {
		switch b.(type) {
		case *event.TextDelta, *event.ThinkingDelta, *event.ToolInputDelta, *event.AnswerReplaced:
			return true
		default:
			return send(b)
		}
	}
}

// guardResult is the stage of the guardrails at results.
func (d *driver) guardResult(w *work) {
	c, end := w.call, w.end
	guards := c.guardrails()
	if len(guards) == 0 {
		return
	}
	s := sieve{ctx: c, guards: guards}
	if c.Err() != nil {
		s.ctx = context.WithoutCancel(c)
	}
	r := &end.made.result
	*r = *s.result(r)
	if end.failure != nil {
		end.failure = hookError(s.fault(end.failure))
	}
	if s.err != nil {
		end.failure = hookError(s.err)
		r.IsError, r.Structured = true, nil
		r.Content = []event.Block{&event.Text{Text: "Error: " + end.failure.Message + "."}}
	}
	if len(r.Content) == 0 {
		r.Content = fold.RedactedContent
	}
	c.mu.Lock()
	more := c.rarely()
	for _, name := range s.by {
		if !slices.Contains(more.siftedBy, name) {
			more.siftedBy = append(more.siftedBy, name)
		}
	}
	c.mu.Unlock()
}

// guardrails are those that look at what the call gives.
func (c *Call) guardrails() []guard {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rare().guards
}
