package braid

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"testing"

	"github.com/braidrun/braid/internal/drive"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// searching is a model whose provider searches: each answer is a list of words. "call" and "result" are
// blocks of the vendor's, "tool" a call of the agent's own tool, and a stop reason ends the answer.
type searching struct {
	says  []string
	asked [][]event.Message
	n     int
}

func (m *searching) Info() model.Info { return model.Info{Name: "test:searching", ContextWindow: 1000} }

func vendorBlock(kind, member, id string) *event.UnknownBlock {
	return &event.UnknownBlock{
		Name: event.BlockKind("anthropic." + kind),
		Raw:  json.RawMessage(fmt.Sprintf(`{"kind":"anthropic.%s","type":%q,%q:%q,"name":"web_search"}`, kind, kind, member, id)),
	}
}

func (m *searching) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	m.asked = append(m.asked, req.Messages)
	says := m.says[min(len(m.asked), len(m.says))-1]
	return func(yield func(model.Chunk, error) bool) {
		if err := pairedSearches(req.Messages); err != nil {
			yield(model.Chunk{}, &event.Error{Kind: event.ErrInvalid, Message: err.Error()})
			return
		}
		stop := event.StopEndTurn
		for i, word := range strings.Fields(says) {
			c := model.Chunk{Kind: model.ChunkText, Index: i, Text: word}
			switch word {
			case "call":
				m.n++
				c = model.Chunk{Kind: model.ChunkBlock, Index: i, Block: vendorBlock("server_tool_use", "id", "s"+strconv.Itoa(m.n))}
			case "result":
				c = model.Chunk{Kind: model.ChunkBlock, Index: i, Block: vendorBlock("web_search_tool_result", "tool_use_id", "s"+strconv.Itoa(m.n))}
			case "tool":
				c = model.Chunk{Kind: model.ChunkCall, Index: i, ID: "t" + strconv.Itoa(len(m.asked)), Text: "look"}
			case "pause_turn", "max_tokens", "refusal":
				stop = event.StopReason(word)
				continue
			}
			if !yield(c, nil) {
				return
			}
		}
		yield(model.Chunk{Kind: model.ChunkStop, Stop: stop}, nil)
	}
}

// pairedSearches is the vendor's rule: a result stands behind its call, and a call without a result only at the
// end, where the provider goes on, or before the results of the agent's own tools.
func pairedSearches(msgs []event.Message) error {
	open := map[string]bool{}
	for i, m := range msgs {
		if m.Role == event.RoleUser && len(open) > 0 {
			if _, results := m.Content[0].(*event.ToolResult); !results {
				return fmt.Errorf("message %d comes before a search has its result", i)
			}
		}
		for _, b := range m.Content {
			switch s := fold.ServedBy(b); {
			case s.Call != "":
				open[s.Call] = true
			case s.Result != "":
				if !open[s.Result] {
					return fmt.Errorf("message %d has a result without its search", i)
				}
				delete(open, s.Result)
			}
		}
	}
	return nil
}

func (m *searching) agent(parts ...Part) *Agent {
	return New("a", m, append(parts, Func("look", "", func(context.Context, struct{}) (string, error) { return "seen", nil }, tool.Pure()))...)
}

// A turn that the provider has paused goes on with the answer so far and nothing else, until the provider
// or the limit ends it.
func TestAPausedTurnGoesOn(t *testing.T) {
	t.Parallel()
	m := &searching{says: []string{"first call pause_turn", "result second call pause_turn", "result done"}}
	r, err := m.agent().Run(t.Context(), "go")
	if err != nil || r.Stop != event.StopEndTurn || r.Metrics.Cycles != 3 {
		t.Fatalf("%v: %s after %d cycles", err, r.Stop, r.Metrics.Cycles)
	}
	for i, want := range []int{1, 2, 2} {
		got := m.asked[i]
		if len(got) != want || want == 2 && (got[1].Role != event.RoleAssistant || len(got[1].Content) != []int{0, 2, 5}[i]) {
			t.Errorf("call %d is shown %s", i, show(got))
		}
	}
	m = &searching{says: []string{"on pause_turn"}}
	r, err = m.agent(Limit(Limits{Cycles: 7})).Run(t.Context(), "go")
	if !errors.Is(err, event.ErrLimit) || r.Stop != event.StopLimitCycles || len(m.asked) != 7 {
		t.Errorf("for ever: %s after %d calls, %v", r.Stop, len(m.asked), err)
	}
}

// Wherever an answer with a provider's tools ends, and whatever becomes of its parts, the vendor takes
// the history.
func TestAProvidersToolsStayPaired(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		says []string
		part Part
		// redact is the answer that is redacted afterwards, from 1.
		redact int
		// sees stands in the last request.
		sees string
	}{
		"cut":                        {says: []string{"let me call max_tokens", "done"}, sees: `The call of \"web_search\" was cut off`},
		"refused":                    {says: []string{"call result call refusal", "done"}, sees: `was cut off: the answer ended with refusal`},
		"whole":                      {says: []string{"call result done", "done"}},
		"paused at the limit":        {says: []string{"call pause_turn", "done"}, part: Limit(Limits{Cycles: 1}), sees: "was not finished"},
		"paused and cut":             {says: []string{"call pause_turn", "result more call max_tokens", "done"}, sees: "was cut off"},
		"beside a tool of the agent": {says: []string{"call tool", "result done", "done"}},
		"the call is redacted":       {says: []string{"call pause_turn", "result done", "done"}, redact: 1, sees: "whose call is not shown"},
		"the result is redacted":     {says: []string{"call pause_turn", "result done", "done"}, redact: 2, sees: "was not finished"},
		"a window": {
			says: []string{"call pause_turn", "result call pause_turn", "result tool", "done"}, part: Manage(Management{By: SlidingWindow(2)}),
		},
	} {
		m := &searching{says: c.says}
		conv := planConversation()
		parts := []Part{Limit(Limits{})}
		if c.part != nil {
			parts = append(parts, c.part)
		}
		for turn := range 4 {
			_, err := m.agent(parts...).Run(t.Context(), "go", In(conv))
			if err != nil && !errors.Is(err, event.ErrLimit) && !errors.Is(err, event.ErrMaxTokens) {
				t.Errorf("%s: turn %d: %v\n%s", name, turn, err, show(m.asked[len(m.asked)-1]))
				break
			}
			if turn > 0 || c.redact == 0 {
				continue
			}
			n := 0
			for _, e := range conv.logged() {
				if _, ok := e.Body.(*event.AssistantMessage); !ok {
					continue
				}
				if n++; n == c.redact {
					err := conv.log.Record(t.Context(), "redact", "a", &drive.Request{}, func(*fold.Conversation) ([]event.Body, error) {
						return []event.Body{&event.Redacted{Target: e.Seq}}, nil
					})
					if err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		if got := string(mustJSON(m.asked[len(m.asked)-1])); !strings.Contains(got, c.sees) {
			t.Errorf("%s: the model is shown %s", name, got)
		}
		// The fold from scratch is the same.
		warm := fold.New(nil)
		for _, e := range conv.logged() {
			warm.Add(e)
		}
		if cold := fold.New(conv.logged()); !warm.Stale && fingerprint(cold.Past.Messages) != fingerprint(warm.Past.Messages) {
			t.Errorf("%s: the folds differ:\n%s\n%s", name, show(cold.Past.Messages), show(warm.Past.Messages))
		}
	}
}

// A compaction never parts what a paused turn has said.
func TestACompactionKeepsAPausedTurnWhole(t *testing.T) {
	t.Parallel()
	m := &searching{says: []string{"a call pause_turn", "result b call pause_turn", "result tool", "c"}}
	conv := planConversation()
	for range 2 {
		if _, err := m.agent().Run(t.Context(), "go", In(conv)); err != nil {
			t.Fatal(err)
		}
		m.asked = nil
	}
	log := conv.logged()
	v := fold.FromTail(&fold.Tail{First: 1, Events: log}, true)
	kinds := ""
	for _, u := range v.Past.Units {
		kinds += fmt.Sprint(u.Kind, len(u.Seqs), " ")
	}
	if kinds != "0 1 2 4 1 1 0 1 2 4 1 1 " {
		t.Errorf("the units are %s", kinds)
	}
	if err := checkUnits(v.Run.Scopes[0]); err != nil {
		t.Error(err)
	}
}
