package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/sqlite"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/demo"
	"github.com/braidrun/braid/test/kill/ledger"
	"github.com/braidrun/braid/tool"
)

// This file is an agent whose tools end their process, and whose model fails for good now and then. Each call has a name
// of its own that the plan gives it, so that the ledger knows a call that a later run repeats.

// The tools that end their process. Their place in a plan says how often and how, such as "fall:2ax": twice, after the
// effect, by exiting.
const (
	FallName = "fall"
	BurnName = "burn"
	// FailWord stands in a plan for a model call that fails for good, so often as the number behind it says.
	FailWord = "fail"
)

// Always is how often a tool ends its process that no process survives.
const Always = 9

// deadlyPattern reads such a place.
var deadlyPattern = regexp.MustCompile(`^([a-z]+):([0-9])([ab]?)([xk]?)$`)

// deadlyArgs are the arguments of every tool of this agent.
type deadlyArgs struct {
	// Request names the call to the world.
	Request string `json:"request"`
	// Deaths is how often it ends its process, After whether the effect comes first, Exit whether it exits or is killed.
	Deaths int  `json:"deaths,omitempty"`
	After  bool `json:"after,omitempty"`
	Exit   bool `json:"exit,omitempty"`
}

func newDeadlyAgent(world *ledger.Client) *braid.Agent {
	m := &deadlyModel{newModel("clerk", world, ""), world}
	m.Model = demo.Answer("clerk", deadlyAnswer)
	tl := func(name string, opts ...tool.Option) braid.Part {
		return braid.Func(name, "Does what its name says.", func(ctx context.Context, in deadlyArgs) (string, error) {
			return actOrDie(ctx, world, &in)
		}, opts...)
	}
	return braid.New(AgentName, m, tl("look", tool.Pure()), tl("file", tool.Idempotent()), tl("pay"),
		tl("book", tool.Reconcile(func(ctx context.Context, _ json.RawMessage) (tool.Output, bool, error) {
			e := entryOf(ctx, ledger.Reconcile)
			reply, err := world.Enter(ctx, e)
			return tool.Text("done " + e.Key), reply.Known, err
		})),
		tl(FallName, tool.Idempotent()), tl(BurnName))
}

// actOrDie acts, and ends the process before or after that as often as it is to.
func actOrDie(ctx context.Context, world *ledger.Client, in *deadlyArgs) (string, error) {
	e := entryOf(ctx, ledger.Effect)
	e.Request = in.Request
	if !in.After {
		if err := die(ctx, world, e, in); err != nil {
			return "", err
		}
	}
	if _, err := world.Enter(ctx, e); err != nil {
		return "", err
	}
	if in.After {
		if err := die(ctx, world, e, in); err != nil {
			return "", err
		}
	}
	return "done " + in.Request, nil
}

// die asks the ledger how often the call has ended its process, and does so again if that is not enough.
func die(ctx context.Context, world *ledger.Client, e ledger.Entry, in *deadlyArgs) error {
	if in.Deaths == 0 {
		return nil
	}
	e.Op, e.Most = ledger.Fate, in.Deaths
	reply, err := world.Enter(ctx, e)
	if err != nil || !reply.Dies {
		return err
	}
	if in.Exit {
		os.Exit(Exited) //nolint:forbidigo // a tool that does this is what is tested
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	if err := self.Kill(); err != nil {
		return err
	}
	select {} // the signal is on its way
}

// Exited is the exit code of a process whose tool exits.
const Exited = 7

// place is how far a plan has come: how many of its cycles have calls in the messages.
func place(messages []event.Message) (plan [][]string, mark string, done int) {
	plan = planOf(messages)
	for i := len(messages) - 1; i >= 0; i-- {
		switch m := &messages[i]; m.Role {
		case event.RoleAssistant:
			if len(m.Calls()) > 0 {
				done++
			}
		case event.RoleUser:
			text := textOf(m.Content)
			if marks := MarksOf(text); len(marks) > 0 {
				return plan, marks[len(marks)-1], done
			}
		}
	}
	return nil, "", 0
}

func textOf(blocks []event.Block) string {
	var text strings.Builder
	for _, b := range blocks {
		if t, ok := b.(*event.Text); ok {
			text.WriteString(t.Text)
		}
	}
	return text.String()
}

// deadlyAnswer says what comes next in the plan, whatever run it is that asks.
func deadlyAnswer(req *model.Request) demo.Rule {
	plan, mark, done := place(req.Messages)
	if done >= len(plan) {
		return demo.Rule{Reply: []demo.Piece{demo.Say("That is all that there was to do, and it is done.")}}
	}
	reply := []demo.Piece{demo.Say("I will do these things now.")}
	for i, word := range plan[done] {
		if strings.HasPrefix(word, FailWord) {
			continue
		}
		args := deadlyArgs{Request: fmt.Sprintf("%s/%d.%d", mark, done, i)}
		name := word
		if m := deadlyPattern.FindStringSubmatch(word); m != nil {
			name = m[1]
			args.Deaths, _ = strconv.Atoi(m[2])
			args.After, args.Exit = m[3] == "a", m[4] == "x"
		}
		raw, err := json.Marshal(args)
		if err != nil {
			continue // the run ends without the call, which the checks miss
		}
		reply = append(reply, demo.Call(name, string(raw)))
	}
	return demo.Rule{Reply: reply}
}

// deadlyModel fails where the plan says so.
type deadlyModel struct {
	*scriptedModel

	world *ledger.Client
}

// Stream implements [braid.Model].
func (m *deadlyModel) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		if err := m.fail(ctx, req); err != nil {
			yield(model.Chunk{}, err)
			return
		}
		for chunk, err := range m.scriptedModel.Stream(ctx, req) {
			if !yield(chunk, err) {
				return
			}
		}
	}
}

func (m *deadlyModel) fail(ctx context.Context, req *model.Request) error {
	plan, mark, done := place(req.Messages)
	if done >= len(plan) {
		return nil
	}
	for _, word := range plan[done] {
		found := deadlyPattern.FindStringSubmatch(word)
		if found == nil || found[1] != FailWord {
			continue
		}
		most, _ := strconv.Atoi(found[2])
		reply, err := m.world.Enter(ctx, ledger.Entry{
			Op: ledger.Fate, Run: req.Run, Request: fmt.Sprintf("%s/%d", mark, done), Most: most, Kind: event.StepModel,
		})
		if err != nil {
			return err
		}
		if reply.Dies {
			return &event.Error{Kind: event.ErrModelAuth, Message: "There is no such account."}
		}
	}
	return nil
}

// Cursed begins the ids of conversations whose logs end every process that reads them to drive a run.
const Cursed = "cursed"

// unreadableStore is a store with conversations that end the process that reads them.
type unreadableStore struct {
	*sqlite.Store

	world *ledger.Client
}

// Tail implements [journal.Store].
func (s *unreadableStore) Tail(ctx context.Context, conversation string) (journal.Tail, error) {
	if err := s.read(ctx, conversation); err != nil {
		return journal.Tail{}, err
	}
	return s.Store.Tail(ctx, conversation)
}

// StoredTail implements [journal.Store].
func (s *unreadableStore) StoredTail(ctx context.Context, conversation string) (journal.StoredTail, error) {
	if err := s.read(ctx, conversation); err != nil {
		return journal.StoredTail{}, err
	}
	return s.Store.StoredTail(ctx, conversation)
}

// read ends the process if the conversation is one that cannot be read.
func (s *unreadableStore) read(ctx context.Context, conversation string) error {
	if !strings.HasPrefix(conversation, Cursed) {
		return nil
	}
	in := deadlyArgs{Deaths: 1 << 20, Exit: true}
	return die(ctx, s.world, ledger.Entry{Conversation: conversation, Request: conversation}, &in)
}
