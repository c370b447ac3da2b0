package openai

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/braidrun/braid/internal/sse"
	"github.com/braidrun/braid/model"
)

var (
	errCut        = errors.New("the answer ended before its end signal")
	errTooLong    = errors.New("an event of the answer is too long")
	errUnreadable = errors.New("an event of the answer cannot be read")
)

// longest bounds an event of a stream, far above what a server sends.
const longest = 32 << 20

// events decodes an answer into chunks.
type events interface {
	// event decodes one event.
	event(data []byte) error
	// ended handles the regular end of the body. The error is [errCut] if the answer is
	// incomplete.
	ended() error
	// all decodes an answer without streaming.
	all(data []byte) error
	sender() *sender
}

// sender yields chunks.
type sender struct {
	// names maps tool names that were changed for the wire back to the agent's.
	names map[string]string
	yield func(model.Chunk, error) bool
	// absent removes nulls of absent members from texts; nil removes none.
	absent *filter
	// arguments does the same for the arguments of strict tools.
	arguments arguments
	// done is set by the end event; left is set when the caller stops reading.
	done, left bool
}

func (s *sender) send(c model.Chunk) {
	if !s.arguments.take(&c, s.pass) {
		return
	}
	if s.absent != nil {
		switch c.Kind {
		case model.ChunkText:
			if c.Text = s.absent.text(c.Index, c.Text); c.Text == "" {
				return
			}
		case model.ChunkStop:
			s.absent.end(s.pass)
		default:
		}
	}
	s.pass(c)
}

func (s *sender) pass(c model.Chunk) {
	if !s.left && !s.yield(c, nil) {
		s.left = true
	}
}

// tool returns the agent's name of a tool.
func (s *sender) tool(name string) string {
	if own, ok := s.names[name]; ok {
		return own
	}
	return name
}

// stream reads an answer.
type stream struct {
	events

	in io.Reader
}

// run reads until the answer is complete and returns the error that cut it. If the caller
// stopped reading chunks, it returns nil. It ignores the names of events, because the data
// repeats them.
func (s *stream) run() error {
	r := sse.NewReader(s.in, sse.Limits{Line: longest, Event: longest})
	for to := s.sender(); !to.done && !to.left; {
		e, err := r.Next()
		if _, long := errors.AsType[*sse.TooLargeError](err); long {
			return errTooLong
		}
		switch {
		case errors.Is(err, io.EOF):
			return s.ended()
		case err != nil:
			return err
		case len(e.Data) == 0:
			continue
		}
		if err := s.event(e.Data); err != nil {
			return err
		}
	}
	return nil
}

// argumentText returns arguments as text. They are a string, or with some servers an object.
func argumentText(raw json.RawMessage) string {
	var s string
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return ""
	case raw[0] != '"':
		return string(raw)
	case json.Unmarshal(raw, &s) != nil:
		return ""
	default:
		return s
	}
}

// arguments removes nulls of absent members from the arguments of strict tools.
type arguments struct {
	// nulled are the names of the optional members, by tool.
	nulled map[string]map[string]bool
	open   []argument
}

// argument is the state for the arguments of one call; index is the call's.
type argument struct {
	index int
	text  absent
}

// take filters a chunk and reports whether it should be yielded. At the end of the answer, the
// output that is still held back goes to pass.
func (a *arguments) take(c *model.Chunk, pass func(model.Chunk)) bool {
	if len(a.nulled) == 0 {
		return true
	}
	switch c.Kind {
	case model.ChunkCall:
		if names := a.nulled[c.Text]; len(names) > 0 {
			a.open = append(a.open, argument{index: c.Index, text: absent{names: names}})
		}
	case model.ChunkCallInput:
		for i := range a.open {
			if a.open[i].index == c.Index {
				c.Text = string(a.open[i].text.write(c.Text))
				return c.Text != ""
			}
		}
	case model.ChunkStop:
		for i := range a.open {
			if rest := a.open[i].text.rest(); len(rest) > 0 {
				pass(model.Chunk{Kind: model.ChunkCallInput, Index: a.open[i].index, Text: string(rest)})
			}
		}
		a.open = nil
	default:
	}
	return true
}
