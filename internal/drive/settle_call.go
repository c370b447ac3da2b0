package drive

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/braidrun/braid/event"
)

// settleCall passes a call through the driver's own stages after it, and writes its end.
func (d *activeRun) settleCall(w *Work) {
	c, end := w.call, w.end
	c.close()
	if !d.passAfter(w) {
		return
	}
	if _, answers := c.tool.(answerTool); answers && end.made.IsError {
		c.did.endTurn, c.did.returns = false, false // a hook did not let it pass
	}
	e := callEnd{
		outcome: cmp.Or(end.outcome, event.OutcomeDone), result: end.made, shown: end.shown, err: end.failure, took: end.took,
		endTurn: c.did.endTurn, returnDirect: c.did.returns, guardedBy: c.guardedBy(), event: end.event,
	}
	e.files, e.moreFiles = c.files()
	if c.tool != nil {
		e.found = w.foundBy(d.offer(w.scope, w.agent))
	}
	d.endCall(w.scope, w.step, w.attempt, &e)
	d.writeSaid(w)
}

// keepState is the stage that writes what a call has set. Where an update cannot be made to the newest value, the
// call's result is an error and nothing that it set is kept.
func (d *activeRun) keepState(w *Work) bool {
	if bad := w.call.rebase(); bad != nil {
		w.call.did.writes = nil
		w.end.made, w.end.err = nil, errStateChanged(bad)
		d.fitResult(w)
		d.guardResult(w)
	}
	d.writeState(w)
	return true
}

// writeState writes what a call has set so far.
func (d *activeRun) writeState(w *Work) {
	changed := stateChange(w.call.maskedWrites(d.cfg.mask))
	if changed == nil {
		return
	}
	d.add(w.scope, w.step, w.attempt, changed)
	w.call.did.writes, w.call.did.updates = nil, nil
}

// stateChange splits what a call wrote into values and removals.
func stateChange(writes map[string]json.RawMessage) *event.StateChanged {
	if len(writes) == 0 {
		return nil
	}
	b := &event.StateChanged{}
	for k, v := range writes {
		if v == nil {
			b.Delete = append(b.Delete, k)
			continue
		}
		if b.Set == nil {
			b.Set = make(map[string]json.RawMessage, len(writes))
		}
		b.Set[k] = v
	}
	slices.Sort(b.Delete)
	return b
}
