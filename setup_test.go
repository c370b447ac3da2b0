package braid

import (
	"context"
	"iter"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/model"
)

// A record describes a setup by its difference to any other.
func TestARecordOfASetup(t *testing.T) {
	t.Parallel()
	text := rapid.StringOf(rapid.RuneFrom([]rune("abまた明🌱")))
	tools := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) model.ToolSpec {
		s := model.ToolSpec{
			Name: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name"), Description: text.Draw(t, "description"), Strict: rapid.Bool().Draw(t, "strict"),
		}
		if rapid.Bool().Draw(t, "schema") {
			s.Schema = []byte(`{ "type": "object" }`)
		}
		return s
	}), 0, 5)
	rapid.Check(t, func(t *rapid.T) {
		before := &model.Setup{Instructions: text.Draw(t, "before"), Tools: tools.Draw(t, "tools before")}
		next := &model.Setup{Instructions: text.Draw(t, "next"), Tools: tools.Draw(t, "tools")}
		if rapid.Bool().Draw(t, "alone") {
			before = nil
		}
		e := event.Event{Header: event.Header{Seq: 1}, Body: fold.RecordSetup(before, next)}
		raw, err := event.AppendJSON(nil, &e)
		if err != nil {
			t.Fatal(err)
		}
		back, err := event.Decode(raw)
		if err != nil {
			t.Fatal(err)
		}
		if got := fold.SetupOf(before, back.Body.(*event.Setup)); got == nil || !fold.SameSetup(got, next) {
			t.Fatalf("%s gives %+v, want %+v", raw, got, next)
		}
		// Of a record whose place is lost nothing is made up.
		other := &model.Setup{Instructions: text.Draw(t, "other"), Tools: tools.Draw(t, "other tools")}
		_ = fold.SetupOf(other, back.Body.(*event.Setup))
		_ = fold.SetupOf(nil, &event.Setup{Head: -1, Tail: 1 << 62, First: 1 << 62, Last: 1 << 62})
	})
}

// told is a model that takes setups, or not, and answers.
type told struct {
	takes bool
	asked []model.Request
}

func (m *told) Info() model.Info { return model.Info{Name: "test:told", Setups: m.takes} }

func (m *told) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	m.asked = append(m.asked, *req)
	return func(yield func(model.Chunk, error) bool) {
		_ = yield(model.Chunk{Kind: model.ChunkText, Text: "yes"}, nil) && yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn}, nil)
	}
}

// What does not change is written once, and a change costs its difference. A model that takes
// no setups costs nothing.
func TestWhatSetupsCost(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("You are careful. ", 1000)
	for _, takes := range []bool{true, false} {
		m := &told{takes: takes}
		conv := planConversation()
		for turn := range 100 {
			end := "Today is Monday."
			if turn >= 50 {
				end = "Today is Tuesday."
			}
			if _, err := New("root", m, Instructions(long+end)).Run(t.Context(), "go", In(conv)); err != nil {
				t.Fatal(err)
			}
		}
		records, bytes := 0, 0
		for _, e := range conv.logged() {
			if b, ok := e.Body.(*event.Setup); ok {
				records, bytes = records+1, bytes+b.Bytes()
			}
		}
		last := m.asked[99].Setups
		switch {
		case !takes && (records > 0 || last != nil):
			t.Errorf("a model that takes none: %d records, %+v", records, last)
		case takes && (records != 2 || bytes > len(long)+40 || len(last) != 2 || last[1].From != 100 || m.asked[49].Setups != nil):
			t.Errorf("%d records of %d bytes, %d setups", records, bytes, len(last))
		}
	}
}

// Where there are too many changes, or they are too large, the conversation begins anew with the
// setup that holds then.
func TestSetupsAreBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		size int
		most int
	}{"many": {10, fold.MaxSetups}, "large": {fold.MaxSetupBytes / 4, 5}} {
		m := &told{takes: true}
		conv := planConversation()
		most, bases := 0, 0
		for turn := range 3 * fold.MaxSetups {
			text := strings.Repeat(string(rune('a'+turn%7)), c.size)
			if _, err := New("root", m, Instructions(text)).Run(t.Context(), "go", In(conv)); err != nil {
				t.Fatal(err)
			}
			most = max(most, len(m.asked[turn].Setups))
			if err := checkSetups(&m.asked[turn], conv.logged(), true); err != nil {
				t.Fatalf("%s, turn %d: %v", name, turn, err)
			}
		}
		for _, e := range conv.logged() {
			if b, ok := e.Body.(*event.Setup); ok && b.Base {
				bases++
			}
		}
		if most > c.most || most < c.most-1 || bases == 0 {
			t.Errorf("%s: at most %d setups, %d new beginnings", name, most, bases)
		}
	}
	// One that is too large at once is not recorded.
	m := &told{takes: true}
	conv := planConversation()
	for _, text := range []string{"small", strings.Repeat("x", fold.MaxSetup+1), "small again"} {
		if _, err := New("root", m, Instructions(text)).Run(t.Context(), "go", In(conv)); err != nil {
			t.Fatal(err)
		}
	}
	hidden := 0
	for _, e := range conv.logged() {
		if b, ok := e.Body.(*event.Setup); ok && b.Hidden {
			hidden++
		}
	}
	if hidden != 1 || m.asked[1].Setups != nil || m.asked[2].Setups != nil {
		t.Errorf("%d hidden: %d and %d setups", hidden, len(m.asked[1].Setups), len(m.asked[2].Setups))
	}
}

// What a hook shows to a model stands in no log, and is sent as it is.
func TestAHookChangesASetup(t *testing.T) {
	t.Parallel()
	m := &told{takes: true}
	conv := planConversation()
	n := 0
	reads := On(func(_ context.Context, e *hook.BeforeModel) error {
		if n++; n == 2 {
			e.Request.Instructions += " Only now."
		}
		return nil
	})
	for range 3 {
		if _, err := New("root", m, Instructions("Be brief."), reads).Run(t.Context(), "go", In(conv)); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range conv.logged() {
		if b, ok := e.Body.(*event.Setup); ok && b.Text != "Be brief." {
			t.Errorf("the log has %q", b.Text)
		}
	}
	if m.asked[1].Instructions != "Be brief. Only now." || m.asked[1].Setups != nil || m.asked[2].Setups != nil {
		t.Errorf("%q, %+v, %+v", m.asked[1].Instructions, m.asked[1].Setups, m.asked[2].Setups)
	}
}
