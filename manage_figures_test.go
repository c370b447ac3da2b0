package braid_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// What a summary leaves as it is of 43 messages, where the context is nearly full.
func TestHowMuchASummaryReplaces(t *testing.T) {
	t.Parallel()
	var history []event.Message
	for i := range 20 {
		history = append(history, event.UserText(fmt.Sprint("question ", 10+i)), event.AssistantText(fmt.Sprint("answer ", 10+i)))
	}
	for _, c := range []struct {
		name string
		by   braid.Summarize
		// whole is how many of the 43 messages the model still sees.
		whole int
	}{
		{"three tenths by default", braid.Summarize{}, 29},
		{"a tenth at least", braid.Summarize{Ratio: 0.001}, 37},
		{"half", braid.Summarize{Ratio: 0.5}, 21},
		{"ten stay by default", braid.Summarize{Ratio: 0.8}, 11},
		{"as many as are wanted stay", braid.Summarize{Ratio: 0.8, Recent: 20}, 21},
		{"eight tenths at most", braid.Summarize{Ratio: 5, Recent: -1}, 7},
	} {
		m := summariser(1000, func(int) int64 { return 800 })
		a, conv := braid.New("a", m, braid.Manage(braid.Management{By: c.by})), braid.NewConversation()
		_, err := a.Run(t.Context(), "question before", braid.History(history...), braid.In(conv))
		if err == nil {
			_, err = a.Run(t.Context(), "question now", braid.In(conv))
		}
		if err != nil || len(m.seen) != 3 {
			t.Fatalf("%s: %d calls: %v", c.name, len(m.seen), err)
		}
		seen := brief(m.seen[2].Messages)
		if whole := strings.Count(seen, "question") + strings.Count(seen, "answer"); whole != c.whole || !strings.Contains(seen, "They talked") {
			t.Errorf("%s: the model sees %d whole messages, want %d: %s", c.name, whole, c.whole, seen)
		}
	}
}

// A model of which nobody knows the context is taken to have 200,000 tokens, of which seven tenths may be used.
func TestAContextThatNobodyKnows(t *testing.T) {
	t.Parallel()
	for used, want := range map[int64]int{139_000: 0, 141_000: 1} {
		m := summariser(0, func(int) int64 { return used })
		a, conv := braid.New("a", m, braid.Manage(braid.Management{By: braid.Summarize{Recent: 1}})), braid.NewConversation()
		sums := 0
		for range 2 {
			r, err := a.Run(t.Context(), "go", braid.In(conv))
			if err != nil {
				t.Fatal(err)
			}
			sums += r.Metrics.Compactions
		}
		if sums != want {
			t.Errorf("with %d tokens there are %d summaries, want %d", used, sums, want)
		}
	}
}

// After a refusal, texts of more than 400 characters keep their ends of 200, and media are named.
func TestWhatIsCutOfAResult(t *testing.T) {
	t.Parallel()
	m := &recorder{}
	m.answer = func(n int, _ *model.Request) iter.Seq2[model.Chunk, error] {
		switch n {
		case 0:
			return chunks(asksFor("dump", `{}`))
		case 1:
			return failing(overflow)
		}
		return chunks(says("fine"))
	}
	dump := braid.Func("dump", "", func(context.Context, nothing) ([]event.Block, error) {
		return []event.Block{
			&event.Text{Text: strings.Repeat("a", 400)}, &event.Text{Text: strings.Repeat("b", 401)},
			&event.Image{MIME: "image/png", Data: []byte("123")},
		}, nil
	})
	if _, err := braid.New("a", m, dump).Run(t.Context(), "go"); err != nil || len(m.seen) != 3 {
		t.Fatalf("%d calls: %v", len(m.seen), err)
	}
	want := strings.Repeat("a", 400) + "\n" + strings.Repeat("b", 200) + "\n… [1 characters are left out here] …\n" + strings.Repeat("b", 200) +
		"\n[image: image/png, 3 bytes]"
	if got := event.TextOf(lastResults(m.seen[2])[0].Content); got != want {
		t.Errorf("the model sees %s", got)
	}
}
