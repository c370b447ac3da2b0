package reqcache

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/toolname"
)

// lines is an encoder that writes one line per block.
type lines struct {
	ids    toolname.IDs
	said   []string
	held   int
	writes int
}

func (l *lines) Encode(m *event.Message) {
	l.writes++
	if m.Role == event.RoleAssistant {
		l.ids.Answer()
	}
	for _, b := range m.Content {
		switch b := b.(type) {
		case *event.Text:
			l.said = append(l.said, b.Text)
			l.held += len(b.Text)
		case *event.ToolCall:
			l.said = append(l.said, "call "+l.ids.Give(b.ID, toolname.IDRule{}))
		case *event.ToolResult:
			l.said = append(l.said, "result "+l.ids.Of(b.Call))
		}
	}
}

func (l *lines) Mark() Mark { return Mark{End: len(l.said), IDs: l.ids.Len()} }
func (l *lines) Cut(to Mark) {
	l.ids.Cut(to.IDs)
	l.said = l.said[:to.End]
}
func (l *lines) Size() int { return l.held }

func asked(s string) event.Message {
	return event.Message{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: s}}}
}

func called(id string) []event.Message {
	return []event.Message{
		{Role: event.RoleAssistant, Content: []event.Block{&event.ToolCall{ID: id}}},
		{Role: event.RoleUser, Content: []event.Block{&event.ToolResult{Call: id}}},
	}
}

// After any change of a conversation, the cached encoding equals a new one. Unchanged messages are not encoded again.
func TestWarmIsAsCold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var kept Histories[lines, *lines]
		branches := [][]event.Message{{asked("Go.")}}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			k := rapid.IntRange(0, len(branches)-1).Draw(t, "branch")
			b := branches[k]
			switch rapid.SampledFrom([]string{"turn", "turn", "say", "rewind", "fork", "replace"}).Draw(t, "what") {
			case "turn":
				b = append(slices.Clip(b), called(rapid.SampledFrom([]string{"a", "a_2", "b", ""}).Draw(t, "id"))...)
			case "say":
				b = append(slices.Clip(b), asked("more"))
			case "rewind":
				n := rapid.IntRange(1, len(b)).Draw(t, "to")
				b = b[:n:n]
			case "fork":
				branches = append(branches, b)
			case "replace":
				b = append([]event.Message{asked("summary")}, b[min(len(b), 3):]...)
			}
			branches[k] = b
			h := kept.Take(&model.Request{Messages: b})
			h.Update(b)
			kept.Put(h)
			var cold History[lines, *lines]
			cold.Update(b)
			if !slices.Equal(h.Encoder.said, cold.Encoder.said) || h.Len() != len(b) {
				t.Fatalf("%d messages, warm %q\ncold %q", len(b), h.Encoder.said, cold.Encoder.said)
			}
			for i := range b {
				role, at := h.At(i)
				coldRole, coldAt := cold.At(i)
				if role != coldRole || at != coldAt {
					t.Fatalf("message %d: %s %+v, cold %s %+v", i, role, at, coldRole, coldAt)
				}
			}
		}
	})
}

func TestOnlyTheNewIsEncoded(t *testing.T) {
	t.Parallel()
	var kept Histories[lines, *lines]
	messages := []event.Message{asked("Go.")}
	for i := range 50 {
		h := kept.Take(&model.Request{Messages: messages})
		before := h.Encoder.writes
		h.Update(messages)
		if n := h.Encoder.writes - before; n > 2 {
			t.Fatalf("turn %d: %d messages are encoded", i, n)
		}
		kept.Put(h)
		messages = append(messages, called(fmt.Sprint(i))...)
	}
}

func TestHistoriesAreBounded(t *testing.T) {
	t.Parallel()
	var kept Histories[lines, *lines]
	ask := func(s string) {
		messages := []event.Message{asked(s)}
		h := kept.Take(&model.Request{Messages: messages})
		h.Update(messages)
		kept.Put(h)
	}
	for i := range mostHistories + 50 {
		ask(fmt.Sprint(i))
	}
	if n := kept.Len(); n != mostHistories {
		t.Errorf("%d histories are kept", n)
	}
	big := strings.Repeat("x", mostHeld/4)
	for range 6 {
		ask(big)
	}
	if kept.held > mostHeld || kept.Len() == 0 {
		t.Errorf("%d bytes are held in %d", kept.held, kept.Len())
	}
	sum := 0
	for _, h := range kept.kept {
		sum += h.size()
	}
	if sum != kept.held {
		t.Errorf("%d bytes are counted, there are %d", kept.held, sum)
	}
	kept.Put(kept.Take(&model.Request{}))
	if h := kept.Take(&model.Request{}); h.Len() != 0 {
		t.Errorf("nothing was kept as a conversation of %d messages", h.Len())
	}
}

func TestHead(t *testing.T) {
	t.Parallel()
	var h Head[string]
	made := 0
	of := func(want string, req *model.Request) {
		t.Helper()
		got, err := h.Of(req, func(string) (string, error) {
			made++
			if req.Instructions == "wrong" {
				return "", errors.New("wrong")
			}
			return fmt.Sprint(made), nil
		})
		if got != want || (err != nil) != (want == "") || h.Made() != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	tool := model.ToolSpec{Name: "a", Schema: []byte("{}")}
	of("1", &model.Request{})
	of("1", &model.Request{})
	of("2", &model.Request{Instructions: "x"})
	of("3", &model.Request{Instructions: "x", Tools: []model.ToolSpec{tool}})
	of("3", &model.Request{Instructions: "x", Tools: []model.ToolSpec{tool}})
	tool.Schema = []byte("true")
	of("4", &model.Request{Instructions: "x", Tools: []model.ToolSpec{tool}})
	of("", &model.Request{Instructions: "wrong"})
	of("6", &model.Request{Instructions: "x", Tools: []model.ToolSpec{tool}})
}
