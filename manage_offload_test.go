package braid_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// A result of 1 MB adds no more than 4 KB to each later call, whatever it is made of.
func TestALargeResultIsOffloaded(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	for name, gives := range map[string]func() tool.Output{
		"letters":  func() tool.Output { return tool.Text(strings.Repeat("word ", size/5)) },
		"quotes":   func() tool.Output { return tool.Text(strings.Repeat(`"\`, size/2)) },
		"controls": func() tool.Output { return tool.Text(strings.Repeat("\x01<&>", size/4)) },
		"kanji":    func() tool.Output { return tool.Text(strings.Repeat("漢字", size/6)) },
		"structured": func() tool.Output {
			return tool.Output{Structured: raw(map[string]string{"a": strings.Repeat("b", size)})}
		},
		"beside text": func() tool.Output {
			o := tool.Text("see beside")
			o.Structured = raw(map[string]string{"a": strings.Repeat("b", size)})
			return o
		},
		"many blocks": func() (o tool.Output) {
			for range 100 {
				o.Content = append(o.Content, &event.Text{Text: strings.Repeat("x", size/100)})
			}
			return o
		},
		"a document": func() tool.Output {
			return tool.Output{Content: []event.Block{&event.Document{Name: "a.txt", Text: strings.Repeat("line\n", size/5)}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := gives()
			dump := braid.Func("dump", "Gives much.", func(context.Context, struct{}) (tool.Output, error) { return want, nil })
			m := &recorder{answer: func(n int, _ *model.Request) iter.Seq2[model.Chunk, error] {
				if n == 0 {
					return chunks(asksFor("dump", "{}"))
				}
				return chunks(says("fine"))
			}}
			a := braid.New("a", m, dump, braid.Offload(braid.Offloading{}))
			conv := chat(t, a, 3)
			for i, req := range m.seen[1:] {
				// As the request's JSON has it, with the letters that some encoders escape.
				if n := len(raw(req.Messages)) - len(raw(m.seen[0].Messages)); n > 4096+200*i {
					t.Errorf("call %d has %d bytes more than the first", i+2, n)
				}
				if err := braid.ValidMessages(req.Messages); err != nil {
					t.Error(err)
				}
			}
			var ended *event.StepEnded
			var seq int64
			for _, e := range logOfConversation(t, conv) {
				if b, ok := e.Body.(*event.StepEnded); ok && b.Step == event.StepTool {
					ended, seq = b, e.Seq
				}
			}
			if len(ended.Shown) == 0 || len(raw(ended.Result)) < size {
				t.Fatal("the log does not have both")
			}
			text := event.TextOf(ended.Shown)
			if !strings.HasPrefix(text, fmt.Sprintf("[Result %d has ", seq)) || !utf8.ValidString(text) {
				t.Errorf("it is shown as %.200s", text)
			}
		})
	}
}

// What was off-loaded is read back by its parts, which make up the whole, and searched.
func TestAnOffloadedResultIsReadBack(t *testing.T) {
	t.Parallel()
	var sb strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&sb, "line %d: ü日本\n", i)
	}
	whole := sb.String()
	var got strings.Builder
	var found string
	m := &recorder{}
	m.answer = func(n int, req *model.Request) iter.Seq2[model.Chunk, error] {
		if n == 0 {
			return chunks(asksFor("dump", "{}"))
		}
		text := event.TextOf(lastResults(req)[0].Content)
		var seq, from, to, all int
		if n == 1 {
			if _, err := fmt.Sscanf(text, "[Result %d has %d bytes.", &seq, &all); err != nil || all != len(whole) {
				t.Fatalf("%v: %.200s", err, text)
			}
			return chunks(asksFor("read_result", fmt.Sprintf(`{"result":%d}`, seq)))
		}
		seq = resultNumber(req)
		if strings.HasPrefix(text, "[found") {
			found = text
			return chunks(says("done"))
		}
		if _, err := fmt.Sscanf(text, "[bytes %d to %d of %d]", &from, &to, &all); err != nil || from != got.Len() || len(text) > 10_100 {
			t.Fatalf("%v, from %d after %d: %.100s", err, from, got.Len(), text)
		}
		_, part, _ := strings.Cut(text, "\n")
		got.WriteString(part)
		if to == all {
			return chunks(asksFor("read_result", fmt.Sprintf(`{"result":%d,"find":"line 4999"}`, seq)))
		}
		return chunks(asksFor("read_result", fmt.Sprintf(`{"result":%d,"offset":%d}`, seq, to)))
	}
	dump := braid.Func("dump", "Gives much.", func(context.Context, struct{}) (string, error) { return whole, nil })
	if _, err := braid.New("a", m, dump, braid.Offload(braid.Offloading{})).Run(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	if got.String() != whole {
		t.Errorf("the parts make up %d bytes of %d", got.Len(), len(whole))
	}
	if !strings.HasPrefix(found, "[found 1 times") || !strings.Contains(found, fmt.Sprintf("[byte %d]", strings.Index(whole, "line 4999"))) {
		t.Errorf("it was found as %s", found)
	}
}

// resultNumber finds the number of the first result that was off-loaded.
func resultNumber(req *model.Request) (seq int) {
	for _, m := range req.Messages {
		for _, b := range m.Content {
			if r, ok := b.(*event.ToolResult); ok && seq == 0 {
				_, _ = fmt.Sscanf(event.TextOf(r.Content), "[Result %d has", &seq)
			}
		}
	}
	return seq
}

// Nobody reads what is not theirs: of another session, another scope, no result, redacted.
func TestWhatMayNotBeReadBack(t *testing.T) {
	t.Parallel()
	ask := func(conv *braid.Conversation, seq int64, opts ...braid.RunOption) string {
		text := ""
		m := &recorder{answer: func(n int, req *model.Request) iter.Seq2[model.Chunk, error] {
			if n == 0 {
				return chunks(asksFor("read_result", fmt.Sprintf(`{"result":%d}`, seq)))
			}
			text = event.TextOf(lastResults(req)[0].Content)
			return chunks(says("done"))
		}}
		a := braid.New("a", m, braid.Offload(braid.Offloading{}))
		if _, err := a.Run(t.Context(), "read it", append(opts, braid.In(conv))...); err != nil {
			t.Fatal(err)
		}
		return text
	}
	secret := strings.Repeat("secret ", 5000)
	make := func() (journal.Store, *braid.Conversation, int64) {
		store := &journal.Memory{}
		conv := braid.Open(store, "c")
		dump := braid.Func("dump", "Gives much.", func(context.Context, struct{}) (string, error) { return secret, nil })
		a := braid.New("a", answers(asksFor("dump", "{}"), says("ok")), dump, braid.Offload(braid.Offloading{}))
		if _, err := a.Run(t.Context(), "go", braid.In(conv)); err != nil {
			t.Fatal(err)
		}
		for _, e := range logOfConversation(t, conv) {
			if b, ok := e.Body.(*event.StepEnded); ok && len(b.Shown) > 0 {
				return store, conv, e.Seq
			}
		}
		t.Fatal("nothing is off-loaded")
		return nil, nil, 0
	}
	_, conv, seq := make()
	if got := ask(conv, seq); !strings.Contains(got, "secret") {
		t.Errorf("a later run of the session reads %q", got)
	}
	for _, other := range []int64{0, -1, 1, 2, seq + 1000} {
		if got := ask(conv, other); !strings.Contains(got, "there is no result") {
			t.Errorf("%d is read as %q", other, got)
		}
	}
	if got := ask(conv, seq, braid.NewSession()); !strings.Contains(got, "there is no result") {
		t.Errorf("a new session reads %.100q", got)
	}

	store, conv, seq := make()
	row, err := store.Admit(t.Context(), journal.Run{ID: "r", Conversation: "c"})
	if err != nil {
		t.Fatal(err)
	}
	opened, err := store.Acquire(t.Context(), row.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	var events []*event.Event
	for i, b := range []event.Body{
		&event.RunStarted{Agent: "a", Session: 1, Turn: 2}, &event.Redacted{Target: seq}, &event.RunEnded{Status: event.RunCompleted},
	} {
		events = append(events, &event.Event{Header: event.Header{Seq: opened.Last + int64(i) + 1, Conversation: "c", Run: "r"}, Body: b})
	}
	if err := store.Commit(t.Context(), opened.Lease, journal.Batch{Events: events, Status: event.RunCompleted}); err != nil {
		t.Fatal(err)
	}
	if got := ask(braid.Open(store, "c"), seq); !strings.Contains(got, "there is no result") {
		t.Errorf("what is redacted is read as %.100q", got)
	}
	messages, err := conv.Messages(t.Context())
	if err != nil || strings.Contains(string(raw(messages)), "secret secret") {
		t.Errorf("what is redacted is shown: %v", err)
	}
}

// The tool does nothing outside of a run, and a second Offload changes the first.
func TestOffloadIsAPartLikeOthers(t *testing.T) {
	t.Parallel()
	dump := braid.Func("dump", "Gives much.", func(context.Context, struct{}) (string, error) { return strings.Repeat("x", 500), nil })
	a := braid.New("a", answers(asksFor("dump", "{}"), says("ok")), braid.Offload(braid.Offloading{}), dump,
		braid.Offload(braid.Offloading{Over: 100, Preview: 30}))
	result, err := a.Run(t.Context(), "go")
	if err != nil {
		t.Fatal(err)
	}
	messages, _ := result.Conversation.Messages(t.Context())
	if n := strings.Count(string(raw(messages)), "xx"); n != 10+5 {
		t.Errorf("%d letters are shown: %s", n, raw(messages))
	}
	tools := a.Tools()
	if len(tools) != 2 {
		t.Fatalf("the agent has %d tools", len(tools))
	}
	if _, err := tools[0].Call(t.Context(), json.RawMessage(`{"result":1}`)); event.KindOf(err) != event.ErrInvalid {
		t.Errorf("outside of a run: %v", err)
	}
	if err := braid.New("a", answers(says("x")), braid.Offload(braid.Offloading{Over: -1})).Err(); event.KindOf(err) != event.ErrInvalid {
		t.Error(err)
	}
}
