package drive_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/drive"
	"github.com/braidrun/braid/internal/fold"
)

// foreignHistory generates messages that other programs may have written: with calls and results anywhere.
func foreignHistory(t *rapid.T) (in []event.Message) {
	id := rapid.SampledFrom([]string{"a", "b", "c", ""})
	for range rapid.IntRange(0, 8).Draw(t, "messages") {
		m := event.Message{Role: rapid.SampledFrom([]event.Role{event.RoleUser, event.RoleAssistant}).Draw(t, "role")}
		for range rapid.IntRange(0, 4).Draw(t, "blocks") {
			switch kind := rapid.IntRange(0, 3).Draw(t, "kind"); {
			case kind == 0:
				m.Content = append(m.Content, &event.Text{Text: fmt.Sprintf("text %d.%d", len(in), len(m.Content))})
			case kind == 1:
				m.Content = append(m.Content, &event.Text{Text: " \n"})
			case kind == 2 && m.Role == event.RoleAssistant:
				m.Content = append(m.Content, &event.ToolCall{ID: id.Draw(t, "id"), Name: "t", Args: []byte("{}")})
			default:
				m.Content = append(m.Content, &event.ToolResult{Call: id.Draw(t, "id"), Content: []event.Block{&event.Text{Text: "r"}}})
			}
		}
		in = append(in, m)
	}
	return in
}

// A repaired history pairs its calls with their results, keeps all texts and all calls, and needs no repair again. The
// given messages stay as they were.
func TestARepairedHistoryIsPaired(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := foreignHistory(t)
		was := encoded(t, in)
		fit, repairs, err := drive.FitHistory(in)
		if err != nil {
			t.Fatal(err)
		}
		checkPaired(t, fit)
		checkPaired(t, fold.Alternate(fit))
		if again, more, err := drive.FitHistory(fit); err != nil || len(more) > 0 || encoded(t, again) != encoded(t, fit) {
			t.Fatalf("it is repaired again: %v, %v", more, err)
		}
		if !slices.Equal(words(in), words(fit)) {
			t.Fatalf("it has the texts %q of %q", words(fit), words(in))
		}
		if calls(in) != calls(fit) {
			t.Fatalf("it has %d of %d calls", calls(fit), calls(in))
		}
		if encoded(t, in) != was {
			t.Fatal("the given messages have changed")
		}
		if len(repairs) == 0 && results(in) != results(fit) {
			t.Fatal("a repair is not reported")
		}
	})
}

// checkPaired checks that every call has its result in the next message, and that no message is empty.
func checkPaired(t *rapid.T, messages []event.Message) {
	var open []string
	for i, m := range messages {
		if len(m.Content) == 0 {
			t.Fatalf("message %d is empty", i)
		}
		var got []string
		for _, b := range m.Content {
			if r, ok := b.(*event.ToolResult); ok {
				got = append(got, r.Call)
			}
		}
		slices.Sort(got)
		slices.Sort(open)
		if !slices.Equal(got, open) || len(got) > 0 && m.Role != event.RoleUser {
			t.Fatalf("message %d has the results %q of the calls %q", i, got, open)
		}
		open = nil
		for _, c := range m.Calls() {
			if slices.Contains(open, c.ID) || c.ID == "" {
				t.Fatalf("message %d has two calls %q", i, c.ID)
			}
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		t.Fatalf("the calls %q have no results", open)
	}
}

func encoded(t *rapid.T, messages []event.Message) string {
	var buf []byte
	for _, m := range messages {
		var err error
		if buf, err = event.AppendMessage(buf, m); err != nil {
			t.Fatal(err)
		}
	}
	return string(buf)
}

func words(messages []event.Message) (list []string) {
	for _, m := range messages {
		for _, b := range m.Content {
			if text, ok := b.(*event.Text); ok && text.Text != " \n" {
				list = append(list, text.Text)
			}
		}
	}
	return list
}

func calls(messages []event.Message) (n int) {
	for _, m := range messages {
		n += len(m.Calls())
	}
	return n
}

func results(messages []event.Message) (n int) {
	for _, m := range messages {
		for _, b := range m.Content {
			if _, ok := b.(*event.ToolResult); ok {
				n++
			}
		}
	}
	return n
}

// A history that is in order is returned as it is, and checking a single message allocates nothing.
func TestAWholeHistoryStaysAsItIs(t *testing.T) { //nolint:paralleltest // it counts allocations
	in := []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "hello"}}}}
	if n := testing.AllocsPerRun(100, func() {
		if fit, repairs, err := drive.FitHistory(in); err != nil || repairs != nil || &fit[0] != &in[0] {
			t.Fatal(fit, repairs, err)
		}
	}); n > 0 {
		t.Errorf("it allocates %v times", n)
	}
}
