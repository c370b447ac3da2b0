package agui_test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/wire"
	"github.com/braidrun/braid/wire/agui"
)

// Answers that no model gave, those of flows and functions, are messages of their own: each has another id.
func TestAnswersOfFlowsHaveTheirOwnIDs(t *testing.T) {
	t.Parallel()
	says := func(text string) event.Body {
		return &event.AssistantMessage{Content: []event.Block{&event.Text{Text: text}}, Stop: event.StopEndTurn}
	}
	feed := &wire.Feed{Encoder: agui.Wire.Open(wire.Start{Conversation: "c"})}
	var sent []byte
	for i, e := range []event.Event{
		{Body: &event.RunStarted{Agent: "s"}},
		{Body: &event.ScopeOpened{ID: "f1", Agent: "a", Depth: 1}},
		{Header: event.Header{Scope: "f1"}, Body: says("first")},
		{Header: event.Header{Scope: "f1"}, Body: says("second")},
		{Header: event.Header{Scope: "f1"}, Body: &event.ScopeClosed{ID: "f1"}},
		{Body: says("second")},
		{Body: &event.RunEnded{Status: event.RunCompleted}},
	} {
		e.Seq, e.Run, e.Conversation = int64(i+1), "r", "c"
		sent = feed.Append(sent, &e)
	}
	var ids []string
	for _, m := range regexp.MustCompile(`"TEXT_MESSAGE_START".*?"messageId":"([^"]*)"`).FindAllSubmatch(sent, -1) {
		ids = append(ids, string(m[1]))
	}
	if want := []string{"r/3", "r/4", "r/6"}; !slices.Equal(ids, want) {
		t.Errorf("the messages are %q, want %q\n%s", ids, want, sent)
	}
}
