package anthropic

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/bound"
	"github.com/braidrun/braid/model/internal/reqcache"
	"github.com/braidrun/braid/model/internal/schema"
	"github.com/braidrun/braid/model/internal/toolname"
)

// asked is a request as it is sent.
type asked struct {
	body []byte
	// header are the header fields that the request adds to the provider's.
	header http.Header
	// names maps names of tools that were changed for the wire back.
	names map[string]string
	// kept says which thinking of the history is in the body.
	kept bound.Kept
}

// request gives a request as it is sent; without leaves out all thinking of the
// history, because the vendor has refused it.
//
// Members stand in an order of their own: the model, the tools, the
// instructions and the messages first, in the order in which the API caches
// them, and then what may change from call to call. So the body of the next
// request begins with the bytes of this one, up to the end of its messages.
func (m *Model) request(req *model.Request, without bool) (asked, error) {
	if req == nil || len(req.Messages) == 0 {
		return asked{}, notSent(event.ErrInvalid, "There is nothing to ask the model.", "give it a message")
	}
	if err := m.unsupported(req); err != nil {
		return asked{}, err
	}
	tail, err := m.tail(req, without)
	if err != nil {
		return asked{}, err
	}
	h := m.kept.Take(req)
	defer m.kept.Put(h)
	head, err := h.Encoder.head.Of(req, func(before []byte) ([]byte, error) { return m.appendHead(before[:0], req) })
	if err != nil {
		return asked{}, err
	}
	h.Encoder.files = m.cloudy()
	if binds(m.name) {
		h.Encoder.chain.Bind()
	}
	h.Update(req.Messages)
	if without {
		h.Encoder.chain.Refuse()
	}
	kept := h.Encoder.chain.Keep([]byte(m.whom()), head)
	dst, drop := h.Encoder.dst, kept.Drop
	points := m.points(h)
	point := m.cachePoint()
	body := make([]byte, 0, len(head)+len(dst)+len(tail)+len(points)*(len(point)+1)+8)
	body = append(body, m.bare(head)...)
	from := 0
	upTo := func(end int) {
		for len(drop) > 0 && drop[0].From < end {
			body = append(body, dst[from:drop[0].From]...)
			from, drop = drop[0].To, drop[1:]
		}
		body = append(body, dst[from:end]...)
		from = end
	}
	for _, at := range points {
		// A message ends with its last block's brace, and "]},".
		upTo(at - len("}]},"))
		body = append(body, ',')
		body = append(body, point...)
	}
	upTo(len(dst) - 1)
	body = append(body, ']')
	return asked{body: append(body, tail...), names: toolNames.Back(req.Tools), kept: kept}, nil
}

// whom says who thinks, beside the model's name: the thinking of Sonnet 5.5 and Haiku
// 5.5 stays with the account that it was made for
// (build-with-claude/preserved-thinking#account-bound-thinking).
func (m *Model) whom() string {
	switch {
	case m.aws != nil:
		return "bedrock:" + m.name
	case m.google != nil:
		return "vertex:" + m.name
	default:
		return "anthropic:" + m.name
	}
}

// toolNames are those that the API takes: ^[a-zA-Z0-9_-]{1,64}$.
var toolNames = toolname.Usual

// callIDs are the ids of calls that it takes: ^[a-zA-Z0-9_-]+$.
var callIDs = toolname.IDRule{}

// cachePoint is the member that makes a block, or a request, a cache point.
func (m *Model) cachePoint() string {
	if m.hour {
		return `"cache_control":{"type":"ephemeral","ttl":"1h"}`
	}
	return `"cache_control":{"type":"ephemeral"}`
}

// points gives the ends of the messages that carry a cache point, in order: at
// most three, because the instructions have one and the API counts the
// automatic one too.
func (m *Model) points(h *reqcache.History[encoder, *encoder]) []int {
	if m.cache == CacheOff {
		return nil
	}
	n := h.Len()
	var points []int
	add := func(i int) {
		_, at := h.At(i)
		points = append(points, at.End)
	}
	// The last messages of people and tools: the newest ends this request, and
	// each one before it ended one.
	var ends []int
	for i := n - 1; i >= 0 && len(ends) < 3; i-- {
		if role, _ := h.At(i); role != event.RoleAssistant {
			ends = append(ends, i)
		}
	}
	slices.Reverse(ends)
	if m.cache == CacheExplicit {
		for _, i := range ends {
			add(i)
		}
		return points
	}
	// The automatic point finds what was cached before within 20 blocks. Where
	// the newest turn is longer, the end of the request before gets a point.
	const looksBack = 18
	if len(ends) < 2 {
		return nil
	}
	last, before := ends[len(ends)-1], ends[len(ends)-2]
	blocks := 0
	for i := before + 1; i <= last; i++ {
		_, at := h.At(i)
		blocks += at.Blocks
	}
	if blocks > looksBack {
		add(before)
	}
	return points
}

func (m *Model) appendHead(b []byte, req *model.Request) ([]byte, error) {
	b = strictjson.AppendString(append(b, `{"model":`...), m.name)
	instructions := strings.TrimSpace(req.Instructions) != ""
	if len(req.Tools) > 0 {
		b = append(b, `,"tools":[`...)
		for i := range req.Tools {
			t := &req.Tools[i]
			var err error
			if b, err = m.appendTool(b, t); err != nil {
				return nil, err
			}
			if i == len(req.Tools)-1 && !instructions && m.cache != CacheOff {
				b = append(append(b, ','), m.cachePoint()...)
			}
			b = append(b, '}', ',')
		}
		b[len(b)-1] = ']'
	}
	if instructions {
		b = strictjson.AppendString(append(b, `,"system":[{"type":"text","text":`...), req.Instructions)
		if m.cache != CacheOff {
			b = append(append(b, ','), m.cachePoint()...)
		}
		b = append(b, `}]`...)
	}
	return append(b, `,"messages":[`...), nil
}

// appendTool writes what the model is told about a tool, without its end.
func (m *Model) appendTool(b []byte, t *model.ToolSpec) ([]byte, error) {
	form, words, err := m.toolSchema(t)
	if err != nil {
		return nil, err
	}
	b = strictjson.AppendString(append(b, `{"name":`...), toolNames.Wire(t.Name))
	description := strings.TrimSpace(strings.TrimSpace(t.Description) + "\n\n" + words)
	if description != "" {
		b = strictjson.AppendString(append(b, `,"description":`...), description)
	}
	b = append(b, `,"input_schema":`...)
	return append(b, form...), nil
}

// toolSchema is a tool's schema as the API takes it, and what it does not take in
// words. That those hold is checked by the tool anyway.
func (m *Model) toolSchema(t *model.ToolSpec) (form []byte, words string, err error) {
	form, problems := m.forms.Form(t.Schema, schema.AnthropicTools)
	if p, fatal := schema.Worst(problems, schema.Fatal); fatal {
		return nil, "", notSent(event.ErrInvalid, "The parameters of the tool %q cannot be given to Claude: %s",
			"give the tool a schema with \"type\": \"object\"", t.Name, p.Text)
	}
	return form, schema.Words(problems), nil
}

// tail is what stands behind the messages, without the bracket that closes them.
func (m *Model) tail(req *model.Request, without bool) ([]byte, error) {
	o := &req.Options
	b := make([]byte, 0, 192)
	most := o.MaxTokens
	if most <= 0 {
		most = answerTokens(m.name)
	}
	forced := req.ToolChoice.Mode == model.ToolsAny || req.ToolChoice.Mode == model.ToolsOne
	if forced && len(req.Tools) > 0 && !forcible(m.name) {
		return nil, notSent(event.ErrUnsupported, "The model cannot be made to call a tool.",
			"leave the choice to it and say in the instructions when to call the tool")
	}
	// A tool that must be called leaves no room for thinking, says the API.
	if o.Thinking > 0 && !forced {
		const least = 1024 // says the API
		budget := max(o.Thinking, least)
		switch {
		case !budgeted(m.name):
			b = m.appendAdaptive(b)
		case midTurnWithoutThinking(req.Messages, without):
		case o.MaxTokens <= 0:
			most = max(most, budget+answerTokens(m.name)/4)
			b = appendBudget(b, budget)
		case budget >= o.MaxTokens:
			return nil, notSent(event.ErrInvalid, "A budget of %d tokens for thinking leaves none of %d for the answer.",
				"allow more tokens for the answer: thinking counts as part of it", budget, o.MaxTokens)
		default:
			b = appendBudget(b, budget)
		}
	}
	b = strconv.AppendInt(append(b, `,"max_tokens":`...), int64(most), 10)
	if o.Temperature != nil {
		if !m.knowsTemperature() {
			hint := "leave it out, or ask for the version 2023-06-01 where the model is made, which the older models still have"
			if m.cloudy() {
				hint = "leave it out, or take an older model"
			}
			return nil, notSent(event.ErrUnsupported, m.title()+" takes no temperature any more.", hint)
		}
		b = strconv.AppendFloat(append(b, `,"temperature":`...), *o.Temperature, 'g', -1, 64)
	}
	b = appendStops(b, o.StopWords)
	var err error
	if b, err = appendChoice(b, req); err != nil {
		return nil, err
	}
	if b, err = m.appendOutput(b, req.Output); err != nil {
		return nil, err
	}
	switch {
	case m.aws != nil:
		b = append(b, `,"anthropic_version":"`+bedrockVersion+`"`...)
	case m.google != nil:
		b = append(b, `,"anthropic_version":"`+vertexVersion+`"`...)
	}
	if m.cache == CacheAuto {
		b = append(append(b, ','), m.cachePoint()...)
	}
	if m.aws != nil {
		return append(b, '}'), nil // the path says that it is a stream
	}
	return append(b, `,"stream":true}`...), nil
}

// knowsTemperature reports whether the version of the API has it: those before
// api/migration-2026-10-21. Bedrock and Vertex AI have an old version; there it is the
// newer models that take none.
func (m *Model) knowsTemperature() bool {
	if m.cloudy() {
		return generation(m.name) < 407
	}
	return m.version != "" && m.version < "2026-10-21"
}

// appendAdaptive lets the model decide how much it thinks. The newer ones would not
// show any of it without being asked; the older ones always do, and those on
// Bedrock, and perhaps those on Vertex AI, do not know the question.
func (m *Model) appendAdaptive(b []byte) []byte {
	if g := generation(m.name); m.cloudy() && g > 0 && g < 407 {
		return append(b, `,"thinking":{"type":"adaptive"}`...)
	}
	return append(b, `,"thinking":{"type":"adaptive","display":"summarized"}`...)
}

func appendBudget(b []byte, n int) []byte {
	b = strconv.AppendInt(append(b, `,"thinking":{"type":"enabled","budget_tokens":`...), int64(n), 10)
	return append(b, '}')
}

// midTurnWithoutThinking reports whether the model is in the middle of a turn
// that it, or another, began without thinking. The models with a budget refuse
// to begin with it there. without says that no thinking of the history is sent.
func midTurnWithoutThinking(messages []event.Message, without bool) bool {
	n := len(messages)
	if n < 2 || !slices.ContainsFunc(messages[n-1].Content, isResult) {
		return false
	}
	for _, b := range messages[n-2].Content {
		switch b := b.(type) {
		case *event.Thinking:
			return without || !ours(b.Signature)
		case *event.RedactedThinking:
			return without || !ours(b.Data)
		}
	}
	return true
}

func isResult(b event.Block) bool {
	_, ok := b.(*event.ToolResult)
	return ok
}

// appendStops writes the words that end an answer; blank ones are refused by
// the API and mean nothing.
func appendStops(b []byte, words []string) []byte {
	n := 0
	for _, w := range words {
		if strings.TrimSpace(w) == "" {
			continue
		}
		if n++; n == 1 {
			b = append(b, `,"stop_sequences":[`...)
		}
		b = append(strictjson.AppendString(b, w), ',')
	}
	if n > 0 {
		b[len(b)-1] = ']'
	}
	return b
}

// appendChoice writes what the model must do about tools.
func appendChoice(b []byte, req *model.Request) ([]byte, error) {
	c := &req.ToolChoice
	if len(req.Tools) == 0 || (c.Mode == model.ToolsFree && !c.Serial) {
		return b, nil
	}
	switch c.Mode {
	case model.ToolsFree:
		b = append(b, `,"tool_choice":{"type":"auto"`...)
	case model.ToolsAny:
		b = append(b, `,"tool_choice":{"type":"any"`...)
	case model.ToolsNone:
		return append(b, `,"tool_choice":{"type":"none"}`...), nil
	case model.ToolsOne:
		if !slices.ContainsFunc(req.Tools, func(t model.ToolSpec) bool { return t.Name == c.Tool }) {
			return nil, notSent(event.ErrInvalid, "There is no tool %q to choose.", "name one of the agent's tools", c.Tool)
		}
		b = strictjson.AppendString(append(b, `,"tool_choice":{"type":"tool","name":`...), toolNames.Wire(c.Tool))
	default:
		return nil, notSent(event.ErrUnsupported, "There is no such choice of tools: %q.", "use one of the known ones", string(c.Mode))
	}
	if c.Serial {
		b = append(b, `,"disable_parallel_tool_use":true`...)
	}
	return append(b, '}'), nil
}
