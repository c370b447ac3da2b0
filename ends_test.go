package braid_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// The stages around a tool call, as the columns of the tables below.
const (
	stBefore = "before" // BeforeTool hooks are called
	stPermit = "permit" // a policy asks a person first
	stGuard  = "guard"  // guardrails at results see what the model reads
	stAfter  = "after"  // AfterTool hooks are called
	stRetry  = "retry"  // the tool's own retry policy holds
	stFit    = "fit"    // Limits.ResultBytes holds
	stLoad   = "load"   // a large result is off-loaded
	stState  = "state"  // state that was set on the way is kept
)

var stages = []string{stBefore, stPermit, stGuard, stAfter, stRetry, stFit, stLoad, stState}

// callEnd is one way in which a tool call comes to its result. text is what the model reads.
type callEnd struct {
	name string
	// calls are what the model asks for: the first one is looked at.
	calls []string
	parts func(text string) []braid.Part
	// passes are the stages that the call passes, in the order of the columns.
	passes []string
	// stops says that the run is cancelled while the call runs.
	stops bool
}

func callEnds() []callEnd {
	setting := func(ctx context.Context) error { return tool.State[any]("kept").Set(ctx, 1) }
	twice := tool.Retries(braid.Retry{Attempts: 2, Base: 1, Exact: true})
	tl := func(do func(ctx context.Context) (string, error), opts ...tool.Option) braid.Part {
		return braid.Func("tool", "", func(ctx context.Context, _ nothing) (string, error) {
			if err := setting(ctx); err != nil {
				return "", err
			}
			return do(ctx)
		}, append(opts, twice, tool.Pure())...)
	}
	before := func(do func(ctx context.Context, e *hook.BeforeTool) error) braid.Part {
		return braid.On(func(ctx context.Context, e *hook.BeforeTool) error {
			if err := setting(ctx); err != nil {
				return err
			}
			return do(ctx, e)
		})
	}
	returns := func(text string) braid.Part {
		return tl(func(context.Context) (string, error) { return text, nil })
	}
	one := []string{"tool", "{}"}
	child := []string{"child", `{"input":"go"}`}
	return []callEnd{
		{
			name: "the tool gives a result", calls: one,
			parts:  func(text string) []braid.Part { return []braid.Part{returns(text)} },
			passes: []string{stBefore, stPermit, stGuard, stAfter, stFit, stLoad, stState},
		},
		{
			name: "the tool fails", calls: one,
			parts: func(text string) []braid.Part {
				return []braid.Part{tl(func(context.Context) (string, error) { return "", errors.New(text) })}
			},
			passes: []string{stBefore, stPermit, stGuard, stAfter, stRetry, stFit, stLoad, stState},
		},
		{
			name: "the tool panics", calls: one,
			parts: func(text string) []braid.Part {
				return []braid.Part{tl(func(context.Context) (string, error) { panic(text) })}
			},
			passes: []string{stBefore, stPermit, stAfter, stState}, // its words are in no result
		},
		{
			name: "the tool's result becomes the answer", calls: one,
			parts: func(text string) []braid.Part {
				return []braid.Part{tl(func(ctx context.Context) (string, error) {
					tool.ReturnDirect(ctx)
					return text, nil
				})}
			},
			passes: []string{stBefore, stPermit, stGuard, stAfter, stFit, stLoad, stState},
		},
		{
			name: "a hook changes the result", calls: one,
			parts: func(text string) []braid.Part {
				return []braid.Part{returns("fine"), braid.On(func(_ context.Context, e *hook.AfterTool) error {
					e.Result.Content = []event.Block{&event.Text{Text: text}}
					return nil
				})}
			},
			passes: []string{stBefore, stPermit, stGuard, stAfter, stFit, stLoad, stState},
		},
		{
			name: "a hook changes the result in place", calls: one,
			parts: func(text string) []braid.Part {
				return []braid.Part{returns("fine"), braid.On(func(_ context.Context, e *hook.AfterTool) error {
					e.Result.Content[0].(*event.Text).Text = text
					return nil
				})}
			},
			passes: []string{stBefore, stPermit, stGuard, stAfter, stFit, stLoad, stState},
		},
		{
			name: "a hook after it fails", calls: one,
			parts: func(text string) []braid.Part {
				return []braid.Part{returns("fine"), braid.On(func(context.Context, *hook.AfterTool) error { return errors.New(text) })}
			},
			passes: []string{stBefore, stPermit, stGuard, stAfter, stFit, stLoad, stState},
		},
		{
			name: "a hook cancels the call", calls: one,
			parts: func(text string) []braid.Part {
				return []braid.Part{returns("fine"), before(func(_ context.Context, e *hook.BeforeTool) error {
					e.Cancel = text
					return nil
				})}
			},
			passes: []string{stBefore, stGuard, stAfter, stState},
		},
		{
			name: "a hook before it fails", calls: one,
			parts: func(text string) []braid.Part {
				return []braid.Part{returns("fine"), before(func(context.Context, *hook.BeforeTool) error { return errors.New(text) })}
			},
			passes: []string{stBefore, stGuard, stAfter, stState},
		},
		{
			name: "a hook cancels all calls", calls: one,
			parts: func(text string) []braid.Part {
				return []braid.Part{returns("fine"), braid.On(func(_ context.Context, e *hook.BeforeTools) error {
					e.Cancel = text
					return nil
				})}
			},
			passes: []string{stGuard, stAfter},
		},
		{
			name: "there is no such tool", calls: []string{"none", "{}"},
			parts:  func(string) []braid.Part { return nil },
			passes: []string{stBefore, stAfter},
		},
		{
			name: "the arguments are no JSON", calls: []string{"tool", "{"},
			parts:  func(text string) []braid.Part { return []braid.Part{returns(text)} },
			passes: []string{stBefore, stAfter},
		},
		{
			name: "an agent answers", calls: child,
			parts: func(text string) []braid.Part {
				return []braid.Part{braid.AsTool(braid.New("child", answers(says(text))), "")}
			},
			passes: []string{stBefore, stPermit, stGuard, stAfter, stFit, stLoad},
		},
		{
			name: "an agent fails", calls: child,
			parts: func(text string) []braid.Part {
				sick := &script{next: func(context.Context, *model.Request) iter.Seq2[model.Chunk, error] {
					return failing(errors.New(text))
				}}
				return []braid.Part{braid.AsTool(braid.New("child", sick), "")}
			},
			passes: []string{stBefore, stPermit, stGuard, stAfter}, // long words of a failure are cut where they come from
		},
		{
			name: "an agent gives a typed answer", calls: child,
			parts: func(text string) []braid.Part {
				raw, _ := json.Marshal(map[string]string{"n": text})
				return []braid.Part{braid.AsTool(braid.New("child", answers(says(string(raw))), braid.OutputSchema(json.RawMessage(`{"type":"object"}`))), "")}
			},
			passes: []string{stBefore, stPermit, stGuard, stAfter, stFit, stLoad},
		},
		{
			name: "the run is cancelled and the tool heeds it", calls: one, stops: true,
			parts: func(text string) []braid.Part {
				return []braid.Part{tl(func(ctx context.Context) (string, error) {
					<-ctx.Done()
					return text, nil
				})}
			},
			passes: []string{stBefore, stPermit, stGuard, stAfter, stFit, stLoad, stState},
		},
		{
			name: "the run is cancelled and the tool does not stop", calls: one, stops: true,
			parts: func(text string) []braid.Part {
				return []braid.Part{tl(func(ctx context.Context) (string, error) {
					<-ctx.Done()
					time.Sleep(time.Hour)
					return text, nil
				})}
			},
			passes: []string{stBefore, stPermit},
		},
		{
			name: "the tool's time is over and it does not stop", calls: one,
			parts: func(text string) []braid.Part {
				return []braid.Part{tl(func(context.Context) (string, error) {
					time.Sleep(time.Hour)
					return text, nil
				}, tool.Timeout(time.Minute))}
			},
			passes: []string{stBefore, stPermit},
		},
	}
}

// Every way in which a call ends, and every stage around it: which end passes which stage. A text that
// the model reads passes the guardrails whichever way it comes; Braid's own fixed words pass nothing.
func TestEveryEndOfACallAndEveryStage(t *testing.T) {
	t.Parallel()
	for _, end := range callEnds() {
		for _, stage := range stages {
			t.Run(end.name+"/"+stage, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					if got, want := end.passesStage(t, stage), slices.Contains(end.passes, stage); got != want {
						t.Errorf("it passes the stage: %v, want %v", got, want)
					}
					time.Sleep(3 * time.Hour) // what was left behind comes back, to nobody
				})
			})
		}
	}
}

func (end *callEnd) passesStage(t *testing.T, stage string) bool {
	t.Helper()
	text, long := "the card is "+canary, strings.Repeat("x", 3000)
	if stage == stFit || stage == stLoad {
		text = long
	}
	var began, ended atomic.Int64
	parts := end.parts(text)
	switch stage {
	case stBefore:
		parts = append([]braid.Part{braid.On(func(context.Context, *hook.BeforeTool) error { began.Add(1); return nil })}, parts...)
	case stAfter:
		parts = append(parts, braid.On(func(context.Context, *hook.AfterTool) error { ended.Add(1); return nil }))
	case stPermit:
		parts = append(parts, braid.Permit(braid.Permissions{Ask: []string{"*"}}))
	case stGuard:
		parts = append(parts, braid.Guard("cards", noCards, braid.GuardResult))
	case stFit:
		parts = append(parts, braid.Limit(braid.Limits{ResultBytes: 2000}))
	case stLoad:
		parts = append(parts, braid.Offload(braid.Offloading{Over: 1000, Preview: 100}))
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	if end.stops {
		time.AfterFunc(time.Minute, stop)
	}
	conv := braid.Open(journal.NewMemory(journal.MemoryOptions{}), "talk")
	var r braid.Result
	for _, err := range braid.New("root", answers(asksFor(end.calls...), says("so")), parts...).
		Stream(ctx, "go", braid.In(conv), braid.Into(&r)) {
		if err != nil && !end.stops {
			t.Fatal(err)
		}
	}
	var last *event.StepEnded
	attempts, shows, sees := 0, false, false
	for e, err := range conv.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := e.Body.(*event.Redacted); ok && b.Clean && b.Reason == "cards" {
			sees = true
		}
		if e.Scope != "" {
			continue
		}
		b, ok := e.Body.(*event.StepEnded)
		if ok && b.Step == event.StepTool {
			attempts++
			last = b
			shows = shows || strings.Contains(string(raw(b)), canary)
		}
	}
	switch stage {
	case stBefore:
		return began.Load() > 0
	case stAfter:
		return ended.Load() > 0
	case stPermit:
		return len(r.Questions) == 1
	case stRetry:
		return attempts == 2
	case stFit:
		return last != nil && last.Err != nil && last.Err.Kind == event.ErrTooLarge
	case stLoad:
		return last != nil && len(last.Shown) > 0
	case stState:
		state, err := conv.State(t.Context())
		return err == nil && string(state["kept"]) == "1"
	default:
		if shows {
			t.Errorf("the log holds the card: %s", raw(last))
		}
		return sees
	}
}

// answerEnd is one way in which words become the agent's answer, or enter a conversation, without passing
// a model's stream on the way.
type answerEnd struct {
	name  string
	place braid.GuardPlace
	parts []braid.Part
	model *script
	// want is the answer.
	want string
}

// Every text that an agent is given or gives passes the guardrails of its place, whichever way it comes.
func TestEveryWayOfATextPassesGuardrails(t *testing.T) {
	t.Parallel()
	card := "card " + canary
	words := func() []event.Block { return []event.Block{&event.Text{Text: card}} }
	plain := func() *script { return answers(says("so"), says("so"), says("so")) }
	sub := func(parts ...braid.Part) braid.Part {
		return braid.AsTool(braid.New("child", &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
			return chunks(says("child heard: " + lastSaid(req.Messages)))
		}}, parts...), "")
	}
	for _, c := range []answerEnd{
		{name: "a result that returns directly", place: braid.GuardOutput, want: "card [card]", model: answers(asksFor("t", "{}")), parts: []braid.Part{
			braid.Func("t", "", func(ctx context.Context, _ nothing) (string, error) { tool.ReturnDirect(ctx); return card, nil }),
		}},
		{name: "BeforeRun cancels", place: braid.GuardOutput, want: "card [card]", parts: []braid.Part{
			braid.On(func(_ context.Context, e *hook.BeforeRun) error { e.Cancel = card; return nil }),
		}},
		{name: "BeforeRun changes the input", place: braid.GuardInput, want: "so", parts: []braid.Part{
			braid.On(func(_ context.Context, e *hook.BeforeRun) error { e.Input[0].Content = words(); return nil }),
		}},
		{name: "BeforeModel cancels", place: braid.GuardOutput, want: "card [card]", parts: []braid.Part{
			braid.On(func(_ context.Context, e *hook.BeforeModel) error { e.Cancel = card; return nil }),
		}},
		{name: "AfterModel changes the answer", place: braid.GuardOutput, want: "card [card]", parts: []braid.Part{
			braid.On(func(_ context.Context, e *hook.AfterModel) error { e.Message.Content = words(); return nil }),
		}},
		{name: "AfterModel changes the answer in place", place: braid.GuardOutput, want: "card [card]", parts: []braid.Part{
			braid.On(func(_ context.Context, e *hook.AfterModel) error {
				e.Message.Content[0].(*event.Text).Text = card
				return nil
			}),
		}},
		{name: "AfterRun goes on", place: braid.GuardInput, want: "so", parts: []braid.Part{
			braid.On(func(_ context.Context, e *hook.AfterRun) error {
				if e.Rounds == 0 {
					e.GoOn = words()
				}
				return nil
			}),
		}},
		{
			name: "an agent's input, its own guardrail", place: "", want: "so", model: answers(asksFor("child", `{"input":"card `+canary+`"}`), says("so")),
			parts: []braid.Part{sub(braid.Guard("cards", noCards, braid.GuardInput))},
		},
		{
			name: "an agent's answer", place: braid.GuardResult, want: "so", model: answers(asksFor("child", `{"input":"go"}`), says("so")),
			parts: []braid.Part{braid.AsTool(braid.New("child", answers(says(card))), "")},
		},
		{name: "a question of a tool", place: braid.GuardResult, want: "", model: answers(asksFor("t", "{}"), says("so")), parts: []braid.Part{
			braid.Func("t", "", func(ctx context.Context, _ nothing) (bool, error) {
				return braid.Ask[bool](ctx, "May I charge "+card+"?")
			}),
		}},
		{name: "a question of a hook", place: braid.GuardResult, want: "", parts: []braid.Part{
			braid.On(func(ctx context.Context, _ *hook.BeforeModel) error {
				_, err := braid.Ask[bool](ctx, "May I tell "+card+"?")
				return err
			}),
		}},
		{
			name: "a typed answer", place: braid.GuardOutput, want: `{"n":"card [card]"}`, model: answers(says(`{"n":"` + card + `"}`)),
			parts: []braid.Part{braid.OutputSchema(json.RawMessage(`{"type":"object"}`))},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.model == nil {
				c.model = plain()
			}
			if c.place != "" {
				c.parts = append(c.parts, braid.Guard("cards", noCards, c.place))
			}
			conv := braid.NewConversation()
			r, err := braid.New("root", c.model, c.parts...).Run(t.Context(), "go", braid.In(conv))
			if err != nil || r.Text() != c.want {
				t.Errorf("the answer is %q, want %q: %v", r.Text(), c.want, err)
			}
			birdsIn(t, "the result", r)
			taken := 0
			for e, err := range conv.Events(t.Context(), 0) {
				if err != nil {
					t.Fatal(err)
				}
				if b, ok := e.Body.(*event.Redacted); ok && b.Clean {
					taken++
				}
				switch e.Body.(type) {
				case *event.AssistantMessage, *event.StepBegun:
					// What a place does not look at may stand: an agent's own answer is no result yet, nor
					// are the arguments of a call an input.
					if e.Scope != "" || c.place == "" {
						continue
					}
				case *event.StepEnded:
					if c.place == braid.GuardOutput {
						continue // nor is a result an answer yet
					}
				}
				birdsIn(t, "the log", e)
			}
			if taken == 0 {
				t.Error("nothing was recorded")
			}
		})
	}
}
