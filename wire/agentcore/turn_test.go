package agentcore_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/wire/agentcore"
)

// A reader who missed pieces gets the rest of them from a snapshot, and joins to the whole.
func TestSnapshotsJoinOn(t *testing.T) {
	t.Parallel()
	whole := answer(event.StopToolUse, &event.Thinking{Text: "hmm so"}, &event.Text{Text: "Let me see."}, search("t1", "a"))
	blocks := []event.SnapshotBlock{
		{Block: 0, Kind: event.BlockThinking, Text: "hmm so"},
		{Block: 1, Kind: event.BlockText, Text: "Let me"},
		{Block: 2, Kind: event.BlockToolCall, Call: "t1", Tool: "aws___search_documentation"},
	}
	snapshot := func(change func(*event.Snapshot)) *event.Snapshot {
		s := &event.Snapshot{Header: event.Header{Run: "r1", Step: "m1", Attempt: 1}, Kind: event.StepModel, Blocks: blocks}
		if change != nil {
			change(s)
		}
		return s
	}
	for name, s := range map[string]*event.Snapshot{
		"as it is":         snapshot(nil),
		"cut":              snapshot(func(s *event.Snapshot) { s.Truncated = true }),
		"nothing yet":      snapshot(func(s *event.Snapshot) { s.Blocks = nil }),
		"for the operator": snapshot(func(s *event.Snapshot) { s.Audience = event.Operator }),
		"of a tool":        snapshot(func(s *event.Snapshot) { s.Kind = event.StepTool }),
	} {
		var before, after story
		before = begun()
		before.tell("m1", 1, model(), &event.ThinkingDelta{Text: "hmm"})
		if name == "as it is" {
			after.tell("m1", 1, &event.TextDelta{Block: 1, Text: " see."})
		}
		if name == "cut" { // these do not join on
			after.tell("m1", 1, &event.TextDelta{Block: 1, Text: "see."})
		}
		after.tell("m1", 1, whole)
		enc := &agentcore.Encoder{}
		stream, f := feed(enc, before)
		told := len(stream)
		stream = f.AppendSnapshot(stream, s)
		if silent := name != "as it is"; silent != (len(stream) == told) {
			t.Errorf("%s: the snapshot gave %q", name, stream[told:])
		}
		for i := range after {
			stream = f.Append(stream, &after[i])
		}
		joined := map[agentcore.Kind]string{}
		r := agentcore.NewReader(strings.NewReader(string(stream)), 0)
		for it, err := r.Next(); err == nil; it, err = r.Next() {
			if !it.Repeats && (it.Kind == agentcore.KindText || it.Kind == agentcore.KindThinking) {
				joined[it.Kind] += string(it.Text)
			}
		}
		if joined[agentcore.KindText] != "Let me see." || joined[agentcore.KindThinking] != "hmm so" {
			t.Errorf("%s: joined to %q in\n%s", name, joined, stream)
		}
		if len(r.Tools()) != 1 {
			t.Errorf("%s: %d tools", name, len(r.Tools()))
		}
	}
}

// A run that was interrupted goes on in a stream of its own, which begins like any other.
func TestResumed(t *testing.T) {
	t.Parallel()
	enc, all := &agentcore.Encoder{}, stories["interrupt-and-output"]()
	_, f := feed(enc, all[:5])
	stream := enc.AppendResumed(nil)
	for i := range all[5:] {
		stream = f.Append(stream, &all[5+i])
	}
	want := []string{`{"init_event_loop": true}`, `{"start": true}`, `{"start_event_loop": true}`, `{"message": {"role": "user"`, `{"structured_output": {"n": 8}}`, `{"result": `}
	var got []string
	for f := range strings.SplitSeq(strings.TrimSpace(string(stream)), "\n\n") {
		got = append(got, strings.TrimPrefix(f, "data: "))
	}
	for i := range want {
		if len(got) != len(want) || !strings.HasPrefix(got[i], want[i]) {
			t.Fatalf("the stream is\n%s", stream)
		}
	}
}

func TestResults(t *testing.T) {
	t.Parallel()
	enc, all := &agentcore.Encoder{}, stories["interrupt-and-output"]()
	encode(enc, all[:5])
	asked := []event.Question{
		{Asked: event.Asked{Token: "q1", Ask: event.AskApproval, Prompt: "Sure?"}},
		{Asked: event.Asked{Token: "q2", Name: "more", Payload: json.RawMessage(`{"a":1.0}`)}},
	}
	waits := string(enc.AppendResult(nil, nil, asked))
	if !strings.HasSuffix(waits, `"stop_reason": "interrupt", "interrupts": [{"id": "q1", "name": "approval", "reason": "Sure?", "response": null}, `+
		`{"id": "q2", "name": "more", "reason": {"a": 1.0}, "response": null}]}}`) || !json.Valid([]byte(waits)) {
		t.Error(waits)
	}
	end := completed()
	end.Output = json.RawMessage(`{"n":8}`)
	ended := string(enc.AppendResult(nil, end, nil))
	if !strings.HasSuffix(ended, `"stop_reason": "end_turn", "structured_output": {"n": 8}}}`) || !json.Valid([]byte(ended)) {
		t.Error(ended)
	}
	broken := string((&agentcore.Encoder{}).AppendBroken(nil, &event.Error{Kind: event.ErrUnavailable, Message: "the server ends"}))
	if broken != `data: {"error": "the server ends", "error_type": "EventLoopException", "message": "An error occurred during streaming"}`+"\n\n" {
		t.Error(broken)
	}
}
