package gemini

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/schema"
	"github.com/braidrun/braid/model/internal/toolname"
)

// toolNames is what the API takes as the name of a function
// (api/caching#FunctionDeclaration). It takes dots and colons too, which are left
// to it: it puts a space of names in front of them.
var toolNames = toolname.Rule{Max: 64, Hyphen: true, Letter: true}

// body gives a request's body, and the names of tools that were changed in it.
//
// Members stand in an order of their own: instructions, tools and messages first,
// in the order in which a prompt is made of them, and then what may change from
// call to call. So the body of the next request begins with the bytes of this
// one, up to the end of its messages, and so does the prompt, of which the vendor
// caches the beginning.
func (m *Model) body(req *model.Request) ([]byte, map[string]string, error) {
	if req == nil || len(req.Messages) == 0 {
		return nil, nil, notSent(event.ErrInvalid, "There is nothing to ask the model.", "give it a message")
	}
	if err := unsupported(req.Messages); err != nil {
		return nil, nil, err
	}
	tail, err := m.tail(req)
	if err != nil {
		return nil, nil, err
	}
	h := m.kept.Take(req)
	defer m.kept.Put(h)
	e := &h.Encoder
	e.sees, e.signs, e.ids.bare = m.generation >= levels, m.generation >= levels, m.vertex
	head, err := e.head.Of(req, func(before []byte) ([]byte, error) { return m.appendHead(before[:0], req) })
	if err != nil {
		return nil, nil, err
	}
	h.Update(req.Messages)
	body := make([]byte, 0, len(head)+len(e.dst)+len(tail))
	body = append(body, head...)
	body = append(body, e.dst[:len(e.dst)-1]...)
	return append(body, tail...), toolNames.Back(req.Tools), nil
}

// appendHead writes what stands before the messages.
func (m *Model) appendHead(b []byte, req *model.Request) ([]byte, error) {
	b = append(b, '{')
	if m.cached != "" {
		b = strictjson.AppendString(append(b, `"cachedContent":`...), m.cached)
		return append(b, `,"contents":[`...), nil
	}
	if strings.TrimSpace(req.Instructions) != "" {
		b = strictjson.AppendString(append(b, `"systemInstruction":{"parts":[{"text":`...), req.Instructions)
		b = append(b, `}]},`...)
	}
	if len(req.Tools) > 0 {
		b = append(b, `"tools":[{"functionDeclarations":[`...)
		for i := range req.Tools {
			var err error
			if b, err = m.appendTool(b, &req.Tools[i]); err != nil {
				return nil, err
			}
		}
		b = append(b[:len(b)-1], `]}],`...)
	}
	return append(b, `"contents":[`...), nil
}

// appendTool writes what the model is told about a tool, and a comma. A tool
// without parameters has no schema at all.
func (m *Model) appendTool(b []byte, t *model.ToolSpec) ([]byte, error) {
	form, problems := m.forms.Form(t.Schema, toolSchemas)
	if p, ok := schema.Worst(problems, schema.Fatal); ok {
		return nil, notSent(event.ErrInvalid, "Gemini cannot take the parameters of the tool %q: %s",
			"change the tool's schema at "+place(p.At), t.Name, p.Text)
	}
	b = strictjson.AppendString(append(b, `{"name":`...), toolNames.Wire(t.Name))
	description := strings.TrimSpace(strings.TrimSpace(t.Description) + "\n\n" + schema.Words(problems))
	if description != "" {
		b = strictjson.AppendString(append(b, `,"description":`...), description)
	}
	if len(form) > 0 {
		b = append(append(b, `,"parametersJsonSchema":`...), form...)
	}
	return append(b, '}', ','), nil
}

// place is a pointer for people.
func place(at string) string {
	if at == "" {
		return "its top"
	}
	return at
}

// tail is what stands behind the messages, with the bracket that closes them.
func (m *Model) tail(req *model.Request) ([]byte, error) {
	b := append(make([]byte, 0, 192), ']')
	b, err := m.appendChoice(b, req)
	if err != nil {
		return nil, err
	}
	const config = `,"generationConfig":{`
	b = append(b, config...)
	from := len(b)
	if b, err = m.appendConfig(b, req); err != nil {
		return nil, err
	}
	if len(b) == from {
		b = b[:from-len(config)]
	} else {
		b[len(b)-1] = '}'
	}
	if len(m.safety) > 0 {
		settings, err := json.Marshal(m.safety)
		if err != nil {
			return nil, notSent(event.ErrInternal, "The safety settings cannot be written.", "give other ones")
		}
		b = append(append(b, `,"safetySettings":`...), settings...)
	}
	return append(b, '}'), nil
}

// appendConfig writes the members of the generation config, each with a comma.
func (m *Model) appendConfig(b []byte, req *model.Request) ([]byte, error) {
	o := &req.Options
	if o.MaxTokens > 0 {
		b = strconv.AppendInt(append(b, `"maxOutputTokens":`...), int64(o.MaxTokens), 10)
		b = append(b, ',')
	}
	if o.Temperature != nil {
		b = strconv.AppendFloat(append(b, `"temperature":`...), *o.Temperature, 'g', -1, 64)
		b = append(b, ',')
	}
	b, err := appendStops(b, o.StopWords)
	if err != nil {
		return nil, err
	}
	if b, err = m.appendOutput(b, req); err != nil {
		return nil, err
	}
	return m.appendThinking(b, o.Thinking), nil
}

// appendStops writes the words that end an answer; blank ones mean nothing.
func appendStops(b []byte, words []string) ([]byte, error) {
	n := 0
	for _, w := range words {
		if strings.TrimSpace(w) == "" {
			continue
		}
		if n++; n == 1 {
			b = append(b, `"stopSequences":[`...)
		}
		b = append(strictjson.AppendString(b, w), ',')
	}
	const most = 5 // says the API
	if n > most {
		return nil, notSent(event.ErrInvalid, "There are %d words to stop at; the Gemini API takes five.", "leave some out", n)
	}
	if n > 0 {
		b[len(b)-1] = ']'
		b = append(b, ',')
	}
	return b, nil
}

// appendOutput writes the schema of the answer (docs/structured-output).
func (m *Model) appendOutput(b []byte, req *model.Request) ([]byte, error) {
	if req.Output == nil {
		return b, nil
	}
	if len(req.Tools) > 0 && m.generation < levels {
		return nil, notSent(event.ErrUnsupported, "This model takes no schema for its answer beside tools.",
			"take Gemini 3 or later, or leave one of the two out")
	}
	form, problems := m.forms.Form(req.Output.Schema, schema.GeminiJSON)
	if p, ok := schema.Worst(problems, schema.Fatal); ok {
		return nil, notSent(event.ErrInvalid, "Gemini cannot take the schema of the answer: %s",
			"change the schema at "+place(p.At), p.Text)
	}
	b = append(b, `"responseMimeType":"application/json",`...)
	if len(form) > 0 {
		words := strings.Replace(schema.Words(problems), "The input must", "The answer must", 1)
		b = append(described(append(b, `"responseJsonSchema":`...), form, words), ',')
	}
	return b, nil
}

// described appends a schema with words behind its description.
func described(b, schema []byte, words string) []byte {
	if words == "" || len(schema) < 2 || schema[0] != '{' {
		return append(b, schema...)
	}
	var r strictjson.Reader
	r.Reset(schema, strictjson.DefaultDepth)
	b = append(b, '{')
	for o := r.Object(); o.Next(); {
		if string(o.Key) == "description" && r.Peek() == '"' {
			words = r.String() + "\n\n" + words
			continue
		}
		b = append(strictjson.AppendString(b, string(o.Key)), ':')
		b = append(append(b, r.Verbatim(strictjson.DefaultDepth)...), ',')
	}
	return append(strictjson.AppendString(append(b, `"description":`...), words), '}')
}

// appendThinking writes how much the model is to think, in its own measure: a
// budget of tokens, or a level from Gemini 3 on (docs/thinking).
func (m *Model) appendThinking(b []byte, budget int) []byte {
	if m.generation < budgets {
		return b
	}
	const config = `"thinkingConfig":{`
	b = append(b, config...)
	from := len(b)
	show := budget > 0
	if m.thoughts != nil {
		show = *m.thoughts
	}
	if show {
		b = append(b, `"includeThoughts":true,`...)
	}
	level := string(m.level)
	if budget > 0 {
		level = levelOf(budget)
	}
	switch {
	case m.generation >= levels && level != "":
		b = append(append(append(b, `"thinkingLevel":"`...), level...), '"', ',')
	case m.generation < levels && budget > 0:
		n := min(max(budget, leastBudget(m.name)), mostBudget(m.name))
		b = append(strconv.AppendInt(append(b, `"thinkingBudget":`...), int64(n), 10), ',')
	}
	if len(b) == from {
		return b[:from-len(config)]
	}
	b[len(b)-1] = '}'
	return append(b, ',')
}

// levelOf is the level that stands for a budget of tokens.
func levelOf(budget int) string {
	switch {
	case budget < 2048:
		return "LOW"
	case budget < 16384:
		return "MEDIUM"
	default:
		return "HIGH"
	}
}

// appendChoice writes what the model must do about tools (docs/function-calling).
// That it should call one alone cannot be said: see [decoder].
func (m *Model) appendChoice(b []byte, req *model.Request) ([]byte, error) {
	c := &req.ToolChoice
	if len(req.Tools) == 0 {
		return b, nil
	}
	mode, only := "", ""
	switch c.Mode {
	case model.ToolsFree:
	case model.ToolsAny:
		mode = "ANY"
	case model.ToolsNone:
		mode = "NONE"
	case model.ToolsOne:
		if !slices.ContainsFunc(req.Tools, func(t model.ToolSpec) bool { return t.Name == c.Tool }) {
			return nil, notSent(event.ErrInvalid, "There is no tool %q to choose.", "name one of the agent's tools", c.Tool)
		}
		mode, only = "ANY", toolNames.Wire(c.Tool)
	default:
		return nil, notSent(event.ErrUnsupported, "There is no such choice of tools: %q.", "use one of the known ones", string(c.Mode))
	}
	if mode == "" {
		return b, nil
	}
	if m.cached != "" {
		return nil, notSent(event.ErrUnsupported, "Gemini takes no choice of tools beside cached content.",
			"leave the choice free, or make the model without cached content")
	}
	b = append(append(append(b, `,"toolConfig":{"functionCallingConfig":{"mode":"`...), mode...), '"')
	if only != "" {
		b = strictjson.AppendString(append(b, `,"allowedFunctionNames":[`...), only)
		b = append(b, ']')
	}
	return append(b, '}', '}'), nil
}
