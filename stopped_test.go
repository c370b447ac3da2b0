package braid_test

import (
	"context"
	"iter"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
)

// A prompt that the user stopped is marked for the next run's model, which would answer both otherwise. What the user has
// seen of the answer stays.
func TestAStoppedPromptIsMarked(t *testing.T) {
	t.Parallel()
	say := func(role event.Role, text string) event.Message {
		return event.Message{Role: role, Content: []event.Block{&event.Text{Text: text}}}
	}
	for _, c := range []struct {
		name  string
		input any
		calls bool
		// admitted says that the run is cancelled before anybody drives it.
		admitted bool
		want     string
	}{
		{"before its first answer", "book a flight", false, false, "user:book a flight" + stopped + "what time is it?"},
		{"before it began", "book a flight", false, true, "user:book a flight" + stopped + "what time is it?"},
		{
			"a history",
			[]event.Message{say(event.RoleUser, "hello"), say(event.RoleAssistant, "hi"), say(event.RoleUser, "book a flight")},
			false, false,
			"user:hello assistant:hi user:book a flight" + stopped + "what time is it?",
		},
		{"after a call", "book a flight", true, false, "user:book a flight assistant:[c0] user:(c0 ok)" + interrupted + "what time is it?"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			store := &journal.Memory{}
			conv := braid.Open(store, "talk")
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var seen string
			agent := braid.New("root", &script{next: func(mctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
				switch seen = brief(req.Messages); {
				case ctx.Err() != nil:
					return chunks(says("noon"))
				case c.calls && req.Cycle == 1:
					return chunks(asksFor("ok", "{}"))
				}
				stop()
				<-mctx.Done()
				return failing(mctx.Err())
			}}, braid.Func("ok", "", func(context.Context, nothing) (string, error) { return "ok", nil }))
			said, more := given(c.input)
			if c.admitted {
				sent, err := agent.Send(ctx, conv, said, more)
				if err != nil {
					t.Fatal(err)
				}
				stop()
				if _, err := agent.Drive(ctx, conv, sent.Run, braid.Work{}); err != nil {
					t.Fatal(err)
				}
			} else if r, err := agent.Run(ctx, said, more, braid.In(conv)); event.KindOf(err) != event.ErrCancelled || r.Status != event.RunCancelled {
				t.Fatalf("the run is %s: %v", r.Status, err)
			}
			warm, err := conv.Messages(t.Context())
			cold, coldErr := braid.Open(store, "talk").Messages(t.Context())
			if err != nil || coldErr != nil || brief(warm) != brief(cold) {
				t.Errorf("the handle knows %s (%v), the log says %s (%v)", brief(warm), err, brief(cold), coldErr)
			}
			if _, err := agent.Run(t.Context(), "what time is it?", braid.In(conv)); err != nil {
				t.Fatal(err)
			}
			if seen != c.want {
				t.Errorf("the model sees\n%s\nwant\n%s", seen, c.want)
			}
		})
	}
}

// The part of an answer that the user saw before interrupting it stays in the conversation, with a note, also for
// another process.
func TestAnInterruptedAnswerStays(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	m := &script{next: func(mctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
		if len(req.Messages) > 1 {
			return chunks(says("noon"))
		}
		return func(yield func(model.Chunk, error) bool) {
			_ = yield(model.Chunk{Kind: model.ChunkThinking, Text: "hm"}, nil) && yield(model.Chunk{Kind: model.ChunkText, Index: 1, Text: "First I "}, nil) &&
				yield(model.Chunk{Kind: model.ChunkText, Index: 1, Text: "delete"}, nil)
			stop()
			<-mctx.Done()
			yield(model.Chunk{}, mctx.Err())
		}
	}}
	store := &journal.Memory{}
	conv, agent := braid.Open(store, "talk"), braid.New("root", m)
	if r, err := agent.Run(ctx, "delete everything", braid.In(conv)); event.KindOf(err) != event.ErrCancelled || event.TextOf(r.Partial) != "First I delete" {
		t.Fatalf("the run has %q: %v", event.TextOf(r.Partial), err)
	}
	want := "user:delete everything assistant:First I delete user:" + halfAnswer
	for name, c := range map[string]*braid.Conversation{"the handle": conv, "the log": braid.Open(store, "talk")} {
		if messages, err := c.Messages(t.Context()); err != nil || brief(messages) != want {
			t.Errorf("%s shows\n%s\nwant\n%s: %v", name, brief(messages), want, err)
		}
	}
	if _, err := agent.Run(t.Context(), "what time is it?", braid.In(braid.Open(store, "talk"))); err != nil {
		t.Fatal(err)
	}
	messages, err := conv.Messages(t.Context())
	if got := brief(messages); err != nil || got != want+"what time is it? assistant:noon" {
		t.Errorf("then it is\n%s: %v", got, err)
	}
}
