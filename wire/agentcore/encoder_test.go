package agentcore_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/event/eventtest"
	"github.com/braidrun/braid/wire"
	"github.com/braidrun/braid/wire/agentcore"
	"github.com/braidrun/braid/wire/wiretest"
)

func encoders() map[string]*agentcore.Encoder {
	return map[string]*agentcore.Encoder{"plain": {}, "requested": {ASCII: true, Copies: true, Announce: true}}
}

func encode(enc *agentcore.Encoder, events []event.Event) []byte {
	stream, _ := feed(enc, events)
	return stream
}

// feed gives events to an encoder.
func feed(enc *agentcore.Encoder, events []event.Event) (stream []byte, f *wire.Feed) {
	f = wiretest.Feed(enc, "")
	for i := range events {
		stream = f.Append(stream, &events[i])
	}
	return stream, f
}

// told is what every reader must come to: texts of the root's answers, and its calls
// with their inputs and results.
func told(events []event.Event) (answers, calls []string) {
	pieces := map[string]string{}
	var open []string
	step := ""
	results := map[string]string{}
	done := func() {
		whole := len(open) > 0
		for _, c := range open {
			whole = whole && results[strings.SplitN(c, " ", 2)[0]] != ""
		}
		for _, c := range open {
			if whole {
				c += " -> " + results[strings.SplitN(c, " ", 2)[0]]
			}
			calls = append(calls, c)
		}
		open = nil
	}
	for i := range events {
		e := &events[i]
		if e.Scope != "" || e.Audience != event.Everyone {
			continue
		}
		switch b := e.Body.(type) {
		case *event.AssistantMessage:
			pieces[e.Step] += event.RawText(b.Content)
			if step != e.Step {
				done()
				step = e.Step
			}
			for _, c := range event.CallsOf(b.Content) {
				var input bytes.Buffer
				_ = json.Compact(&input, c.Args)
				open = append(open, c.ID+" "+c.Name+" "+input.String())
			}
			if !b.Piece && pieces[e.Step] != "" {
				answers = append(answers, pieces[e.Step])
			}
		case *event.StepEnded:
			if b.Step == event.StepTool && b.Result != nil {
				var structured bytes.Buffer
				if b.Result.Structured != nil {
					_ = json.Compact(&structured, b.Result.Structured)
				}
				results[b.Result.Call] = fmt.Sprintf("%q %s %v", event.RawText(b.Result.Content), structured.String(), b.Result.IsError)
			}
		}
	}
	done()
	return answers, calls
}

// Whatever happens in a run, a reader of its stream comes to the same texts and tools,
// finds nothing wrong, and is told nothing that is for the operator.
func TestReaderComesToWhatWasTold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := wiretest.Conversation().Draw(t, "conversation")
		for name, enc := range encoders() {
			for rest := all; len(rest) > 0; {
				n := 1
				for n < len(rest) && rest[n].Run == rest[0].Run {
					n++
				}
				events := rest[:n]
				rest = rest[n:]
				stream := encode(enc, events)
				if bytes.Contains(stream, []byte(wiretest.Secret)) {
					t.Fatalf("%s: the operator's words are sent:\n%s", name, stream)
				}
				s, err := agentcore.Summarize(bytes.NewReader(stream))
				if err != nil || len(s.Anomalies) > 0 || !s.Complete {
					t.Fatalf("%s: %v %v complete %v\n%s", name, err, s.Anomalies, s.Complete, stream)
				}
				answers, calls := told(events)
				// What an answer said that never came whole stands at the end, alone.
				if len(s.Answers) == len(answers)+1 && s.Error == "" && s.Stop != "end_turn" || s.Error != "" && len(s.Answers) == len(answers)+1 {
					s.Answers = s.Answers[:len(answers)]
				}
				if diff := cmp.Diff(strings.Join(answers, "|"), strings.Join(s.Answers, "|")); diff != "" {
					t.Fatalf("%s: the answers (-want +got)\n%s\n%s", name, diff, stream)
				}
				var got []string
				for _, u := range s.Tools {
					line := u.ID + " " + u.Name + " " + string(u.Input)
					if r := u.Result; r != nil {
						line += fmt.Sprintf(" -> %q %s %v", event.RawText(r.Content), r.Structured, r.IsError)
					}
					got = append(got, line)
				}
				if diff := cmp.Diff(strings.Join(calls, "\n"), strings.Join(got, "\n")); diff != "" {
					t.Fatalf("%s: the tools (-want +got)\n%s\n%s", name, diff, stream)
				}
			}
		}
	})
}

// Any events, sensible or not, give frames that are JSON in one line each.
func TestAnyEventsGiveFrames(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		for _, enc := range encoders() {
			var stream []byte
			f := wiretest.Feed(enc, "")
			for range rapid.IntRange(0, 6).Draw(t, "events") {
				e := eventtest.Event().Draw(t, "event")
				if rapid.Bool().Draw(t, "sensible header") {
					e.Audience, e.Step, e.Scope = event.Everyone, "m1", ""
				}
				before := len(stream)
				stream = f.Append(stream, &e)
				if len(stream) > before && e.Audience != event.Everyone {
					t.Fatalf("an event for the operator gives %s", stream[before:])
				}
			}
			for frame := range strings.SplitSeq(strings.TrimSuffix(string(stream), "\n\n"), "\n\n") {
				if frame != "" && !json.Valid([]byte(strings.TrimPrefix(frame, "data: "))) {
					t.Fatalf("no JSON: %s", frame)
				}
			}
		}
	})
}

func TestErrorBeforeTheStart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err    error
		body   string
		status int
		class  string
	}{
		{&event.Error{Kind: event.ErrModel, Message: "だめ <a>"}, `{"error":"だめ <a>"}`, 424, "RuntimeClientError"},
		{&event.Error{Kind: event.ErrInternal, Message: "nil map"}, `{"error":"Something went wrong inside Braid."}`, 500, "InternalServerException"},
		{event.ErrThrottled, `{"error":"The model's provider is throttling."}`, 429, "ThrottlingException"},
		{&event.Error{Kind: event.ErrInvalid, Message: "no"}, `{"error":"no"}`, 400, "ValidationException"},
		{&event.Error{Kind: event.ErrLocked}, `{"error":"Another run holds the conversation."}`, 409, "RetryableConflictException"},
		{&event.Error{Kind: event.ErrPermission}, `{"error":"The credential does not allow this."}`, 403, "AccessDeniedException"},
		{&event.Error{Kind: event.ErrNotFound}, `{"error":"There is no such thing, or it is somebody else's."}`, 404, "ResourceNotFoundException"},
		{&event.Error{Kind: event.ErrStorageFull}, `{"error":"There is no space left to write."}`, 402, "ServiceQuotaExceededException"},
	} {
		body, status, class := agentcore.ErrorOf(c.err)
		if string(body) != c.body || status != c.status || class != c.class {
			t.Errorf("%v: %s %d %s", c.err, body, status, class)
		}
	}
}
