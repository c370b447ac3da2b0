package openapitool

import (
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool"
)

// Tool is an operation of a document.
type Tool struct {
	api    *API
	spec   tool.Spec
	traits tool.Traits
	op     *operation
	path   string
}

var _ tool.Optional = (*Tool)(nil)

func newTool(a *API, name, method, path string, w *wireOperation, o *operation) *Tool {
	text := strings.TrimSpace(w.summary)
	if more := strings.TrimSpace(w.description); more != "" && more != text {
		text = strings.TrimSpace(text + "\n\n" + more)
	}
	if text == "" {
		text = o.method + " " + path
	}
	t := &Tool{
		api: a, op: o, path: path,
		spec:   tool.Spec{Name: name, Description: cut(strings.ToValidUTF8(text, "\uFFFD"), 4000), Schema: o.schema},
		traits: tool.Traits{Effect: methods[method], Timeout: a.options.Timeout},
	}
	if t.traits.Effect == event.EffectUnsafe && a.options.IdempotencyHeader != "" {
		t.traits.Effect = event.EffectIdempotent
	}
	if t.traits.Repeats() && a.options.Retry.Attempts > 1 {
		t.traits.Retry = a.options.Retry
	}
	return t
}

// Spec implements [tool.Tool].
func (t *Tool) Spec() tool.Spec { return t.spec }

// Traits returns the operation's effect, time limit and policy of repeating.
func (t *Tool) Traits() tool.Traits { return t.traits }

// Server returns the name of the API.
func (t *Tool) Server() string { return t.api.name }

// Method returns the HTTP method of the operation.
func (t *Tool) Method() string { return t.op.method }

// Path returns the path of the operation, as the document has it.
func (t *Tool) Path() string { return t.path }

// LeftOut implements [tool.Optional].
func (t *Tool) LeftOut(model string, why error) {
	text := why.Error()
	if model != "" {
		text = "is left out for the model " + model + ": " + text
	}
	t.api.leftOut(t.spec.Name, text)
}
