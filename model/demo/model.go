package demo

import (
	"context"
	"fmt"
	"hash/fnv"
	"iter"
	"maps"
	"strconv"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// Model is a [model.Model] that follows a script. It keeps no state and is
// safe for concurrent use.
type Model struct {
	name   string
	about  string
	prompt map[string]string
	rules  []rule
	// answer replaces the rules; see [Answer].
	answer func(*model.Request) Rule

	faults []Fault
	pace   Timing
	speed  float64
	runes  int
	// broken is the error in the options of a model without a script.
	broken error
}

var _ model.Model = (*Model)(nil)

// Option changes how a script is played, but not its content.
type Option func(*Model)

// Realtime plays the timing of the script; speed 2 is twice as fast. Without it, or with 0,
// answers come as fast as possible.
func Realtime(speed float64) Option { return func(m *Model) { m.speed = speed } }

// Pace gives every answer this timing, instead of the script's.
func Pace(t Timing) Option { return func(m *Model) { m.pace = t } }

// Faults makes calls fail. The fault of the answering rule takes precedence, then the first of
// f that applies.
func Faults(f ...Fault) Option {
	return func(m *Model) { m.faults = append(m.faults, f...) }
}

// Characters sets the number of characters of text per piece; 0 means about a word.
func Characters(n int) Option { return func(m *Model) { m.runes = n } }

// New returns a model with a script. It checks the script: the error is an *[event.Error] of
// kind ErrInvalid that names the rule and the field.
func New(s Script, opts ...Option) (*Model, error) {
	m, err := configure(s.Name, opts)
	if err != nil {
		return nil, err
	}
	m.about, m.prompt = s.About, maps.Clone(s.Prompt)
	if m.rules, err = compile(s, m.runes); err != nil {
		return nil, err
	}
	return m, nil
}

// Answer returns a model that calls answer for each reply, as a test double with computed
// answers. It ignores the conditions of the returned rule and expands no ${…} in its strings.
// answer must be safe for concurrent use, and should depend only on the request, so that the
// same request gets the same answer. An invalid rule or option is the error of every call.
func Answer(name string, answer func(*model.Request) Rule, opts ...Option) *Model {
	m, err := configure(name, opts)
	if err != nil {
		m = &Model{name: "script", broken: err}
	}
	m.answer = answer
	return m
}

func configure(name string, opts []Option) (*Model, error) {
	m := &Model{name: name}
	if name == "" {
		m.name = "script"
	}
	for _, o := range opts {
		o(m)
	}
	for i := range m.faults {
		if field, problem := m.faults[i].check(); problem != "" {
			return nil, wrong(fmt.Sprintf("fault %d, %s: %s", i+1, field, problem))
		}
	}
	if problem := m.pace.check(); problem != "" {
		return nil, wrong("pace: " + problem)
	}
	if m.speed < 0 || m.runes < 0 {
		return nil, wrong("speed and characters must not be negative")
	}
	return m, nil
}

// Realtime returns the same model, played with the timing of its script; see the option
// [Realtime].
func (m *Model) Realtime(speed float64) *Model {
	n := *m
	n.speed = max(0, speed)
	return &n
}

// Cancellable implements [model.Cancellable].
func (m *Model) Cancellable() model.Model { return m }

// Info implements [model.Model]. The name is "demo:" and the script's name. The model is always
// simulated and costs nothing.
func (m *Model) Info() model.Info {
	return model.Info{Name: "demo:" + m.name, Simulated: true, Cost: free}
}

func free(event.Usage) (nanoUSD int64, known bool) { return 0, true }

// About returns a sentence about what the script shows; it may be empty.
func (m *Model) About() string { return m.about }

// Prompt returns a prompt for trying the script, in a language ("en", "ja") or else in English.
// It is empty if the script has none.
func (m *Model) Prompt(lang string) string {
	if p, ok := m.prompt[lang]; ok {
		return p
	}
	return m.prompt["en"]
}

// Stream implements [model.Model].
func (m *Model) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		if ctx.Err() != nil {
			yield(model.Chunk{}, ended(ctx))
			return
		}
		if req == nil {
			req = &model.Request{}
		}
		p, err := m.play(req)
		if err != nil {
			yield(model.Chunk{}, err)
			return
		}
		p.send(ctx, req, yield)
	}
}

// play is one answer that is being streamed.
type play struct {
	*answer
	stop   event.StopReason
	usage  *event.Usage
	timing Timing
	speed  float64
	fault  *Fault
}

// play selects the answer to req.
func (m *Model) play(req *model.Request) (play, error) {
	if m.broken != nil {
		return play{}, m.broken
	}
	var s *scene
	var r *rule
	lang := "en"
	if m.answer != nil {
		var err error
		if r, err = m.computed(req); err != nil {
			return play{}, err
		}
	} else {
		s = newScene(req)
		lang = s.lang
		for i := range m.rules {
			if m.rules[i].fits(s) {
				r = &m.rules[i]
				break
			}
		}
		if r == nil && req.ToolChoice.Mode == model.ToolsOne {
			r = &rule{}
		}
		if r == nil {
			return play{}, &event.Error{
				Op: op, Kind: event.ErrModel, Message: "the demo script has no rule that fits this request",
				Hint: "end the script with a rule that has no conditions",
			}
		}
	}
	p := play{stop: r.stop, usage: r.usage, timing: m.pace, speed: 1}
	if m.pace.zero() && m.speed > 0 {
		p.timing, p.speed = r.timing, m.speed
	}
	p.fault = m.struck(r, req)
	switch {
	case p.fault != nil && (p.fault.needsCalls() && r.calls || p.fault.Kind == FaultInvalidUTF8):
		p.answer = newAnswer(p.fault.spoil(r.blocks(s, lang)), m.runes)
	case r.fixed != nil:
		p.answer = r.fixed[lang]
	default:
		p.answer = newAnswer(r.blocks(s, lang), m.runes)
	}
	if m.answer == nil {
		if call := forced(req, p.answer, m.runes); call != nil {
			p.answer, p.stop = call, event.StopToolUse
		}
	}
	if p.usage == nil {
		in := estimateRequest(req)
		p.usage = &event.Usage{Input: in, Output: p.tokens, Total: in + p.tokens}
	}
	return p, nil
}

// computed returns the rule from [Answer]. Its text has no variables.
func (m *Model) computed(req *model.Request) (*rule, error) {
	src := m.answer(req)
	pieces, fault := src.Reply, src.Fault
	src.When, src.Reply, src.Fault = When{}, nil, nil
	r := &rule{}
	if field, err := compileRule(&src, r); err != nil {
		return nil, wrong(label(0, &src) + ", " + field + ": " + err.Error())
	}
	if fault != nil {
		if field, problem := fault.check(); problem != "" {
			return nil, wrong(label(0, &src) + ", fault." + field + ": " + problem)
		}
		r.fault = fault
	}
	none := func(string) bool { return false }
	for i := range pieces {
		p := pieces[i]
		out := piece{whole: p.Block, text: map[string]template{}}
		switch {
		case p.Block != nil:
			out.kind = model.ChunkBlock
		case p.Thinking != "":
			out.kind, out.text["en"] = model.ChunkThinking, literal(p.Thinking)
		case p.Call != "":
			out.kind, out.text["en"] = model.ChunkCall, literal(p.Call)
			out.id = literal(p.ID)
			out.args = arguments{literal: string(p.Args)}
			if len(p.Args) == 0 {
				out.args, _ = parseArguments(nil, none)
			}
			r.calls = true
		default:
			out.kind, out.text["en"] = model.ChunkText, literal(p.Text)
		}
		r.pieces = append(r.pieces, out)
	}
	if src.Stop == "" && r.calls {
		r.stop = event.StopToolUse
	}
	return r, nil
}

func literal(s string) template {
	if s == "" {
		return template{}
	}
	return template{parts: []part{{text: s}}}
}

// struck returns the fault that applies to the call; nil for none.
func (m *Model) struck(r *rule, req *model.Request) *Fault {
	if r.fault.strikes(req) {
		return r.fault
	}
	for i := range m.faults {
		if f := &m.faults[i]; f.strikes(req) && (r.calls || !f.needsCalls()) {
			return f
		}
	}
	return nil
}

// send streams the answer, without an allocation per piece.
func (p *play) send(ctx context.Context, req *model.Request, yield func(model.Chunk, error) bool) {
	n := len(p.chunks)
	end := n
	var broken error
	var stall, silent bool
	if f := p.fault; f != nil {
		switch broken = f.err(); {
		case broken != nil:
			end = f.before(n)
		case f.Kind == FaultStall:
			stall, end = true, f.before(n)
		case f.Kind == FaultNoStop:
			silent = true
			if f.After > 0 {
				end = f.before(n)
			}
		}
	}
	pace := newPacer(ctx, p.timing, p.speed, n+1)
	defer pace.stop()
	for i := range p.chunks[:end] {
		if !pace.wait(i, n+1) {
			yield(model.Chunk{}, ended(ctx))
			return
		}
		c := &p.chunks[i]
		if c.call == 0 {
			if !yield(c.Chunk, nil) {
				return
			}
			continue
		}
		named := c.Chunk
		named.ID = callID(req, c.call)
		if !yield(named, nil) {
			return
		}
	}
	if stall {
		<-ctx.Done()
		yield(model.Chunk{}, ended(ctx))
		return
	}
	if !pace.wait(end, n+1) {
		yield(model.Chunk{}, ended(ctx))
		return
	}
	switch {
	case broken != nil:
		yield(model.Chunk{}, broken)
	case silent:
	case yield(model.Chunk{Kind: model.ChunkUsage, Usage: p.usage}, nil):
		yield(model.Chunk{Kind: model.ChunkStop, Stop: p.stop}, nil)
	}
}

// callID derives a call's id from its position. It ignores the attempt, because a repeated request gets the same
// answer.
func callID(req *model.Request, call int) string {
	h := fnv.New64a()
	for _, s := range []string{req.Run, "\x00", req.Scope, "\x00", strconv.Itoa(req.Cycle), "\x00", strconv.Itoa(call)} {
		_, _ = h.Write([]byte(s)) // a hash never fails
	}
	return fmt.Sprintf("call_%016x", h.Sum64())
}

// estimate returns the approximate number of tokens in a text: one per four bytes of Latin text, and one per other
// character. It extrapolates from the beginning of a long text.
func estimate(s string) int64 {
	const sample = 4096
	all := len(s)
	if all == 0 {
		return 0
	}
	if all > sample {
		s = s[:sample]
	}
	quarter := 0
	for i := range len(s) {
		switch c := s[i]; {
		case c < 0x80:
			quarter++
		case c >= 0xc0: // the first byte of a longer character
			quarter += 4
		}
	}
	return int64((quarter*all/len(s) + 3) / 4)
}

// recent is how many messages are counted exactly. Earlier ones are assumed to have their average length, so that the
// estimate's cost does not grow with the conversation.
const recent = 64

func estimateRequest(req *model.Request) int64 {
	n := estimate(req.Instructions)
	for i := range req.Tools {
		t := &req.Tools[i]
		n += estimate(t.Name) + estimate(t.Description) + int64(len(t.Schema)+3)/4
	}
	last := req.Messages[max(0, len(req.Messages)-recent):]
	var said int64
	for i := range last {
		said += 4 + estimateBlocks(last[i].Content)
	}
	if len(last) > 0 {
		said = said * int64(len(req.Messages)) / int64(len(last))
	}
	return n + said
}

func estimateBlocks(blocks []event.Block) int64 {
	var n int64
	for _, b := range blocks {
		switch b := b.(type) {
		case *event.Text:
			n += estimate(b.Text)
		case *event.Thinking:
			n += estimate(b.Text)
		case *event.ToolCall:
			n += estimate(b.Name) + int64(len(b.Args)+3)/4
		case *event.ToolResult:
			n += estimateBlocks(b.Content)
			if len(b.Content) == 0 {
				n += int64(len(b.Structured)+3) / 4
			}
		case *event.Document:
			n += estimate(b.Text)
		}
	}
	return n
}
