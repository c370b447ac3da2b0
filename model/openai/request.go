package openai

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/provider"
	"github.com/braidrun/braid/model/internal/reqcache"
)

// body encodes a request. It also returns what the decoder of the answer needs.
//
// The body begins with the members in the order in which the vendor caches them: model, tools,
// instructions, messages. The members that may change from call to call follow. So the next
// body begins with the same bytes, up to the end of these messages.
func (m *Model) body(req *model.Request) ([]byte, back, error) {
	if req == nil || len(req.Messages) == 0 {
		return nil, back{}, notSent(event.ErrInvalid, "there is nothing to ask the model", "give it a message")
	}
	if err := m.unsupported(req.Messages); err != nil {
		return nil, back{}, err
	}
	h := m.kept.Take(req)
	defer m.kept.Put(h)
	e := &h.Encoder
	frame, err := m.around(req, e)
	if err != nil {
		return nil, back{}, err
	}
	e.set(m)
	h.Update(req.Messages)
	points := m.points(h)
	body := make([]byte, 0, len(frame.head)+len(e.dst)+len(frame.tail)+len(points)*len(cachePoint))
	body = append(body, frame.head...)
	body = appendPoints(body, e.dst[:len(e.dst)-1], points)
	body = append(body, frame.tail...)
	if m.vendors && len(body) > largest {
		return nil, back{}, notSent(event.ErrTooLarge, "the request is larger than the 50 MiB that OpenAI takes",
			"send smaller or fewer files and images")
	}
	return body, back{names: toolNames.Back(req.Tools), absent: frame.absent, nulled: frame.nulled}, nil
}

// largest bounds a request in bytes (guides/images-vision, file limits).
const largest = 50 << 20

// frame holds the parts of a request before and after the messages.
type frame struct {
	head, tail []byte
	absent     map[string]bool
	// nulled are the optional members of strict tools, which are null if absent, by tool.
	nulled map[string]map[string]bool
}

// around encodes the frame. It reuses what e caches from the last request; with a nil e it only
// checks the request.
func (m *Model) around(req *model.Request, e *encoder) (f frame, err error) {
	sent := e != nil
	if !sent {
		e = &encoder{}
	}
	if f.tail, err = m.tail(req); err != nil {
		return f, err
	}
	var text []byte
	if req.Output != nil {
		if err := e.output.update(m, req.Output); err != nil {
			return f, err
		}
		text = e.output.member
		f.absent = e.output.absent
		if e.output.words != "" {
			worded := *req
			worded.Instructions = strings.TrimSpace(req.Instructions + "\n\n" + e.output.words)
			req = &worded
		}
	}
	f.tail = m.appendText(f.tail, text, req.Options.Verbosity)
	if f.tail, err = provider.AppendExtra(f.tail, op, req.Options.Extra, m.own()...); err != nil {
		return f, err
	}
	f.tail = append(f.tail, '}')
	served, err := m.serverTools(req.Options.ServerTools, sent)
	if err != nil {
		return f, err
	}
	if !bytes.Equal(served, e.served) {
		e.head, e.served = reqcache.Head[[]byte]{}, served
	}
	f.head, err = e.head.Of(req, func(before []byte) ([]byte, error) {
		e.nulled = nil
		return m.appendHead(before[:0], req, e)
	})
	f.nulled = e.nulled
	return f, err
}

func (m *Model) appendHead(b []byte, req *model.Request, e *encoder) ([]byte, error) {
	b = strictjson.AppendString(append(b, `{"model":`...), m.name)
	if len(req.Tools) > 0 && m.dialect.NoTools {
		return nil, notSent(event.ErrUnsupported, "the models of %s take no tools", "take the tools from the agent, or another model", m.title)
	}
	if len(req.Tools) > 0 || len(e.served) > 0 {
		b = append(b, `,"tools":[`...)
		for i := range req.Tools {
			var err error
			if b, err = m.appendTool(b, &req.Tools[i], e); err != nil {
				return nil, err
			}
		}
		b = append(b, e.served...)
		b[len(b)-1] = ']'
	}
	instructions := strings.TrimSpace(req.Instructions) != ""
	switch {
	case m.api == Responses && instructions:
		b = strictjson.AppendString(append(b, `,"instructions":`...), req.Instructions)
		return append(b, `,"input":[`...), nil
	case m.api == Responses:
		return append(b, `,"input":[`...), nil
	case instructions:
		// OpenAI treats a system message as a developer message where the model wants one.
		b = m.appendInstructions(append(b, `,"messages":[{"role":"system","content":`...), req.Instructions)
		return append(b, `},`...), nil
	default:
		return append(b, `,"messages":[`...), nil
	}
}

// appendTool writes the definition of a tool, and a comma.
func (m *Model) appendTool(b []byte, t *model.ToolSpec, e *encoder) ([]byte, error) {
	schema, words, strict, err := m.toolForm(t, e)
	if err != nil {
		return nil, err
	}
	if m.api == Responses {
		b = append(b, `{"type":"function","name":`...)
	} else {
		b = append(b, `{"type":"function","function":{"name":`...)
	}
	b = strictjson.AppendString(b, toolNames.Wire(t.Name))
	description := strings.TrimSpace(t.Description)
	if words != "" {
		description = strings.TrimSpace(description + "\n\n" + words)
	}
	if description != "" {
		b = strictjson.AppendString(append(b, `,"description":`...), description)
	}
	b = append(append(b, `,"parameters":`...), schema...)
	switch {
	case strict:
		b = append(b, `,"strict":true`...)
	case m.api == Responses:
		// Responses is strict by default and would refuse most schemas. The tool validates its
		// arguments.
		b = append(b, `,"strict":false`...)
	}
	if m.api == Responses {
		return append(b, `},`...), nil
	}
	return append(b, `}},`...), nil
}

// tail returns the members after the messages, beginning with the bracket that closes them. The
// member with the answer's schema and the end of the body follow it.
func (m *Model) tail(req *model.Request) ([]byte, error) {
	o := &req.Options
	t, err := m.effortOf(o)
	if err != nil {
		return nil, err
	}
	if err := m.fits(req, t); err != nil {
		return nil, err
	}
	b := append(make([]byte, 0, 192), ']')
	b = m.appendSampling(b, o)
	if b, err = m.appendStops(b, o.StopWords); err != nil {
		return nil, err
	}
	if b, err = m.appendChoice(b, req); err != nil {
		return nil, err
	}
	b = m.appendCaching(b)
	if o.ServiceTier != "" {
		b = strictjson.AppendString(append(b, `,"service_tier":`...), o.ServiceTier)
	}
	if m.api == Responses {
		return m.appendResponsesTail(b, o, t), nil
	}
	if o.MaxTokens > 0 {
		// OpenAI renamed the member, and its reasoning models accept only the new name. Other
		// servers know the old one.
		name := `,"max_tokens":`
		if m.vendors || m.dialect.LongName {
			name = `,"max_completion_tokens":`
		}
		b = strconv.AppendInt(append(b, name...), int64(o.MaxTokens), 10)
	}
	b = m.appendChatEffort(b, t)
	if o.Verbosity != "" {
		b = strictjson.AppendString(append(b, `,"verbosity":`...), o.Verbosity)
	}
	if len(o.ServerTools) > 0 {
		b = append(b, `,"web_search_options":{}`...)
	}
	if m.dialect.NoUsage {
		return append(b, `,"stream":true`...), nil
	}
	return append(b, `,"stream":true,"stream_options":{"include_usage":true}`...), nil
}

// appendResponsesTail writes the members that only Responses has.
func (m *Model) appendResponsesTail(b []byte, o *model.Options, t trying) []byte {
	if o.MaxTokens > 0 {
		const least = 16 // the API's minimum
		b = strconv.AppendInt(append(b, `,"max_output_tokens":`...), int64(max(o.MaxTokens, least)), 10)
	}
	if most := mostUses(o.ServerTools); most > 0 {
		b = strconv.AppendInt(append(b, `,"max_tool_calls":`...), int64(most), 10)
	}
	b = m.appendInclude(b, o.ServerTools)
	b = m.appendEffort(b, t, o.ShowThinking)
	if o.Context.Compact > 0 {
		b = strconv.AppendInt(append(b, `,"context_management":[{"type":"compaction","compact_threshold":`...), int64(o.Context.Compact), 10)
		b = append(b, `}]`...)
	}
	if o.Context.Truncate {
		b = append(b, `,"truncation":"auto"`...)
	}
	return append(b, `,"store":false,"stream":true`...)
}

// appendStops writes the stop sequences. It skips blank ones.
func (m *Model) appendStops(b []byte, words []string) ([]byte, error) {
	n := 0
	for _, w := range words {
		if strings.TrimSpace(w) == "" {
			continue
		}
		if n++; n == 1 {
			b = append(b, `,"stop":[`...)
		}
		b = append(strictjson.AppendString(b, w), ',')
	}
	const most = 4 // the API's maximum
	switch {
	case n == 0:
		return b, nil
	case m.api == Responses:
		return nil, notSent(event.ErrUnsupported, "OpenAI's Responses API has no words to stop at",
			"leave them out, or use Chat Completions where the model is made")
	case m.thinks && m.vendors:
		return nil, notSent(event.ErrUnsupported, "Models of OpenAI that reason take no words to stop at", "leave them out, or take another model")
	case n > most && m.vendors:
		return nil, notSent(event.ErrInvalid, "there are %d words to stop at; OpenAI's API takes four", "leave some out", n)
	}
	b[len(b)-1] = ']'
	return b, nil
}

// appendChoice writes tool_choice.
func (m *Model) appendChoice(b []byte, req *model.Request) ([]byte, error) {
	c := &req.ToolChoice
	if len(req.Tools) == 0 {
		return b, nil
	}
	switch c.Mode {
	case model.ToolsFree:
	case model.ToolsAny:
		if err := m.canForce(&req.Options); err != nil {
			return nil, err
		}
		b = strictjson.AppendString(append(b, `,"tool_choice":`...), m.forced())
	case model.ToolsNone:
		return append(b, `,"tool_choice":"none"`...), nil
	case model.ToolsOne:
		if !slices.ContainsFunc(req.Tools, func(t model.ToolSpec) bool { return t.Name == c.Tool }) {
			return nil, notSent(event.ErrInvalid, "there is no tool %q to choose", "name one of the agent's tools", c.Tool)
		}
		named, err := m.canName(req)
		if err != nil {
			return nil, err
		}
		switch {
		case !named:
			b = strictjson.AppendString(append(b, `,"tool_choice":`...), m.forced())
		case m.api == Responses:
			b = strictjson.AppendString(append(b, `,"tool_choice":{"type":"function","name":`...), toolNames.Wire(c.Tool))
			b = append(b, '}')
		default:
			b = strictjson.AppendString(append(b, `,"tool_choice":{"type":"function","function":{"name":`...), toolNames.Wire(c.Tool))
			b = append(b, '}', '}')
		}
	default:
		return nil, notSent(event.ErrUnsupported, "there is no such choice of tools: %q", "use one of the known ones", string(c.Mode))
	}
	if c.Serial && !m.dialect.NoSerial {
		b = append(b, `,"parallel_tool_calls":false`...)
	}
	return b, nil
}
