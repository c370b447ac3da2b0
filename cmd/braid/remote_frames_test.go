package main

import (
	"strings"
	"testing"

	"github.com/braidrun/braid/cmd/braid/internal/printer"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/wire/native"
	"github.com/braidrun/braid/wire/story"
)

// A server's frames become the original events.
func TestFramesOfCostFallbackAndRedaction(t *testing.T) {
	t.Parallel()
	events := []*event.Event{
		ev(0, "", &event.RunStarted{Agent: "a", Session: 1}),
		ev(1, "m1", &event.StepBegun{Step: event.StepModel}),
		ev(1, "m1", &event.TextDelta{Text: "the secret"}),
		ev(1, "m1", &event.StepEnded{Step: event.StepModel, Outcome: event.OutcomeFailed, RetryAt: noon, Fallback: "b"}),
		ev(1, "m1", &event.StepBegun{Step: event.StepModel}),
		ev(1, "m1", &event.TextDelta{Text: "the secret"}),
		ev(1, "m1", &event.AnswerReplaced{Text: "[no]"}),
		ev(1, "m1", &event.Redacted{Target: 1, Replacement: text("(hidden)")}),
		ev(1, "m1", &event.AssistantMessage{Content: text("[no]"), Stop: event.StopGuardrail}),
	}
	cost := int64(810_001)
	events = append(events, ev(0, "", &event.RunEnded{Status: event.RunCompleted, Stop: event.StopGuardrail, CostNanoUSD: &cost}))
	for _, complete := range []bool{false, true} {
		enc := native.NewEncoder("c")
		enc.Complete = complete
		var told story.Story
		var back translation
		var said []string
		var sum printer.Summary
		attempt := 0
		for i, e := range events {
			e.Seq, e.Epoch, e.N, e.Attempt = int64(i+1), 0, 0, 0
			if _, begins := e.Body.(*event.StepBegun); begins {
				attempt++
			}
			if e.Step != "" {
				e.Attempt = attempt
			}
			if e.Live() {
				e.Seq, e.Epoch, e.N = 0, 1, int64(i)
			}
			it := told.Add(e)
			if it == nil {
				continue
			}
			for _, f := range enc.Frames(it) {
				for _, got := range back.events(f) {
					switch b := got.Body.(type) {
					case *event.TextDelta:
						said = append(said, b.Text)
					case *event.AnswerReplaced:
						said = append(said, "instead "+b.Text)
					case *event.StepEnded:
						said = append(said, "falls back on "+b.Fallback)
					case *event.Redacted:
						said = append(said, event.TextOf(b.Replacement))
					case *event.RunEnded:
						if b.CostNanoUSD == nil || *b.CostNanoUSD != cost {
							t.Errorf("the run cost %v", b.CostNanoUSD)
						}
					}
				}
				back.fill(&sum, f)
			}
		}
		want := "the secret, falls back on b, the secret, instead [no], (hidden)"
		if complete {
			want = "the secret, falls back on b, the secret, instead , [no], (hidden)"
		}
		if got := strings.Join(said, ", "); got != want || sum.Cost == nil || *sum.Cost != cost || sum.Text != "[no]" {
			t.Errorf("complete %v:\ngot  %s\nwant %s\nthe summary is %+v", complete, got, want, sum)
		}
	}
}
