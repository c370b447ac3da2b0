package braid

import (
	"errors"
	"fmt"

	"github.com/braidrun/braid/internal/drive"

	"github.com/braidrun/braid/model"
)

// ProviderManaged leaves a long conversation to the model's provider, which shortens what its model
// reads ([model.ContextManagement]). The log and the requests stay whole; what the provider sums up stands in
// its answer as a block of its own, and goes back with the history.
//
// Its zero value asks for what the model has: a summary from [Management].At of the context on, else to drop old tool
// results from there on, else to drop what does not fit. Settings ask for exactly that. The agent has an error of kind
// [event.ErrUnsupported] if one of its models cannot do it ([Agent.Err]).
//
// Braid itself leaves nothing out before a provider refuses the conversation as too long. Then it does as Else says.
type ProviderManaged struct {
	// ClearResults drops old tool results once the prompt has more tokens than this, and keeps the
	// KeepResults newest; 0 is the provider's default.
	ClearResults, KeepResults int
	// Compact sums the conversation up once the prompt has more tokens than this.
	Compact int
	// Truncate drops what does not fit, instead of refusing the request.
	Truncate bool
	// Else is what becomes of the oldest messages where the provider refuses the conversation all the same:
	// [Summarize], [SlidingWindow] or [KeepAll]; nil means Summarize{}.
	Else Strategy
}

func (ProviderManaged) strategy() {}

// manages fills in how the provider manages, and what Braid does where that is not enough.
func (p ProviderManaged) manages(m *Management, made *drive.Management) error {
	if p.ClearResults < 0 || p.KeepResults < 0 || p.Compact < 0 {
		return errors.New("a provider cannot be asked for fewer than no tokens or results")
	}
	if p.KeepResults > 0 && p.ClearResults == 0 {
		return errors.New("how many results are kept says nothing without from where on they are dropped")
	}
	at := made.At
	if at == 0 {
		at = drive.DefaultAt
	}
	made.At = 0
	made.Provider = &drive.ProviderManaged{
		Want: model.ContextManagement{ClearResults: p.ClearResults, KeepResults: p.KeepResults, Compact: p.Compact, Truncate: p.Truncate},
		At:   at, Size: m.Context,
	}
	switch by := p.Else.(type) {
	case nil:
		made.Summary = Summarize{}.filled()
	case Summarize:
		made.Summary = by.filled()
	case SlidingWindow:
		if by < 0 {
			return fmt.Errorf("a window cannot be %d messages", int(by))
		}
	case KeepAll:
		made.KeepAll = true
	default:
		return fmt.Errorf("%T cannot stand in for the provider", p.Else)
	}
	return nil
}
