package braid_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// managing is a model whose provider manages conversations in some ways.
type managing struct {
	name  string
	has   model.ContextManagement
	asked []model.ContextManagement
	seen  [][]event.Message
	says  func(n int) ([]model.Chunk, error)
}

func (m *managing) Info() model.Info {
	return model.Info{Name: m.name, ContextWindow: 1000}
}

func (m *managing) Check(req *model.Request) error {
	c := req.Options.Context
	if c.Compact > 0 && m.has.Compact == 0 || c.ClearResults > 0 && m.has.ClearResults == 0 || c.Truncate && !m.has.Truncate {
		return &event.Error{Kind: event.ErrUnsupported, Message: "the provider does not do that", Hint: "leave it out"}
	}
	return nil
}

func (m *managing) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	if err := m.Check(req); err != nil {
		return failing(err)
	}
	m.asked, m.seen = append(m.asked, req.Options.Context), append(m.seen, req.Messages)
	if m.says == nil {
		return chunks(says("yes"))
	}
	list, err := m.says(len(m.seen))
	if err != nil {
		return failing(err)
	}
	return chunks(list)
}

func TestAProviderManagesTheConversation(t *testing.T) {
	t.Parallel()
	all := model.ContextManagement{Compact: 1, ClearResults: 1, Truncate: true}
	for name, c := range map[string]struct {
		how  braid.Management
		has  model.ContextManagement
		want model.ContextManagement
		bad  bool
	}{
		"whatever it has": {braid.Management{By: braid.ProviderManaged{}}, all, model.ContextManagement{Compact: 700}, false},
		"from a share on": {braid.Management{By: braid.ProviderManaged{}, At: 0.5, Context: 3000}, all, model.ContextManagement{Compact: 1500}, false},
		"it only drops results": {
			braid.Management{By: braid.ProviderManaged{}}, model.ContextManagement{ClearResults: 1}, model.ContextManagement{ClearResults: 700}, false,
		},
		"it only drops":  {braid.Management{By: braid.ProviderManaged{}}, model.ContextManagement{Truncate: true}, model.ContextManagement{Truncate: true}, false},
		"it has nothing": {braid.Management{By: braid.ProviderManaged{}}, model.ContextManagement{}, model.ContextManagement{}, true},
		"exactly this": {
			braid.Management{By: braid.ProviderManaged{ClearResults: 100, KeepResults: 2, Truncate: true}},
			all,
			model.ContextManagement{ClearResults: 100, KeepResults: 2, Truncate: true},
			false,
		},
		"exactly what it has not": {braid.Management{By: braid.ProviderManaged{Compact: 100}}, model.ContextManagement{Truncate: true}, model.ContextManagement{}, true},
	} {
		first, second := &managing{name: "first", has: c.has}, &managing{name: "second", has: all}
		agent := braid.New("a", first, braid.Manage(c.how), braid.Options(model.Options{MaxTokens: 9}))
		_, err := agent.Run(t.Context(), "go")
		if c.bad {
			if !errors.Is(agent.Err(), event.ErrUnsupported) || !errors.Is(err, event.ErrUnsupported) || len(first.asked) > 0 {
				t.Errorf("%s: %v, %v", name, agent.Err(), err)
			}
			continue
		}
		if err != nil || len(first.asked) != 1 || first.asked[0] != c.want {
			t.Errorf("%s: asked %+v, %v", name, first.asked, err)
		}
		// Each model of a list is asked for what it has.
		first.says = func(int) ([]model.Chunk, error) { return nil, fault(event.ErrThrottled) }
		agent.Use(braid.Fallback([]event.ErrorKind{event.ErrThrottled}, second))
		if _, err := agent.Run(t.Context(), "go"); err != nil || len(second.asked) != 1 || !second.asked[0].Any() {
			t.Errorf("%s: the second is asked %+v, %v", name, second.asked, err)
		}
	}
	for _, bad := range []braid.ProviderManaged{{Compact: -1}, {ClearResults: -1}, {KeepResults: 3}, {Else: braid.ProviderManaged{}}, {Else: braid.SlidingWindow(-1)}} {
		if err := braid.New("a", &managing{name: "first", has: all}, braid.Manage(braid.Management{By: bad})).Err(); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// Braid leaves nothing out before the provider has refused, and then does as it is told.
func TestWhereAProviderManagesBadly(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		other braid.Strategy
		want  string
	}{
		"a summary": {nil, "in short"},
		"a window":  {braid.SlidingWindow(2), "left out"},
		"nothing":   {braid.KeepAll{}, ""},
	} {
		m := &managing{name: "first", has: model.ContextManagement{Truncate: true}}
		refused := false
		m.says = func(n int) ([]model.Chunk, error) {
			last := m.seen[len(m.seen)-1]
			switch {
			case strings.Contains(last[0].Text(), "[user]") || len(last) == 1 && n > 9:
				return says("in short"), nil
			case n == 9 && !refused:
				refused = true
				return nil, fault(event.ErrContextOverflow)
			}
			list := says(strings.Repeat("long ", 400))
			list[1].Usage = &event.Usage{Input: 5000, Output: 5}
			return list, nil
		}
		agent := braid.New("a", m, braid.Manage(braid.Management{By: braid.ProviderManaged{Else: c.other}}))
		conv := braid.NewConversation()
		for turn := range 9 {
			r, err := agent.Run(t.Context(), "go", braid.In(conv))
			if turn < 8 && (err != nil || r.Metrics.Compactions > 0) {
				t.Fatalf("%s: turn %d: %v, %d compactions", name, turn, err, r.Metrics.Compactions)
			}
			if turn == 8 && (c.want == "") != errors.Is(err, event.ErrContextOverflow) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if got := m.seen[len(m.seen)-1][0].Text(); !strings.Contains(got, c.want) {
			t.Errorf("%s: it is shown %.80q", name, got)
		}
	}
}

// A provider's own summary goes back with the history, and what stands before it counts no more.
func TestAProvidersSummary(t *testing.T) {
	t.Parallel()
	block := &event.UnknownBlock{Name: "test.compaction", Raw: []byte(`{"kind":"test.compaction","content":"in short"}`)}
	m := &managing{name: "first", has: model.ContextManagement{Compact: 1}}
	m.says = func(n int) ([]model.Chunk, error) {
		list := says("yes")
		list[1].Usage = &event.Usage{Input: 600, Output: 5}
		if n == 3 {
			// The call in which the provider sums up counts, too.
			list[1].Usage = &event.Usage{Input: 5000, Output: 5}
			list = append([]model.Chunk{{Kind: model.ChunkBlock, Index: 7, Block: block}}, list...)
		}
		return list, nil
	}
	// Here Braid manages, too, and sees no reason to.
	agent := braid.New("a", m, braid.Options(model.Options{Context: model.ContextManagement{Compact: 500}}), braid.Manage(braid.Management{At: 0.9, Context: 3000}))
	conv := braid.NewConversation()
	for turn := range 5 {
		input := "go"
		if turn < 2 {
			input = strings.Repeat("a long story ", 580)
		}
		if r, err := agent.Run(t.Context(), input, braid.In(conv)); err != nil || r.Metrics.Compactions > 0 {
			t.Fatalf("turn %d: %v, %d compactions", turn, err, r.Metrics.Compactions)
		}
	}
	last := m.seen[4]
	if len(last) != 9 || last[5].Content[0] != event.Block(block) && !strings.Contains(string(raw(last[5].Content)), "in short") {
		t.Errorf("the history is %s", brief(last))
	}
}
