package braid

import (
	"cmp"
	"errors"
	"fmt"
	"sync"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/foreign"
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

// providerManaged is a ProviderManaged and what each model is asked for. It is safe for concurrent use.
type providerManaged struct {
	want model.ContextManagement
	at   float64
	size int

	mu    sync.Mutex
	asked map[string]model.ContextManagement
}

// manages fills in how the provider manages, and what Braid does where that is not enough.
func (p ProviderManaged) manages(m *Management, made *management) error {
	if p.ClearResults < 0 || p.KeepResults < 0 || p.Compact < 0 {
		return errors.New("a provider cannot be asked for fewer than no tokens or results")
	}
	if p.KeepResults > 0 && p.ClearResults == 0 {
		return errors.New("how many results are kept says nothing without from where on they are dropped")
	}
	at := made.at
	if at == 0 {
		at = defaultAt
	}
	made.at = 0
	made.provider = &providerManaged{
		want: model.ContextManagement{ClearResults: p.ClearResults, KeepResults: p.KeepResults, Compact: p.Compact, Truncate: p.Truncate},
		at:   at, size: m.Context,
	}
	switch by := p.Else.(type) {
	case nil:
		made.summary = Summarize{}.filled()
	case Summarize:
		made.summary = by.filled()
	case SlidingWindow:
		if by < 0 {
			return fmt.Errorf("a window cannot be %d messages", int(by))
		}
	case KeepAll:
		made.keepAll = true
	default:
		return fmt.Errorf("%T cannot stand in for the provider", p.Else)
	}
	return nil
}

// of gives what a model is asked for; nothing where it has none of it.
func (p *providerManaged) of(m Model) model.ContextManagement {
	if p.want.Any() {
		return p.want // the model's own check says whether it can
	}
	info := m.Info()
	p.mu.Lock()
	defer p.mu.Unlock()
	c, ok := p.asked[info.Name]
	if ok {
		return c
	}
	if checker := checkerOf(m); checker != nil {
		from := max(int(p.at*float64(cmp.Or(p.size, cmp.Or(info.ContextWindow, defaultContext)))), 1)
		for _, one := range []model.ContextManagement{{Compact: from}, {ClearResults: from}, {Truncate: true}} {
			if foreign.Sound(checker.Check(&model.Request{Options: model.Options{Context: one}})) == nil {
				c = one
				break
			}
		}
	}
	if p.asked == nil {
		p.asked = make(map[string]model.ContextManagement)
	}
	p.asked[info.Name] = c
	return c
}

// asks gives the options with which the agent asks a model.
func (a *driveAgent) asks(m Model) model.Options {
	o := a.options
	if a.manage != nil && a.manage.provider != nil {
		o.Context = a.manage.provider.of(m)
	}
	return o
}

// left says that a model's provider cannot be left to manage the conversation.
func (a *driveAgent) left(m Model) error {
	if a.manage == nil || a.manage.provider == nil || a.manage.provider.of(m).Any() {
		return nil
	}
	return &event.Error{
		Kind: event.ErrUnsupported, Message: "the model's provider does not manage long conversations",
		Hint: "manage them with Summarize or SlidingWindow, or use another model",
	}
}
