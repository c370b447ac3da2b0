package bedrock

import (
	"encoding/json"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// event decodes one event.
func (d *decoder) event(name string, data []byte) error {
	switch name {
	case "contentBlockDelta":
		if d.delta(data) {
			return nil
		}
		var e struct {
			Index int                        `json:"contentBlockIndex"`
			Delta map[string]json.RawMessage `json:"delta"`
		}
		if err := read(data, &e); err != nil {
			return err
		}
		return d.more(e.Index, e.Delta)
	case "contentBlockStart":
		var e struct {
			Index int                        `json:"contentBlockIndex"`
			Start map[string]json.RawMessage `json:"start"`
		}
		if err := read(data, &e); err != nil {
			return err
		}
		return d.begin(e.Index, e.Start)
	case "contentBlockStop":
		var e struct {
			Index int `json:"contentBlockIndex"`
		}
		if err := read(data, &e); err != nil {
			return err
		}
		d.close(e.Index)
	case "messageStop":
		var e struct {
			Stop string `json:"stopReason"`
		}
		if err := read(data, &e); err != nil {
			return err
		}
		if e.Stop == "" {
			return errUnreadable // the stream has no stop reason
		}
		d.end(e.Stop)
	case "metadata":
		var e metadata
		if err := read(data, &e); err != nil {
			return err
		}
		d.metadata(&e)
	}
	return nil
}

// delta is the fast path for pieces of text, thinking and arguments. It reports false, without
// side effects, for every other event and for anything unexpected.
func (d *decoder) delta(data []byte) bool {
	const nested = 8
	r := &d.r
	r.Reset(data, nested)
	wire := -1
	var kind blockKind
	var text []byte
	o := r.Object()
	for o.Next() {
		switch string(o.Key) {
		case "contentBlockIndex":
			wire = r.Int()
		case "delta":
			in := r.Object()
			for in.Next() {
				if kind != 0 {
					return false
				}
				switch string(in.Key) {
				case "text":
					kind, text = textBlock, r.Bytes()
				case "toolUse":
					kind, text = callBlock, d.only("input")
				case "reasoningContent":
					kind, text = thinkingBlock, d.only("text")
				default:
					return false
				}
			}
		default: // "p" is padding that hides the length of a piece
			r.Skip()
		}
	}
	if r.End() != nil || wire < 0 || text == nil {
		return false
	}
	d.piece(wire, kind, string(text))
	return true
}

// only decodes the single member of an object; nil if there are others.
func (d *decoder) only(key string) (text []byte) {
	others := false
	in := d.r.Object()
	for in.Next() {
		if string(in.Key) == key {
			text = d.r.Bytes()
			continue
		}
		others = true
		d.r.Skip()
	}
	if others {
		return nil
	}
	return text
}

// end handles the stop reason. It does not yield the end yet, because metadata follows.
func (d *decoder) end(reason string) {
	for len(d.open) > 0 {
		d.close(d.open[0].wire)
	}
	d.stop, d.stopped = reason, true
}

// metadata follows the stop: the usage and the guardrail's trace.
type metadata struct {
	Usage *struct {
		Input      int64 `json:"inputTokens"`
		Output     int64 `json:"outputTokens"`
		Total      int64 `json:"totalTokens"`
		CacheRead  int64 `json:"cacheReadInputTokens"`
		CacheWrite int64 `json:"cacheWriteInputTokens"`
		Details    []struct {
			TTL   string `json:"ttl"`
			Input int64  `json:"inputTokens"`
		} `json:"cacheDetails"`
	} `json:"usage"`
	Trace *struct {
		Guardrail *guardrailTrace `json:"guardrail"`
		Router    *struct {
			Model string `json:"invokedModelId"`
		} `json:"promptRouter"`
	} `json:"trace"`
}

func (d *decoder) metadata(e *metadata) {
	d.told = true
	if t := e.Trace; t != nil {
		if t.Guardrail != nil {
			d.blocked = t.Guardrail.verdict()
		}
		if t.Router != nil && t.Router.Model != "" {
			d.send(model.Chunk{Kind: model.ChunkResponse, ID: d.id, Text: t.Router.Model})
		}
	}
	u := e.Usage
	if u == nil {
		return
	}
	used := &event.Usage{Input: u.Input, Output: u.Output, Total: u.Total, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}
	for _, c := range u.Details {
		if c.TTL == "1h" {
			used.CacheWriteHour += c.Input
		}
	}
	if used.Total == 0 {
		used.Total = used.Input + used.Output + used.CacheRead + used.CacheWrite
	}
	d.send(model.Chunk{Kind: model.ChunkUsage, Usage: used})
}

// finish yields the guardrail's redactions and the end signal.
func (d *decoder) finish() {
	d.redact()
	reason := stopReason(d.stop)
	switch {
	case reason == event.StopEndTurn && d.calls > 0:
		reason = event.StopToolUse // some models report a wrong reason
	case reason == event.StopToolUse && d.calls == 0:
		reason = event.StopEndTurn // its calls were dropped
	}
	d.send(model.Chunk{Kind: model.ChunkStop, Stop: reason})
}

// stopReason maps the API's stop reason to Braid's. Only one differs; an unknown one stays as
// it is.
func stopReason(s string) event.StopReason {
	if s == "model_context_window_exceeded" {
		return event.StopContextOverflow
	}
	return event.StopReason(s)
}

// redact reports which text must be replaced. Without a trace only the stop reason is known, which does not
// distinguish question and answer.
func (d *decoder) redact() {
	if d.guard == nil {
		return
	}
	v := d.blocked
	if !v.known && stopReason(d.stop) == event.StopGuardrail {
		v.input, v.output = true, true
	}
	if v.input && !d.guard.KeepInput {
		d.send(model.Chunk{Kind: model.ChunkRedactInput, Text: d.guard.InputText})
	}
	if v.output && d.guard.RedactOutput {
		d.send(model.Chunk{Kind: model.ChunkRedactOutput, Text: d.guard.OutputText})
	}
}
