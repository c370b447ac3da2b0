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

// history is an encoded conversation.
type history = reqcache.History[encoder, *encoder]

// head is the encoding of everything before the messages: the tools without the closing
// bracket, and the instructions.
type head struct{ tools, system []byte }

// edit replaces a span of the encoding.
type edit struct {
	span

	in string
}

// asked is an encoded request.
type asked struct {
	body []byte
	// tail is the offset of the part after the messages; fields are the model's own parameters.
	tail   int
	fields []byte
	// header holds additional header fields.
	header http.Header
	// kept records which thinking of the history is in the body.
	kept bound.Kept
}

// request encodes a request. without leaves out all thinking of the history, because the vendor
// refused it.
//
// The body begins with the members in the order in which models cache them: tools,
// instructions, messages. The members that may change from call to call follow. So the next
// body begins with the same bytes, except for the cache points that have moved.
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

// withServed appends server-side tools to the others. It does not change tools.
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

// wasServed reports whether the history contains a call of a server-side tool that is sent
// back. The API then requires tool definitions.
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

// point returns a cache point (API_runtime_CachePointBlock).
func (m *Model) point() string {
	if m.cache == CacheHour {
		return `{"cachePoint":{"type":"default","ttl":"1h"}}`
	}
	return `{"cachePoint":{"type":"default"}}`
}

// caches reports whether requests have cache points.
func (m *Model) caches() bool { return m.cache != CacheOff && m.family.cache != noCache }

// points returns the ends of the messages that get a cache point, in order. There are at most
// three, because the instructions have one. The newest message ends this request, and each
// earlier user message ended a request. So the cached prefix is found, however long the turn
// after it is.
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

// latest returns the positions of the only texts that the guardrail checks.
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

// noTool is the name of a placeholder tool. The API requires a tool definition if the history
// has a call. A call of it is dropped.
const noTool = "no_tool_here"

var placeholder = []model.ToolSpec{{Name: noTool, Description: "There is no tool any more. Do not call this one."}}

// choice returns the request with the tools to offer, and the tool choice
// (API_runtime_ToolChoice). If the API cannot express the choice, it restricts the list of
// tools.
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

// newHead encodes tools and instructions, with the cache point after them.
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

// ending is the encoding after the messages, with the model's own parameters.
type ending struct{ text, fields []byte }

// tail encodes the part after the messages. tools is set if tools come before them.
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

// appendInference writes the settings that all models have.
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
			continue // the API refuses blank ones
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

// ownFields are the model parameters that Braid writes.
var ownFields = []string{"thinking", "output_config", "reasoningConfig", "reasoning_effort", "inferenceConfig"}

// additional returns the model's own parameters as a JSON object, nil for none, and max_tokens,
// which includes thinking. [Fields] takes precedence over Braid's parameters, and the request's
// Extra over both.
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
	object[0] = '{' // or the comma of the first member
	return append(object, '}'), most, nil
}

// answerTokens is the default number of tokens for the answer after its thinking.
const answerTokens = 8192

// effort maps a token budget to an effort, for models without budgets.
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

// midTurnWithoutThinking reports whether the current turn began without thinking. Models with a
// budget refuse to start thinking there. without is set if the history is sent without its
// thinking.
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
