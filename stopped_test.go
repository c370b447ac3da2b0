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

// A prompt that the user stopped before anything was answered is marked for the next run's model, which
// would answer both otherwise. One that was answered in part, or with calls, is not.
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
		{"after a call", "book a flight", true, false, "user:book a flight assistant:[c0] user:(c0 ok)what time is it?"},
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
			if c.admitted {
				sent, err := agent.Send(ctx, conv, c.input)
				if err != nil {
					t.Fatal(err)
				}
				stop()
				if _, err := agent.Drive(ctx, conv, sent.Run, braid.Work{}); err != nil {
					t.Fatal(err)
				}
			} else if r, err := agent.Run(ctx, c.input, braid.In(conv)); event.KindOf(err) != event.ErrCancelled || r.Status != event.RunCancelled {
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
