package gemini

import (
	"encoding/json"
	"maps"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/provider"
	"github.com/braidrun/braid/model/internal/schema"
)

// body returns a request's body, and a map from changed tool names back to the tools.
//
// The members have a fixed order: instructions, tools and messages, which is the order in the prompt, and then
// whatever may change between calls. So the next body begins with the same bytes, up to the end of this one's
// messages. The prompt does so too, and the vendor caches its beginning.
func (m *Model) body(req *model.Request) ([]byte, map[string]string, error) {
	if req == nil || len(req.Messages) == 0 {
		return nil, nil, notSent(event.ErrInvalid, "there is nothing to ask the model", "give it a message")
	}
	if err := unsupported(req.Messages); err != nil {
		return nil, nil, err
	}
	tail, err := m.tail(req)
	if err != nil {
		return nil, nil, err
	}
	kept := &m.kept
	if m.mixes(req) {
		kept = &m.mixed // the larger cached encodings
	}
	h := kept.Take(req)
	defer kept.Put(h)
	e := &h.Encoder
	e.sees, e.signs, e.ids.bare, e.apart = m.generation >= levels, m.generation >= levels, m.vertex, !m.mixes(req)
	head, err := e.head.Of(req, func(before []byte) ([]byte, error) { return m.appendHead(before[:0], req) })
	if err != nil {
		return nil, nil, err
	}
	h.Update(req.Messages)
	server := m.appendServerTools(nil, req.Options.ServerTools)
	body := make([]byte, 0, len(head)+len(server)+len(between)+len(e.dst)+len(tail))
	body = append(body, head...)
	body = m.closeHead(body, req, server)
	body = append(body, e.dst[:len(e.dst)-1]...)
	return append(body, tail...), toolNames.Back(req.Tools), nil
}

// between is the longest text that [Model.closeHead] writes beside the vendor's tools.
const between = `"tools":[],"contents":[`

// closeHead writes the text between the agent's tools and the messages.
func (m *Model) closeHead(b []byte, req *model.Request, server []byte) []byte {
	functions := len(req.Tools) > 0 && m.cached == ""
	switch {
	case functions && len(server) > 0:
		b = append(append(b, ','), server[:len(server)-1]...)
	case len(server) > 0:
		b = append(append(b, `"tools":[`...), server[:len(server)-1]...)
	}
	if functions || len(server) > 0 {
		b = append(b, `],`...)
	}
	return append(b, `"contents":[`...)
}

// appendHead writes everything up to the agent's tools.
func (m *Model) appendHead(b []byte, req *model.Request) ([]byte, error) {
	b = append(b, '{')
	if m.cached != "" {
		b = strictjson.AppendString(append(b, `"cachedContent":`...), m.cached)
		return append(b, ','), nil
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
		b = append(b[:len(b)-1], `]}`...)
	}
	return b, nil
}

// appendTool writes the description of a tool, and a comma. A tool without parameters has no schema.
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

// members are the request's members that Braid writes, in both spellings that the API accepts.
var members = []string{
	"contents", "systemInstruction", "system_instruction", "tools", "toolConfig", "tool_config", "generationConfig", "generation_config",
	"safetySettings", "safety_settings", "cachedContent", "cached_content", "serviceTier", "service_tier", "model",
}

// configMembers are those of the generation config.
var configMembers = []string{
	"maxOutputTokens", "max_output_tokens", "temperature", "topP", "top_p", "seed", "stopSequences", "stop_sequences", "thinkingConfig",
	"thinking_config", "responseMimeType", "response_mime_type", "responseJsonSchema", "response_json_schema", "responseSchema", "response_schema",
	"candidateCount", "candidate_count",
}

// tail returns everything after the messages, beginning with their closing bracket.
func (m *Model) tail(req *model.Request) ([]byte, error) {
	if err := m.checkOptions(req); err != nil {
		return nil, err
	}
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
			return nil, notSent(event.ErrInternal, "the safety settings cannot be written", "give other ones")
		}
		b = append(append(b, `,"safetySettings":`...), settings...)
	}
	if t := req.Options.ServiceTier; t != "" && !m.vertex {
		b = strictjson.AppendString(append(b, `,"serviceTier":`...), t)
	}
	extra := maps.Clone(req.Options.Extra)
	delete(extra, "generationConfig") // its members are merged into ours
	if b, err = provider.AppendExtra(b, op, extra, members...); err != nil {
		return nil, err
	}
	return append(b, '}'), nil
}

// checkOptions refuses settings that the API does not support.
func (m *Model) checkOptions(req *model.Request) error {
	o := &req.Options
	no := func(message, hint string) error { return notSent(event.ErrUnsupported, message, hint) }
	switch {
	case o.Verbosity != "":
		return no("Gemini has no setting for how long answers are", "leave the verbosity out, and say it in the instructions")
	case o.Context.Any():
		return no("Gemini does not shorten conversations itself", "leave the vendor's management of the context out; Braid can shorten them")
	case o.TopP != nil && !(*o.TopP > 0 && *o.TopP <= 1):
		return notSent(event.ErrInvalid, "TopP is no share of probability", "give a number above 0, and 1 at most")
	case o.Seed != nil && (*o.Seed < math.MinInt32 || *o.Seed > math.MaxInt32):
		return no("Gemini takes seeds of 32 bits", "take a smaller seed")
	}
	if err := m.tier(o.ServiceTier); err != nil {
		return err
	}
	if _, err := m.headers(o); err != nil {
		return err
	}
	return m.checkServerTools(req)
}

// headers returns the header fields that the options set.
func (m *Model) headers(o *model.Options) (http.Header, error) {
	h, err := provider.Headers(op, o.Headers, sharedType)
	if err != nil {
		return nil, err
	}
	if m.vertex && o.ServiceTier != "" && o.ServiceTier != "standard" {
		if h == nil {
			h = http.Header{}
		}
		h.Set(sharedType, o.ServiceTier)
	}
	return h, nil
}

// appendConfig writes the members of the generation config, each followed by a comma.
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
	if o.TopP != nil {
		b = strconv.AppendFloat(append(b, `"topP":`...), *o.TopP, 'g', -1, 64)
		b = append(b, ',')
	}
	if o.Seed != nil {
		b = strconv.AppendInt(append(b, `"seed":`...), *o.Seed, 10)
		b = append(b, ',')
	}
	b, err := appendStops(b, o.StopWords)
	if err != nil {
		return nil, err
	}
	if b, err = m.appendOutput(b, req); err != nil {
		return nil, err
	}
	if b, err = m.appendThinking(b, o); err != nil {
		return nil, err
	}
	return appendConfigExtra(b, o.Extra["generationConfig"])
}

// appendConfigExtra writes Extra's members of the generation config, each followed by a comma.
func appendConfigExtra(b []byte, config json.RawMessage) ([]byte, error) {
	if config == nil {
		return b, nil
	}
	var extra map[string]json.RawMessage
	if json.Unmarshal(config, &extra) != nil || extra == nil {
		return nil, notSent(event.ErrInvalid, "the generationConfig that is added to requests is not a JSON object", "write it as an object")
	}
	from := len(b)
	b, err := provider.AppendExtra(b, op, extra, configMembers...)
	if err != nil || len(b) == from {
		return b, err
	}
	// AppendExtra puts a comma before each member; move it behind.
	copy(b[from:], b[from+1:])
	b[len(b)-1] = ','
	return b, nil
}

// appendStops writes the stop sequences. It skips blank ones, which have no meaning.
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
	const most = 5 // the API's limit
	if n > most {
		return nil, notSent(event.ErrInvalid, "there are %d words to stop at; the Gemini API takes five", "leave some out", n)
	}
	if n > 0 {
		b[len(b)-1] = ']'
		b = append(b, ',')
	}
	return b, nil
}

// appendOutput writes the answer's schema (docs/structured-output).
func (m *Model) appendOutput(b []byte, req *model.Request) ([]byte, error) {
	if req.Output == nil {
		return b, nil
	}
	if len(req.Tools) > 0 && m.generation < levels {
		return nil, notSent(event.ErrUnsupported, "this model takes no schema for its answer beside tools",
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

// described appends a schema, with words added to its description.
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
