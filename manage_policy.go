package braid

import (
	"cmp"
	"sync"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/compact"
	"github.com/braidrun/braid/internal/decide"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/foreign"
	"github.com/braidrun/braid/model"
)

// management is a [Management] with its defaults filled in.
type management struct {
	compact.Policy

	summary *summaryCall
	keepAll bool
	// at is 0 for never before an overflow.
	at      float64
	context int
	tries   int
	// provider is nil where Braid manages by itself.
	provider *providerManaged
}

// The figures that Strands has found good, and how many tokens a model counts for that says nothing.
const (
	defaultAt      = 0.7
	defaultContext = 200_000
	defaultEasings = 3
	defaultRatio   = 0.3
	defaultRecent  = 10
)

// unmanaged is how an agent without [Manage] is managed.
func unmanaged() management {
	return management{Policy: compact.Policy{Window: -1}, tries: defaultEasings}
}

// managed gives how the agent is managed.
func (a *driveAgent) managed() management {
	if a.manage == nil {
		return unmanaged()
	}
	return *a.manage
}

// summaryCall is a [Summarize] with its defaults filled in.
type summaryCall struct {
	Model        model.Model
	Ratio        float64
	Recent       int
	Instructions string
	Options      model.Options
}

// compaction says when the model is shown less of one of the agent's scopes.
func (a *driveAgent) compaction(s *fold.Scope) decide.Compaction {
	m := a.manage
	if m == nil {
		return decide.Compaction{Window: -1, Threshold: -1, Tries: defaultEasings}
	}
	c := decide.Compaction{Window: m.Window, Threshold: -1, Before: a.toldTokens(), Tries: m.tries}
	if m.at > 0 {
		c.Threshold = m.threshold(s, a)
	}
	if m.keepAll {
		c.Tries = -1
	}
	return c
}

// threshold is how many tokens a conversation may have before something is left out.
func (m *management) threshold(s *fold.Scope, a *driveAgent) int64 {
	size := m.context
	if size == 0 {
		size = cmp.Or(a.named(s.LastModel).Info().ContextWindow, defaultContext)
	}
	return int64(m.at * float64(size))
}

// providerManaged is a ProviderManaged and what each model is asked for. It is safe for concurrent use.
type providerManaged struct {
	want model.ContextManagement
	at   float64
	size int

	mu    sync.Mutex
	asked map[string]model.ContextManagement
}

// of gives what a model is asked for; nothing where it has none of it.
func (p *providerManaged) of(m model.Model) model.ContextManagement {
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
func (a *driveAgent) asks(m model.Model) model.Options {
	o := a.options
	if a.manage != nil && a.manage.provider != nil {
		o.Context = a.manage.provider.of(m)
	}
	return o
}

// left says that a model's provider cannot be left to manage the conversation.
func (a *driveAgent) left(m model.Model) error {
	if a.manage == nil || a.manage.provider == nil || a.manage.provider.of(m).Any() {
		return nil
	}
	return &event.Error{
		Kind: event.ErrUnsupported, Message: "the model's provider does not manage long conversations",
		Hint: "manage them with Summarize or SlidingWindow, or use another model",
	}
}
