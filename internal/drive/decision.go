package drive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/flow/kind"
	"github.com/braidrun/braid/internal/decide"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/foreign"
	"github.com/braidrun/braid/internal/strictjson"
)

// makeDecision lets Go code of the program decide, and writes its value. The driver waits for it. It reports whether the scope
// moved; it does not where the run is to stop.
func (d *activeRun) makeDecision(s *fold.Scope, agent *Agent, name string) bool {
	flow, _ := agent.Flow.(decide.Flow)
	decider, _ := flow.Kind.(kind.Decider)
	op := "decision " + quoted(name)
	w := newToolWork(s, agent, &fold.Call{ToolCall: &event.ToolCall{Name: name}}, 1)
	d.callFor(w.call, s, w.entry, 1)
	w.call.questions.end(errAskedInDecision)
	ctx, cancel := context.WithTimeout(&w.call.Call, kind.DecideTime)
	defer cancel()
	began := time.Now()
	var view kind.Scope
	narrowed := foreign.Shield(op, "the kind of the agent", func() error { view = flow.DecisionView(name, s, d.now); return nil })
	var value json.RawMessage
	done := foreign.Apart(op, "the code of the decision", func() error {
		if narrowed != nil {
			return narrowed
		}
		v, err := decider.Decide(ctx, name, view)
		if err == nil {
			value, err = decided(v, agent.Limits.ResultBytes)
		}
		return err
	})
	b := &event.Decided{Name: validText(name)}
	select {
	case err := <-done:
		if b.Err = decisionError(op, err); b.Err == nil {
			b.Value = value
		}
	case <-ctx.Done():
		b.Err = &event.Error{
			Op: op, Kind: event.ErrTimeout,
			Message: "the code of the decision did not return within " + kind.DecideTime.String() + " and was left behind",
			Hint:    "let a function of the flow do slow work; flow.Func has no such limit",
		}
	}
	w.call.close()
	d.now = time.Now()
	if d.ctx.Err() != nil {
		d.pending.awaited = true
		return false
	}
	if b.Err == nil {
		d.writeState(&w.Work)
	}
	b.Duration = d.now.Sub(began)
	d.add(s, "", 0, b)
	return true
}

var errAskedInDecision = errors.New("a decision cannot ask; ask in a function of the flow")

// decided writes a value as JSON.
func decided(v any, limit int) (json.RawMessage, error) {
	raw, err := json.Marshal(v)
	if err == nil {
		err = strictjson.Check(raw, strictjson.DefaultDepth)
	}
	switch {
	case err != nil:
		return nil, &event.Error{Kind: event.ErrInvalid, Message: "the value cannot be written as JSON", Err: err}
	case limit > 0 && len(raw) > limit:
		return nil, &event.Error{
			Kind: event.ErrTooLarge, Message: "the value is " + size(len(raw)) + " long, the limit is " + size(limit), Hint: "decide on less at once",
		}
	}
	return raw, nil
}

// decisionError returns the error of a decision for the log.
func decisionError(op string, err error) *event.Error {
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*event.Error](err)
	if !ok {
		return &event.Error{Op: op, Kind: event.KindOf(err), Message: validText(err.Error()), Err: err}
	}
	if own, panicked := errors.AsType[*event.PanicError](err); panicked && own.Value != nil {
		return &event.Error{Op: op, Kind: event.ErrInternal, Message: e.Message + ": " + validText(fmt.Sprint(own.Value)), Err: err}
	}
	if e.Op == "" {
		copied := *e
		copied.Op, e = op, &copied
	}
	return e
}

// callOwn writes the call of a tool that no model asked for.
func (d *activeRun) callOwn(s *fold.Scope, name string) {
	args, err := json.Marshal(map[string]string{"input": event.TextOf(s.Input())})
	if err != nil {
		args = EmptyObject
	}
	call := &event.ToolCall{ID: ownCallID(d.row.ID, s), Name: name, Args: args}
	d.add(s, "", 0, &event.AssistantMessage{Content: []event.Block{call}, Stop: event.StopToolUse})
}

// ownCallID names such a call: it is the only one of its scope and input.
func ownCallID(run string, s *fold.Scope) string {
	id := []byte("own_" + run + "_" + s.ID + "_" + strconv.FormatInt(s.Newest.Seq, 10))
	for i, c := range id {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' {
			id[i] = '_'
		}
	}
	return string(id)
}
