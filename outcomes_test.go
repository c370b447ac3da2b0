package braid_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// The outcomes of a run. The tests combine each with every situation, and check what the next run's model sees: of a
// failed run that was not kept only a note, of every other run the messages.
const (
	completed = "completed"
	limited   = "limit"
	timedOut  = "timeout"
	cancelled = "cancelled"
	failed    = "failed"
)

var outcomes = []string{completed, limited, timedOut, cancelled, failed}

// situation is what a run does before its outcome. Its first model call asks for
// calls; without any it is the one that the outcome comes in.
type situation struct {
	name  string
	calls []string
	// stopped are the calls of a run that is stopped, where those are others: what is
	// in flight when a clock or a person ends the run.
	stopped []string
	// want is what the next run sees between the run's question and its own, for runs that
	// ended by themselves and for those that were stopped; note is what it sees of a
	// failed one.
	want, wantStopped string
	note              []string
	// state is what the run leaves behind, whatever its outcome.
	state string
	// dies and asks say that the first driver goes away while the tool runs, and that the
	// run waits for an answer.
	dies, asks bool
}

var situations = []situation{
	{name: "text only"},
	{
		name: "an effect", calls: []string{"pay", `{}`},
		want: " assistant:[c0] user:(c0 paid)", note: []string{"pay (call c0): finished"},
	},
	{
		name: "an effect that fails", calls: []string{"break", `{}`},
		want: " assistant:[c0] user:(c0 Error: broken)", note: []string{"break (call c0): finished with an error"},
	},
	{name: "no effect", calls: []string{"look", `{}`}, want: " assistant:[c0] user:(c0 seen)"},
	{
		name: "a tool that was left behind", calls: []string{"deaf", `{}`, "pay", `{}`}, stopped: []string{"deaf_for_ever", `{}`, "pay", `{}`},
		want:        " assistant:[c0][c1] user:(c0 left behind)(c1 paid)",
		wantStopped: " assistant:[c0][c1] user:(c0 left behind)(c1 paid)",
		note:        []string{"deaf (call c0): was left behind unfinished, it may or may not happen", "pay (call c1): finished"},
	},
	{
		name: "a tool that heeds its context", calls: []string{"slow", `{}`}, stopped: []string{"slow_for_ever", `{}`},
		want: " assistant:[c0] user:(c0 slept)", wantStopped: " assistant:[c0] user:(c0 cancelled)",
		note: []string{"slow (call c0): finished"},
	},
	{
		name: "in doubt", calls: []string{"risky", `{}`}, dies: true,
		want: " assistant:[c0] user:(c0 in doubt)", note: []string{"risky (call c0): in doubt, it may or may not have happened"},
	},
	{
		name: "a question", calls: []string{"ask", `{}`}, stopped: []string{"ask", `{}`, "slow_for_ever", `{}`}, asks: true,
		want: " assistant:[c0] user:(c0 true)", wantStopped: " assistant:[c0][c1] user:(c0 cancelled)(c1 cancelled)",
		note: []string{"ask (call c0): finished"},
	},
	{
		name: "a state change", calls: []string{"remember", `{}`}, want: " assistant:[c0] user:(c0 noted)",
		note: []string{"state that was changed and stays so: gone, name, user:name"}, state: `{"name":1,"user:name":2}`,
	},
	{
		name: "a state change of a tool that is stopped", calls: []string{"remember", `{}`}, stopped: []string{"remember_and_hang", `{}`},
		want: " assistant:[c0] user:(c0 noted)", wantStopped: " assistant:[c0] user:(c0 cancelled)",
		note: []string{"state that was changed and stays so: gone, name, user:name"}, state: `{"name":1,"user:name":2}`,
	},
}

func TestWhatTheNextRunSees(t *testing.T) {
	t.Parallel()
	for i := range situations {
		for _, outcome := range outcomes {
			t.Run(situations[i].name+"/"+outcome, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { (&cell{T: t, outcome: outcome, situation: situations[i]}).run() })
				if outcome == failed {
					synctest.Test(t, func(t *testing.T) { (&cell{T: t, outcome: outcome, forgets: true, situation: situations[i]}).run() })
				}
			})
		}
	}
}

// cell is one meeting of the table.
type cell struct {
	*testing.T
	situation
	outcome string
	// forgets says that the agent's failed runs leave a note alone.
	forgets bool
	store   journal.Memory
	conv    *braid.Conversation
	release chan struct{}
	stop    context.CancelFunc
}

// stops reports whether somebody or the clock ends the run from outside.
func (c *cell) stops() bool { return c.outcome == timedOut || c.outcome == cancelled }

func (c *cell) run() {
	c.release = make(chan struct{})
	defer close(c.release)
	c.conv = braid.Open(&c.store, "c")
	if c.stops() && c.stopped != nil {
		c.calls, c.want = c.stopped, c.wantStopped
	}
	result, err := c.first()
	c.result(result, err)
	c.ended()
	c.next()
}

// first is the run with its outcome.
func (c *cell) first() (*braid.Result, error) {
	parts := append(c.tools(), braid.Limit(c.limits()))
	if c.forgets {
		parts = append(parts, braid.ForgetFailed())
	}
	agent := braid.New("desk", &script{next: c.answer}, parts...)
	ctx, stop := context.WithCancel(c.Context())
	if c.outcome == timedOut {
		ctx, stop = context.WithTimeout(c.Context(), time.Hour)
	}
	defer stop()
	c.stop = stop
	in := braid.In(c.conv)
	switch {
	case c.dies:
		sent, err := agent.Send(ctx, c.conv, "go")
		if err != nil {
			c.Fatal(err)
		}
		dying, die := context.WithCancelCause(ctx)
		time.AfterFunc(time.Second, func() { die(&event.Error{Kind: event.ErrUnavailable, Message: "the process ends"}) })
		if r, err := agent.Drive(dying, c.conv, sent.Run, braid.Work{}); err != nil || r.Status != event.RunRunning {
			c.Fatalf("the first driver: %v, %+v", err, r)
		}
		return agent.Resume(ctx, c.conv)
	case c.asks && !c.stops():
		r, err := agent.Run(ctx, "go", in)
		if err != nil || len(r.Questions) != 1 {
			c.Fatalf("the question: %v, %+v", err, r)
		}
		if err := c.conv.Answer(ctx, r.Questions[0].Token, true); err != nil {
			c.Fatal(err)
		}
		return agent.Resume(ctx, c.conv)
	default:
		return agent.Run(ctx, "go", in)
	}
}

func (c *cell) limits() braid.Limits {
	if c.outcome == limited {
		return braid.Limits{Cycles: 1}
	}
	return braid.Limits{}
}

// answer is the model: it asks for the situation's calls, and then comes to the outcome.
func (c *cell) answer(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	if len(c.calls) > 0 && req.Cycle == 1 {
		if c.outcome == cancelled && c.stopped != nil {
			time.AfterFunc(time.Hour, c.stop)
		}
		return chunks(asksFor(c.calls...))
	}
	part := []model.Chunk{
		{Kind: model.ChunkUsage, Usage: &event.Usage{Input: 5, Output: 2, Total: 7}},
		{Kind: model.ChunkText, Text: "part"},
	}
	switch c.outcome {
	case limited:
		return chunks(append(part, model.Chunk{Kind: model.ChunkStop, Stop: event.StopPause}))
	case completed:
		return chunks(says("done"))
	}
	return func(yield func(model.Chunk, error) bool) {
		for _, one := range part {
			if !yield(one, nil) {
				return
			}
		}
		err := error(&event.Error{Kind: event.ErrModelAuth, Message: "the key has expired"})
		if c.stops() {
			if c.outcome == cancelled {
				c.stop()
			}
			<-ctx.Done()
			err = ctx.Err()
		}
		yield(model.Chunk{}, err)
	}
}

func (c *cell) tools() []braid.Part {
	tl := func(name string, do func(context.Context) (any, error), opts ...tool.Option) braid.Part {
		return braid.Func(name, "", func(ctx context.Context, _ struct{}) (any, error) { return do(ctx) }, opts...)
	}
	hang := func(context.Context) (any, error) {
		<-c.release
		return "late", nil
	}
	wait := func(ctx context.Context) (any, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	remember := func(ctx context.Context) (any, error) {
		return "noted", errors.Join(tool.State[any]("name").Set(ctx, 1), tool.State[any]("user:name").Set(ctx, 2),
			tool.State[any]("gone").Delete(ctx), tool.State[any]("temp:name").Set(ctx, 3))
	}
	return []braid.Part{
		tl("pay", func(context.Context) (any, error) { return "paid", nil }),
		tl("break", func(context.Context) (any, error) { return nil, errors.New("broken") }),
		tl("look", func(context.Context) (any, error) { return "seen", nil }, tool.Pure()),
		tl("deaf", hang, tool.Timeout(time.Minute)),
		tl("deaf_for_ever", hang, tool.Timeout(24*time.Hour)),
		tl("slow", func(context.Context) (any, error) {
			time.Sleep(time.Minute)
			return "slept", nil
		}),
		tl("slow_for_ever", wait, tool.Timeout(24*time.Hour)),
		tl("risky", wait),
		tl("ask", func(ctx context.Context) (any, error) { return braid.Ask[bool](ctx, "May I?") }),
		tl("remember", remember, tool.Pure()),
		tl("remember_and_hang", func(ctx context.Context) (any, error) {
			if _, err := remember(ctx); err != nil {
				return nil, err
			}
			return wait(ctx)
		}, tool.Pure(), tool.Timeout(24*time.Hour)),
	}
}

// last reports whether the outcome came in a model call of its own, and not while tools ran
// or instead of a call.
func (c *cell) last() bool {
	switch {
	case len(c.calls) == 0:
		return true
	case c.outcome == limited:
		return false
	case c.stops():
		return c.stopped == nil
	default:
		return true
	}
}

// result holds what the caller is told against the table.
func (c *cell) result(r *braid.Result, err error) {
	want := map[string]struct {
		status event.RunStatus
		stop   event.StopReason
		why    event.Why
		kind   event.ErrorKind
	}{
		completed: {event.RunCompleted, event.StopEndTurn, event.WhyEndTurn, ""},
		limited:   {event.RunCompleted, event.StopLimitCycles, event.WhyLimit, event.ErrLimit},
		timedOut:  {event.RunCancelled, event.StopTimeout, event.WhyDeadline, event.ErrTimeout},
		cancelled: {event.RunCancelled, event.StopCancelled, event.WhyCancelled, event.ErrCancelled},
		failed:    {event.RunFailed, event.StopError, event.WhyFailed, event.ErrModelAuth},
	}[c.outcome]
	if r.Status != want.status || r.Stop != want.stop || r.Why != want.why || event.KindOf(err) != want.kind {
		c.Errorf("the run is %s, %s, %s: %v", r.Status, r.Stop, r.Why, err)
	}
	partial := ""
	if c.last() && c.outcome != completed && c.outcome != limited {
		partial = "part"
	}
	if got := event.TextOf(r.Partial); got != partial {
		c.Errorf("the partial answer is %q, want %q", got, partial)
	}
	if r.Usage.Total != c.usage() {
		c.Errorf("the usage is %+v, want %d in all", r.Usage, c.usage())
	}
}

// usage is what the run's model calls took, cut ones included.
func (c *cell) usage() int64 {
	total := int64(0)
	if len(c.calls) > 0 {
		total += 25
	}
	switch {
	case !c.last():
	case c.outcome == completed:
		total += 15
	default:
		total += 7
	}
	return total
}

// ended looks at the run in the log: its end says what the caller was told, and nothing of it
// is left open.
func (c *cell) ended() {
	open := map[string]bool{}
	var end *event.RunEnded
	for e, err := range c.conv.Events(c.Context(), 0) {
		if err != nil {
			c.Fatal(err)
		}
		switch b := e.Body.(type) {
		case *event.StepBegun:
			open[e.Step] = true
		case *event.AssistantMessage, *event.StepEnded:
			delete(open, e.Step)
		case *event.RunEnded:
			end = b
		}
	}
	if end == nil || end.Usage.Total != c.usage() || len(open) > 0 {
		c.Errorf("the log ends with %+v, and %v are open", end, open)
	}
	runs, err := c.store.Queue(c.Context(), "c")
	if err != nil || len(runs) > 0 {
		c.Errorf("%d runs are open: %v", len(runs), err)
	}
}

// next is the run after it, and what its model is shown, by a handle that was there and by one
// that was not.
func (c *cell) next() {
	before, err := c.conv.Messages(c.Context())
	cold, coldErr := braid.Open(&c.store, "c").Messages(c.Context())
	if err != nil || coldErr != nil || brief(before) != brief(cold) {
		c.Errorf("the handle knows %s (%v), the log says %s (%v)", brief(before), err, brief(cold), coldErr)
	}
	seen := ""
	agent := braid.New("desk", &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
		seen = c.brief(req.Messages)
		return chunks(says("hello"))
	}})
	if _, err := agent.Run(c.Context(), "next", braid.In(c.conv)); err != nil {
		c.Errorf("the next run: %v", err)
	}
	if want := c.shown(); seen != want {
		c.Errorf("the next run's model was shown\n     %s\nwant %s", seen, want)
	}
	state, err := c.conv.State(c.Context())
	if got := string(raw(state)); err != nil || got != c.state && len(state)+len(c.state) > 0 {
		c.Errorf("the state is %s, want %s: %v", got, c.state, err)
	}
}

// shown is what the table says.
func (c *cell) shown() string {
	if c.outcome == failed && !c.forgets {
		return "user:go" + c.want + failedNote + "next"
	}
	if c.outcome == failed {
		if c.note == nil {
			return "user:next"
		}
		return "user:[The previous request failed and is not part of this conversation. Its tool calls may have had effects:\n- " +
			strings.Join(c.note, "\n- ") + "]next"
	}
	answer := ""
	switch {
	case c.outcome == completed:
		answer = " assistant:done user:"
	case c.outcome == limited && c.last():
		answer = " assistant:part user:"
	case c.outcome == timedOut && c.last():
		answer = " assistant:part user:" + cutAnswer
	case c.outcome == cancelled && c.last():
		answer = " assistant:part user:" + halfAnswer
	}
	return "user:go" + c.want + answer + "next"
}

// brief is the request in short: long results by what they say.
func (*cell) brief(messages []event.Message) string {
	s := brief(messages)
	for long, short := range map[string]string{
		"Error: the tool \"deaf\" did not return in time and was left behind; it may still have an effect.":                               "left behind",
		"The tool \"deaf_for_ever\" did not stop when it was cancelled and was left behind; it may still have an effect.":                 "left behind",
		"The tool call was cancelled before it gave a result.":                                                                            "cancelled",
		"Error: the run's time was over before the tool had finished.":                                                                    "cancelled",
		"Error: the tool was cancelled.":                                                                                                  "cancelled",
		"In doubt: the program stopped while this tool was running. It may or may not have taken effect. Find out before doing it again.": "in doubt",
	} {
		s = strings.ReplaceAll(s, long, short)
	}
	return s
}

// A log whose run was ended with calls open, as another engine may leave it, is still a history
// that a provider takes.
func TestARunThatEndedWithOpenCalls(t *testing.T) {
	t.Parallel()
	text := func(s string) []event.Block { return []event.Block{&event.Text{Text: s}} }
	call := func(id string) event.Block { return &event.ToolCall{ID: id, Name: "add", Args: raw(struct{}{})} }
	const closed = "user:q assistant:[x][y] user:(x The tool call was interrupted before it gave a result.)(y r)"
	for _, c := range []struct {
		end  event.RunEnded
		want string
	}{
		{event.RunEnded{Status: event.RunCompleted, Stop: event.StopEndTurn}, closed},
		{event.RunEnded{Status: event.RunCompleted, Stop: event.StopLimitCycles, Why: event.WhyLimit}, closed},
		{event.RunEnded{Status: event.RunCancelled, Stop: event.StopTimeout, Why: event.WhyDeadline}, closed},
		{event.RunEnded{Status: event.RunCancelled, Stop: event.StopCancelled, Why: event.WhyCancelled}, closed},
		{event.RunEnded{Status: event.RunFailed, Stop: event.StopError, Why: event.WhyFailed}, ""},
	} {
		store := logOf(t, []event.Body{
			&event.RunStarted{Agent: "a", Session: 1},
			&event.UserMessage{Content: text("q")},
			&event.StepBegun{Step: event.StepModel},
			&event.AssistantMessage{Content: []event.Block{call("x"), call("y")}, Stop: event.StopToolUse},
			&event.StepEnded{
				Step: event.StepTool, Outcome: event.OutcomeDone,
				Result: &event.ToolResult{Call: "y", Name: "add", Content: text("r")},
			},
			&c.end,
		})
		messages, err := braid.Open(store, "c").Messages(t.Context())
		if got := brief(messages); err != nil || got != c.want {
			t.Errorf("%s, %s: the next run sees %s, want %s: %v", c.end.Status, c.end.Stop, got, c.want, err)
		}
	}
}
