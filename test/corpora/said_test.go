package corpora

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
)

// said is what an answer says, as far as providers must agree about it.
type said struct {
	Text, Thinking string
	Calls          []call
	In, Out        int64
	// Cached is how much of In came from a cache.
	Cached int64
	// Stop is why the answer ended; "" is a reason that this reader does not know.
	Stop event.StopReason
}

// stops are the vendors' reasons.
var stops = map[string]event.StopReason{
	"end_turn": event.StopEndTurn, "stop": event.StopEndTurn, "STOP": event.StopEndTurn, "completed": event.StopEndTurn,
	"tool_use": event.StopToolUse, "tool_calls": event.StopToolUse,
	"max_tokens": event.StopMaxTokens, "length": event.StopMaxTokens, "MAX_TOKENS": event.StopMaxTokens, "max_output_tokens": event.StopMaxTokens,
	"stop_sequence": event.StopSequence, "refusal": event.StopRefusal, "content_filter": event.StopContentFiltered,
}

type call struct{ Name, Args string }

// thoughts and words are joined from pieces; a call's arguments come in pieces too.
type reader struct {
	said

	// summedIn and summedOut are what Claude's summaries of the conversation took.
	summedIn, summedOut int64

	calls map[string]*call
	order []string
	// word is the vendor's reason for the end.
	word string
}

// ended takes the vendor's reason for the end, where there is one.
func (r *reader) ended(v value) {
	if w := v.text(); w != "" {
		r.word = w
	}
}

func (r *reader) call(key, name, args string) {
	if r.calls == nil {
		r.calls = map[string]*call{}
	}
	c := r.calls[key]
	if c == nil {
		c = &call{}
		r.calls[key] = c
		r.order = append(r.order, key)
	}
	c.Name += name
	c.Args += args
}

func (r *reader) done() said {
	r.In, r.Out = r.In+r.summedIn, r.Out+r.summedOut
	for _, key := range r.order {
		c := r.calls[key]
		r.Calls = append(r.Calls, call{c.Name, canonical(c.Args)})
	}
	// These end an answer with calls as any other.
	if r.Stop = stops[r.word]; len(r.Calls) > 0 && (r.word == "stop" || r.word == "STOP" || r.word == "completed") {
		r.Stop = event.StopToolUse
	}
	return r.said
}

// canonical is JSON with sorted names; what is no JSON stays as it is.
func canonical(s string) string {
	if strings.TrimSpace(s) == "" {
		return "{}"
	}
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return s
	}
	if text, ok := v.(string); ok && strings.HasPrefix(text, "{") { // an object in a string
		return canonical(text)
	}
	b, _ := json.Marshal(v)
	return string(b)
}

// expected reads an answer by the vendor's format.
func (x *exchange) expected() (said, error) {
	r := &reader{}
	if x.stream {
		return r.stream(x)
	}
	var v value
	if err := decode(x.body, &v); err != nil {
		return said{}, err
	}
	switch x.api {
	case anthropicAPI, invokeAPI:
		r.anthropicMessage(v)
	case converseAPI:
		r.converseMessage(v)
	case geminiAPI:
		r.gemini(v)
	case chatAPI:
		r.chat(v.at("choices").item(0).at("message"), v)
	case responsesAPI:
		r.response(v)
	}
	return r.done(), nil
}

func (r *reader) stream(x *exchange) (said, error) {
	if x.api == converseAPI {
		r.converseStream(x.body)
		return r.done(), nil
	}
	for _, data := range x.events() {
		var v value
		if string(data) == "[DONE]" || len(data) == 0 {
			continue
		}
		if err := decode(data, &v); err != nil {
			return said{}, fmt.Errorf("%w in %.80s", err, data)
		}
		switch x.api {
		case anthropicAPI, invokeAPI:
			r.anthropicEvent(v)
		case geminiAPI:
			r.gemini(v)
		case chatAPI:
			r.chat(v.at("choices").item(0).at("delta"), v)
		case responsesAPI:
			switch v.at("type").text() {
			case "response.completed", "response.incomplete":
				r.response(v.at("response"))
			case "":
			}
		}
	}
	return r.done(), nil
}

func (r *reader) anthropicMessage(v value) {
	for i, b := range v.at("content").items() {
		r.anthropicBlock(i, b)
	}
	r.anthropicUsage(v.at("usage"))
	r.ended(v.at("stop_reason"))
}

func (r *reader) anthropicUsage(u value) {
	if n := u.at("cache_read_input_tokens").number(); n > 0 {
		r.Cached = n
	}
	if n := u.at("input_tokens").number(); n > 0 {
		r.In = n + u.at("cache_read_input_tokens").number() + u.at("cache_creation_input_tokens").number()
	}
	if n := u.at("output_tokens").number(); n > 0 {
		r.Out = n
	}
	if u.at("iterations").there() {
		r.summedIn, r.summedOut = 0, 0
	}
	for _, i := range u.at("iterations").items() {
		if i.at("type").text() == "compaction" {
			r.summedIn += i.at("input_tokens").number() + i.at("cache_read_input_tokens").number() + i.at("cache_creation_input_tokens").number()
			r.summedOut += i.at("output_tokens").number()
		}
	}
}

func (r *reader) anthropicBlock(i int, b value) {
	switch b.at("type").text() {
	case "text":
		r.Text += b.at("text").text()
	case "thinking":
		r.Thinking += b.at("thinking").text()
	case "tool_use":
		args := ""
		if in := b.at("input"); len(in.items()) > 0 || len(in.names()) > 0 {
			args = in.raw()
		}
		r.call(fmt.Sprint(i), b.at("name").text(), args)
	}
}

func (r *reader) anthropicEvent(v value) {
	switch v.at("type").text() {
	case "message_start":
		r.anthropicUsage(v.at("message").at("usage"))
	case "content_block_start":
		r.anthropicBlock(int(v.at("index").number()), v.at("content_block"))
	case "content_block_delta":
		d := v.at("delta")
		r.Text += d.at("text").text()
		r.Thinking += d.at("thinking").text()
		if key := fmt.Sprint(v.at("index").number()); d.at("type").text() == "input_json_delta" && r.calls[key] != nil {
			r.call(key, "", d.at("partial_json").text())
		}
	case "message_delta":
		r.anthropicUsage(v.at("usage"))
		r.ended(v.at("delta").at("stop_reason"))
	}
}

func (r *reader) converseMessage(v value) {
	for i, b := range v.at("output").at("message").at("content").items() {
		if u := b.at("toolUse"); u.there() {
			if u.at("type").text() != "server_tool_use" {
				r.call(fmt.Sprint(i), u.at("name").text(), u.at("input").raw())
			}
			continue
		}
		r.Thinking += b.at("reasoningContent").at("reasoningText").at("text").text()
		r.Text += b.at("text").text()
		for _, c := range b.at("citationsContent").at("content").items() {
			r.Text += c.at("text").text()
		}
	}
	r.converseUsage(v.at("usage"))
	r.ended(v.at("stopReason"))
}

func (r *reader) converseUsage(u value) {
	r.In = u.at("inputTokens").number() + u.at("cacheReadInputTokens").number() + u.at("cacheWriteInputTokens").number()
	r.Out = u.at("outputTokens").number()
	r.Cached = u.at("cacheReadInputTokens").number()
}

func (r *reader) converseStream(body []byte) {
	for _, f := range frames(body) {
		var v value
		if decode(f.payload, &v) != nil {
			continue
		}
		key := fmt.Sprint(v.at("contentBlockIndex").number())
		switch f.name {
		case "contentBlockStart":
			if u := v.at("start").at("toolUse"); u.there() && u.at("type").text() != "server_tool_use" {
				r.call(key, u.at("name").text(), "")
			}
		case "contentBlockDelta":
			d := v.at("delta")
			r.Text += d.at("text").text()
			r.Thinking += d.at("reasoningContent").at("text").text()
			if u := d.at("toolUse"); u.there() && r.calls[key] != nil {
				r.call(key, "", u.at("input").text())
			}
		case "messageStop":
			r.ended(v.at("stopReason"))
		case "metadata":
			r.converseUsage(v.at("usage"))
		}
	}
}

func (r *reader) gemini(v value) {
	for _, p := range v.at("candidates").item(0).at("content").at("parts").items() {
		switch {
		case p.at("functionCall").there():
			c := p.at("functionCall")
			r.call(fmt.Sprint(len(r.order)), c.at("name").text(), c.at("args").raw())
		case p.at("thought").yes():
			r.Thinking += p.at("text").text()
		default:
			r.Text += p.at("text").text()
		}
	}
	r.ended(v.at("candidates").item(0).at("finishReason"))
	if u := v.at("usageMetadata"); u.there() {
		r.Cached = u.at("cachedContentTokenCount").number()
		r.In = u.at("promptTokenCount").number() + u.at("toolUsePromptTokenCount").number()
		r.Out = u.at("candidatesTokenCount").number() + u.at("thoughtsTokenCount").number()
	}
}

func (r *reader) chat(m, whole value) {
	r.Text += m.at("content").text()
	for _, p := range m.at("content").items() { // Mistral's parts
		if p.at("type").text() == "thinking" {
			for _, t := range p.at("thinking").items() {
				r.Thinking += t.at("text").text()
			}
			r.Thinking += p.at("thinking").text()
			continue
		}
		r.Text += p.at("text").text()
	}
	thinking := m.at("reasoning_content").text()
	if thinking == "" {
		thinking = m.at("reasoning").text()
	}
	r.Thinking += thinking
	for i, c := range m.at("tool_calls").items() {
		key := fmt.Sprint(i)
		if n := c.at("index"); n.there() {
			key = fmt.Sprint(n.number())
		} else if id := c.at("id").text(); id != "" {
			key = id
		}
		f := c.at("function")
		args := f.at("arguments").text()
		if args == "" && len(f.at("arguments").names()) > 0 {
			args = f.at("arguments").raw()
		}
		name := f.at("name").text()
		if known := r.calls[key]; known != nil && known.Name == name {
			name = "" // some servers say it again in each piece
		}
		r.call(key, name, args)
	}
	r.ended(whole.at("choices").item(0).at("finish_reason"))
	u := whole.at("usage")
	if !u.there() {
		u = whole.at("x_groq").at("usage")
	}
	if u.there() {
		r.In, r.Out = u.at("prompt_tokens").number(), u.at("completion_tokens").number()
		r.Cached = u.at("prompt_tokens_details").at("cached_tokens").number()
		// xAI counts reasoning beside the completion, others as a part of it: the total tells.
		thought := u.at("completion_tokens_details").at("reasoning_tokens").number()
		if thought > 0 && u.at("total_tokens").number() == r.In+r.Out+thought {
			r.Out += thought
		}
	}
}

func (r *reader) response(v value) {
	for i, item := range v.at("output").items() {
		switch item.at("type").text() {
		case "message":
			for _, c := range item.at("content").items() {
				r.Text += c.at("text").text() + c.at("refusal").text()
			}
		case "reasoning":
			var parts []string
			for _, s := range item.at("summary").items() {
				parts = append(parts, s.at("text").text())
			}
			for _, s := range item.at("content").items() {
				parts = append(parts, s.at("text").text())
			}
			r.Thinking += strings.Join(parts, "\n\n") // as the provider shows them
		case "custom_tool_call": // Braid gives its input as an argument
			input, _ := json.Marshal(map[string]string{"input": item.at("input").text()})
			r.call(fmt.Sprint(i), item.at("name").text(), string(input))
		case "function_call":
			r.call(fmt.Sprint(i), item.at("name").text(), item.at("arguments").text())
		}
	}
	u := v.at("usage")
	r.In, r.Out = u.at("input_tokens").number(), u.at("output_tokens").number()
	r.Cached = u.at("input_tokens_details").at("cached_tokens").number()
	if r.ended(v.at("status")); r.word == "incomplete" {
		r.word = v.at("incomplete_details").at("reason").text()
	}
}

// value is a JSON value of unknown form; a wrong step gives one that is not there.
type value struct{ v any }

func decode(b []byte, v *value) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	return d.Decode(&v.v)
}

func (v value) at(name string) value {
	m, _ := v.v.(map[string]any)
	return value{m[name]}
}

func (v value) items() []value {
	list, _ := v.v.([]any)
	out := make([]value, len(list))
	for i := range list {
		out[i] = value{list[i]}
	}
	return out
}

func (v value) item(i int) value {
	list, _ := v.v.([]any)
	if i < len(list) {
		return value{list[i]}
	}
	return value{}
}

func (v value) names() (out []string) {
	m, _ := v.v.(map[string]any)
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func (v value) there() bool { return v.v != nil }

func (v value) text() string {
	s, _ := v.v.(string)
	return s
}

func (v value) yes() bool {
	b, _ := v.v.(bool)
	return b
}

func (v value) number() int64 {
	n, _ := v.v.(json.Number)
	i, err := n.Int64()
	if err != nil {
		f, _ := n.Float64()
		return int64(f)
	}
	return i
}

func (v value) raw() string {
	if v.v == nil {
		return ""
	}
	b, _ := json.Marshal(v.v)
	return string(b)
}
