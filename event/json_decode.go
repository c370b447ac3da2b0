package event

import (
	"encoding/json"
	"time"

	"github.com/braidrun/braid/internal/strictjson"
)

// Decode reads one event; the package's documentation says what it refuses. A body
// of an unknown kind becomes [Unknown]. The event shares no memory with data.
func Decode(data []byte) (Event, error) {
	var d Decoder
	return d.Decode(data)
}

// Decoder reads the events of one log or stream, one after another. Neighbours
// share the strings of their headers, so that a log of ten thousand events
// holds its conversation's id once. The zero value is ready. A Decoder belongs to
// one goroutine; what it returns does not.
type Decoder struct{ last Header }

// Decode reads one event, as the function [Decode] does.
func (d *Decoder) Decode(data []byte) (Event, error) {
	var r decoder
	r.Reset(data, maxDepth)
	var e Event
	var kind []byte
	var named, embodied, waits bool
	var body strictjson.Mark
	for o := r.Object(); o.Next(); {
		switch string(o.Key) {
		case "seq":
			e.Seq = r.Int64()
		case "conversation":
			e.Conversation = r.again(d.last.Conversation)
		case "run":
			e.Run = r.again(d.last.Run)
		case "scope":
			e.Scope = r.again(d.last.Scope)
		case "cycle":
			e.Cycle = r.Int()
		case "step":
			e.Step = r.again(d.last.Step)
		case "attempt":
			e.Attempt = r.Int()
		case "author":
			e.Author = r.again(d.last.Author)
		case "branch":
			e.Branch = r.again(d.last.Branch)
		case "time":
			e.Time = r.time()
		case "audience":
			e.Audience = r.audience()
		case "simulated":
			e.Simulated = r.Bool()
		case "epoch":
			e.Epoch = r.Int64()
		case "n":
			e.N = r.Int64()
		case "kind":
			kind, named = r.Bytes(), true
		case "body":
			embodied = true
			if named {
				e.Body = r.body(kind)
				continue
			}
			// Its kind comes later: read it then.
			body, waits = r.Mark(), true
			r.Skip()
		default:
			o.Unknown()
		}
	}
	start := strictjson.Mark{}
	if r.End() == nil && len(kind) == 0 {
		r.Fail(start, strictjson.BadValue, "the event has no kind")
	}
	if waits {
		r.Return(body)
		e.Body = r.body(kind)
	}
	if !embodied && r.Err() == nil {
		if Kind(kind).Info().Kind != "" {
			r.Fail(start, strictjson.BadValue, "the event has no body")
		}
		e.Body = &Unknown{Name: Kind(kind)}
	}
	if err := r.Err(); err != nil {
		return Event{}, invalidJSON("decode event", err)
	}
	d.last = e.Header
	return e, nil
}

// DecodeBlock reads one block. A block of an unknown kind becomes [UnknownBlock].
func DecodeBlock(data []byte) (Block, error) {
	var r decoder
	r.Reset(data, maxDepth)
	b := r.block()
	if err := r.End(); err != nil {
		return nil, invalidJSON("decode block", err)
	}
	return b, nil
}

// DecodeBlocks reads an array of blocks; an empty one is nil.
func DecodeBlocks(data []byte) ([]Block, error) {
	var r decoder
	r.Reset(data, maxDepth)
	blocks := r.blocks()
	if err := r.End(); err != nil {
		return nil, invalidJSON("decode blocks", err)
	}
	return blocks, nil
}

// DecodeMessage reads a message.
func DecodeMessage(data []byte) (Message, error) {
	var r decoder
	r.Reset(data, maxDepth)
	var m Message
	for o := r.Object(); o.Next(); {
		switch string(o.Key) {
		case "role":
			m.Role = Role(r.String())
		case "content":
			m.Content = r.blocks()
		default:
			o.Unknown()
		}
	}
	if err := r.End(); err != nil {
		return Message{}, invalidJSON("decode message", err)
	}
	return m, nil
}

// knownBlock asks the reader, so that there is no second list.
func knownBlock(k BlockKind) bool {
	var r decoder
	r.Reset([]byte(`{}`), 1)
	o := r.Object()
	return r.blockOf([]byte(k), &o) != nil
}

// decoder is the strict reader with the types of this package.
type decoder struct {
	strictjson.Reader
	nested int // tool results that are open
}

// blocks reads an array of blocks.
func (r *decoder) blocks() []Block {
	var list []Block
	for a := r.Array(); a.Next(); {
		if b := r.block(); b != nil {
			list = append(list, b)
		}
	}
	return list
}

// result reads a tool result that stands alone, which bears its kind as
// every block does; null is nil.
func (r *decoder) result() *ToolResult {
	if r.Null() {
		return nil
	}
	m := r.Mark()
	b := r.block()
	t, ok := b.(*ToolResult)
	if !ok && b != nil {
		r.Fail(m, strictjson.WrongType, "a tool_result is needed, not another block")
	}
	return t
}

// cost reads an amount; null is nil.
func (r *decoder) cost() *int64 {
	if r.Null() {
		return nil
	}
	n := r.Int64()
	return &n
}

func (r *decoder) strings() []string {
	var list []string
	for a := r.Array(); a.Next(); {
		list = append(list, r.String())
	}
	return list
}

// stringsZero reads a list of which an empty one is not the same as none.
func (r *decoder) stringsZero() []string {
	if list := r.strings(); list != nil {
		return list
	}
	return []string{}
}

func (r *decoder) ints() []int64 {
	var list []int64
	for a := r.Array(); a.Next(); {
		list = append(list, r.Int64())
	}
	return list
}

func (r *decoder) labels() map[string]string {
	var m map[string]string
	for o := r.Object(); o.Next(); {
		if m == nil {
			m = map[string]string{}
		}
		key := string(o.Key)
		m[key] = r.String()
	}
	return m
}

func (r *decoder) values() map[string]json.RawMessage {
	var m map[string]json.RawMessage
	for o := r.Object(); o.Next(); {
		if m == nil {
			m = map[string]json.RawMessage{}
		}
		key := string(o.Key)
		m[key] = r.raw()
	}
	return m
}

func (r *decoder) raw() json.RawMessage    { return r.Raw(maxRaw) }
func (r *decoder) duration() time.Duration { return time.Duration(r.Int64()) }

// time reads a time of RFC 3339 and gives it in UTC.
func (r *decoder) time() time.Time {
	m := r.Mark()
	b := r.Bytes()
	if r.Err() != nil {
		return time.Time{}
	}
	var t time.Time
	if err := t.UnmarshalText(b); err != nil {
		r.Fail(m, strictjson.BadValue, "a time such as 2026-11-20T01:02:03Z is needed")
		return time.Time{}
	}
	t = t.UTC()
	if y := t.Year(); y < 0 || y > 9999 { // in UTC it is another year
		r.Fail(m, strictjson.BadValue, "the time is outside the years 0 to 9999")
	}
	return t
}

// audience reads an audience. One that is not known is refused: to take it for
// everyone would show what is not for everyone.
func (r *decoder) audience() Audience {
	m := r.Mark()
	b := r.Bytes()
	switch string(b) {
	case Everyone.String():
		return Everyone
	case Operator.String():
		return Operator
	}
	r.Fail(m, strictjson.BadValue, "the audience is not one that this version knows")
	return Everyone
}

// again reads a string that is probably the same as last, and is then shared.
func (r *decoder) again(last string) string {
	b := r.Bytes()
	if string(b) == last {
		return last
	}
	return string(b)
}

// word reads a string that is probably one of those that every log repeats,
// which are then not copied. A word that is missing here is only slower.
func (r *decoder) word() string {
	b := r.Bytes()
	switch string(b) {
	case string(StepModel):
		return string(StepModel)
	case string(StepTool):
		return string(StepTool)
	case string(OutcomeDone):
		return string(OutcomeDone)
	case string(RunCompleted):
		return string(RunCompleted)
	case string(StopEndTurn):
		return string(StopEndTurn)
	case string(StopToolUse):
		return string(StopToolUse)
	case string(WhyInput):
		return string(WhyInput)
	case string(WhyToolResults):
		return string(WhyToolResults)
	case string(EffectPure):
		return string(EffectPure)
	case string(EffectUnsafe):
		return string(EffectUnsafe)
	}
	return string(b)
}
