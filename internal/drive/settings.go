package drive

import (
	"cmp"
	"sync"
	"time"

	"github.com/braidrun/braid/internal/compact"
	"github.com/braidrun/braid/internal/foreign"
	"github.com/braidrun/braid/internal/guardrail"
	"github.com/braidrun/braid/internal/offload"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// Guard is a guardrail and the places where it looks; none is all of them.
type Guard struct {
	guardrail.Rule
	Places []guardrail.Place
}

// Management is a [Management] with its defaults filled in.
type Management struct {
	compact.Policy

	Summary *SummaryCall
	KeepAll bool
	// At is 0 for never before an overflow.
	At      float64
	Context int
	Tries   int
	// Provider is nil where Braid manages by itself.
	Provider *ProviderManaged
}

// Offloading is the root's Offloading with its defaults, and the tool that reads off-loaded results.
type Offloading struct {
	offload.Sizes

	Reader tool.Tool
}

// Limits are those of an agent that its driver holds it to. decide.Limits has the others. A zero or negative number is no limit.
type Limits struct {
	// Depth bounds agents inside agents, and Scopes their number in the run.
	Depth  int
	Scopes int
	// Parallel bounds the tools that run at once.
	Parallel int
	// ArgBytes, ResultBytes and AnswerBytes bound the sizes of arguments, results and a model's answers.
	ArgBytes    int
	ResultBytes int
	AnswerBytes int
	// ToolTime bounds a tool that has no time-out of its own, and Active the time in which the run is driven.
	ToolTime time.Duration
	Active   time.Duration
	// Grace is how long a step that is cancelled may take to stop.
	Grace time.Duration
	// LostDrivers bounds how many drivers the run may lose in a row.
	LostDrivers int
	// Budgeted says that the runs of the conversation have a budget in common. Budget is what the driver counts of it.
	Budgeted bool
	Budget   Budget
}

// Budget is the part of a conversation's budget that a driver counts.
type Budget struct {
	Scopes int
	Active time.Duration
}

// visible caches the tools of a request without those that the agent's policy denies.
type visible struct {
	// of is the list that was filtered last. specs and names are the result.
	of    []model.ToolSpec
	specs []model.ToolSpec
	names []string
}

// ProviderManaged is a ProviderManaged and what each model is asked for. It is safe for concurrent use.
type ProviderManaged struct {
	Want model.ContextManagement
	At   float64
	Size int

	mu    sync.Mutex
	asked map[string]model.ContextManagement
}

// of gives what a model is asked for; nothing where it has none of it.
func (p *ProviderManaged) of(m model.Model) model.ContextManagement {
	if p.Want.Any() {
		return p.Want // the model's own check says whether it can
	}
	info := m.Info()
	p.mu.Lock()
	defer p.mu.Unlock()
	c, ok := p.asked[info.Name]
	if ok {
		return c
	}
	if checker := CheckerOf(m); checker != nil {
		from := max(int(p.At*float64(cmp.Or(p.Size, cmp.Or(info.ContextWindow, DefaultContext)))), 1)
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

// SummaryCall is the root's Summarize with its defaults filled in.
type SummaryCall struct {
	Model        model.Model
	Ratio        float64
	Recent       int
	Instructions string
	Options      model.Options
}
