package braid_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// desk is an agent whose runs do what their input says, and the news that each of
// its model calls was shown: what stands behind the last answer.
type desk struct {
	*braid.Agent

	mu   sync.Mutex
	news []string
}

func newDesk() *desk {
	d := &desk{}
	d.Agent = braid.New("desk", &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
		last := req.Messages[len(req.Messages)-1]
		d.mu.Lock()
		d.news = append(d.news, req.Run+" user:"+shown(last))
		d.mu.Unlock()
		text := strings.ReplaceAll(last.Text(), stopped, "")
		switch {
		case len(lastResults(req)) > 0:
			return chunks(says("done"))
		case strings.Contains(text, "sleep"):
			return chunks(asksFor("sleep", `{}`))
		case strings.Contains(text, "ask"):
			return chunks(asksFor("ask", `{}`))
		case strings.Contains(text, "fail"):
			return failing(&event.Error{Kind: event.ErrInvalid, Message: "no"})
		default:
			return chunks(says("done"))
		}
	}},
		braid.Func("sleep", "", func(ctx context.Context, _ struct{}) (string, error) {
			select {
			case <-time.After(time.Minute):
				return "slept", nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}, tool.Pure()),
		braid.Func("ask", "", func(ctx context.Context, _ struct{}) (bool, error) { return braid.Ask[bool](ctx, "May I?") }),
		braid.ForgetFailed())
	return d
}

// shown is a message in short words.
func shown(m event.Message) string {
	var parts []string
	for _, b := range m.Content {
		switch b := b.(type) {
		case *event.Text:
			parts = append(parts, b.Text)
		case *event.ToolResult:
			text := event.TextOf(b.Content)
			if b.IsError {
				text = "error"
			}
			parts = append(parts, "("+b.Call+" "+text+")")
		}
	}
	return strings.Join(parts, "|")
}

// finish drives what is open, in order, and answers what is asked.
func (d *desk) finish(ctx context.Context, t *testing.T, store *journal.Memory) {
	t.Helper()
	for range 20 {
		open, err := store.Queue(ctx, "c")
		if err != nil {
			t.Fatal(err)
		}
		if len(open) == 0 {
			return
		}
		conv := braid.Open(store, "c")
		if !open[0].Cancelled {
			questions, err := conv.Questions(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for _, q := range questions {
				if err := conv.Answer(ctx, q.Token, true); err != nil {
					t.Fatal(err)
				}
			}
		}
		if _, err := d.Drive(ctx, conv, open[0].ID, braid.Work{}); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("the runs come to no end")
}

// TestAMessageDuringARun is the table of policies and states: what becomes of a
// message, which model call is shown it, and how the runs end.
func TestAMessageDuringARun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		state  string
		policy braid.Policy
		// refused, or what Send says; ends are the runs' by turn; news is what the
		// calls of the second part were shown.
		refused     bool
		joined      bool
		interrupted int
		ends        string
		news        string
	}{
		{state: "queued", policy: braid.Reject, refused: true, ends: "completed", news: "1 user:first"},
		{state: "queued", policy: braid.Queue, ends: "completed, completed", news: "1 user:first, 2 user:second"},
		{state: "queued", policy: braid.Steer, joined: true, ends: "completed", news: "1 user:first|second"},
		{
			state: "queued", policy: braid.Interrupt, interrupted: 1, ends: "cancelled, completed",
			news: "2 user:first|" + stopped + "|second",
		},
		{state: "running", policy: braid.Reject, refused: true, ends: "completed", news: "1 user:first sleep, 1 user:(c0 slept)"},
		{
			state: "running", policy: braid.Queue, ends: "completed, completed",
			news: "1 user:first sleep, 1 user:(c0 slept), 2 user:second",
		},
		{
			state: "running", policy: braid.Steer, joined: true, ends: "completed",
			news: "1 user:first sleep, 1 user:(c0 slept)|second",
		},
		{
			state: "running", policy: braid.Interrupt, interrupted: 1, ends: "cancelled, completed",
			news: "1 user:first sleep, 2 user:(c0 error)|second",
		},
		{state: "waiting", policy: braid.Reject, refused: true, ends: "completed", news: "1 user:first ask, 1 user:(c0 true)"},
		{
			state: "waiting", policy: braid.Queue, ends: "completed, completed",
			news: "1 user:first ask, 1 user:(c0 true), 2 user:second",
		},
		{
			state: "waiting", policy: braid.Steer, joined: true, ends: "completed",
			news: "1 user:first ask, 1 user:(c0 true)|second",
		},
		{
			state: "waiting", policy: braid.Interrupt, interrupted: 1, ends: "cancelled, completed",
			news: "1 user:first ask, 2 user:(c0 error)|second",
		},
		{state: "completed", policy: braid.Reject, ends: "completed, completed", news: "1 user:first, 2 user:second"},
		{state: "completed", policy: braid.Queue, ends: "completed, completed", news: "1 user:first, 2 user:second"},
		{state: "completed", policy: braid.Steer, ends: "completed, completed", news: "1 user:first, 2 user:second"},
		{state: "completed", policy: braid.Interrupt, ends: "completed, completed", news: "1 user:first, 2 user:second"},
		{state: "failed", policy: braid.Reject, ends: "failed, completed", news: "1 user:first fail, 2 user:second"},
		{state: "failed", policy: braid.Queue, ends: "failed, completed", news: "1 user:first fail, 2 user:second"},
		{state: "failed", policy: braid.Steer, ends: "failed, completed", news: "1 user:first fail, 2 user:second"},
		{state: "failed", policy: braid.Interrupt, ends: "failed, completed", news: "1 user:first fail, 2 user:second"},
		{
			state: "cancelled", policy: braid.Reject, ends: "cancelled, completed",
			news: "1 user:first ask, 2 user:(c0 error)|second",
		},
		{
			state: "cancelled", policy: braid.Queue, ends: "cancelled, completed",
			news: "1 user:first ask, 2 user:(c0 error)|second",
		},
		{
			state: "cancelled", policy: braid.Steer, ends: "cancelled, completed",
			news: "1 user:first ask, 2 user:(c0 error)|second",
		},
		{
			state: "cancelled", policy: braid.Interrupt, ends: "cancelled, completed",
			news: "1 user:first ask, 2 user:(c0 error)|second",
		},
	} {
		t.Run(c.state+" "+string(c.policy), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, store, d := t.Context(), &journal.Memory{}, newDesk()
				input := map[string]string{
					"queued": "first", "running": "first sleep", "waiting": "first ask", "completed": "first", "failed": "first fail",
					"cancelled": "first ask",
				}[c.state]
				first, err := d.Send(ctx, braid.Open(store, "c"), input)
				if err != nil || first.Turn != 1 || first.Status != event.RunQueued {
					t.Fatalf("%+v: %v", first, err)
				}
				var driver sync.WaitGroup
				if c.state != "queued" {
					driver.Go(func() {
						r, err := d.Drive(ctx, braid.Open(store, "c"), first.Run, braid.Work{})
						if want := c.state; err != nil || want != "running" && want != "cancelled" && string(r.Status) != want {
							t.Errorf("the first run is %s: %v", r.Status, err)
						}
					})
				}
				time.Sleep(time.Second)
				if c.state == "cancelled" {
					if err := braid.Open(store, "c").Cancel(ctx); err != nil {
						t.Fatal(err)
					}
					d.finish(ctx, t, store)
				}

				conv := braid.Open(store, "c")
				sent, err := d.Send(ctx, conv, "second", braid.During(c.policy), braid.Key("k"))
				if c.refused != errors.Is(err, event.ErrLocked) || !c.refused && err != nil ||
					sent.Joined != c.joined || len(sent.Interrupted) != c.interrupted {
					t.Fatalf("it was sent as %+v: %v", sent, err)
				}
				if !c.refused {
					// Sent again it is the same message.
					again, err := d.Send(ctx, conv, "second", braid.During(c.policy), braid.Key("k"))
					if err != nil || again.Run != sent.Run || again.Joined != c.joined {
						t.Errorf("again: %+v: %v", again, err)
					}
					_, err = d.Send(ctx, conv, "another", braid.During(c.policy), braid.Key("k"))
					if !errors.Is(err, event.ErrConflict) {
						t.Errorf("another message of the same key: %v", err)
					}
				}
				if c.state == "waiting" {
					questions, err := conv.Questions(ctx)
					if err != nil || len(questions) != 1 {
						t.Errorf("the message answered the question: %+v: %v", questions, err)
					}
					due, err := store.Due(ctx, 0)
					if wakes := c.policy == braid.Interrupt; err != nil || len(due) > 0 != wakes {
						t.Errorf("due are %+v: %v", due, err)
					}
				}
				driver.Wait()
				d.finish(ctx, t, store)
				if c.joined {
					// The message was in a run that has ended since: sending it again begins nothing.
					again, err := d.Send(ctx, braid.Open(store, "c"), "second", braid.During(c.policy), braid.Key("k"))
					if err != nil || !again.Joined || again.Run != sent.Run {
						t.Errorf("after the end: %+v: %v", again, err)
					}
				}

				turn := map[string]string{}
				var ends []string
				for e, err := range braid.Open(store, "c").Events(ctx, 0) {
					if err != nil {
						t.Fatal(err)
					}
					switch b := e.Body.(type) {
					case *event.RunStarted:
						turn[e.Run] = fmt.Sprint(b.Turn)
					case *event.RunEnded:
						ends = append(ends, string(b.Status))
					}
				}
				if got := strings.Join(ends, ", "); got != c.ends {
					t.Errorf("the runs ended %s, want %s", got, c.ends)
				}
				for i, n := range d.news {
					run, rest, _ := strings.Cut(n, " ")
					d.news[i] = turn[run] + " " + rest
				}
				if got := strings.Join(d.news, ", "); got != c.news {
					t.Errorf("the model was shown\n\t%s, want\n\t%s", got, c.news)
				}
			})
		})
	}
}
