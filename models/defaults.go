package models

import (
	"context"
	"encoding/json"
	"iter"
	"maps"

	"github.com/braidrun/braid/model"
)

// withDefaults returns a model that adds options to each request that does not set them. Without
// options it returns m.
func withDefaults(m model.Model, o model.Options) model.Model {
	if !anySetting(&o) {
		return m
	}
	return &defaults{m, o}
}

// defaults is a model with default options, which a request's own options override.
type defaults struct {
	model.Model
	options model.Options
}

var (
	_ model.Checker = (*defaults)(nil)
	_ model.Counter = (*defaults)(nil)
)

// Unwrap returns the wrapped model.
func (m *defaults) Unwrap() model.Model { return m.Model }

// Cancellable implements [model.Cancellable] if the wrapped model does.
func (m *defaults) Cancellable() model.Model {
	if model.IsCancellable(m.Model) {
		return m
	}
	return nil
}

// Stream implements [model.Model].
func (m *defaults) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return m.Model.Stream(ctx, m.merged(req))
}

// Check implements [model.Checker]. It returns nil if the model checks nothing.
func (m *defaults) Check(req *model.Request) error {
	for below := m.Model; below != nil; {
		if c, ok := below.(model.Checker); ok {
			return c.Check(m.merged(req))
		}
		w, ok := below.(interface{ Unwrap() model.Model })
		if !ok {
			break
		}
		below = w.Unwrap()
	}
	return nil
}

// CountTokens implements [model.Counter] if the model does; otherwise it returns the error of
// [model.Count].
func (m *defaults) CountTokens(ctx context.Context, req *model.Request) (int64, error) {
	return model.Count(ctx, m.Model, m.merged(req))
}

// merged returns a copy of req with the defaults. It does not change req.
func (m *defaults) merged(req *model.Request) *model.Request {
	if req == nil {
		return nil
	}
	with := *req
	with.Options = mergeOptions(req.Options, m.options)
	return &with
}

// mergeOptions merges options: a setting of own wins, and a list of own replaces the usual one as a
// whole. Extra and Headers are merged by name.
func mergeOptions(own, usual model.Options) model.Options {
	// Effort has precedence over Thinking, so a budget in own would lose to a usual effort.
	if own.Effort == model.EffortDefault && own.Thinking == 0 {
		own.Effort, own.Thinking = usual.Effort, usual.Thinking
	}
	usually(&own.MaxTokens, usual.MaxTokens)
	usually(&own.Temperature, usual.Temperature)
	usually(&own.TopP, usual.TopP)
	usually(&own.Seed, usual.Seed)
	usually(&own.ShowThinking, usual.ShowThinking)
	usually(&own.Verbosity, usual.Verbosity)
	usually(&own.ServiceTier, usual.ServiceTier)
	usually(&own.Context, usual.Context)
	if own.StopWords == nil {
		own.StopWords = usual.StopWords
	}
	if own.ServerTools == nil {
		own.ServerTools = usual.ServerTools
	}
	own.Extra = byName(own.Extra, usual.Extra)
	own.Headers = byName(own.Headers, usual.Headers)
	return own
}

// usually sets own if it has its zero value.
func usually[T comparable](own *T, usual T) {
	var zero T
	if *own == zero {
		*own = usual
	}
}

// byName merges two maps; own wins. It changes neither.
func byName[V json.RawMessage | string](own, usual map[string]V) map[string]V {
	switch {
	case len(usual) == 0:
		return own
	case len(own) == 0:
		return usual
	}
	all := maps.Clone(usual)
	maps.Copy(all, own)
	return all
}

// anySetting reports whether any option is set.
func anySetting(o *model.Options) bool {
	return o.MaxTokens != 0 || o.Temperature != nil || o.TopP != nil || o.Seed != nil || len(o.StopWords) > 0 || o.Thinking != 0 ||
		o.Effort != "" || o.ShowThinking || o.Verbosity != "" || o.ServiceTier != "" || len(o.ServerTools) > 0 || o.Context.Any() ||
		len(o.Extra) > 0 || len(o.Headers) > 0
}
