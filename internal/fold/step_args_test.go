package fold_test

import (
	"encoding/json"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/fold/foldtest"
)

// Only arguments that differ from the model's are a hook's. Logs of earlier versions have no others.
func TestWhoseArgumentsABegunCallHas(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, changed string }{
		{"", ""}, {`{}`, ""}, {`{"a":1}`, `{"a":1}`}, {` {}`, ` {}`},
	} {
		h := foldtest.Asked().Calls(1, "add")
		b := &event.StepBegun{Step: event.StepTool, Call: "c0", Tool: "add"}
		if c.args != "" {
			b.Args = json.RawMessage(c.args)
		}
		v := fold.New(h.Add(1, fold.StepName("", 't', 1, 0), 1, b).Log)
		if got := string(v.Run.Scopes[0].Batch.Calls[0].Extra().Args); got != c.changed {
			t.Errorf("a call of {} that begins with %q has the hook's arguments %q, want %q", c.args, got, c.changed)
		}
	}
	// The next attempt may have the model's own again.
	step := fold.StepName("", 't', 1, 0)
	h := foldtest.Asked().Calls(1, "add").
		Add(1, step, 1, &event.StepBegun{Step: event.StepTool, Call: "c0", Tool: "add", Args: json.RawMessage(`{"a":1}`)}).
		Add(1, step, 2, &event.StepBegun{Step: event.StepTool, Call: "c0", Tool: "add", Args: json.RawMessage(`{}`)})
	if got := fold.New(h.Log).Run.Scopes[0].Batch.Calls[0].Extra().Args; got != nil {
		t.Errorf("the second attempt has the hook's arguments %s", got)
	}
}
