package native_test

import (
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/wire/native"
)

// What a tool returns directly is a run's result, though no model has said it; history that was
// handed in with the run is not.
func TestWhatAToolReturnsIsTheResult(t *testing.T) {
	t.Parallel()
	for _, returned := range []bool{false, true} {
		s := newStory()
		s.durable("", 0, &event.AssistantMessage{Content: text("said long ago"), Stop: event.StopEndTurn})
		s.durable("", 0, &event.UserMessage{Content: text("And now?")})
		s.begin("m1", 1)
		s.answer("m1", 1, &event.ToolCall{ID: "c0", Name: "add", Args: []byte(`{}`)})
		s.call("t1.0", "c0", "add")
		s.result("t1.0", 1, "c0", "add", "8", false)
		want := ""
		if returned {
			s.durable("", 0, &event.AssistantMessage{Content: text("8"), Stop: event.StopEndTurn})
			want = "8"
		}
		s.end(nil)
		enc := newEncoder()
		var result *native.Result
		for i := range s.events {
			for _, f := range enc.Frames(&s.events[i]) {
				if r, ok := f.(*native.Result); ok {
					result = r
				}
			}
		}
		if result == nil || result.Result != want {
			t.Errorf("returned %v: the result is %+v, want %q", returned, result, want)
		}
	}
}
