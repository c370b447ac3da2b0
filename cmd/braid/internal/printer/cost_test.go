package printer

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
)

// The end line has the cost of a turn. Unknown cost is never shown as zero.
func TestTheEndLineTellsTheCost(t *testing.T) {
	t.Parallel()
	nano := func(n int64) *int64 { return &n }
	for _, c := range []struct {
		cost      *int64
		simulated bool
		want      string
	}{
		{nil, false, "1 + 2 tokens · cost unknown · 1s"},
		{nano(0), false, "1 + 2 tokens · 0 USD · 1s"},
		{nano(1), false, "1 + 2 tokens · 0.000000001 USD · 1s"},
		{nano(810_000), false, "1 + 2 tokens · 0.00081 USD · 1s"},
		{nano(12_345_678), false, "1 + 2 tokens · 0.0123 USD · 1s"},
		{nano(3_000_000_000), false, "1 + 2 tokens · 3.0000 USD · 1s"},
		{nano(0), true, "simulated, not charged · 1 + 2 tokens · 1s"},
	} {
		s := Summary{Cost: c.cost, Simulated: c.simulated, Usage: event.Usage{Input: 1, Output: 2}, Counts: Counts{Duration: time.Second}}
		if got := s.line(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// Retracted text stays on the terminal, so the printer reports the retraction.
func TestTheStoryOfWhatIsTakenBack(t *testing.T) {
	t.Parallel()
	got := tell(t, inPipe, []*event.Event{
		ev(1, "m1", &event.StepBegun{Step: event.StepModel}),
		ev(1, "m1", &event.TextDelta{Text: "Take the"}),
		ev(1, "m1", &event.StepEnded{
			Step: event.StepModel, Outcome: event.OutcomeFailed, RetryAt: noon, Fallback: "openai:other",
			Err: &event.Error{Kind: event.ErrOverloaded, Message: "It is busy."},
		}),
		ev(1, "m1", &event.StepBegun{Step: event.StepModel, Why: event.WhyFallback, Model: "openai:other"}),
		ev(1, "m1", &event.TextDelta{Text: "Take the red"}),
		ev(1, "m1", &event.AnswerReplaced{Text: "[blocked]"}),
		ev(1, "m1", &event.Redacted{Target: 2, Replacement: text("(hidden)")}),
		ev(1, "m1", &event.AssistantMessage{Content: text("[blocked]"), Stop: event.StopGuardrail}),
	})
	want := `Take the

It is busy: asking openai:other instead (attempt 2)

Take the red

the model's provider takes this back; instead:

[blocked]

the model's provider takes back what was asked: (hidden)
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
