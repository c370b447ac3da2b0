package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/demo"
	"github.com/braidrun/braid/test/instrument/failpoint"
	"github.com/braidrun/braid/test/kill/ledger"
	"github.com/braidrun/braid/tool"
)

// AgentName is the root agent's; HelperName the one that it has as a tool.
const (
	AgentName  = "clerk"
	HelperName = "helper"
)

// Tools are the names of the tools, each with what repeating it does in truth.
var Tools = map[string]event.Effect{
	"look":   event.EffectPure,
	"file":   event.EffectIdempotent,
	"book":   event.EffectReconcilable,
	"pay":    event.EffectUnsafe,
	"permit": event.EffectUnsafe,
	"wait":   event.EffectPure,
	"dump":   event.EffectPure,
	FallName: event.EffectIdempotent,
	BurnName: event.EffectUnsafe,
}

// Dump is how many bytes the tool of that name gives.
const Dump = 8<<20 - 1<<10

// What a conversation may grow to before less of it is shown. It is little, so that a
// process often dies while that happens.
const (
	window  = 3   // messages of the helper
	room    = 600 // tokens of the clerk
	refused = 12  // messages that the clerk's provider refuses: more than these
)

// newAgent makes the agent. Its model reads in the message what to do; see [planOf]. What it
// is shown of a long conversation is a summary; what its helper is shown, the newest messages.
func newAgent(world *ledger.Client, lie Lie) *braid.Agent {
	memory := &scriptedModel{Model: demo.Answer("memory", sumUp), world: world, lie: lie, kind: event.StepCompaction}
	clerk := newModel("clerk", world, lie)
	clerk.most = refused
	helper := braid.New(HelperName, newModel("helper", world, lie), tools(world, lie)...).
		Use(braid.Manage(braid.Management{By: braid.SlidingWindow(window)}))
	return braid.New(AgentName, clerk, tools(world, lie)...).
		// The suite kills at instants of its choice, which says nothing of the run.
		Use(braid.Limit(braid.Limits{LostDrivers: -1})).
		Use(braid.AsTool(helper, "Does a part of the work.")).
		Use(braid.Manage(braid.Management{By: braid.Summarize{Model: memory, Recent: 4}, Context: room}))
}

// sumUp is what the model says that sums a conversation up: only that it did, and when.
func sumUp(req *model.Request) demo.Rule {
	return demo.Rule{Reply: []demo.Piece{demo.Say(fmt.Sprintf("Much was said {%s.%s.%d}.", req.Run, req.Scope, req.Cycle))}}
}

type nothing struct{}

func tools(world *ledger.Client, lie Lie) []braid.Part {
	tl := func(name string, opts ...tool.Option) braid.Part {
		return braid.Func(name, "Does what its name says.", func(ctx context.Context, _ nothing) (string, error) {
			return act(ctx, world, lie, "")
		}, opts...)
	}
	pay := tl("pay")
	if lie == LiePure {
		pay = tl("pay", tool.Pure())
	}
	return []braid.Part{
		tl("look", tool.Pure()),
		tl("wait", tool.Pure()),
		braid.Func("dump", "Gives very much.", func(ctx context.Context, _ nothing) (string, error) {
			_, err := act(ctx, world, lie, "")
			return strings.Repeat("x", Dump), err
		}, tool.Pure()),
		tl("file", tool.Idempotent()),
		tl("book", tool.Reconcile(func(ctx context.Context, _ json.RawMessage) (tool.Output, bool, error) {
			e := entryOf(ctx, ledger.Reconcile)
			reply, err := world.Enter(ctx, e)
			known := reply.Known && lie != LieBlind
			return tool.Text("done " + e.Key), known, err
		})),
		pay,
		braid.Func("permit", "Asks, then acts.", func(ctx context.Context, _ nothing) (string, error) {
			answer, err := braid.Ask[string](ctx, "May I?")
			if err != nil {
				return "", err
			}
			return act(ctx, world, lie, answer)
		}),
	}
}

// act does what a tool is there for.
func act(ctx context.Context, world *ledger.Client, lie Lie, answer string) (string, error) {
	e := entryOf(ctx, ledger.Effect)
	e.Answer = answer
	if lie == LieKey && e.Class == event.EffectIdempotent {
		e.Key += fmt.Sprint("#", e.Attempt)
	}
	failpoint.Hit("worker/acts")
	if _, err := world.Enter(ctx, e); err != nil {
		return "", err
	}
	failpoint.Hit("worker/acted")
	return strings.TrimSpace("done " + e.Key + " " + answer), nil
}

func entryOf(ctx context.Context, op ledger.Op) ledger.Entry {
	c := tool.CallOf(ctx)
	return ledger.Entry{
		Op: op, Conversation: c.Conversation, Run: c.Run, Scope: c.Scope, Step: c.Step, Attempt: c.Attempt,
		Call: c.ID, Key: c.Key(), Tool: c.Name, Class: Tools[c.Name],
	}
}

// planPattern finds what to do in a message: "do" and a list of model calls,
// separated by "|", each a list of tools, separated by ",". What stands behind "helper:"
// is the helper's own list, with ";" and "+" in their places.
var planPattern = regexp.MustCompile(`\bdo (\S+)`)

// planOf reads the newest plan that the model is shown.
func planOf(messages []event.Message) [][]string {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role != event.RoleUser {
			continue
		}
		for j := len(messages[i].Content) - 1; j >= 0; j-- {
			text, ok := messages[i].Content[j].(*event.Text)
			if !ok {
				continue
			}
			all := planPattern.FindAllStringSubmatch(text.Text, -1)
			if len(all) == 0 {
				continue
			}
			var plan [][]string
			for cycle := range strings.SplitSeq(all[len(all)-1][1], "|") {
				plan = append(plan, strings.Split(cycle, ","))
			}
			return plan
		}
	}
	return nil
}

// answer is what the model says: the calls of its cycle in the plan, or that
// there is nothing more to do.
func answer(req *model.Request) demo.Rule {
	plan := planOf(req.Messages)
	if req.Cycle > len(plan) {
		return demo.Rule{Reply: []demo.Piece{demo.Say("That is all that there was to do, and it is done.")}}
	}
	reply := []demo.Piece{demo.Say("I will do these things now.")}
	for _, tool := range plan[req.Cycle-1] {
		args := ""
		if list, ok := strings.CutPrefix(tool, HelperName+":"); ok {
			list = strings.NewReplacer(";", "|", "+", ",").Replace(list)
			tool, args = HelperName, fmt.Sprintf(`{"input":"do %s"}`, list)
		}
		reply = append(reply, demo.Call(tool, args))
	}
	return demo.Rule{Reply: reply}
}
