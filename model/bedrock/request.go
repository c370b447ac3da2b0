package bedrock

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/bound"
	"github.com/braidrun/braid/model/internal/provider"
	"github.com/braidrun/braid/model/internal/reqcache"
)

// history is a conversation as it was sent.
type history = reqcache.History[encoder, *encoder]

// head is what stands before the messages: the list of tools without its bracket,
// and the instructions.
type head struct{ tools, system []byte }

// edit puts other bytes in the place of some that were written.
type edit struct {
	span

	in string
}

// asked is a request as it is sent.
type asked struct {
	body []byte
	// tail is where the part behind the messages begins, fields the model's own parameters.
	tail   int
	fields []byte
	// header are the fields that a developer adds.
	header http.Header
	// kept says which thinking of the history is in the body.
	kept bound.Kept
}

// request gives a request as it is sent; without leaves out all thinking of the
// history, because the vendor has refused it.
//
// Members stand in an order of their own: the tools, the instructions and the
// messages first, in the order in which models cache them, and then what may
// change from call to call. So the body of the next request begins with the bytes
// of this one, but for the cache points that have moved.
func (m *Model) request(req *model.Request, without bool) (asked, error) {
	if req == nil || len(req.Messages) == 0 {
		return asked{}, notSent(event.ErrInvalid, "there is nothing to ask the model", "give it a message")
	}
	if err := m.unsupported(req.Messages); err != nil {
		return asked{}, err
	}
	if err := m.possible(req); err != nil {
		return asked{}, err
	}
	h := m.histories.Take(req)
	defer m.histories.Put(h)
	h.Encoder.family = &m.family
	if m.family.binds {
		h.Encoder.chain.Bind()
	}
	h.Update(req.Messages)
	if without {
		h.Encoder.chain.Refuse()
	}
	shown, choose := m.choice(req, h.Encoder.ids.Any() || m.wasServed(req.Messages))
	top, err := h.Encoder.head.Of(&shown, func(head) (head, error) { return m.newHead(&shown) })
	if err != nil {
		return asked{}, err
	}
	served, err := m.served(req)
	if err != nil {
		return asked{}, err
	}
	tools := withServed(top.tools, served)
	tail, err := m.tail(req, len(tools) > 0, without)
	if err != nil {
		return asked{}, err
	}
	added, err := header(&req.Options)
	if err != nil {
		return asked{}, err
	}
	system := top.system
	var front []byte
	if m.family.noSystem && strings.TrimSpace(req.Instructions) != "" {
		front = append(strictjson.AppendString([]byte(`{"text":`), req.Instructions), `},`...)
	}
	e := &h.Encoder
	kept := e.chain.Keep([]byte("converse:"+m.name), tools, system, front)
	var edits []edit
	for _, s := range kept.Drop {
		edits = append(edits, edit{span: span{s.From, s.To}})
	}
	for _, s := range m.latest(h) {
		edits = append(edits, edit{span: s, in: `{"guardContent":{"text":` + string(e.dst[s.from:s.to]) + `}}`})
	}
	for _, at := range m.points(h) {
		at -= len(shut)
		edits = append(edits, edit{span: span{at, at}, in: "," + m.point()})
	}
	slices.SortStableFunc(edits, func(a, b edit) int { return a.from - b.from })
	b := make([]byte, 0, len(tools)+len(choose)+len(system)+len(front)+len(e.dst)+len(tail.text)+len(edits)*48+64)
	b = append(b, '{')
	if len(tools) > 0 {
		b = append(append(append(append(b, `"toolConfig":{`...), tools...), choose...), `},`...)
	}
	b = append(b, system...)
	b = append(b, `"messages":[`...)
	from := 0
	if len(front) > 0 {
		b = append(append(b, userOpen...), front...)
		from = len(userOpen)
	}
	for _, x := range edits {
		b = append(append(b, e.dst[from:x.from]...), x.in...)
		from = x.to
	}
	b = append(b, e.dst[from:len(e.dst)-1]...)
	b = append(b, ']')
	return asked{body: append(b, tail.text...), tail: len(b), fields: tail.fields, header: added, kept: kept}, nil
}

// withServed puts server-side tools behind the others. It does not change tools.
func withServed(tools, served []byte) []byte {
	switch {
	case len(served) == 0:
		return tools
	case len(tools) == 0:
		tools = []byte(`"tools":[`)
	default:
		tools = append(slices.Clone(tools[:len(tools)-1]), ',')
	}
	return append(append(tools, served[:len(served)-1]...), ']')
}

// wasServed reports whether a server-side tool was called that goes back with the history: the
// API wants tools to be described then, too.
func (m *Model) wasServed(messages []event.Message) bool {
	if !m.family.nova {
		return false
	}
	for i := range messages {
		for _, b := range messages[i].Content {
			if u, ok := b.(*event.UnknownBlock); ok && (u.Name == own+"toolUse" || u.Name == own+"toolResult") {
				return true
			}
		}
	}
	return false
}

// point is a cache point (API_runtime_CachePointBlock).
func (m *Model) point() string {
	if m.cache == CacheHour {
		return `{"cachePoint":{"type":"default","ttl":"1h"}}`
	}
	return `{"cachePoint":{"type":"default"}}`
}

// caches reports whether requests carry cache points.
func (m *Model) caches() bool { return m.cache != CacheOff && m.family.cache != noCache }

// points gives the ends of the messages that carry a cache point, in order: three
// at most, because the instructions have one. The newest message ends this
// request, and each one of a user's before it ended one: so what was cached is
// found however long the turn between them is.
func (m *Model) points(h *history) []int {
	if !m.caches() {
		return nil
	}
	const most = 3
	var points []int
	for i := h.Len() - 1; i >= 0 && len(points) < most; i-- {
		role, at := h.At(i)
		if role != event.RoleAssistant && h.Encoder.said[i].cacheable {
			points = append(points, at.End)
		}
	}
	slices.Reverse(points)
	return points
}

// latest gives the places of the texts that the guardrail is shown alone.
func (m *Model) latest(h *history) []span {
	if m.guard == nil || !m.guard.Latest {
		return nil
	}
	for i := h.Len() - 1; i >= 0; i-- {
		if s := h.Encoder.said[i]; s.asks {
			return s.spans
		}
	}
	return nil
}

// noTool is the name of a tool that stands where there is none: the API wants one
// described as soon as one was called. A call of it is not handed over.
const noTool = "no_tool_here"

var placeholder = []model.ToolSpec{{Name: noTool, Description: "There is no tool any more. Do not call this one."}}

// choice gives the request with the tools that the model is to know, and says what
// it must do about them (API_runtime_ToolChoice). What cannot be said is done with
// the list of tools.
func (m *Model) choice(req *model.Request, called bool) (shown model.Request, choose string) {
	shown = *req
	shown.Messages = nil
	if m.family.noSystem {
		shown.Instructions = ""
	}
	c := &req.ToolChoice
	switch {
	case len(req.Tools) == 0 || c.Mode == model.ToolsNone:
		shown.Tools = nil
		if called && !m.family.noTools {
			shown.Tools = placeholder
		}
	case c.Mode == model.ToolsAny:
		choose = `,"toolChoice":{"any":{}}`
	case c.Mode == model.ToolsOne && m.family.choice == someChoice:
		for _, t := range req.Tools {
			if t.Name == c.Tool {
				shown.Tools = []model.ToolSpec{t}
			}
		}
		choose = `,"toolChoice":{"any":{}}`
	case c.Mode == model.ToolsOne:
		b := strictjson.AppendString([]byte(`,"toolChoice":{"tool":{"name":`), m.family.names.Wire(c.Tool))
		choose = string(append(b, `}}`...))
	}
	return shown, choose
}

// forced reports whether the model must call a tool.
func forced(req *model.Request) bool {
	return len(req.Tools) > 0 && (req.ToolChoice.Mode == model.ToolsAny || req.ToolChoice.Mode == model.ToolsOne)
}

// newHead writes tools and instructions, and the cache point behind both.
func (m *Model) newHead(req *model.Request) (head, error) {
	var h head
	instructions := strings.TrimSpace(req.Instructions) != ""
	if len(req.Tools) > 0 {
		h.tools = append(h.tools, `"tools":[`...)
		for i := range req.Tools {
			var err error
			if h.tools, err = m.appendTool(h.tools, &req.Tools[i]); err != nil {
				return head{}, err
			}
			h.tools = append(h.tools, ',')
		}
		if !instructions && m.caches() && m.family.cache == wholeCache {
			h.tools = append(append(h.tools, m.point()...), ',')
		}
		h.tools[len(h.tools)-1] = ']'
	}
	if instructions {
		h.system = append(strictjson.AppendString(append(h.system, `"system":[{"text":`...), req.Instructions), '}')
		if m.caches() {
			h.system = append(append(h.system, ','), m.point()...)
		}
		h.system = append(h.system, `],`...)
	}
	return h, nil
}

// ending is what follows the messages, and the model's own parameters in it.
type ending struct{ text, fields []byte }

// tail gives what follows the messages; tools says that there are some before them.
func (m *Model) tail(req *model.Request, tools, without bool) (ending, error) {
	b := make([]byte, 0, 256)
	greedy := m.greedy(req, tools)
	fields, most, err := m.additional(req, greedy, without)
	if err != nil {
		return ending{}, err
	}
	b = appendInference(b, &req.Options, most, greedy)
	if len(fields) > 0 {
		b = append(append(b, `,"additionalModelRequestFields":`...), fields...)
	}
	if req.Output != nil {
		if b, err = m.appendOutput(b, req); err != nil {
			return ending{}, err
		}
	}
	if g := m.guard; g != nil {
		b = strictjson.AppendString(append(b, `,"guardrailConfig":{"guardrailIdentifier":`...), g.ID)
		b = strictjson.AppendString(append(b, `,"guardrailVersion":`...), g.Version)
		b = append(append(append(b, `,"trace":"`...), g.Trace...), '"')
		if !m.whole(req) {
			mode := "sync"
			if g.Async {
				mode = "async"
			}
			b = append(append(append(b, `,"streamProcessingMode":"`...), mode...), '"')
		}
		b = append(b, '}')
	}
	latency, tier := m.speed(&req.Options)
	b = append(b, latency...)
	if len(m.metadata) > 0 {
		b = append(append(b, `,"requestMetadata":`...), m.metadata...)
	}
	return ending{append(append(b, tier...), '}'), fields}, nil
}

// appendInference writes what all models understand.
func appendInference(b []byte, o *model.Options, most int, greedy bool) []byte {
	at := len(b)
	b = append(b, `,"inferenceConfig":{`...)
	empty := len(b)
	if most > 0 {
		b = append(strconv.AppendInt(append(b, `"maxTokens":`...), int64(most), 10), ',')
	}
	switch {
	case o.Temperature != nil:
		b = append(strconv.AppendFloat(append(b, `"temperature":`...), *o.Temperature, 'g', -1, 64), ',')
	case greedy:
		b = append(b, `"temperature":0,`...)
	}
	if o.TopP != nil {
		b = append(strconv.AppendFloat(append(b, `"topP":`...), *o.TopP, 'g', -1, 64), ',')
	}
	n := 0
	for _, w := range o.StopWords {
		if strings.TrimSpace(w) == "" {
			continue // the API refuses blank ones, and nobody means one
		}
		if n++; n == 1 {
			b = append(b, `"stopSequences":[`...)
		}
		b = append(strictjson.AppendString(b, w), ',')
	}
	if n > 0 {
		b = append(b[:len(b)-1], `],`...)
	}
	if len(b) == empty {
		return b[:at]
	}
	return append(b[:len(b)-1], '}')
}

// greedy reports whether the model must decode greedily to write its calls well
// (nova/latest/userguide/prompting-tool-troubleshooting).
func (m *Model) greedy(req *model.Request, tools bool) bool {
	if !m.family.nova || !tools {
		return false
	}
	t, err := m.thought(req)
	return err != nil || t.effort == "" || forced(req)
}

// ownFields are the parameters of a model's own that Braid writes.
var ownFields = []string{"thinking", "output_config", "reasoningConfig", "reasoning_effort", "inferenceConfig"}

// additional gives the parameters of the model's own as a JSON object, nil for none, and the
// bound of the answer, of which thinking is a part. [Fields] go before what Braid says, and
// what a request adds goes before both.
func (m *Model) additional(req *model.Request, greedy, without bool) (object []byte, most int, err error) {
	fields := map[string]json.RawMessage{}
	set := func(key, value string) { fields[key] = json.RawMessage(value) }
	if greedy {
		set("inferenceConfig", `{"topK":1}`)
	}
	if most, err = m.think(req, without, set); err != nil {
		return nil, 0, err
	}
	maps.Copy(fields, m.fields)
	for name := range req.Options.Extra {
		delete(fields, name)
	}
	if len(fields) > 0 {
		if object, err = json.Marshal(fields); err != nil {
			return nil, 0, notSent(event.ErrInvalid, "the model's own parameters cannot be written", "look at them where the model is made")
		}
		object = object[:len(object)-1]
	}
	if object, err = provider.AppendExtra(object, op, req.Options.Extra, ownFields...); err != nil || len(object) == 0 {
		return nil, most, err
	}
	object[0] = '{' // or the comma of what was added
	return append(object, '}'), most, nil
}

// answerTokens is what is left for an answer behind its thinking, where nobody
// says how long it may be.
const answerTokens = 8192

// effort is a budget of tokens in the words of models that have no budgets.
func effort(budget int) string {
	const little, some = 4_000, 16_000
	switch {
	case budget <= little:
		return "low"
	case budget <= some:
		return "medium"
	default:
		return "high"
	}
}

// midTurnWithoutThinking reports whether the model is in the middle of a turn that
// it, or another, began without thinking. Those with a budget refuse to begin with
// it there. without says that no thinking of the history is sent.
func (m *Model) midTurnWithoutThinking(messages []event.Message, without bool) bool {
	n := len(messages)
	isResult := func(b event.Block) bool { _, ok := b.(*event.ToolResult); return ok }
	if n < 2 || !slices.ContainsFunc(messages[n-1].Content, isResult) {
		return false
	}
	if without {
		return true
	}
	e := encoder{family: &m.family}
	for _, b := range messages[n-2].Content {
		switch b := b.(type) {
		case *event.Thinking:
			if _, mine := e.mine(b.Signature); mine {
				return false
			}
		case *event.RedactedThinking:
			if _, mine := e.mine(b.Data); mine {
				return false
			}
		}
	}
	return true
}
