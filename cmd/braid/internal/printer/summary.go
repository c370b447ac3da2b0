package printer

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/trace"
)

// Summary is the result of one turn, and the last line of --json.
type Summary struct {
	Kind         string `json:"kind"`
	Conversation string `json:"conversation,omitempty"`
	Run          string `json:"run,omitempty"`
	// Kept reports that the conversation can be continued later.
	Kept      bool   `json:"kept"`
	Model     string `json:"model"`
	Simulated bool   `json:"simulated"`
	// Replay reports that the model's answers come from a recording.
	Replay bool             `json:"replay,omitempty"`
	Stop   event.StopReason `json:"stop,omitempty"`
	Why    event.Why        `json:"why,omitempty"`
	Text   string           `json:"text"`
	// Output is the structured answer as JSON, if there is a schema.
	Output json.RawMessage `json:"output,omitempty"`
	Usage  event.Usage     `json:"usage"`
	// Cost is in 1e-9 US dollars; null if unknown.
	Cost *int64 `json:"cost_nano_usd"`

	Counts //nolint:embeddedstructfieldcheck // the order is that of the JSON

	// Trace is the tree of the run with --trace.
	Trace *trace.Span `json:"trace,omitempty"`
	// Error is nil after success; Exit is its exit code.
	Error *event.Error `json:"error,omitempty"`
	Exit  int          `json:"exit"`
}

// Counts holds the numbers of a turn.
type Counts struct {
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
}

// ToolCount sums the calls of one tool.
type ToolCount struct {
	Name   string        `json:"name"`
	Calls  int           `json:"calls"`
	Errors int           `json:"errors"`
	Time   time.Duration `json:"time_ns"`
}

// line formats the summary for users.
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
	case s.Simulated: // printed above
	case s.Cost == nil:
		words = append(words, "cost unknown")
	default:
		words = append(words, dollars(*s.Cost)+" USD")
	}
	words = append(words, Short(s.Duration))
	return strings.Join(words, " · ")
}

// dollars formats 1e-9 US dollars as a decimal: all digits of a small amount, four places of one above a
// cent.
func dollars(nano int64) string {
	const cent = 1e7
	if nano >= cent || nano <= -cent {
		return strconv.FormatFloat(float64(nano)/1e9, 'f', 4, 64)
	}
	return strconv.FormatFloat(float64(nano)/1e9, 'f', -1, 64)
}

// costWord formats a cost that may be unknown.
func costWord(nano *int64) string {
	if nano == nil {
		return "unknown"
	}
	return dollars(*nano)
}

// AnswerOnly prints only the answer, at the end of the turn, for scripts. Without a terminal it writes the
// answer byte for byte.
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

// Printers prints with several printers.
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
