package braid

import (
	"cmp"
	"fmt"

	"github.com/braidrun/braid/internal/drive"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/compact"
	"github.com/braidrun/braid/model"
)

// Manage says how the agent keeps what its model is shown within the model's context. The
// log stays whole, whatever is left out; a call never stands without its result; and what was
// left out is decided once and written ([event.Compacted]), so that every driver shows the same.
//
// Before a model call it is looked whether the conversation takes more than a share of the
// context, by the provider's count of the last call and an estimate of what came since. Where a
// provider refuses a conversation as too long, less is shown and the call made again, three
// times; then the run ends with [event.StopContextOverflow]. A model of [Fallback] that is
// to be asked on an overflow goes before that.
//
// The newest message of a person, and results that the model has not seen, are never left out.
//
// An agent without Manage does only the second: it leaves out the oldest messages when it
// must. Agents that are used as tools are managed by their own parts. A second Manage takes the
// place of the first.
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

// Management is how an agent keeps a conversation within its model's context. Its zero value
// summarises.
type Management struct {
	// By is what becomes of the oldest messages: [Summarize], [SlidingWindow], [KeepAll] or
	// [ProviderManaged]; nil means Summarize{}.
	By Strategy
	// At is the share of the model's context from which on something is left out before the
	// next call; 0 means 0.7. A negative one means never before a provider has refused.
	At float64
	// Context is the size of the model's context in tokens; 0 means what the model says of
	// itself ([model.Info].ContextWindow), and 200,000 where it says nothing.
	Context int
	// Tries is how often less is shown to a model that refuses the same call as too long;
	// 0 means 3, a negative one never.
	Tries int
	// Pin picks messages that are never left out. It is asked when something is, of the
	// messages that the model sees then, and must not change them; a call with its results
	// counts as the answer that makes it. nil picks none.
	Pin func(event.Message) bool
}

// Strategy is a way to show less; one of [Summarize], [SlidingWindow], [KeepAll] and [ProviderManaged].
type Strategy interface{ strategy() }

// Summarize puts a summary in the place of the oldest messages. A model is asked for it
// beside the conversation, with the messages as one text and without tools; what that costs
// counts for the run. Where it cannot be had, the conversation stays as it is; where it must be
// had, because the provider refuses the conversation, the run ends.
type Summarize struct {
	// Model writes the summary; nil means the one that the agent asks.
	Model Model
	// Ratio is the share of the messages that is summarised at least; 0 means 0.3, and what
	// is outside of 0.1 to 0.8 counts as the nearer one (Strands' figures).
	Ratio float64
	// Recent is how many messages stay as they are if that is possible; 0 means 10, a
	// negative one none.
	Recent int
	// Instructions are what the model is told about summaries; empty means Braid's own.
	Instructions string
	// Options are asked of the model; the zero value leaves everything to the provider.
	Options model.Options
}

// SlidingWindow shows at most so many of the newest messages; 40 is usual. Where there are
// more, the oldest are left out until three quarters of that many stay, and not one by one,
// so that a provider's cache holds for a while. A window of 0 shows the newest message of a person
// and the results that the model has not seen, and nothing else. A negative one is refused.
type SlidingWindow int

// KeepAll leaves nothing out. A conversation that does not fit ends its run with
// [event.StopContextOverflow].
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
