package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/partialjson"
)

// Partial assembles an answer from its live events.
type Partial[T any] struct {
	text partialjson.Text
	// step and attempt identify the model call of the pieces, block the block of its answer.
	step    string
	attempt int
	block   int
	// called reports whether the block is a call of the answer's tool.
	called bool
	// form is the form of the answer.
	form *Form
	// plain reports whether the text does not begin as JSON does.
	plain bool
	// shown is the length of the text when a value was last computed.
	shown int
	last  []byte
	buf   []byte
}

// NewPartial returns a Partial for an answer in the form f.
func NewPartial[T any](f *Form) *Partial[T] { return &Partial[T]{form: f} }

// Take applies an event. ok reports whether v holds more of the answer than before.
func (p *Partial[T]) Take(e *event.Event) (v T, ok bool, err error) {
	if e.Scope != "" {
		return v, false, nil
	}
	switch b := e.Body.(type) {
	case *event.TextDelta:
		p.at(e, b.Block, false)
		p.words(b.Text)
	case *event.ToolInputDelta:
		if b.Tool != ToolName {
			return v, false, nil
		}
		p.at(e, b.Block, true)
		p.text.Write(b.JSON)
	case *event.AnswerReplaced:
		p.step = ""
		return v, false, nil
	case *event.RunEnded:
		if len(b.Output) == 0 {
			return v, false, nil
		}
		if err := json.Unmarshal(b.Output, &v); err != nil {
			var none T
			return none, false, &event.Error{
				Op: "output", Kind: event.ErrInvalid, Message: fmt.Sprintf("the answer is no %s", reflect.TypeFor[T]()), Err: err,
			}
		}
		return v, true, nil
	default:
		return v, false, nil
	}
	// Reading a long text again for each piece would take quadratic time.
	if n := p.text.Len(); n < p.shown+p.shown/64 || n == p.shown {
		return v, false, nil
	}
	p.shown = p.text.Len()
	v, ok = p.value()
	return v, ok, nil
}

// at starts again if the piece belongs to another answer or block.
func (p *Partial[T]) at(e *event.Event, block int, called bool) {
	if p.step == e.Step && p.attempt == e.Attempt && p.block == block && p.called == called {
		return
	}
	p.text.Reset()
	p.step, p.attempt, p.block, p.called, p.plain, p.shown, p.last = e.Step, e.Attempt, block, called, false, 0, p.last[:0]
}

// words adds text. It drops text that does not begin as JSON does, except for a code fence.
func (p *Partial[T]) words(text string) {
	if p.plain {
		return
	}
	if p.text.Len() == 0 {
		for len(text) > 0 && p.text.Len() == 0 {
			switch c := text[0]; c {
			case ' ', '\n', '\r', '\t', '`':
			case '{', '[', '"':
				p.text.Write(text)
				return
			case 'j', 's', 'o', 'n':
				// The name of the fence.
			default:
				p.plain = true
				return
			}
			text = text[1:]
		}
		return
	}
	p.text.Write(text)
}

func (p *Partial[T]) value() (v T, ok bool) {
	raw, known := p.text.Append(p.buf[:0])
	p.buf = raw[:0]
	if known && p.called && p.form.Wrapped {
		var in map[string]json.RawMessage
		known = json.Unmarshal(raw, &in) == nil && len(in[Key]) > 0
		raw = in[Key]
	}
	if !known || bytes.Equal(raw, p.last) {
		return v, false
	}
	p.last = append(p.last[:0], raw...)
	err := json.Unmarshal(raw, &v)
	if _, mild := errors.AsType[*json.UnmarshalTypeError](err); err != nil && !mild {
		var none T
		return none, false
	}
	return v, true
}
