package drive

import (
	"encoding/json"
	"errors"
	"sync"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/guardrail"
	"github.com/braidrun/braid/internal/hooks"
	"github.com/braidrun/braid/internal/userdata"
	"github.com/braidrun/braid/tool"
)

// callAfterAgent calls the hooks after an agent that has given its answer, and writes what they set. It reports whether the
// agent may end; if not, the next round ends the run.
func (d *activeRun) callAfterAgent(s *fold.Scope, answer []event.Block, output json.RawMessage) bool {
	list := d.agentIn(s).Hooks.At(hooks.AfterAgent)
	if len(list) == 0 {
		return true
	}
	box := &hookState{box: d.view.State, temp: map[string]json.RawMessage{}, writes: map[string]json.RawMessage{}}
	var err error
	back := d.runHooks(func() {
		ctx, cancel := afterwards(d.contextOf(s), d.cfg.agent.Limits.Grace)
		defer cancel()
		err = hooks.CallAfter(tool.WithState(ctx, box), list, &hook.AfterAgent{Agent: s.Agent, Scope: s.ID, Answer: answer, Output: output})
	})
	writes, temp := box.end()
	switch {
	case !back:
		d.failWith(errHookLeft)
		return false
	case err != nil:
		d.failWith(err)
		return false
	}
	for key, value := range temp {
		d.view.State.SetTemp(key, value)
	}
	if d.cfg.mask != nil {
		f := guardrail.New(d.ctx, []guardrail.Rule{{Name: "secrets", Mask: d.cfg.mask}})
		for key, value := range writes {
			if value != nil {
				writes[key] = f.JSON(value)
			}
		}
	}
	if changed := stateChange(writes); changed != nil {
		d.add(s, "", 0, changed)
	}
	return true
}

// errHookLeft ends a run whose hook did not return in time.
var errHookLeft = errors.New("a hook after an agent did not return within the grace period")

// hookState is the state in hooks that may write it. The driver alone changes the state, and waits for them.
type hookState struct {
	box *fold.State

	// updating holds updates apart. mu guards what follows; a change may read meanwhile.
	updating     sync.Mutex
	mu           sync.Mutex
	temp, writes map[string]json.RawMessage
	ended        bool
}

// end returns what was set: temporary values, and those for the log. Nothing more is taken.
func (h *hookState) end() (writes, temp map[string]json.RawMessage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = true
	return h.writes, h.temp
}

// State implements [tool.StateReader].
func (h *hookState) State(key string) (json.RawMessage, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.get(key)
}

// get is State; the caller holds mu.
func (h *hookState) get(key string) (json.RawMessage, bool) {
	if v, ok := h.of(key)[key]; ok {
		return v, v != nil
	}
	return h.box.Get(key)
}

// of returns the values among which a key is.
func (h *hookState) of(key string) map[string]json.RawMessage {
	if userdata.IsTemp(key) {
		return h.temp
	}
	return h.writes
}

// SetState implements [tool.StateWriter].
func (h *hookState) SetState(key string, value json.RawMessage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ended {
		h.of(key)[key] = value
	}
}

// UpdateState implements [tool.StateWriter].
func (h *hookState) UpdateState(key string, change func(json.RawMessage) (json.RawMessage, error)) error {
	h.updating.Lock()
	defer h.updating.Unlock()
	old, _ := h.State(key)
	value, err := change(old)
	if err == nil {
		h.SetState(key, value)
	}
	return err
}
