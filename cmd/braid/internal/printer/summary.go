package printer

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
)

// Summary is what one turn came to: the last line of --json.
type Summary struct {
	Kind         string `json:"kind"`
	Conversation string `json:"conversation,omitempty"`
	Run          string `json:"run,omitempty"`
	// Kept says that the conversation can be gone on with later.
	Kept      bool   `json:"kept"`
	Model     string `json:"model"`
	Simulated bool   `json:"simulated"`
	// Replay says that the model's words were recorded before.
	Replay bool             `json:"replay,omitempty"`
	Stop   event.StopReason `json:"stop,omitempty"`
	Why    event.Why        `json:"why,omitempty"`
	Text   string           `json:"text"`
	// Output is the answer as JSON, where it was to keep to a schema and does.
	Output json.RawMessage `json:"output,omitempty"`
	Usage  event.Usage     `json:"usage"`
	// Cost is in 1e-9 US dollars; null where it is not known.
	Cost        *int64        `json:"cost_nano_usd"`
	Cycles      int           `json:"cycles"`
	ModelCalls  int           `json:"model_calls"`
	ToolCalls   int           `json:"tool_calls"`
	ToolErrors  int           `json:"tool_errors"`
	Duration    time.Duration `json:"duration_ns"`
	ModelTime   time.Duration `json:"model_time_ns"`
	FirstByte   time.Duration `json:"time_to_first_byte_ns"`
	ModelErrors int           `json:"model_errors,omitempty"`
	Stragglers  int           `json:"stragglers,omitempty"`
	Tools       []ToolCount   `json:"tools,omitempty"`
	// Trace is the tree of what the run did, where --trace asks for it.
	Trace *braid.Span `json:"trace,omitempty"`
	// Error is set unless the turn went well, Exit is the exit code that goes with it.
	Error *event.Error `json:"error,omitempty"`
	Exit  int          `json:"exit"`
}

// ToolCount is what the calls of one tool came to.
type ToolCount struct {
	Name   string        `json:"name"`
	Calls  int           `json:"calls"`
	Errors int           `json:"errors"`
	Time   time.Duration `json:"time_ns"`
}

// line is the summary for people.
func (s *Summary) line() string {
	var words []string
	if s.Replay {
		words = append(words, "replay") // first, so that it is never cut
	}
	if s.Simulated {
		words = append(words, "simulated, not charged")
	}
	add := func(n int, one, many string) {
		switch {
		case n == 1:
			words = append(words, "1 "+one)
		case n > 1:
			words = append(words, fmt.Sprintf("%d %s", n, many))
		}
	}
	add(s.Cycles, "cycle", "cycles")
	add(s.ToolCalls, "tool call", "tool calls")
	if s.ToolErrors > 0 {
		words = append(words, fmt.Sprintf("%d failed", s.ToolErrors))
	}
	words = append(words, fmt.Sprintf("%d + %d tokens", s.Usage.Input, s.Usage.Output))
	switch {
	case s.Simulated: // said already
	case s.Cost == nil:
		words = append(words, "cost unknown")
	default:
		words = append(words, dollars(*s.Cost)+" USD")
	}
	words = append(words, Short(s.Duration))
	return strings.Join(words, " · ")
}

// dollars writes an amount of 1e-9 US dollars as a decimal: all of a small one, and
// of one above a cent four places.
func dollars(nano int64) string {
	const cent = 1e7
	if nano >= cent || nano <= -cent {
		return strconv.FormatFloat(float64(nano)/1e9, 'f', 4, 64)
	}
	return strconv.FormatFloat(float64(nano)/1e9, 'f', -1, 64)
}

// costWord is a cost that may be unknown.
func costWord(nano *int64) string {
	if nano == nil {
		return "unknown"
	}
	return dollars(*nano)
}

// AnswerOnly shows nothing but the answer, when the turn is over: the form
// that scripts read. Away from a terminal the answer is written byte for byte.
type AnswerOnly struct {
	Out    *term.Output
	Screen term.Screen
}

// Event implements [Printer].
func (a *AnswerOnly) Event(*event.Event) error { return nil }

// End implements [Printer].
func (a *AnswerOnly) End(s *Summary) error {
	text := s.Text
	if a.Screen.Terminal {
		text = term.Clean(text)
	}
	a.Out.Buf = append(a.Out.Buf, text...)
	if text != "" {
		a.Out.StartLine()
	}
	return a.Out.Flush()
}

// Printers shows the same to several.
type Printers []Printer

// Event implements [Printer].
func (ps Printers) Event(e *event.Event) error {
	for _, p := range ps {
		if err := p.Event(e); err != nil {
			return err
		}
	}
	return nil
}

// End implements [Printer].
func (ps Printers) End(s *Summary) error {
	for _, p := range ps {
		if err := p.End(s); err != nil {
			return err
		}
	}
	return nil
}
