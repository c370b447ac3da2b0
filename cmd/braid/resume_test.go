package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/printer"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/sqlite"
)

// begun writes the beginning of a run, as a killed program leaves it.
func begun(t *testing.T, s *sqlite.Store, conversation string, bodies ...*event.Event) journal.Lease {
	t.Helper()
	run, err := s.Admit(t.Context(), journal.Run{ID: "run-" + conversation, Tenant: conf.Tenant, Conversation: conversation, Agent: printer.AgentName, Input: says("Pay Ann.")})
	if err != nil {
		t.Fatal(err)
	}
	o, err := s.Acquire(t.Context(), run.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	commit(t, s, o.Lease, o.Last, bodies...)
	return o.Lease
}

func commit(t *testing.T, s *sqlite.Store, l journal.Lease, last int64, events ...*event.Event) {
	t.Helper()
	b := journal.Batch{Events: events}
	for i, e := range events {
		e.Seq, e.Conversation, e.Run, e.Time = last+int64(i)+1, l.Conversation, l.Run, time.Now()
		if end, ok := e.Body.(*event.RunEnded); ok {
			b.Status = end.Status
		}
	}
	if err := s.Commit(t.Context(), l, b); err != nil {
		t.Fatal(err)
	}
}

// paying is a run in a tool that must not be repeated.
func paying() []*event.Event {
	said := &event.Event{Header: event.Header{Author: event.UserAuthor}, Body: &event.UserMessage{Content: text("Pay Ann.")}}
	return []*event.Event{
		{Header: event.Header{Author: event.UserAuthor}, Body: &event.RunStarted{Agent: printer.AgentName, Model: "demo:assistant", Turn: 1, Session: 1}},
		said,
		ev(1, "m1", &event.StepBegun{Step: event.StepModel, Why: event.WhyInput, Model: "demo:assistant"}),
		ev(1, "m1", &event.AssistantMessage{Stop: event.StopToolUse, Content: []event.Block{call("c1", "pay", `{"to":"Ann"}`)}}),
		ev(1, "t1.0", &event.StepBegun{Step: event.StepTool, Call: "c1", Tool: "pay", Effect: event.EffectUnsafe}),
	}
}

// A killed program's run continues. A call that may have happened is not repeated, and is shown.
func TestContinueAfterACrash(t *testing.T) {
	t.Parallel()
	p, _, _ := testProcess(t, nil)
	s := kept(t, p)
	events := paying()
	events[4].Step = stepOfCall(t)
	begun(t, s, "crashed1", events...)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	q, out, errs := again(p, "chat", "--continue")
	q.Stdin = strings.NewReader("What is 6 times 7?\n")
	if code := q.run(t.Context()); code != 0 {
		t.Fatalf("%d, %s", code, errs)
	}
	for _, want := range []string{
		"(conversation crashed1, 1 turn, the last one", "you> Pay Ann.\n", "Tool #1: pay\n  to: Ann\n",
		"  #1 pay failed: in doubt: it may or may not have happened\n", "42",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	q, out, _ = again(p, "show", "crash")
	if code := q.run(t.Context()); code != 0 || strings.Count(out.String(), printer.DoubtWords) != 1 || strings.Count(out.String(), "tool=#1:pay began") != 1 {
		t.Errorf("%d\n%s", code, out)
	}
}

// stepOfCall is the library's name for the first call of the first cycle.
func stepOfCall(t *testing.T) string {
	t.Helper()
	p, out, errs := testProcess(t, nil, "run", "--json", "What is 6 times 7?")
	if code := p.run(t.Context()); code != 0 {
		t.Fatal(errs)
	}
	for line := range strings.Lines(out.String()) {
		if strings.Contains(line, `"step_kind":"tool"`) {
			e, err := event.Decode([]byte(strings.TrimSpace(line)))
			if err != nil {
				t.Fatal(err)
			}
			return e.Step
		}
	}
	t.Fatal("no tool was called")
	return ""
}

// A run that was admitted and never began is not lost, and the next one comes after it.
func TestContinueWhatNeverBegan(t *testing.T) {
	t.Parallel()
	p, _, _ := testProcess(t, nil)
	s := kept(t, p)
	for _, say := range []string{"What is 6 times 7?", "What is 5 times 5?"} {
		if _, err := s.Admit(t.Context(), journal.Run{ID: say, Tenant: conf.Tenant, Conversation: "queued", Agent: printer.AgentName, Input: says(say)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	q, out, errs := again(p, "run", "-c", "What is 3 plus 4?")
	if code := q.run(t.Context()); code != 0 {
		t.Fatalf("%d, %s", code, errs)
	}
	at := 0
	for _, want := range []string{"you> What is 6 times 7?", "42", "you> What is 5 times 5?", "25", "7"} {
		i := strings.Index(out.String()[at:], want)
		if i < 0 {
			t.Fatalf("no %q behind byte %d of\n%s", want, at, out)
		}
		at += i
	}
	q, out, _ = again(p, "conversations")
	if code := q.run(t.Context()); code != 0 || !strings.Contains(out.String(), "\t3\tcompleted\t") {
		t.Errorf("%d, %s", code, out)
	}
	// No question is open, so piped input is a prompt again.
	q, out, errs = again(p, "run", "-q", "-c")
	q.Stdin = strings.NewReader("What is 2 plus 2?")
	if code := q.run(t.Context()); code != 0 || !strings.Contains(out.String(), "4") {
		t.Errorf("%d, %s, %s", code, out, errs)
	}
	q, _, errs = again(p, "run", "-c")
	if code := q.run(t.Context()); code != 2 || !strings.Contains(errs.String(), "there is no prompt") {
		t.Errorf("%d, %s", code, errs)
	}
}

// show prints the events byte for byte, and follows until the run ends.
func TestShowFollowsARun(t *testing.T) {
	t.Parallel()
	p, _, _ := testProcess(t, nil)
	s := kept(t, p)
	events := paying()
	lease := begun(t, s, "live", events[:2]...)
	var want []string
	add := func(more ...*event.Event) {
		for _, e := range more {
			line, err := event.AppendJSON(nil, e)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, string(line))
		}
	}
	add(events[:2]...)
	q, out, errs := again(p, "show", "live", "--json", "--follow")
	seen := &signalled{w: out, wrote: make(chan struct{}, 100)}
	q.Stdout = seen
	code := make(chan int)
	go func() { code <- q.run(t.Context()) }()
	<-seen.wrote
	commit(t, s, lease, 2, events[2:]...)
	add(events[2:]...)
	<-seen.wrote
	end := &event.Event{Body: &event.RunEnded{Status: event.RunCancelled, Why: event.WhyCancelled}}
	commit(t, s, lease, 5, end)
	add(end)
	if got := <-code; got != 0 || errs.Len() > 0 {
		t.Errorf("%d, %s", got, errs)
	}
	if got := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"); len(got) != 6 || strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if !json.Valid([]byte(strings.Split(out.String(), "\n")[0])) {
		t.Error("that is no JSON")
	}

	// show does not wait for a run without a driver.
	begun(t, s, "left", paying()[:2]...)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	q, out, _ = again(p, "show", "left", "-f")
	if got := q.run(t.Context()); got != 0 || !strings.Contains(out.String(), "was interrupted") {
		t.Errorf("%d, %s", got, out)
	}
}

// signalled signals every write.
type signalled struct {
	w     *strings.Builder
	wrote chan struct{}
}

func (s *signalled) Write(b []byte) (int, error) {
	n, err := s.w.Write(b)
	s.wrote <- struct{}{}
	return n, err
}
