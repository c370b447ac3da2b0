//go:build unix

package frozen

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/demo"
	"github.com/braidrun/braid/tool"
)

// The agent of the frozen runs. Its names stand in journals that nobody can change:
// what is here may grow and must not be renamed.
const (
	agentName  = "clerk"
	helperName = "helper"
)

// outside is the world of the agent. Where a journal is written to be frozen, what the
// plan marks is held for ever.
type outside struct {
	writing bool
	held    chan string

	mu sync.Mutex
	// acted lists by run what tools did, asked what was reconciled, shown the
	// messages of the newest model call.
	acted map[string][]string
	asked map[string]int
	shown map[string][]event.Message
}

func newOutside(writing bool) *outside {
	return &outside{
		writing: writing, held: make(chan string, 100),
		acted: map[string][]string{}, asked: map[string]int{}, shown: map[string][]event.Message{},
	}
}

// hold stays until the process dies.
func (o *outside) hold(ctx context.Context, run string) error {
	o.held <- run
	<-ctx.Done()
	return ctx.Err()
}

// actions sorts what a run's tools did: their order says nothing.
func (o *outside) actions(run string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Join(slices.Sorted(slices.Values(o.acted[run])), " ")
}

// How a call is marked in a plan: held before it happens, or after.
type arguments struct {
	Hold string `json:"hold,omitempty"`
}

const (
	before = "before"
	after  = "after"
)

// agent makes the agent without some of its tools.
func (o *outside) agent(name string, without ...string) *braid.Agent {
	helper := braid.New(helperName, o.model("helper"), o.tools(without)...)
	a := braid.New(name, o.model("clerk"), o.tools(without)...)
	if !slices.Contains(without, helperName) {
		a.Use(braid.AsTool(helper, "Does a part of the work."))
	}
	return a
}

func (o *outside) tools(without []string) (parts []braid.Part) {
	tl := func(name string, act func(context.Context) (string, error), opts ...tool.Option) {
		if slices.Contains(without, name) {
			return
		}
		parts = append(parts, braid.Func(name, "Does what its name says.", func(ctx context.Context, args arguments) (string, error) {
			c := tool.CallOf(ctx)
			if o.writing && args.Hold != "" {
				return "", o.hold(ctx, c.Run)
			}
			says, err := act(ctx)
			if err != nil {
				return "", err
			}
			o.mu.Lock()
			defer o.mu.Unlock()
			o.acted[c.Run] = append(o.acted[c.Run], name)
			return says, nil
		}, opts...))
	}
	done := func(context.Context) (string, error) { return "done", nil }
	tl("look", done, tool.Pure())
	tl("file", done, tool.Idempotent())
	tl("book", done, tool.Reconcile(func(ctx context.Context, raw json.RawMessage) (tool.Output, bool, error) {
		var args arguments
		if err := json.Unmarshal(raw, &args); err != nil {
			return tool.Output{}, false, err
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.asked[tool.CallOf(ctx).Run]++
		return tool.Text("done before"), args.Hold == after, nil
	}))
	tl("pay", done)
	tl("permit", func(ctx context.Context) (string, error) {
		return braid.Ask[string](ctx, "May I?")
	})
	tl("remember", func(ctx context.Context) (string, error) {
		for _, key := range []string{"own", braid.StateUser + "shared"} {
			if err := tool.State[any](key).Set(ctx, "kept"); err != nil {
				return "", err
			}
		}
		return "done", nil
	})
	return parts
}

// planPattern finds in a message what to do: "do", and a list of model calls,
// separated by "|", each a list of words, separated by ",". A word is a tool, with
// "?" where it is held before it happens and "!" where it is held after; or
// "helper:" and the helper's own plan in other signs; or what becomes of the model's call
// itself: "think!" is held, "busy" is throttled for a while, "fail" fails, "nothing" asks for nothing.
var planPattern = regexp.MustCompile(`\bdo (\S+)`)

func wordsOf(req *model.Request) []string {
	plan := ""
	for _, m := range req.Messages {
		if m.Role != event.RoleUser {
			continue
		}
		if all := planPattern.FindAllStringSubmatch(m.Text(), -1); len(all) > 0 {
			plan = all[len(all)-1][1]
		}
	}
	cycles := strings.Split(plan, "|")
	if req.Cycle > len(cycles) || plan == "" {
		return nil
	}
	return strings.Split(cycles[req.Cycle-1], ",")
}

func answer(req *model.Request) demo.Rule {
	var reply []demo.Piece
	for _, word := range wordsOf(req) {
		name, args := word, arguments{}
		switch {
		case word == "think!" || word == "busy" || word == "fail" || word == "nothing":
			continue
		case strings.HasPrefix(word, helperName+":"):
			plan := strings.NewReplacer(";", "|", "+", ",").Replace(strings.TrimPrefix(word, helperName+":"))
			reply = append(reply, demo.Call(helperName, fmt.Sprintf(`{"input":"do %s"}`, plan)))
			continue
		case strings.HasSuffix(word, "?"):
			name, args.Hold = strings.TrimSuffix(word, "?"), before
		case strings.HasSuffix(word, "!"):
			name, args.Hold = strings.TrimSuffix(word, "!"), after
		}
		raw, err := json.Marshal(args)
		if err != nil {
			raw = nil
		}
		reply = append(reply, demo.Call(name, string(raw)))
	}
	if reply == nil {
		reply = []demo.Piece{demo.Say("That is all.")}
	}
	return demo.Rule{Reply: reply}
}

// model plays the plan.
type scripted struct {
	*demo.Model

	outside *outside
}

func (o *outside) model(name string) *scripted {
	return &scripted{Model: demo.Answer(name, answer), outside: o}
}

// Stream implements [braid.Model].
func (m *scripted) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		o := m.outside
		o.mu.Lock()
		o.shown[req.Run] = req.Messages
		o.mu.Unlock()
		for _, word := range wordsOf(req) {
			var err error
			switch {
			case !o.writing:
			case word == "think!":
				err = o.hold(ctx, req.Run)
			case word == "busy":
				err = &event.Error{Kind: event.ErrThrottled, Message: "come again later", RetryAfter: retryAfter}
			case word == "fail":
				err = &event.Error{Kind: event.ErrModelAuth, Message: "who are you?"}
			}
			if err != nil {
				yield(model.Chunk{}, err)
				return
			}
		}
		for chunk, err := range m.Model.Stream(ctx, req) {
			if !yield(chunk, err) {
				return
			}
		}
	}
}
