package native_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/wire/native"
)

// What each frame does to the text of a step, and what a terminal prints of it.
func TestScreen(t *testing.T) {
	t.Parallel()
	at := func(attempt int) native.Place { return native.Place{Step: "m1", Attempt: attempt} }
	for _, c := range []struct {
		name   string
		frames []native.Frame
		shown  string
		// printed is what a terminal has written, "↺" where it had to begin anew.
		printed string
	}{
		{
			"deltas and their message",
			[]native.Frame{&native.TextDelta{Text: "a", Place: at(1)}, &native.TextDelta{Text: "b", Place: at(1)}, &native.Message{Text: "ab", Place: at(1)}},
			"ab", "ab",
		},
		{"a message alone", []native.Frame{&native.Message{Text: "ab", Place: at(1)}}, "ab", "ab"},
		{
			"a message that says more",
			[]native.Frame{&native.TextDelta{Text: "a", Place: at(1)}, &native.Message{Text: "abc", Place: at(1)}},
			"abc", "abc",
		},
		{
			"a message that says something else",
			[]native.Frame{&native.TextDelta{Text: "a", Place: at(1)}, &native.Message{Text: "bc", Place: at(1)}},
			"bc", "a↺bc",
		},
		{
			"a message that comes twice, and a delta that comes after it",
			[]native.Frame{
				&native.Message{Text: "ab", Place: at(1)}, &native.Message{Text: "ab", Place: at(1)}, &native.TextDelta{Text: "x", Place: at(1)},
				&native.Snapshot{Text: "y", Place: at(1)}, &native.Thinking{Text: "z", Place: at(1)}, &native.Retry{Place: at(1)},
			},
			"ab", "ab",
		},
		{
			"a snapshot and what joins on",
			[]native.Frame{
				&native.TextDelta{Text: "a", Place: at(1)}, &native.Snapshot{Text: "abc", Place: at(1)}, &native.TextDelta{Text: "d", Place: at(1)},
			},
			"abcd", "abcd",
		},
		{
			"a truncated snapshot, which nothing joins on to",
			[]native.Frame{
				&native.Snapshot{Text: "ab", Truncated: true, Place: at(1)}, &native.TextDelta{Text: "z", Place: at(1)},
				&native.Thinking{Text: "z", Place: at(1)}, &native.Message{Text: "abyz", Place: at(1)},
			},
			"abyz", "abyz",
		},
		{
			"another attempt",
			[]native.Frame{
				&native.TextDelta{Text: "a", Place: at(1)}, &native.Retry{Place: at(1)}, &native.TextDelta{Text: "b", Place: at(2)},
				&native.TextDelta{Text: "late", Place: at(1)},
			},
			"b", "a↺b",
		},
		{"an attempt that failed", []native.Frame{&native.TextDelta{Text: "a", Place: at(1)}, &native.Retry{Place: at(1)}}, "", "a"},
		{
			"pieces",
			[]native.Frame{
				&native.TextDelta{Text: "a", Place: at(1)}, &native.Message{Text: "a", Piece: true, Place: at(1)},
				&native.TextDelta{Text: "b", Place: at(1)}, &native.Message{Text: "ab", Place: at(1)},
			},
			"ab", "ab",
		},
		{
			"a piece that the deltas are ahead of",
			[]native.Frame{
				&native.TextDelta{Text: "ab", Place: at(1)}, &native.Message{Text: "a", Thinking: "t", Piece: true, Place: at(1)},
				&native.TextDelta{Text: "c", Place: at(1)}, &native.Message{Text: "abc", Thinking: "t", Place: at(1)},
			},
			"abc", "abc",
		},
		{
			"a piece that says something else",
			[]native.Frame{&native.TextDelta{Text: "ab", Place: at(1)}, &native.Message{Text: "x", Piece: true, Place: at(1)}},
			"x", "ab↺x",
		},
		{
			"a piece after a truncated snapshot",
			[]native.Frame{
				&native.Snapshot{Text: "a", Truncated: true, Place: at(1)}, &native.Message{Text: "ab", Piece: true, Place: at(1)},
				&native.TextDelta{Text: "z", Place: at(1)},
			},
			"ab", "ab",
		},
		{
			"pieces without an end",
			[]native.Frame{&native.Message{Text: "a", Piece: true, Place: at(1)}, &native.Result{}},
			"", "a",
		},
		{"an end in the middle", []native.Frame{&native.TextDelta{Text: "a", Place: at(1)}, &native.Error{Code: "SDK_ERROR"}}, "", "a"},
		{"another run", []native.Frame{&native.Message{Text: "a", Place: at(1)}, &native.Result{}, &native.Init{}}, "", "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var screen native.Screen
			printed := ""
			for _, f := range c.frames {
				change := screen.Apply(f)
				if change.Replaced {
					printed += "↺"
				}
				printed += change.Text
			}
			if got := screen.Text("m1"); got != c.shown || printed != c.printed {
				t.Errorf("it shows %q and prints %q, want %q and %q", got, printed, c.shown, c.printed)
			}
		})
	}
}

// Calls, questions and the title.
func TestScreenBesideTheText(t *testing.T) {
	t.Parallel()
	var s native.Screen
	ask := &native.Question{QuestionID: "q1"}
	frames := []native.Frame{
		&native.Init{RunID: "r1"}, &native.ToolUse{ToolUseID: "t1"}, &native.ToolUse{ToolUseID: "t2"},
		&native.ToolProgress{ToolUseID: "t2", Text: "half"}, &native.ToolProgress{ToolUseID: "t2", Text: "whole"},
		ask, ask, &native.Question{QuestionID: "q2"}, &native.Answered{QuestionID: "q2"},
		&native.ToolResult{ToolUseID: "t2", Content: "2"}, &native.Title{Title: "Sums"}, &native.Notice{Code: "x"},
	}
	for _, f := range frames {
		s.Apply(f)
	}
	want := native.Screen{
		Run: &native.Init{RunID: "r1"}, Title: "Sums", Questions: []*native.Question{ask},
		Calls: []*native.ToolCall{
			{Use: &native.ToolUse{ToolUseID: "t1"}},
			{
				Use: &native.ToolUse{ToolUseID: "t2"}, Progress: &native.ToolProgress{ToolUseID: "t2", Text: "whole"},
				Result: &native.ToolResult{ToolUseID: "t2", Content: "2"},
			},
		},
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Error(diff)
	}
	end := &native.Result{Result: "8"}
	s.Apply(end)
	if s.End != end || len(s.Questions) > 0 {
		t.Errorf("after the end: %+v", s)
	}
	s.Apply(&native.Init{RunID: "r2"})
	if diff := cmp.Diff(native.Screen{Run: &native.Init{RunID: "r2"}, Title: "Sums"}, s); diff != "" {
		t.Error(diff)
	}
}

// What is there already gives nothing, and what the operator is told is no answer.
func TestEncoderEdges(t *testing.T) {
	t.Parallel()
	enc := newEncoder()
	enc.Story.SkipTo(3)
	e := &event.Event{Header: event.Header{Seq: 3}, Body: &event.UserMessage{}}
	if got := enc.Append(nil, e); len(got) > 0 {
		t.Errorf("an event that the reader has gives %s", got)
	}
	e.Seq = 4
	if got := enc.Append(nil, e); len(got) == 0 || enc.Cursor().String() != "4" {
		t.Errorf("the next event gives %q and the place %s", got, enc.Cursor())
	}
	if got := enc.Append(nil, e); len(got) > 0 {
		t.Errorf("the same event again gives %s", got)
	}
	snapshot := &event.Snapshot{
		Header: event.Header{Seq: 4, Step: "m1", Attempt: 1, Epoch: 2, N: 9, Audience: event.Operator}, Kind: event.StepModel,
	}
	if got := enc.AppendSnapshot(nil, snapshot); len(got) > 0 {
		t.Errorf("a snapshot for the operator gives %s", got)
	}
	snapshot.Audience = event.Everyone
	const want = "id: 4:2.9\nevent: snapshot\ndata: {\"text\":\"\",\"step\":\"m1\",\"attempt\":1}\n\n"
	if got := enc.AppendSnapshot(nil, snapshot); string(got) != want {
		t.Errorf("a step that has said nothing gives %q", got)
	}
	const title = "event: title\ndata: {\"title\":\"Sums\"}\n\n"
	if got := native.AppendFrame(nil, &native.Title{Title: "Sums"}); string(got) != title {
		t.Errorf("got %q", got)
	}
}
