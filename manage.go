package braid

import (
	"cmp"
	"fmt"

	"github.com/braidrun/braid/internal/drive"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/compact"
	"github.com/braidrun/braid/model"
)

// Manage says how the agent keeps its conversation within the model's context. The log stays complete. A call is never
// shown without its result. Each omission is decided once and recorded ([event.Compacted]), so every driver shows
// the same.
//
// Before a model call Braid checks whether the conversation takes more than a share of the context, by the provider's
// count for the last call and an estimate of what came since. If a provider refuses the conversation as too long, it
// is shortened and sent again, three times; then the run ends with [event.StopContextOverflow]. If a model of
// [Fallback] is to be asked on an overflow, it is asked first.
//
// The newest user message, and results that the model has not seen, are never left out.
//
// An agent without Manage shortens only after a refusal: it leaves out the oldest messages. Agents that are used as
// tools have settings of their own. A second Manage replaces the first.
func Manage(m Management) Part {
	return partFunc(func(a *Agent) error {
		made, err := m.managing()
		if err != nil {
			return &event.Error{Op: "agent " + a.set.Name, Kind: event.ErrInvalid, Message: err.Error(), Hint: "see braid.Management"}
		}
		a.set.Manage = made
		return nil
	})
}

// Management says how an agent keeps a conversation within its model's context. The zero value summarises.
type Management struct {
	// By says what happens to the oldest messages: [Summarize], [SlidingWindow], [KeepAll] or [ProviderManaged]; nil
	// means Summarize{}.
	By Strategy
	// At is the share of the model's context that may be used before something is left out; 0 means 0.7. With a negative
	// one nothing is left out before a provider has refused.
	At float64
	// Context is the size of the model's context in tokens; 0 means what the model reports ([model.Info].ContextWindow),
	// or 200,000 if it reports nothing.
	Context int
	// Tries is how often the conversation is shortened for one call that the model refuses as too long; 0 means 3, a
	// negative number means never.
	Tries int
	// Pin chooses messages that are never left out. It gets the messages that the model sees and must not change them. A
	// call with its results counts as the answer that makes it. nil chooses none.
	Pin func(event.Message) bool
}

// Strategy is a way to shorten a conversation: [Summarize], [SlidingWindow], [KeepAll] or [ProviderManaged].
type Strategy interface{ strategy() }

// Summarize replaces the oldest messages with a summary. A model writes it from the messages as one text, without
// tools; the run pays for it. If there is no summary, the conversation stays as it is. If the provider has refused the
// conversation and there is no summary, the run ends.
type Summarize struct {
	// Model writes the summary; nil means the agent's model.
	Model Model
	// Ratio is the smallest share of the messages to summarise; 0 means 0.3, and values outside 0.1 to 0.8 are clamped
	// (Strands' figures).
	Ratio float64
	// Recent is how many of the newest messages stay if possible; 0 means 10, a negative number means none.
	Recent int
	// Instructions tell the model how to summarise; empty means Braid's own.
	Instructions string
	// Options are the model's options for the summary; the zero value leaves them to the provider.
	Options model.Options
}

// SlidingWindow shows at most this many of the newest messages; 40 is usual. If there are more, the oldest are left
// out until three quarters of that many stay. It does not remove them one by one, so that a provider's cache stays
// valid for a while. A window of 0 shows only the newest user message and the results that the model has not seen. A
// negative one is refused.
type SlidingWindow int

// KeepAll leaves nothing out. If the conversation does not fit, the run ends with [event.StopContextOverflow].
type KeepAll struct{}

func (Summarize) strategy()     {}
func (SlidingWindow) strategy() {}
func (KeepAll) strategy()       {}

func (m *Management) managing() (*drive.Management, error) {
	made := &drive.Management{
		Policy: compact.Policy{Window: -1, Pin: m.Pin}, At: m.At, Context: m.Context, Tries: cmp.Or(m.Tries, drive.DefaultEasings),
	}
	switch {
	case m.At == 0:
		made.At = drive.DefaultAt
	case m.At < 0:
		made.At = 0
	case !(m.At <= 1): // NaN, too
		return nil, fmt.Errorf("a share of %v of the context is more than there is", m.At)
	}
	if m.Context < 0 {
		return nil, fmt.Errorf("a context cannot be %d tokens", m.Context)
	}
	switch by := m.By.(type) {
	case nil:
		made.Summary = Summarize{}.filled()
	case Summarize:
		made.Summary = by.filled()
	case SlidingWindow:
		if by < 0 {
			return nil, fmt.Errorf("a window cannot be %d messages", int(by))
		}
		made.Window = int(by)
	case KeepAll:
		made.KeepAll, made.At = true, 0
	case ProviderManaged:
		if err := by.manages(m, made); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("there is no way to manage a conversation called %T", m.By)
	}
	if s := made.Summary; s != nil {
		made.Sums, made.Ratio, made.Recent = true, s.Ratio, s.Recent
	}
	return made, nil
}

func (s Summarize) filled() *drive.SummaryCall {
	if s.Ratio == 0 {
		s.Ratio = drive.DefaultRatio
	}
	s.Ratio = min(max(s.Ratio, 0.1), 0.8)
	switch {
	case s.Recent == 0:
		s.Recent = drive.DefaultRecent
	case s.Recent < 0:
		s.Recent = 0
	}
	if s.Instructions == "" {
		s.Instructions = compact.Instructions
	}
	filled := drive.SummaryCall(s)
	return &filled
}
