package openai

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model"
)

// chatDecoder turns the events of Chat Completions into chunks (api-reference/chat-streaming).
// The API does not number text and thinking, so a block ends when a piece of another kind
// arrives. Unknown members are skipped.
type chatDecoder struct {
	to sender
	// once is set for an answer without streaming.
	once bool

	r     strictjson.Reader
	begun bool
	next  int             // the index of the next block
	kind  model.ChunkKind // the kind of the open block
	index int
	calls []chatCall

	// host is the server's host. seen records how the answer contained its thinking.
	host string
	seen seen

	stop    string
	word    bool // a stop sequence was reached; few servers report it
	refused bool
}

type chatCall struct {
	// wire is the server's index of the call, index that of its block.
	wire, index int
	id          string
}

func (d *chatDecoder) sender() *sender { return &d.to }

var doneMark = []byte("[DONE]")

// event decodes one event.
func (d *chatDecoder) event(data []byte) error {
	if d.delta(data) {
		return nil
	}
	if bytes.Equal(bytes.TrimSpace(data), doneMark) {
		return d.marked()
	}
	return d.whole(data)
}

// delta is the fast path for pieces of text, reasoning and arguments. It reports false, without
// side effects, for every other event and for anything unexpected.
func (d *chatDecoder) delta(data []byte) bool {
	if !d.begun {
		return false
	}
	const nested = 16
	r := &d.r
	r.Reset(data, nested)
	var p piece
	for o := r.Object(); o.Next(); {
		switch string(o.Key) {
		case "choices":
			if !p.choices(r) {
				return false
			}
		case "usage", "error", "x_groq":
			if !r.Null() {
				return false
			}
		default:
			r.Skip()
		}
	}
	if r.End() != nil || p.kind == 0 {
		return false
	}
	call := d.call(p.wire)
	switch {
	case p.kind == model.ChunkCallInput && call < 0:
		return false
	case len(p.text) == 0:
	case p.kind == model.ChunkCallInput:
		d.to.send(model.Chunk{Kind: p.kind, Index: d.calls[call].index, Text: string(p.text)})
	default:
		if p.kind == model.ChunkThinking {
			d.seen.content, d.seen.member = d.seen.content || p.content, d.seen.member || p.member
		}
		d.say(p.kind, string(p.text))
	}
	return true
}

// piece is the one text that the fast path found in an event.
type piece struct {
	kind model.ChunkKind
	text []byte
	wire int
	// content and member are set by the members that held the thinking; both may be set.
	content, member bool
}

// set stores a text that may be null. It reports false if there already is one.
func (p *piece) set(r *strictjson.Reader, kind model.ChunkKind) bool {
	if r.Null() {
		return true
	}
	text := r.Bytes()
	if p.kind != 0 {
		// Some servers send an empty text beside each piece of reasoning.
		if len(text) == 0 {
			return true
		}
		if len(p.text) != 0 {
			return false
		}
	}
	p.kind, p.text = kind, text
	return true
}

func (p *piece) choices(r *strictjson.Reader) bool {
	n := 0
	for a := r.Array(); a.Next(); n++ {
		for o := r.Object(); o.Next(); {
			switch string(o.Key) {
			case "index":
				if r.Int() != 0 {
					return false
				}
			case "delta":
				if !p.delta(r) {
					return false
				}
			case "finish_reason", "stop_reason":
				if !r.Null() {
					return false
				}
			default:
				r.Skip()
			}
		}
	}
	return n == 1
}

func (p *piece) delta(r *strictjson.Reader) bool {
	for o := r.Object(); o.Next(); {
		switch string(o.Key) {
		case "content":
			if !p.set(r, model.ChunkText) {
				return false
			}
		case "reasoning_content", "reasoning":
			member := len(o.Key) == len("reasoning")
			p.content, p.member = p.content || !member, p.member || member
			if !p.set(r, model.ChunkThinking) {
				return false
			}
		case "reasoning_details":
			if !r.Null() {
				for a := r.Array(); a.Next(); {
					return false
				}
			}
		case "refusal":
			if !r.Null() {
				return false
			}
		case "tool_calls":
			if !p.toolCall(r) {
				return false
			}
		default:
			r.Skip()
		}
	}
	return true
}

// toolCall decodes a piece of the arguments of one call that began earlier.
func (p *piece) toolCall(r *strictjson.Reader) bool {
	n, wire := 0, -1
	for a := r.Array(); a.Next(); n++ {
		for o := r.Object(); o.Next(); {
			switch string(o.Key) {
			case "index":
				wire = r.Int()
			case "id":
				return false
			case "function":
				for f := r.Object(); f.Next(); {
					if string(f.Key) != "arguments" || r.Peek() != '"' || !p.set(r, model.ChunkCallInput) {
						return false
					}
				}
			default:
				r.Skip()
			}
		}
	}
	p.wire = wire
	return n == 1 && wire >= 0 && p.kind == model.ChunkCallInput
}

// chatEvent is any event.
type chatEvent struct {
	ID      string          `json:"id"`
	Model   string          `json:"model"`
	Choices []chatChoice    `json:"choices"`
	Usage   *chatUsage      `json:"usage"`
	Error   json.RawMessage `json:"error"`
	// Groq holds the usage if the request does not ask for it, and the reason of a failure
	// (groq-python, types/chat/chat_completion_chunk.py).
	Groq *struct {
		Usage *chatUsage `json:"usage"`
		Error string     `json:"error"`
	} `json:"x_groq"`
	// Some servers send an error in place of an event.
	Object  string `json:"object"`
	Message string `json:"message"`
}

type chatChoice struct {
	Index int        `json:"index"`
	Delta *chatDelta `json:"delta"`
	// Message is the complete message of an answer without streaming. Perplexity always sends
	// both: the message so far beside each delta, and an empty delta beside a complete message.
	Message *chatDelta      `json:"message"`
	Finish  *string         `json:"finish_reason"`
	Stop    json.RawMessage `json:"stop_reason"`
	// Error is set by OpenRouter if the model's host failed (api-reference/errors).
	Error json.RawMessage `json:"error"`
}

// chatDelta is a piece of an answer, or a complete one.
type chatDelta struct {
	Content   chatContent    `json:"content"`
	Refusal   string         `json:"refusal"`
	Thought   string         `json:"reasoning_content"`
	Reasoning string         `json:"reasoning"`
	Details   []detail       `json:"reasoning_details"`
	Calls     []chatCallPart `json:"tool_calls"`
}

// chatContent is a text, or the list of texts and thoughts that Mistral's reasoning models
// send.
type chatContent struct{ text, thought string }

// UnmarshalJSON implements [json.Unmarshaler].
func (c *chatContent) UnmarshalJSON(data []byte) error {
	if data[0] != '[' {
		return json.Unmarshal(data, &c.text)
	}
	var parts []struct {
		Type    string          `json:"type"`
		Text    string          `json:"text"`
		Thought json.RawMessage `json:"thinking"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	for i := range parts {
		p := &parts[i]
		c.text += p.Text
		if len(p.Thought) > 0 {
			var inner chatContent
			if err := inner.UnmarshalJSON(p.Thought); err != nil {
				return err
			}
			c.thought += inner.text
		}
	}
	return nil
}

type chatCallPart struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
	// Extra is sent with a call by Google's compatible address.
	Extra struct {
		Google struct {
			Signature string `json:"thought_signature"`
		} `json:"google"`
	} `json:"extra_content"`
}

// all decodes an answer without streaming (api-reference/chat/object).
func (d *chatDecoder) all(data []byte) error {
	d.once = true
	if err := d.whole(data); err != nil {
		return err
	}
	if d.to.left {
		return nil
	}
	return d.marked() // a complete object needs no end mark
}

// whole decodes an event of any kind.
func (d *chatDecoder) whole(data []byte) error {
	var e chatEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	if some(e.Error) || e.Object == "error" && e.Message != "" {
		return errorOf(data)
	}
	if !d.begun && e.Model != "" {
		d.begun = true
		d.to.send(model.Chunk{Kind: model.ChunkResponse, ID: e.ID, Text: e.Model})
	}
	for i := range e.Choices {
		if c := &e.Choices[i]; c.Index == 0 {
			if some(c.Error) {
				return errorOf([]byte(`{"error":` + string(c.Error) + `}`))
			}
			d.choice(c)
		}
	}
	usage := e.Usage
	if e.Groq != nil {
		if e.Groq.Error != "" {
			return &apiError{kind: "server_error", message: e.Groq.Error}
		}
		if usage == nil {
			usage = e.Groq.Usage
		}
	}
	if usage != nil {
		u := usage.ours()
		d.to.send(model.Chunk{Kind: model.ChunkUsage, Usage: &u})
	}
	return d.failed()
}

// some reports whether raw holds a value other than null.
func some(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// failed returns the error for a finish reason that reports a failure. OpenRouter and Mistral
// use "error" (OpenRouter, api-reference/errors; Mistral, api/chat), DeepSeek
// "insufficient_system_resource" (api/create-chat-completion).
func (d *chatDecoder) failed() error {
	switch d.stop {
	case "error":
		return &apiError{kind: "server_error", message: "the answer ended with an error"}
	case "insufficient_system_resource":
		return &apiError{kind: "overloaded_error", code: d.stop, message: "the server's resources are insufficient"}
	default:
		return nil
	}
}

func (d *chatDecoder) choice(c *chatChoice) {
	switch {
	case c.Message != nil && (d.once || c.Delta == nil):
		d.piece(c.Message)
	case c.Delta != nil:
		d.piece(c.Delta)
	}
	if c.Finish != nil && *c.Finish != "" {
		d.stop = *c.Finish
	}
	if len(c.Stop) > 0 && c.Stop[0] == '"' {
		d.word = true
	}
}

// piece handles a piece of the answer, or a complete answer.
func (d *chatDecoder) piece(c *chatDelta) {
	thought := c.Thought
	d.seen.note(&c.Thought, &c.Reasoning, &c.Content.thought, c.Details)
	if thought == "" { // some servers send the same text in both
		thought = c.Reasoning
	}
	d.say(model.ChunkThinking, thought+c.Content.thought)
	d.say(model.ChunkText, c.Content.text)
	if c.Refusal != "" {
		d.refused = true
		d.say(model.ChunkText, c.Refusal)
	}
	for i := range c.Calls {
		d.part(&c.Calls[i])
	}
}

func (d *chatDecoder) say(kind model.ChunkKind, text string) {
	if text != "" {
		d.to.send(model.Chunk{Kind: kind, Index: d.block(kind), Text: text})
	}
}

// block returns the index of the block that a piece of this kind belongs to.
func (d *chatDecoder) block(kind model.ChunkKind) int {
	if d.kind != kind {
		d.kind, d.index = kind, d.next
		d.next++
		if kind == model.ChunkThinking {
			d.seen.blocks = append(d.seen.blocks, d.index)
		}
	}
	return d.index
}

// call returns the position of the newest call with this index; -1 if there is none.
func (d *chatDecoder) call(wire int) int {
	for i := len(d.calls) - 1; i >= 0; i-- {
		if d.calls[i].wire == wire {
			return i
		}
	}
	return -1
}

// part handles a piece of a call, its beginning, or a complete call. Some servers give all
// calls the same index, or none; then a new id begins a new call.
func (d *chatDecoder) part(p *chatCallPart) {
	at := len(d.calls) - 1
	switch {
	case p.Index != nil:
		at = d.call(*p.Index)
	case p.Function.Name != "":
		at = -1
	}
	if at >= 0 && p.ID != "" && p.Function.Name != "" && d.calls[at].id != p.ID {
		at = -1
	}
	if at < 0 {
		wire := -1 - len(d.calls)
		if p.Index != nil {
			wire = *p.Index
		}
		d.calls = append(d.calls, chatCall{wire: wire, index: d.next, id: p.ID})
		at = len(d.calls) - 1
		d.kind = model.ChunkCall
		d.next++
		d.to.send(model.Chunk{Kind: model.ChunkCall, Index: d.calls[at].index, ID: p.ID, Text: d.to.tool(p.Function.Name)})
	}
	if sign := p.Extra.Google.Signature; sign != "" {
		d.to.send(model.Chunk{Kind: model.ChunkSignature, Index: d.calls[at].index, Text: opaque(markGoogle, d.host, sign)})
	}
	if text := argumentText(p.Function.Arguments); text != "" {
		d.to.send(model.Chunk{Kind: model.ChunkCallInput, Index: d.calls[at].index, Text: text})
	}
}

// marked handles the end mark [DONE]. Snowflake sends it without a finish reason (recorded by
// pydantic-ai). Then it completes an answer with content; without content the stream was cut.
func (d *chatDecoder) marked() error {
	if d.stop == "" && d.next == 0 {
		return errCut
	}
	d.end()
	return nil
}

// ended handles the regular end of the body. It completes an answer that has a finish reason,
// because Perplexity and GPUStack send no mark (recorded by ruby_llm). The finish reason alone
// does not complete it, because the usage may follow.
func (d *chatDecoder) ended() error {
	if d.stop == "" {
		return errCut
	}
	d.end()
	return nil
}

func (d *chatDecoder) end() {
	d.to.done = true
	d.sign()
	d.to.send(model.Chunk{Kind: model.ChunkStop, Stop: d.reason()})
}

// reason maps the finish reason to Braid's. An unknown one stays as it is.
func (d *chatDecoder) reason() event.StopReason {
	word := d.stop
	switch word { // some servers pass the words of their engine on
	case "eos", "eos_token", "end_turn", "":
		word = "stop"
	case "stop_sequence":
		return event.StopSequence
	case "model_length", "max_tokens":
		word = "length"
	}
	switch {
	case word == "stop" && len(d.calls) > 0, word == "tool_calls", word == "function_call":
		return event.StopToolUse
	case word == "stop" && d.refused:
		return event.StopRefusal
	case word == "stop" && d.word:
		return event.StopSequence
	case word == "stop":
		return event.StopEndTurn
	case word == "length":
		return event.StopMaxTokens
	case word == "content_filter":
		return event.StopContentFiltered
	default:
		return event.StopReason(d.stop)
	}
}

type chatUsage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Total      int64 `json:"total_tokens"`
	// Hit is DeepSeek's number of cached tokens (guides/kv_cache).
	Hit int64 `json:"prompt_cache_hit_tokens"`
	In  struct {
		Cached  int64 `json:"cached_tokens"`
		Written int64 `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	Out struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

func (u *chatUsage) ours() event.Usage {
	if u.Total > 0 && u.Out.Reasoning > 0 && u.Total == u.Prompt+u.Completion+u.Out.Reasoning {
		u.Completion += u.Out.Reasoning // one vendor counts reasoning separately
	}
	if u.In.Cached == 0 {
		u.In.Cached = u.Hit
	}
	return counted(u.Prompt, u.In.Cached, u.In.Written, u.Completion, u.Out.Reasoning, u.Total)
}

// counted converts the token counts. The API's input count includes cached tokens; Braid's does
// not. If a server reports more cached than input tokens, Input is negative, and the loop
// reports that.
func counted(in, cached, written, out, reasoning, total int64) event.Usage {
	if total == 0 {
		total = in + out
	}
	return event.Usage{Input: in - cached - written, Output: out, Total: total, CacheRead: cached, CacheWrite: written, Reasoning: reasoning}
}

// sign yields the signatures that record how the thinking goes back; see the marks. Thinking in
// reasoning_content needs none. The thinking of an answer without calls never goes back.
func (d *chatDecoder) sign() {
	s := &d.seen
	if len(d.calls) == 0 {
		return
	}
	if len(s.details) > 0 {
		list, err := json.Marshal(s.details)
		if err != nil {
			return // it was decoded from JSON
		}
		if len(s.blocks) == 0 { // only encrypted thinking
			d.kind, s.blocks = 0, append(s.blocks, d.next)
			d.to.send(model.Chunk{Kind: model.ChunkThinking, Index: d.next})
			d.next++
		}
		d.to.send(model.Chunk{Kind: model.ChunkSignature, Index: s.blocks[0], Text: opaque(markDetails, d.host, string(list))})
		s.blocks = s.blocks[1:]
	}
	var mark string
	switch {
	case s.parts:
		mark = markParts
	case s.member && !s.content:
		mark = markMember
	default:
		return
	}
	for _, index := range s.blocks {
		d.to.send(model.Chunk{Kind: model.ChunkSignature, Index: index, Text: mark})
	}
}
