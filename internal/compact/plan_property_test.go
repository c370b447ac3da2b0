package compact_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/compact"
	"github.com/braidrun/braid/internal/fold"
)

// leftOut replaces what the planned compactions leave out.
const leftOut = "[left out]"

// talk writes the log of generated runs.
type talk struct {
	t      *rapid.T
	log    []*event.Event
	run    int
	cycle  int
	texts  int
	begins map[string]string
	turn   string
}

func (l *talk) add(step string, body event.Body) {
	e := &event.Event{Body: body}
	e.Seq, e.Run, e.Cycle, e.Step, e.Attempt = int64(len(l.log)+1), fmt.Sprint("run", l.run), l.cycle, step, 1
	if step == "" {
		e.Attempt = 0
	}
	l.log = append(l.log, e)
}

// text returns blocks with a text of its own, long or short. It notes the turn that the text belongs to.
func (l *talk) text(kind string) []event.Block {
	l.texts++
	word := fmt.Sprintf("<%s%d>", kind, l.texts)
	if kind == "task" {
		l.turn = word
	}
	l.begins[word] = l.turn
	if rapid.IntRange(0, 9).Draw(l.t, "long") == 0 {
		word += strings.Repeat(" long", 300)
	}
	return []event.Block{&event.Text{Text: word}}
}

// answer writes a model's answer without a step if it is a part of a history that a program handed in.
func (l *talk) answer(handed bool, m *event.AssistantMessage) {
	l.cycle++
	step := ""
	if !handed {
		step = fold.StepName("", 'm', l.cycle, 0)
		l.add(step, &event.StepBegun{Step: event.StepModel})
	}
	l.add(step, m)
}

// calls writes an answer with calls, and their results.
func (l *talk) calls(handed bool) {
	n := rapid.IntRange(1, 3).Draw(l.t, "calls")
	m := &event.AssistantMessage{Content: l.text("call"), Stop: event.StopToolUse}
	var results []event.Block
	for i := range n {
		id := fmt.Sprintf("c%d.%d.%d", l.run, l.cycle, i)
		m.Content = append(m.Content, &event.ToolCall{ID: id, Name: "t", Args: []byte("{}")})
		results = append(results, &event.ToolResult{Call: id, Name: "t", Content: l.text("result")})
	}
	l.answer(handed, m)
	if handed {
		l.add("", &event.UserMessage{Content: results})
		return
	}
	for i, r := range results {
		step := fold.StepName("", 't', l.cycle, i)
		l.add(step, &event.StepBegun{Step: event.StepTool, Effect: event.EffectPure})
		l.add(step, &event.StepEnded{Step: event.StepTool, Outcome: event.OutcomeDone, Result: r.(*event.ToolResult)}) //nolint:forcetypeassert // made above
	}
}

// turns writes so many messages of the user with the work that follows. The last turn has no answer.
func (l *talk) turns(n int, handed bool) {
	for i := range n {
		l.add("", &event.UserMessage{Content: l.text("task")})
		for range rapid.IntRange(0, 8).Draw(l.t, "cycles") {
			l.calls(handed)
			if !handed && rapid.IntRange(0, 5).Draw(l.t, "mail") == 0 {
				l.add("", &event.UserMessage{Content: l.text("mail"), Mail: fmt.Sprint("m", l.texts)})
			}
		}
		if i < n-1 {
			l.answer(handed, &event.AssistantMessage{Content: l.text("answer"), Stop: event.StopEndTurn})
		}
	}
}

// begin begins a run.
func (l *talk) begin() {
	l.run, l.cycle = l.run+1, 0
	l.add("", &event.RunStarted{Agent: "a", Turn: l.run, Session: 1})
}

// generated is a log whose last run waits for a model call.
func generated(t *rapid.T) *talk {
	l := &talk{t: t, begins: map[string]string{}}
	for range rapid.IntRange(0, 4).Draw(t, "runs") {
		l.begin()
		l.turns(1, false)
		ends := []event.RunEnded{
			{Status: event.RunCompleted, Why: event.WhyEndTurn},
			{Status: event.RunCancelled, Why: event.WhyCancelled},
			{Status: event.RunFailed, Why: event.WhyFailed, Keep: true},
			{Status: event.RunFailed, Why: event.WhyFailed},
			{Status: event.RunCompleted, Why: event.WhyLimit},
		}
		end := rapid.SampledFrom(ends).Draw(t, "end")
		if end.Why == event.WhyEndTurn {
			l.answer(false, &event.AssistantMessage{Content: l.text("answer"), Stop: event.StopEndTurn})
		}
		l.add("", &end)
	}
	l.begin()
	if handed := rapid.IntRange(0, 6).Draw(t, "handed"); handed > 0 {
		l.turns(handed, true)
	} else {
		l.turns(1, false)
	}
	return l
}

// Whatever is left out, what stays begins with the messages that begin a turn, pairs every call with its result, and
// holds the newest message of the user.
func TestWhatIsLeftOutNeverBreaksATurn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := generated(t)
		task := l.turn
		for range rapid.IntRange(1, 3).Draw(t, "compactions") {
			v := fold.FromTail(&fold.Tail{First: 1, Events: l.log}, true)
			s := v.Run.Scopes[0]
			m := &compact.Policy{Window: rapid.IntRange(-1, 12).Draw(t, "window"), Ratio: 0.3, Recent: rapid.IntRange(0, 5).Draw(t, "recent")}
			m.Sums = rapid.Bool().Draw(t, "sums")
			why := rapid.SampledFrom([]event.Why{event.WhyLimit, event.WhyOverflow}).Draw(t, "why")
			p, ok := m.Plan(s, v.Begin+1, v.Hidden.Reach(""), why, rapid.IntRange(0, 2).Draw(t, "before"))
			if !ok {
				return
			}
			for _, b := range p.Compacted([]event.Block{&event.Text{Text: leftOut}}) {
				l.add("", b)
			}
			checkShown(t, l, fold.New(l.log).Run.Scopes[0].Transcript.Messages, task)
			if rapid.Bool().Draw(t, "goes on") {
				l.calls(false)
			}
		}
	})
}

// checkShown checks what a model is shown.
func checkShown(t *rapid.T, l *talk, messages []event.Message, task string) {
	t.Helper()
	shown, open := map[string]bool{}, []string(nil)
	for i, m := range messages {
		if want := []event.Role{event.RoleUser, event.RoleAssistant}[i%2]; m.Role != want {
			t.Fatalf("message %d has the role %q", i, m.Role)
		}
		var results []string
		for _, b := range m.Content {
			switch b := b.(type) {
			case *event.Text:
				word, _, _ := strings.Cut(b.Text, " ")
				shown[word] = true
				if turn := l.begins[word]; turn != "" && !shown[turn] {
					t.Fatalf("message %d shows %s, but not %s with which its turn begins", i, word, turn)
				}
			case *event.ToolResult:
				results = append(results, b.Call)
			}
		}
		if !slices.Equal(open, results) {
			t.Fatalf("message %d has the results %v of the calls %v", i, results, open)
		}
		open = nil
		for _, c := range m.Calls() {
			open = append(open, c.ID)
		}
	}
	first := event.TextOf(messages[0].Content)
	if !strings.Contains(first, "<task") || !shown[task] {
		t.Fatalf("it begins with %q, and the task is shown: %v", first, shown[task])
	}
}
