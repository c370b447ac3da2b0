package anthropic

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model"
)

// decoder turns the events of an answer into chunks (build-with-claude/streaming).
// It skips events of unknown kinds and keeps blocks of unknown kinds as they are,
// because the API may add kinds at any time.
type decoder struct {
	// names maps tool names that were changed for the wire back to the agent's.
	names map[string]string
	yield func(model.Chunk, error) bool
	// done is set by the end event; left is set when the caller stops reading.
	done, left bool

	// bind stamps the thinking; nil if the model does not bind it.
	bind *binding

	r     strictjson.Reader
	open  []openBlock
	cites int
	usage usage
	// summaries is the usage of the vendor's conversation summaries.
	summaries usage
	stop      string
	stopped   bool
}

// openBlock is a block between its start event and its stop event.
type openBlock struct {
	index int
	// call is set for a tool call. input holds the arguments of the start event, which count if
	// no deltas follow.
	call  bool
	input []byte
	came  bool
	// other are the members of a block of a kind that only this vendor has.
	other []member
	parts []byte
	// cites are the citations to send back with the text.
	cites []byte
}

// send yields a chunk.
func (d *decoder) send(c model.Chunk) {
	if !d.left && !d.yield(c, nil) {
		d.left = true
	}
}

// event decodes one event.
func (d *decoder) event(data []byte) error {
	if d.delta(data) {
		return nil
	}
	return d.whole(data)
}

// delta is the fast path for deltas of text, thinking and arguments. It reports false,
// without side effects, for every other event and for anything unexpected.
func (d *decoder) delta(data []byte) bool {
	const nested = 8
	r := &d.r
	r.Reset(data, nested)
	index := -1
	var kind, text []byte
	member := ""
	o := r.Object()
	for o.Next() {
		switch string(o.Key) {
		case "type":
			if string(r.Bytes()) != "content_block_delta" {
				return false
			}
		case "index":
			index = r.Int()
		case "delta":
			in := r.Object()
			for in.Next() {
				if string(in.Key) == "type" {
					kind = r.Bytes()
					continue
				}
				if text != nil {
					return false
				}
				member, text = memberOf(in.Key), r.Bytes()
			}
		default:
			return false
		}
	}
	if r.End() != nil || index < 0 || text == nil || member != string(kind) {
		return false
	}
	return d.piece(index, string(kind), string(text))
}

// memberOf returns the kind of delta whose text is in this member.
func memberOf(key []byte) string {
	switch string(key) {
	case "text":
		return "text_delta"
	case "thinking":
		return "thinking_delta"
	case "partial_json":
		return "input_json_delta"
	case "signature":
		return "signature_delta"
	default:
		return "-"
	}
}

// piece yields a delta of a block. It reports false if the kind is unknown.
func (d *decoder) piece(index int, kind, text string) bool {
	c := model.Chunk{Index: index, Text: text}
	switch kind {
	case "text_delta":
		c.Kind = model.ChunkText
	case "thinking_delta":
		c.Kind = model.ChunkThinking
	case "signature_delta":
		c.Kind = model.ChunkSignature
		if d.bind != nil {
			c.ID = d.bind.stamp
		}
	case "input_json_delta":
		c.Kind = model.ChunkCallInput
		for i := range d.open {
			b := &d.open[i]
			if b.index != index {
				continue
			}
			if b.other != nil {
				b.parts = append(b.parts, text...)
				return true
			}
			b.came = b.came || text != ""
		}
	default:
		return false
	}
	if text != "" {
		if d.bind != nil {
			d.bind.piece(index, kind, text)
		}
		d.send(c)
	}
	return true
}

// wireEvent is any event.
type wireEvent struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		ID    string     `json:"id"`
		Model string     `json:"model"`
		Usage *wireUsage `json:"usage"`
	} `json:"message"`
	Block json.RawMessage `json:"content_block"`
	Delta json.RawMessage `json:"delta"`
	Usage *wireUsage      `json:"usage"`
	Error *wireError      `json:"error"`
}

type wireDelta struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Partial   string          `json:"partial_json"`
	Signature string          `json:"signature"`
	Citation  json.RawMessage `json:"citation"`
	Stop      *string         `json:"stop_reason"`
}

type wireError struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	Details struct {
		Code string `json:"error_code"`
	} `json:"details"`
}

// whole decodes an event of any kind.
func (d *decoder) whole(data []byte) error {
	var e wireEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	switch e.Type {
	case "message_start":
		d.send(model.Chunk{Kind: model.ChunkResponse, ID: e.Message.ID, Text: e.Message.Model})
		d.used(e.Message.Usage)
	case "content_block_start":
		return d.begin(&e)
	case "content_block_delta":
		return d.more(&e)
	case "content_block_stop":
		d.close(e.Index)
	case "message_delta":
		var delta wireDelta
		if len(e.Delta) > 0 {
			if err := json.Unmarshal(e.Delta, &delta); err != nil {
				return fmt.Errorf("%w: %w", errUnreadable, err)
			}
		}
		if delta.Stop != nil {
			d.stop, d.stopped = *delta.Stop, true
		}
		d.used(e.Usage)
	case "message_stop":
		if !d.stopped {
			return errCut // the stream has no stop reason
		}
		d.done = true
		d.send(model.Chunk{Kind: model.ChunkStop, Stop: stopReason(d.stop)})
	case "error":
		if e.Error == nil {
			return errUnreadable
		}
		return &apiError{kind: e.Error.Type, code: e.Error.Details.Code, message: e.Error.Message}
	}
	return nil
}

// stopReason maps the API's stop reason to ours. Only one differs; an unknown one
// stays as it is.
func stopReason(s string) event.StopReason {
	if s == "model_context_window_exceeded" {
		return event.StopContextOverflow
	}
	return event.StopReason(s)
}

// begin handles the start of a block.
func (d *decoder) begin(e *wireEvent) error {
	var b struct {
		Type      string          `json:"type"`
		Text      string          `json:"text"`
		Thinking  string          `json:"thinking"`
		Signature string          `json:"signature"`
		Data      string          `json:"data"`
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Input     json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal(e.Block, &b); err != nil {
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	if d.bind != nil {
		d.bind.begin(e.Index, b.Type)
	}
	switch b.Type {
	case "text":
		d.piece(e.Index, "text_delta", b.Text)
	case "thinking":
		d.piece(e.Index, "thinking_delta", b.Thinking)
		d.piece(e.Index, "signature_delta", b.Signature)
	case "redacted_thinking":
		redacted := &event.RedactedThinking{Data: b.Data}
		if d.bind != nil {
			redacted.Prefix = d.bind.stamp
			d.bind.piece(e.Index, "signature_delta", b.Data)
		}
		d.send(model.Chunk{Kind: model.ChunkBlock, Index: e.Index, Block: redacted})
	case "tool_use":
		if own, ok := d.names[b.Name]; ok {
			b.Name = own
		}
		if d.bind != nil {
			d.bind.call(b.ID, b.Name)
		}
		d.open = append(d.open, openBlock{index: e.Index, call: true, input: b.Input})
		d.send(model.Chunk{Kind: model.ChunkCall, Index: e.Index, ID: b.ID, Text: b.Name})
	default:
		if other, ok := membersOf(e.Block); ok && b.Type != "" {
			d.open = append(d.open, openBlock{index: e.Index, other: other})
		}
	}
	return nil
}

// more handles a delta that the fast path left: a citation, text with half a surrogate
// pair, or a delta to which a gateway added members.
func (d *decoder) more(e *wireEvent) error {
	var p wireDelta
	if err := json.Unmarshal(e.Delta, &p); err != nil {
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	switch {
	case p.Type == "citations_delta" && len(p.Citation) > 0:
		return d.cite(e.Index, p.Citation)
	case p.Type == "compaction_delta":
		d.compacted(e.Index, e.Delta)
		return nil
	}
	text := p.Text
	switch p.Type {
	case "thinking_delta":
		text = p.Thinking
	case "input_json_delta":
		text = p.Partial
	case "signature_delta":
		text = p.Signature
	}
	d.piece(e.Index, p.Type, text)
	return nil
}

// close handles the end of a block.
func (d *decoder) close(index int) {
	for i := range d.open {
		b := &d.open[i]
		if b.index != index {
			continue
		}
		switch {
		case b.call && !b.came && len(b.input) > 2: // more than {}
			d.send(model.Chunk{Kind: model.ChunkCallInput, Index: index, Text: string(b.input)})
			if d.bind != nil {
				d.bind.piece(index, "input_json_delta", string(b.input))
			}
		case b.other != nil:
			d.keep(b)
		case b.cites != nil:
			d.cited(b)
		}
		d.open = append(d.open[:i], d.open[i+1:]...)
		break
	}
	if d.bind != nil {
		d.bind.end(index)
	}
}

// usage is the usage so far.
type usage = event.Usage

type wireUsage struct {
	Input      *int64 `json:"input_tokens"`
	Output     *int64 `json:"output_tokens"`
	CacheWrite *int64 `json:"cache_creation_input_tokens"`
	CacheRead  *int64 `json:"cache_read_input_tokens"`
	Writes     *struct {
		Hour *int64 `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
	Details *struct {
		Thinking *int64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
	// Servers counts the uses of server-side tools. Searches cost extra.
	Servers *struct {
		Searches *int64 `json:"web_search_requests"`
	} `json:"server_tool_use"`
	// Steps are the parts of an answer. The counts above leave out the parts that summarise
	// (build-with-claude/compaction-threshold#understanding-usage).
	Steps []struct {
		Type       string `json:"type"`
		Input      int64  `json:"input_tokens"`
		Output     int64  `json:"output_tokens"`
		CacheWrite int64  `json:"cache_creation_input_tokens"`
		CacheRead  int64  `json:"cache_read_input_tokens"`
	} `json:"iterations"`
}

// used merges a report of usage. A report covers the whole answer so far; members that
// it leaves out keep their values.
func (d *decoder) used(u *wireUsage) {
	if u == nil {
		return
	}
	set := func(to *int64, n *int64) {
		if n != nil {
			*to = *n
		}
	}
	set(&d.usage.Input, u.Input)
	set(&d.usage.Output, u.Output)
	set(&d.usage.CacheWrite, u.CacheWrite)
	set(&d.usage.CacheRead, u.CacheRead)
	if u.Writes != nil {
		set(&d.usage.CacheWriteHour, u.Writes.Hour)
	}
	if u.Details != nil {
		set(&d.usage.Reasoning, u.Details.Thinking)
	}
	if u.Servers != nil {
		set(&d.usage.WebSearches, u.Servers.Searches)
	}
	if u.Steps != nil {
		d.summaries = usage{}
	}
	for _, step := range u.Steps {
		if step.Type == "compaction" {
			d.summaries.Input += step.Input
			d.summaries.Output += step.Output
			d.summaries.CacheWrite += step.CacheWrite
			d.summaries.CacheRead += step.CacheRead
		}
	}
	sent := d.usage
	sent.Input += d.summaries.Input
	sent.Output += d.summaries.Output
	sent.CacheWrite += d.summaries.CacheWrite
	sent.CacheRead += d.summaries.CacheRead
	sent.Total = sent.Input + sent.Output + sent.CacheWrite + sent.CacheRead
	d.send(model.Chunk{Kind: model.ChunkUsage, Usage: &sent})
}

// run reads until the answer is complete and returns the error that cut it. If the caller
// stopped reading chunks, d.left is set and run returns nil.
func (d *decoder) run(from events) error {
	for !d.done && !d.left {
		data, err := from.next()
		if errors.Is(err, io.EOF) {
			return errCut
		}
		if err != nil {
			return err
		}
		if err := d.event(data); err != nil {
			return err
		}
	}
	return nil
}
