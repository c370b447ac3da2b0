package models

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"reflect"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// asked notes the options of the requests that reach it.
type asked struct {
	*model.Options
	check error
}

func (asked) Info() model.Info { return model.Info{Name: "asked:x"} }

func (a asked) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	*a.Options = req.Options
	return func(func(model.Chunk, error) bool) {}
}

// whole is a model with everything that a provider can have.
type whole struct{ asked }

func (w *whole) Cancellable() model.Model { return w }

func (w *whole) Check(req *model.Request) error {
	if req != nil {
		*w.Options = req.Options
	}
	return w.check
}

func (w *whole) CountTokens(_ context.Context, req *model.Request) (int64, error) {
	*w.Options = req.Options
	return 7, nil
}

func (w *whole) Upload(context.Context, model.File) (string, error) { return "file:1", nil }

func (w *whole) Delete(context.Context, string) error { return nil }

func TestDefaultsAreMergedIntoRequests(t *testing.T) {
	t.Parallel()
	half, one, seven := 0.5, 1.0, int64(7)
	raw := func(s string) map[string]json.RawMessage { return map[string]json.RawMessage{s: json.RawMessage(s)} }
	usual := model.Options{
		MaxTokens: 9, Temperature: &half, TopP: &half, Seed: &seven, StopWords: []string{"a"}, Effort: "high", ShowThinking: true, Verbosity: "low",
		ServiceTier: "flex", ServerTools: []model.ServerTool{{Kind: model.WebSearch}}, Context: model.ContextManagement{Truncate: true},
		Extra: raw("1"), Headers: map[string]string{"X-A": "1", "X-B": "1"},
	}
	for name, c := range map[string]struct{ own, want model.Options }{
		"nothing of its own": {model.Options{}, usual},
		"a budget against an effort": {model.Options{Thinking: 5}, func() model.Options {
			o := usual
			o.Effort, o.Thinking = "", 5
			return o
		}()},
		"everything of its own": {
			model.Options{
				MaxTokens: 8, Temperature: &one, TopP: &one, Seed: new(int64), StopWords: []string{}, Effort: "none", Verbosity: "high",
				ServiceTier: "priority", ServerTools: []model.ServerTool{}, Context: model.ContextManagement{Compact: 5},
				Extra: raw("2"), Headers: map[string]string{"X-B": "2"},
			},
			model.Options{
				MaxTokens: 8, Temperature: &one, TopP: &one, Seed: new(int64), StopWords: []string{}, Effort: "none", Verbosity: "high", ShowThinking: true,
				ServiceTier: "priority", ServerTools: []model.ServerTool{}, Context: model.ContextManagement{Compact: 5},
				Extra:   map[string]json.RawMessage{"1": json.RawMessage("1"), "2": json.RawMessage("2")},
				Headers: map[string]string{"X-A": "1", "X-B": "2"},
			},
		},
	} {
		var got model.Options
		below := &whole{asked: asked{Options: &got}}
		m := withDefaults(below, usual)
		req := &model.Request{Options: c.own}
		for c, err := range m.Stream(t.Context(), req) {
			t.Errorf("a chunk of nobody's: %v, %v", c, err)
		}
		check := func(where string) {
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("%s, %s: %+v, want %+v", name, where, got, c.want)
			}
			if !reflect.DeepEqual(req.Options, c.own) {
				t.Errorf("%s, %s: the request was changed: %+v", name, where, req.Options)
			}
			got = model.Options{}
		}
		check("stream")
		if n, err := model.Count(t.Context(), m, req); n != 7 || err != nil {
			t.Errorf("%s: %d, %v", name, n, err)
		}
		check("count")
		if err := m.(model.Checker).Check(req); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		check("check")
	}
}

// A model keeps what it can and has nothing more through its defaults.
func TestDefaultsKeepWhatAModelHas(t *testing.T) {
	t.Parallel()
	var got model.Options
	full := &whole{asked: asked{Options: &got, check: errors.New("no")}}
	if m := withDefaults(full, model.Options{}); m != model.Model(full) {
		t.Error("a model without defaults is wrapped")
	}
	o := model.Options{Effort: "high"}
	m := withDefaults(full, o)
	if !model.IsCancellable(m) || model.Files(m) == nil || m.(model.Checker).Check(nil) == nil || m.Info().Name != "asked:x" {
		t.Error("something is lost")
	}
	bare := withDefaults(asked{Options: &got}, o)
	_, err := model.Count(t.Context(), bare, &model.Request{})
	if model.IsCancellable(bare) || model.Files(bare) != nil || bare.(model.Checker).Check(&model.Request{}) != nil || !errors.Is(err, event.ErrUnsupported) {
		t.Errorf("something is invented: %v", err)
	}
	// A check below another wrapper counts too.
	inner := withDefaults(withCost(full, nil, ""), o)
	if inner.(model.Checker).Check(&model.Request{}) == nil || got.Effort != "high" {
		t.Error("the check below is not asked with the defaults")
	}
}

func TestOptionSettings(t *testing.T) {
	t.Parallel()
	half, seven := 0.5, int64(-7)
	for query, want := range map[string]*model.Options{
		"":                            {},
		"effort=xhigh&show=yes":       {Effort: "xhigh", ShowThinking: true},
		"thinking=2048&show=no":       {Thinking: 2048},
		"top_p=0.5&seed=-7":           {TopP: &half, Seed: &seven},
		"verbosity=low&tier=priority": {Verbosity: "low", ServiceTier: "priority"},
		"effort=":                     nil,
		"effort=very%20high":          nil,
		"thinking=0":                  nil,
		"thinking=lots":               nil,
		"thinking=99999999999":        nil,
		"top_p=0":                     nil,
		"top_p=1.1":                   nil,
		"top_p=NaN":                   nil,
		"seed=1.5":                    nil,
		"seed=99999999999999999999":   nil,
		"verbosity=loud":              nil,
		"tier=%22":                    nil,
		"show=1":                      nil,
		"effort=low&effort=high":      nil,
		"effort=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": nil,
	} {
		g := &opening{provider: provider{name: "x"}, query: query, asked: true}
		var got model.Options
		err := g.settings("y?effort=high", together(map[string]setting{"base": address(new(string))}, g.optionSettings(&got)))
		switch {
		case want == nil:
			if !errors.Is(err, event.ErrInvalid) {
				t.Errorf("%s: %+v, %v", query, got, err)
			}
		case err != nil || !reflect.DeepEqual(got, *want):
			t.Errorf("%s: %+v, %v", query, got, err)
		}
	}
}
