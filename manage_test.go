package braid_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
)

// recorder is a model that keeps what it was asked: the nth request, from 0, is answered by
// answer, and a request without tools and with the summary's instructions by sum.
type recorder struct {
	name   string
	info   model.Info
	seen   []*model.Request
	answer func(n int, req *model.Request) iter.Seq2[model.Chunk, error]
}

func (m *recorder) Info() model.Info {
	i := m.info
	if i.Name = m.name; i.Name == "" {
		i.Name = "test:recorder"
	}
	return i
}

func (m *recorder) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	kept := *req
	m.seen = append(m.seen, &kept)
	return m.answer(len(m.seen)-1, req)
}

// counted is an answer of plain text for which so many tokens were read.
func counted(text string, input int64) []model.Chunk {
	list := says(text)
	list[1].Usage = &event.Usage{Input: input, Output: 10, Total: input + 10}
	return list
}

var overflow = &event.Error{Kind: event.ErrContextOverflow, Message: "prompt is too long"}

// chat runs so many turns of an agent and gives the conversation.
func chat(t *testing.T, a *braid.Agent, turns int) *braid.Conversation {
	t.Helper()
	conv := braid.NewConversation()
	for i := range turns {
		if _, err := a.Run(t.Context(), fmt.Sprint("question ", i+1), braid.In(conv)); err != nil {
			t.Fatalf("turn %d: %v", i+1, err)
		}
	}
	return conv
}

func logOfConversation(t *testing.T, conv *braid.Conversation) (log []*event.Event) {
	t.Helper()
	for e, err := range conv.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		log = append(log, e)
	}
	return log
}

// compactions lists a log's in short words.
func compactions(log []*event.Event) string {
	var list []string
	for _, e := range log {
		if b, ok := e.Body.(*event.Compacted); ok {
			s := fmt.Sprintf("%s %d-%d", b.Trigger, b.From, b.To)
			if len(b.Keep) > 0 {
				s += fmt.Sprint(" keep ", b.Keep)
			}
			if b.Cut {
				s += " cut"
			}
			list = append(list, s)
		}
	}
	return strings.Join(list, ", ")
}

func TestASlidingWindowShowsTheNewestMessages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		window braid.SlidingWindow
		turns  int
		most   int
		last   string
	}{
		{window: 0, turns: 4, most: 1, last: "user:[Earlier messages of this conversation are left out here.]question 4"},
		{window: 1, turns: 4, most: 1, last: "user:[Earlier messages of this conversation are left out here.]question 4"},
		{window: 4, turns: 4, most: 4, last: "user:[Earlier messages of this conversation are left out here.]question 3 assistant:answer user:question 4"},
		{window: 40, turns: 20, most: 39, last: ""},
		{window: 40, turns: 50, most: 40, last: ""},
	} {
		t.Run(fmt.Sprint(int(c.window), " of ", c.turns), func(t *testing.T) {
			t.Parallel()
			llm := &recorder{answer: func(int, *model.Request) iter.Seq2[model.Chunk, error] { return chunks(says("answer")) }}
			a := braid.New("a", llm, braid.Manage(braid.Management{By: c.window}))
			conv := chat(t, a, c.turns)
			for i, req := range llm.seen {
				if len(req.Messages) > c.most || req.Messages[0].Role != event.RoleUser {
					t.Errorf("call %d has %d messages: %s", i+1, len(req.Messages), brief(req.Messages))
				}
				if text := req.Messages[len(req.Messages)-1].Text(); !strings.HasSuffix(text, fmt.Sprint("question ", i+1)) {
					t.Errorf("call %d ends with %q", i+1, text)
				}
			}
			if got := brief(llm.seen[c.turns-1].Messages); c.last != "" && got != c.last {
				t.Errorf("the last call has %s, want %s", got, c.last)
			}
			log := logOfConversation(t, conv)
			said := 0
			for _, e := range log {
				if m, ok := e.Body.(*event.UserMessage); ok {
					said++
					if want := fmt.Sprint("question ", said); event.TextOf(m.Content) != want {
						t.Errorf("the log has %q instead of %q", event.TextOf(m.Content), want)
					}
				}
			}
			if said != c.turns {
				t.Errorf("the log has %d questions", said)
			}
			// A cache of the provider's holds for a while: not every turn leaves something out.
			if n := strings.Count(compactions(log), "limit"); c.window == 40 && (n > (c.turns-20+4)/5 || n == 0 && c.turns > 20) {
				t.Errorf("%d compactions: %s", n, compactions(log))
			}
			messages, err := braid.Open(copied(t, log, conv.ID()), conv.ID()).Messages(t.Context())
			warm, _ := conv.Messages(t.Context())
			if err != nil || brief(messages) != brief(warm) {
				t.Errorf("opened anew it shows %s, %v, want %s", brief(messages), err, brief(warm))
			}
		})
	}
}

// copied lays a log of ended runs into another store.
func copied(t *testing.T, log []*event.Event, id string) journal.Store {
	t.Helper()
	store := &journal.Memory{}
	for i := 0; i < len(log); {
		run, j := log[i].Run, i
		for j < len(log) && log[j].Run == run {
			j++
		}
		row, err := store.Admit(t.Context(), journal.Run{ID: run, Conversation: id})
		if err != nil {
			t.Fatal(err)
		}
		opened, err := store.Acquire(t.Context(), row.ID, 0)
		if err != nil {
			t.Fatal(err)
		}
		b := journal.Batch{Events: log[i:j]}
		if end, ok := log[j-1].Body.(*event.RunEnded); ok {
			b.Status = end.Status
		}
		if err := store.Commit(t.Context(), opened.Lease, b); err != nil {
			t.Fatal(err)
		}
		i = j
	}
	return store
}

// In one run of many cycles the task stays, whatever the window is.
func TestAWindowKeepsTheTaskAndNeverSplitsACall(t *testing.T) {
	t.Parallel()
	const cycles = 30
	m := &recorder{answer: func(n int, _ *model.Request) iter.Seq2[model.Chunk, error] {
		if n < cycles {
			return chunks(asksFor("add", `{"a":1,"b":2}`, "add", `{"a":2,"b":2}`))
		}
		return chunks(says("done"))
	}}
	for _, window := range []braid.SlidingWindow{0, 5, 12} {
		m.seen = nil
		a := braid.New("a", m, braid.Func("add", "Adds.", add), braid.Manage(braid.Management{By: window}),
			braid.Limit(braid.Limits{Repeats: -1, RepeatNote: -1}))
		result, err := a.Run(t.Context(), "the task")
		if err != nil || result.Text() != "done" {
			t.Fatal(result, err)
		}
		for i, req := range m.seen {
			if err := braid.ValidMessages(req.Messages); err != nil {
				t.Errorf("window %d, call %d: %v", window, i+1, err)
			}
			if n := len(req.Messages); n > max(int(window), 3) || !strings.Contains(req.Messages[0].Text(), "the task") {
				t.Errorf("window %d, call %d: %d messages, %s", window, i+1, n, brief(req.Messages))
			}
		}
		if result.Metrics.Compactions == 0 {
			t.Error("nothing was left out")
		}
	}
}

// summariser answers questions, and sums up where it is asked to.
func summariser(window int, tokens func(n int) int64) *recorder {
	m := &recorder{info: model.Info{ContextWindow: window, Cost: func(u event.Usage) (int64, bool) { return u.Total, true }}}
	m.answer = func(n int, req *model.Request) iter.Seq2[model.Chunk, error] {
		if isSummary(req) {
			return chunks(counted("They talked about numbers.", 500))
		}
		return chunks(counted(fmt.Sprint("answer ", n), tokens(n)))
	}
	return m
}

// isSummary tells a request for a summary from the agent's own.
func isSummary(req *model.Request) bool {
	return strings.Contains(req.Instructions, "memory of an assistant")
}

func TestASummaryTakesThePlaceOfTheOldestMessages(t *testing.T) {
	t.Parallel()
	// The provider counts 100 tokens for each turn.
	turn := int64(0)
	model := summariser(1000, func(int) int64 { turn += 100; return turn })
	a := braid.New("a", model, braid.Instructions("Be kind."), braid.Manage(braid.Management{By: braid.Summarize{Recent: 2}}))
	conv := braid.NewConversation()
	var result *braid.Result
	var err error
	for i := range 9 {
		if result, err = a.Run(t.Context(), fmt.Sprint("question ", i+1), braid.In(conv)); err != nil {
			t.Fatal(err)
		}
		if result.Metrics.Compactions > 0 {
			break
		}
	}
	log := logOfConversation(t, conv)
	last := model.seen[len(model.seen)-1]
	if got := last.Messages[0].Text(); !strings.HasPrefix(got, "[Summary of the earlier part") || !strings.Contains(got, "They talked about numbers.") {
		t.Fatalf("the model is shown %s after %s", brief(last.Messages), compactions(log))
	}
	if turn != 800 || len(model.seen) != 9 {
		t.Errorf("it was summed up at %d tokens after %d calls, want at the first call over 700", turn, len(model.seen))
	}
	sum := model.seen[len(model.seen)-2]
	if !isSummary(sum) || len(sum.Tools) > 0 || len(sum.Messages) != 1 || !strings.Contains(sum.Messages[0].Text(), "USER: question 1\n\nASSISTANT: answer 0") {
		t.Errorf("the summary was asked for by %+v", sum)
	}
	if got := brief(last.Messages); strings.Contains(got, "question 1 ") || !strings.HasSuffix(got, "user:question 8") {
		t.Errorf("the model is shown %s", got)
	}
	// What it used counts for the run, and what it cost.
	if result.Usage.Input != 500+800 || result.CostNanoUSD == nil || *result.CostNanoUSD != 510+810 || result.Metrics.ModelCalls != 2 {
		t.Errorf("the run used %+v, cost %v, made %d model calls", result.Usage, result.CostNanoUSD, result.Metrics.ModelCalls)
	}
	begun, ended := 0, 0
	for _, e := range log {
		switch b := e.Body.(type) {
		case *event.StepBegun:
			if b.Step == event.StepCompaction {
				begun++
				if b.Why != event.WhyLimit || b.Model != "test:recorder" || e.Step != "c1" {
					t.Errorf("it begins as %+v in %s", b, e.Step)
				}
			}
		case *event.StepEnded:
			if b.Step == event.StepCompaction {
				ended++
				if b.Outcome != event.OutcomeDone || b.Usage.Input != 500 {
					t.Errorf("it ends as %+v", b)
				}
			}
		}
	}
	if begun != 1 || ended != 1 || !strings.HasPrefix(compactions(log), "limit 2-") {
		t.Errorf("%d begun, %d ended, %s", begun, ended, compactions(log))
	}
}

// A provider that refuses the conversation is asked again with less, three times.
func TestAnOverflowShowsLessAndAsksAgain(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 200)
	for _, c := range []struct {
		name    string
		parts   []braid.Part
		refuses int
		calls   int
		stop    event.StopReason
		hint    string
	}{
		{name: "once", refuses: 1, calls: 2},
		{name: "three times", refuses: 3, calls: 4},
		{name: "for ever", refuses: 99, calls: 4, stop: event.StopContextOverflow, hint: "shortened 3 times"},
		{name: "one try", parts: []braid.Part{braid.Manage(braid.Management{By: braid.SlidingWindow(99), Tries: 1})}, refuses: 99, calls: 2, stop: event.StopContextOverflow, hint: "shortened 1 times"},
		{name: "no try", parts: []braid.Part{braid.Manage(braid.Management{Tries: -1})}, refuses: 1, calls: 1, stop: event.StopContextOverflow, hint: ""},
		{name: "kept", parts: []braid.Part{braid.Manage(braid.Management{By: braid.KeepAll{}})}, refuses: 1, calls: 1, stop: event.StopContextOverflow, hint: ""},
		{name: "summarised", parts: []braid.Part{braid.Manage(braid.Management{At: -1})}, refuses: 2, calls: 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			refuse := -1
			m := &recorder{}
			m.answer = func(_ int, req *model.Request) iter.Seq2[model.Chunk, error] {
				switch {
				case isSummary(req):
					return chunks(says("in short"))
				case refuse > 0:
					refuse--
					return failing(overflow)
				}
				return chunks(says(long))
			}
			a := braid.New("a", m, c.parts...)
			conv := chat(t, a, 20)
			refuse, m.seen = c.refuses, nil
			result, err := a.Run(t.Context(), "the last question", braid.In(conv))
			if result.Stop != c.stop && c.stop != "" || c.stop == "" && err != nil {
				t.Fatalf("it ends with %s: %v", result.Stop, err)
			}
			if c.stop != "" {
				var e *event.Error
				if !errors.As(err, &e) || e.Kind != event.ErrContextOverflow || !strings.Contains(e.Hint, c.hint) {
					t.Errorf("the error is %v", err)
				}
			}
			if len(m.seen) != c.calls {
				t.Errorf("%d model calls, want %d", len(m.seen), c.calls)
			}
			size := 0
			for i, req := range m.seen {
				if isSummary(req) {
					continue
				}
				if err := braid.ValidMessages(req.Messages); err != nil {
					t.Error(err)
				}
				n := len(raw(req.Messages))
				if i > 0 && n > size*2/3 {
					t.Errorf("call %d has %d bytes after %d", i+1, n, size)
				}
				size = n
				if !strings.HasSuffix(req.Messages[len(req.Messages)-1].Text(), "the last question") {
					t.Errorf("call %d ends with something else", i+1)
				}
			}
			// Each summary is a step of its own: none begins again that is done.
			done := map[string]bool{}
			for _, e := range logOfConversation(t, conv) {
				switch b := e.Body.(type) {
				case *event.StepBegun:
					if b.Step == event.StepCompaction && done[e.Run+e.Step] {
						t.Errorf("%s begins after its end", e.Step)
					}
				case *event.StepEnded:
					done[e.Run+e.Step] = b.Step == event.StepCompaction && b.Outcome == event.OutcomeDone
				}
			}
			// The conversation goes on.
			refuse = -1
			if result, err := a.Run(t.Context(), "and now?", braid.In(conv)); err != nil || result.Text() != long {
				t.Error(err)
			}
		})
	}
}

// What cannot be made to fit ends in a state that says so.
func TestWhatNeverFitsSaysSo(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat("x", 100_000)
	tooLong := func(most int) *recorder {
		m := &recorder{}
		m.answer = func(n int, req *model.Request) iter.Seq2[model.Chunk, error] {
			switch {
			case len(raw(req.Messages)) > most:
				return failing(overflow)
			case isSummary(req):
				return chunks(says("in short"))
			case len(req.Tools) > 0 && n == 0:
				return chunks(asksFor("dump", `{}`))
			}
			return chunks(says("fine"))
		}
		return m
	}
	dump := braid.Func("dump", "Gives much.", func(context.Context, struct{}) (string, error) { return huge, nil })
	for _, by := range []braid.Strategy{nil, braid.SlidingWindow(0), braid.SlidingWindow(40), braid.Summarize{}} {
		manage := braid.Manage(braid.Management{By: by})
		// One message longer than the context.
		llm := tooLong(50_000)
		result, err := braid.New("a", llm, manage).Run(t.Context(), huge)
		if result.Stop != event.StopContextOverflow || !strings.Contains(fmt.Sprint(err), "nothing of the conversation can be left out any more") || len(llm.seen) != 1 {
			t.Errorf("%T: one long message ends with %s after %d calls: %v", by, result.Stop, len(llm.seen), err)
		}
		// Only the results of tools.
		llm = tooLong(50_000)
		result, err = braid.New("a", llm, manage, dump).Run(t.Context(), "go")
		if err != nil || result.Text() != "fine" || len(llm.seen) != 3 {
			t.Errorf("%T: a long result ends with %s after %d calls: %v", by, result.Stop, len(llm.seen), err)
		} else if text := brief(llm.seen[2].Messages); len(text) > 1000 || !strings.Contains(text, "99600 characters are left out here") {
			t.Errorf("%T: it is shown as %s", by, text)
		}
		// Not even that.
		llm = tooLong(100)
		result, err = braid.New("a", llm, manage, dump).Run(t.Context(), "go")
		if err == nil || result.Stop != event.StopContextOverflow || result.Status != event.RunFailed {
			t.Errorf("%T: what never fits ends with %s: %v", by, result.Stop, err)
		}
	}
}

func TestManagementThatIsNone(t *testing.T) {
	t.Parallel()
	for _, m := range []braid.Management{
		{By: braid.SlidingWindow(-1)}, {At: 1.5}, {Context: -1}, {By: (*braid.Summarize)(nil)},
	} {
		a := braid.New("a", answers(says("x")), braid.Manage(m))
		if event.KindOf(a.Err()) != event.ErrInvalid {
			t.Errorf("%+v: %v", m, a.Err())
		}
	}
}

// A summary that cannot be had is done without, unless it is needed.
func TestASummaryThatFails(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		fails []error
		// full says that the provider refuses the conversation; sums and calls count the requests.
		full  bool
		sums  int
		wait  time.Duration
		stop  event.StopReason
		words string
	}{
		{name: "for good, before", fails: []error{&event.Error{Kind: event.ErrModelAuth, Message: "no"}}, sums: 1, stop: event.StopEndTurn},
		{name: "for good, after a refusal", full: true, fails: []error{&event.Error{Kind: event.ErrModelAuth, Message: "no key"}}, sums: 1, stop: event.StopContextOverflow, words: "no summary of it could be had: no key"},
		{name: "throttled", fails: []error{&event.Error{Kind: event.ErrThrottled}, &event.Error{Kind: event.ErrThrottled}, nil}, sums: 3, wait: 12 * time.Second, stop: event.StopEndTurn},
		{name: "too long itself", fails: []error{overflow, overflow, nil}, sums: 3, stop: event.StopEndTurn},
		{name: "too long for ever", fails: []error{overflow, overflow, overflow, overflow}, sums: 3, stop: event.StopEndTurn},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var sums []string
				asked := 0
				m := &recorder{info: model.Info{ContextWindow: 1000}}
				m.answer = func(_ int, req *model.Request) iter.Seq2[model.Chunk, error] {
					if isSummary(req) {
						sums = append(sums, req.Messages[0].Text())
						if err := c.fails[len(sums)-1]; err != nil {
							return failing(err)
						}
						return chunks(says("in short"))
					}
					if asked++; c.full && asked == 6 {
						return failing(overflow)
					}
					tokens := int64(10)
					if asked == 5 && !c.full {
						tokens = 900
					}
					return chunks(counted(strings.Repeat("yes ", 100), tokens))
				}
				a := braid.New("a", m, braid.Manage(braid.Management{By: braid.Summarize{Recent: 1}}), braid.Retries(braid.Retry{Exact: true}))
				conv := chat(t, a, 5)
				begun := time.Now()
				result, err := a.Run(t.Context(), "go", braid.In(conv))
				if result.Stop != c.stop || (err != nil) != (c.words != "") || !strings.Contains(fmt.Sprint(err), c.words) {
					t.Fatalf("it ends with %s: %v", result.Stop, err)
				}
				if len(sums) != c.sums || time.Since(begun) != c.wait {
					t.Errorf("a summary was asked for %d times in %v", len(sums), time.Since(begun))
				}
				for i := 1; i < len(sums) && errors.Is(c.fails[i-1], event.ErrContextOverflow); i++ {
					if len(sums[i]) >= len(sums[i-1]) {
						t.Errorf("it was asked for with %d bytes after %d", len(sums[i]), len(sums[i-1]))
					}
				}
			})
		})
	}
}
