package drive

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/decide"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/foreign"
	"github.com/braidrun/braid/internal/output"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/internal/toolset"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// CheckerOf finds what can be asked of a model or of the one that it wraps; nil
// for nothing.
func CheckerOf(m model.Model) model.Checker {
	for m != nil {
		if c, ok := m.(model.Checker); ok {
			return c
		}
		w, ok := m.(interface{ Unwrap() model.Model })
		if !ok {
			return nil
		}
		m = w.Unwrap()
	}
	return nil
}

// wayOf finds how a model is asked for output. A provider is asked once what it takes.
func wayOf(f *output.Form, m model.Model, info *model.Info) output.Way {
	way, found := f.Way(info)
	if c := CheckerOf(m); !found && c != nil {
		_ = Suits(f, c, info, model.Request{})
		way, _ = f.Way(info)
	}
	return way
}

// Suits reports why a model cannot be asked req together with the output's form.
func Suits(f *output.Form, c model.Checker, info *model.Info, req model.Request) error {
	check := func(req *model.Request) error { return foreign.Sound(c.Check(req)) }
	if f == nil {
		return check(&req)
	}
	return f.Suits(check, info, req)
}

// askFor adds to a request what a model is to know of the output's form. forced says that it has ended its turn without.
func askFor(f *output.Form, req *model.Request, m model.Model, info *model.Info, forced bool) {
	if f != nil {
		f.Ask(req, wayOf(f, m, info), forced)
	}
}

// say writes what the loop says to the model itself. No client is shown it.
func (d *activeRun) say(s *fold.Scope, cmd decide.Command) {
	d.add(s, "", 0, &event.UserMessage{Content: []event.Block{&event.Text{Text: cmd.Say}}, Why: cmd.Why})
	d.pending.events[len(d.pending.events)-1].Audience = event.Operator
}

// answerOf is what the answers of a scope are held to; nil for nothing.
func (d *activeRun) answerOf(s *fold.Scope) *output.Form {
	if s.Depth == 0 && d.cfg.output != nil {
		return d.cfg.output
	}
	if agent := d.agentOf(s.Agent); agent != nil {
		return agent.Answer
	}
	return nil
}

// toolOf finds what a scope's agent calls by that name; nil for nothing.
func (d *activeRun) toolOf(s *fold.Scope, offered *toolset.Offer, name string) tool.Tool {
	if x := d.answerOf(s); x.HasTool() && name == output.ToolName {
		return answerTool{x}
	}
	return offered.Tool(name)
}

// answerTool takes an answer as its arguments, and ends the turn with it.
type answerTool struct {
	form *output.Form
}

func (t answerTool) Spec() model.ToolSpec { return t.form.Tool }

// Traits: nothing happens, so that a driver that takes the run over makes the call again.
func (t answerTool) Traits() tool.Traits { return tool.Traits{Effect: event.EffectPure} }

func (t answerTool) Call(ctx context.Context, args json.RawMessage) (tool.Output, error) {
	raw := bytes.TrimSpace(args)
	if t.form.Wrapped {
		var in map[string]json.RawMessage
		if err := strictjson.Check(args, strictjson.DefaultDepth); err != nil {
			return tool.Output{}, &tool.ArgumentsError{Err: err}
		}
		if err := json.Unmarshal(args, &in); err != nil || len(in[output.Key]) == 0 || len(in) != 1 {
			misplaced := errors.New(`the answer belongs under the key "` + output.Key + `", and nothing beside it`)
			return tool.Output{}, &tool.ArgumentsError{Err: misplaced}
		}
		raw = in[output.Key]
	}
	if err := t.form.Check(raw, ctx.Done()); err != nil {
		return tool.Output{}, &tool.ArgumentsError{Err: errors.New("the answer " + err.Error() + "; call the tool again with the whole answer")}
	}
	tool.EndTurn(ctx)
	return tool.Output{Content: []event.Block{&event.Text{Text: "The answer was taken."}}, Structured: slices.Clone(raw)}, nil
}
