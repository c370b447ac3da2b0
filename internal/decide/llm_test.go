package decide_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/decide"
	"github.com/braidrun/braid/internal/decide/decidetest"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/fold/foldtest"
	"github.com/braidrun/braid/internal/output"
)

// nextCase is one row: what is in the log, what is outside it, and what is to be done.
type nextCase struct {
	name string
	log  *foldtest.History
	// limits and sequential are the agent's; here names the steps that this driver runs.
	limits     decide.Limits
	sequential bool
	// schema is what the agent's answers are held to; empty for nothing.
	schema    string
	here      []string
	now       time.Time
	cancelled bool
	expired   bool
	// threshold is how many tokens the conversation may have; 0 means any number. whole says that nothing is left out.
	threshold int64
	whole     bool

	do    decide.Do
	why   event.Why
	stop  event.StopReason
	kind  event.ErrorKind
	calls string
	until time.Time
}

// nextCases are in the order of LLM.Next: in each group the
// rows show that a rule comes before those that follow it.
var nextCases = []nextCase{
	// 1. Cancelled, or past the deadline, comes before everything.
	{name: "cancelled before anything", log: foldtest.Asked(), cancelled: true, do: decide.Finish, why: event.WhyCancelled, stop: event.StopCancelled, kind: event.ErrCancelled},
	{name: "cancelled and past the deadline", log: foldtest.Asked(), cancelled: true, expired: true, do: decide.Finish, why: event.WhyCancelled, stop: event.StopCancelled, kind: event.ErrCancelled},
	{name: "cancelled with calls that can run", log: foldtest.Asked().Calls(1, "a", "b"), cancelled: true, do: decide.Finish, why: event.WhyCancelled, stop: event.StopCancelled, kind: event.ErrCancelled},
	{name: "cancelled while tools run", log: foldtest.Asked().Calls(1, "a").Begins(1, 0, 1), here: []string{"t1.0"}, cancelled: true, do: decide.Finish, why: event.WhyCancelled, stop: event.StopCancelled, kind: event.ErrCancelled},
	{name: "cancelled while a question is open", log: foldtest.Asked().Calls(1, "a").Asks(1, 0, "q"), cancelled: true, do: decide.Finish, why: event.WhyCancelled, stop: event.StopCancelled, kind: event.ErrCancelled},
	{name: "cancelled at the end of the turn", log: foldtest.Asked().Model(1, 1).Says(1, event.StopEndTurn), cancelled: true, do: decide.Finish, why: event.WhyCancelled, stop: event.StopCancelled, kind: event.ErrCancelled},
	{name: "cancelled between attempts", log: foldtest.Asked().Model(1, 1).Fails(1, 1, event.OutcomeFailed, foldtest.Later), cancelled: true, do: decide.Finish, why: event.WhyCancelled, stop: event.StopCancelled, kind: event.ErrCancelled},
	{name: "past the deadline with calls that can run", log: foldtest.Asked().Calls(1, "a"), expired: true, do: decide.Finish, why: event.WhyDeadline, stop: event.StopTimeout, kind: event.ErrTimeout},
	{name: "past the deadline while a question is open", log: foldtest.Asked().Calls(1, "a").Asks(1, 0, "q"), expired: true, do: decide.Finish, why: event.WhyDeadline, stop: event.StopTimeout, kind: event.ErrTimeout},

	// 2. Calls that can run come before waiting.
	{name: "new calls", log: foldtest.Asked().Calls(1, "a", "b", "c"), do: decide.Tools, calls: "t1.0 t1.1 t1.2"},
	{name: "an open question holds up nobody else", log: foldtest.Asked().Calls(1, "a", "b").Asks(1, 0, "q"), do: decide.Tools, calls: "t1.1"},
	{name: "what runs here holds up nobody else", log: foldtest.Asked().Calls(1, "a", "b").Begins(1, 0, 1), here: []string{"t1.0"}, do: decide.Tools, calls: "t1.1"},
	{name: "an answered call", log: foldtest.Asked().Calls(1, "a").Asks(1, 0, "q").Answers("q"), do: decide.Tools, calls: "t1.0"},
	{name: "one of two questions answered", log: foldtest.Asked().Calls(1, "a").Asks(1, 0, "q").Add(1, "t1.0", 1, &event.Asked{Token: "r", Index: 1}).Answers("q"), do: decide.Wait, why: event.WhyWaiting},
	{name: "in flight when another driver died", log: foldtest.Asked().Calls(1, "a", "b").Begins(1, 0, 1).Ends(1, 1, false), do: decide.Tools, calls: "t1.0"},
	{name: "answered, and in flight when another driver died", log: foldtest.Asked().Calls(1, "a").Asks(1, 0, "q").Answers("q").Begins(1, 0, 2), do: decide.Tools, calls: "t1.0"},
	{name: "calls of agents come first, together", log: foldtest.Asked().Calls(1, "a", "sub", "sub"), do: decide.Agents, calls: "t1.1 t1.2"},
	{name: "then the tools beside them", log: foldtest.Asked().Calls(1, "a", "sub").Opens(1, 1), do: decide.Tools, calls: "t1.0"},
	{name: "an agent's call that began without its scope", log: foldtest.Asked().Calls(1, "sub").Begins(1, 0, 1), do: decide.Agents, calls: "t1.0"},
	{name: "an unknown tool is a call as any other", log: foldtest.Asked().Calls(1, "nobody"), do: decide.Tools, calls: "t1.0"},
	{name: "sequential: the first", log: foldtest.Asked().Calls(1, "a", "b"), sequential: true, do: decide.Tools, calls: "t1.0"},
	{name: "sequential: nothing behind one that runs", log: foldtest.Asked().Calls(1, "a", "b").Begins(1, 0, 1), here: []string{"t1.0"}, sequential: true, do: decide.Wait, why: event.WhyWaiting},
	{name: "sequential: nothing behind one that asks", log: foldtest.Asked().Calls(1, "a", "b").Asks(1, 0, "q"), sequential: true, do: decide.Wait, why: event.WhyWaiting},
	{name: "sequential: the second after the first", log: foldtest.Asked().Calls(1, "a", "b").Ends(1, 0, false), sequential: true, do: decide.Tools, calls: "t1.1"},
	{name: "calls that can run, though a limit is reached", log: foldtest.Asked().Calls(1, "a", "b"), limits: decide.Limits{Cycles: 1, ToolCalls: 1, All: decide.Bounds{TotalTokens: 1}}, do: decide.Tools, calls: "t1.0 t1.1"},
	{name: "calls that can run, though another stops", log: foldtest.Asked().Calls(1, "a", "b").Ends(1, 0, true), do: decide.Tools, calls: "t1.1"},

	// 3. Waiting comes before stopping.
	{name: "waits for what runs here", log: foldtest.Asked().Calls(1, "a").Begins(1, 0, 1), here: []string{"t1.0"}, do: decide.Wait, why: event.WhyWaiting},
	{name: "waits for an answer", log: foldtest.Asked().Calls(1, "a").Asks(1, 0, "q"), do: decide.Wait, why: event.WhyWaiting},
	{name: "waits for an agent", log: foldtest.Asked().Calls(1, "sub").Opens(1, 0), do: decide.Wait, why: event.WhyWaiting},
	{name: "waits, though a tool wants to stop", log: foldtest.Asked().Calls(1, "a", "b").Ends(1, 0, true).Asks(1, 1, "q"), do: decide.Wait, why: event.WhyWaiting},
	{name: "waits, though a limit is reached", log: foldtest.Asked().Calls(1, "a").Asks(1, 0, "q"), limits: decide.Limits{ToolCalls: 1}, do: decide.Wait, why: event.WhyWaiting},

	// 4. A tool's stop comes before limits and the model.
	{name: "a tool stops", log: foldtest.Asked().Calls(1, "a", "b").Ends(1, 1, true).Ends(1, 0, false), do: decide.Finish, why: event.WhyToolStop, stop: event.StopToolUse},
	{name: "a tool stops where a limit is reached", log: foldtest.Asked().Calls(1, "a").Ends(1, 0, true), limits: decide.Limits{Cycles: 1}, do: decide.Finish, why: event.WhyToolStop, stop: event.StopToolUse},
	{name: "the stop of an earlier batch is past", log: foldtest.Asked().Calls(1, "a").Ends(1, 0, true).Calls(2, "a").Ends(2, 0, false), do: decide.Model, why: event.WhyToolResults},

	{name: "a tool answers", log: foldtest.Asked().Calls(1, "a", "b").Returns(1, 1, false).Ends(1, 0, false), do: decide.Finish, why: event.WhyReturned, stop: event.StopEndTurn},
	{name: "a tool answers where another stops", log: foldtest.Asked().Calls(1, "a", "b").Ends(1, 0, true).Returns(1, 1, false), limits: decide.Limits{Cycles: 1}, do: decide.Finish, why: event.WhyReturned, stop: event.StopEndTurn},
	{name: "a tool answers when the others are done", log: foldtest.Asked().Calls(1, "a", "b").Returns(1, 0, false), do: decide.Tools, calls: "t1.1"},
	{name: "an error is no answer", log: foldtest.Asked().Calls(1, "a").Returns(1, 0, true), do: decide.Model, why: event.WhyToolResults},
	{name: "the answer of an earlier batch is past", log: foldtest.Asked().Calls(1, "a").Returns(1, 0, false).Calls(2, "a").Ends(2, 0, false), do: decide.Model, why: event.WhyToolResults},
	{name: "the program calls tools", log: foldtest.Called("a", "b"), do: decide.Tools, calls: "t0.0 t0.1"},
	{name: "the program's tools are done", log: foldtest.Called("a").Ends(0, 0, false), limits: decide.Limits{Cycles: 1, ToolCalls: 1}, do: decide.Finish, why: event.WhyDirectCall, stop: event.StopEndTurn},
	{name: "the program's tool answers", log: foldtest.Called("a").Returns(0, 0, false), do: decide.Finish, why: event.WhyReturned, stop: event.StopEndTurn},
	{name: "somebody speaks after the program's tools", log: foldtest.Called("a").Ends(0, 0, false).Add(0, "", 0, &event.UserMessage{Content: []event.Block{&event.Text{Text: "and?"}}}), do: decide.Model, why: event.WhyInput},

	// 5. The end of the turn, or of the model, comes before limits.
	{name: "the model ended its turn", log: foldtest.Asked().Model(1, 1).Says(1, event.StopEndTurn), do: decide.Finish, why: event.WhyEndTurn, stop: event.StopEndTurn},
	{name: "it did at a stop word", log: foldtest.Asked().Model(1, 1).Says(1, event.StopSequence), do: decide.Finish, why: event.WhyEndTurn, stop: event.StopSequence},
	{name: "it did where a limit is reached", log: foldtest.Asked().Model(1, 1).Says(1, event.StopEndTurn), limits: decide.Limits{Cycles: 1, All: decide.Bounds{TotalTokens: 1}}, do: decide.Finish, why: event.WhyEndTurn, stop: event.StopEndTurn},
	{name: "cut at the token limit", log: foldtest.Asked().Model(1, 1).Says(1, event.StopMaxTokens), do: decide.Finish, why: event.WhyMaxTokens, stop: event.StopMaxTokens, kind: event.ErrMaxTokens},
	{name: "refused", log: foldtest.Asked().Model(1, 1).Says(1, event.StopRefusal), do: decide.Finish, why: event.WhyModelStop, stop: event.StopRefusal},
	{name: "stopped by a word of the provider's own", log: foldtest.Asked().Model(1, 1).Says(1, "moon_phase"), do: decide.Finish, why: event.WhyModelStop, stop: "moon_phase"},
	{name: "failed for good", log: foldtest.Asked().Model(1, 1).Fails(1, 1, event.OutcomeFailed, time.Time{}), do: decide.Finish, why: event.WhyFailed, stop: event.StopError, kind: event.ErrThrottled},
	{name: "failed for good where a limit is reached", log: foldtest.Asked().Model(1, 1).Fails(1, 1, event.OutcomeFailed, time.Time{}), limits: decide.Limits{Cycles: 1}, do: decide.Finish, why: event.WhyFailed, stop: event.StopError, kind: event.ErrThrottled},
	{name: "nothing was asked", log: (&foldtest.History{}).Add(0, "", 0, &event.RunStarted{Agent: "root"}), do: decide.Finish, why: event.WhyNothing, stop: event.StopEndTurn},

	// Background agents: the model gets their results, and the run waits for those that do not depend on it.
	{name: "an agent works in the background", log: foldtest.Asked().Calls(1, "sub").Behind(1, 0, false), do: decide.Model, why: event.WhyToolResults},
	{name: "the turn ends while it works", log: foldtest.Asked().Calls(1, "sub").Behind(1, 0, false).Model(2, 1).Says(2, event.StopEndTurn), do: decide.Wait, why: event.WhyTask},
	{name: "the turn ends while one works that depends on the run", log: foldtest.Asked().Calls(1, "sub").Behind(1, 0, true).Model(2, 1).Says(2, event.StopEndTurn), do: decide.Finish, why: event.WhyEndTurn, stop: event.StopEndTurn},
	{name: "a limit is reached while it works", log: foldtest.Asked().Calls(1, "sub").Behind(1, 0, false), limits: decide.Limits{Cycles: 1}, do: decide.Finish, why: event.WhyLimit, stop: event.StopLimitCycles, kind: event.ErrLimit},
	{name: "the model fails while it works", log: foldtest.Asked().Calls(1, "sub").Behind(1, 0, false).Model(2, 1).Fails(2, 1, event.OutcomeFailed, time.Time{}), do: decide.Finish, why: event.WhyFailed, stop: event.StopError, kind: event.ErrThrottled},
	{name: "it ends while the model works", log: foldtest.Asked().Calls(1, "sub").Behind(1, 0, false).Model(2, 1).Closes(1, 0), here: []string{"m2"}, do: decide.Wait, why: event.WhyWaiting},
	{name: "it was handed over once and has answered", log: foldtest.Asked().Add(1, "", 0, &event.Transferred{From: "a", To: "b", Policy: event.TransferOnce}).Model(1, 1).Says(1, event.StopEndTurn), do: decide.HandBack, why: event.WhyTransfer},
	{name: "it was handed over", log: foldtest.Asked().Add(1, "", 0, &event.Transferred{From: "a", To: "b"}).Model(1, 1).Says(1, event.StopEndTurn), do: decide.Finish, why: event.WhyEndTurn, stop: event.StopEndTurn},
	{name: "it ends before the turn", log: foldtest.Asked().Calls(1, "sub").Behind(1, 0, false).Closes(1, 0), do: decide.Say, why: event.WhyTask},
	{name: "it ends after the turn", log: foldtest.Asked().Calls(1, "sub").Behind(1, 0, false).Model(2, 1).Says(2, event.StopEndTurn).Closes(1, 0), do: decide.Say, why: event.WhyTask},
	{name: "the model was told of it", log: foldtest.Asked().Calls(1, "sub").Behind(1, 0, false).Model(2, 1).Says(2, event.StopEndTurn).Closes(1, 0).Heard(), do: decide.Model, why: event.WhyTask},
	{name: "one has ended, and one works", log: foldtest.Asked().Calls(1, "sub", "sub").Behind(1, 0, false).Behind(1, 1, false).Closes(1, 1).Heard().Model(2, 1).Says(2, event.StopEndTurn), do: decide.Wait, why: event.WhyTask},

	// Where the answer has a form, an end without it is none.
	{name: "the same call thrice", log: foldtest.Asked().Stuck(3), do: decide.Say, why: event.WhyRepeats},
	{name: "the same call thrice, and the model was told", log: foldtest.Asked().Stuck(3).Told(), do: decide.Model, why: event.WhyRepeats},
	{name: "the same call five times", log: foldtest.Asked().Stuck(3).Told().Calls(4, "a").Ends(4, 0, false).Calls(5, "a").Ends(5, 0, false), do: decide.Finish, why: event.WhyLimit, stop: event.StopLimitRepeats, kind: event.ErrLimit},
	{name: "words instead of an answer in its form", log: foldtest.Asked().Model(1, 1).Says(1, event.StopEndTurn), schema: `{"type":"object"}`, do: decide.Say, why: event.WhyAnswer},
	{name: "words, where a limit is reached", log: foldtest.Asked().Model(1, 1).Says(1, event.StopEndTurn), schema: `{"type":"object"}`, limits: decide.Limits{Cycles: 1}, do: decide.Finish, why: event.WhyLimit, stop: event.StopLimitCycles, kind: event.ErrLimit},
	{name: "words, and the loop has asked", log: foldtest.Asked().Model(1, 1).Says(1, event.StopEndTurn).Wants(), schema: `{"type":"object"}`, do: decide.Model, why: event.WhyAnswer},
	{name: "a refusal has no form", log: foldtest.Asked().Model(1, 1).Says(1, event.StopRefusal), schema: `{"type":"object"}`, do: decide.Finish, why: event.WhyModelStop, stop: event.StopRefusal},
	{name: "nor have the words of a hook", log: foldtest.Asked().Model(1, 1).Add(1, "m1", 1, &event.AssistantMessage{Content: []event.Block{&event.Text{Text: "no"}}, Stop: event.StopEndTurn, Hook: true}), schema: `{"type":"object"}`, do: decide.Finish, why: event.WhyEndTurn, stop: event.StopEndTurn},
	{name: "an answer that the tool took", log: foldtest.Asked().Calls(1, output.ToolName).Gives(1, `{"n":1}`, false), schema: `{"type":"object"}`, do: decide.Finish, why: event.WhyToolStop, stop: event.StopToolUse},
	{name: "one that it did not take", log: foldtest.Asked().Calls(1, output.ToolName).Gives(1, "", true), schema: `{"type":"object"}`, do: decide.Model, why: event.WhyAnswer},
	{name: "one of a tool that only has its name", log: foldtest.Asked().Calls(1, output.ToolName).Gives(1, "", true), do: decide.Model, why: event.WhyToolResults},
	{name: "asked often enough", log: foldtest.Asked().Again(1).Again(2).Again(3), limits: decide.Limits{Outputs: 2}, schema: `{"type":"object"}`, do: decide.Finish, why: event.WhyLimit, stop: event.StopLimitAnswers, kind: event.ErrInvalid},
	{name: "once more", log: foldtest.Asked().Again(1).Again(2).Again(3), limits: decide.Limits{Outputs: 3}, schema: `{"type":"object"}`, do: decide.Model, why: event.WhyAnswer},

	// 6. Limits come before the model, once the tools are done.
	{name: "the cycles are used up", log: foldtest.Asked().Calls(1, "a").Ends(1, 0, false), limits: decide.Limits{Cycles: 1}, do: decide.Finish, why: event.WhyLimit, stop: event.StopLimitCycles, kind: event.ErrLimit},
	{name: "the tool calls are", log: foldtest.Asked().Calls(1, "a", "b").Ends(1, 0, false).Ends(1, 1, false), limits: decide.Limits{ToolCalls: 2}, do: decide.Finish, why: event.WhyLimit, stop: event.StopLimitToolCalls, kind: event.ErrLimit},
	{name: "the tokens are", log: foldtest.Asked().Calls(1, "a").Ends(1, 0, false), limits: decide.Limits{All: decide.Bounds{TotalTokens: 10}}, do: decide.Finish, why: event.WhyLimit, stop: event.StopLimitTotalTokens, kind: event.ErrLimit},
	{name: "one short of each", log: foldtest.Asked().Calls(1, "a").Ends(1, 0, false), limits: decide.Limits{Cycles: 2, ToolCalls: 2, All: decide.Bounds{TotalTokens: 11}}, do: decide.Model, why: event.WhyToolResults},
	{name: "a limit that is none", log: foldtest.Asked().Calls(1, "a").Ends(1, 0, false), limits: decide.Limits{Cycles: -1, ToolCalls: -1, All: decide.Bounds{TotalTokens: -1}}, do: decide.Model, why: event.WhyToolResults},
	{name: "an attempt more is no cycle more", log: foldtest.Asked().Model(1, 1).Fails(1, 1, event.OutcomeFailed, foldtest.Noon), limits: decide.Limits{Cycles: 1}, do: decide.Model, why: event.WhyRetry},
	{name: "nor is one on another model", log: foldtest.Asked().Model(1, 1).Falls(1, 1, "other"), limits: decide.Limits{Cycles: 1}, do: decide.Model, why: event.WhyFallback},
	{name: "nor is one that another driver lost", log: foldtest.Asked().Model(1, 1).Fails(1, 1, event.OutcomeLost, time.Time{}), limits: decide.Limits{Cycles: 1}, do: decide.Model, why: event.WhyTakenOver},
	{name: "a paused turn is", log: foldtest.Asked().Model(1, 1).Says(1, event.StopPause), limits: decide.Limits{Cycles: 1}, do: decide.Finish, why: event.WhyLimit, stop: event.StopLimitCycles, kind: event.ErrLimit},

	// 7. Otherwise the model.
	{name: "new input", log: foldtest.Asked(), do: decide.Model, why: event.WhyInput},
	{name: "finished tools", log: foldtest.Asked().Calls(1, "a").Ends(1, 0, false), do: decide.Model, why: event.WhyToolResults},
	{name: "a finished tool that says so twice", log: foldtest.Asked().Calls(1, "a", "b").Ends(1, 0, false).Ends(1, 0, false).Begins(1, 1, 1), here: []string{"t1.1"}, do: decide.Wait, why: event.WhyWaiting},
	{name: "the model runs here", log: foldtest.Asked().Model(1, 1), here: []string{"m1"}, do: decide.Wait, why: event.WhyWaiting},
	{name: "it ran where a driver died", log: foldtest.Asked().Model(1, 1), do: decide.Model, why: event.WhyTakenOver},
	{name: "it was stopped with its driver", log: foldtest.Asked().Model(1, 1).Fails(1, 1, event.OutcomeCancelled, time.Time{}), do: decide.Model, why: event.WhyTakenOver},
	{name: "not yet", log: foldtest.Asked().Model(1, 1).Fails(1, 1, event.OutcomeFailed, foldtest.Later), now: foldtest.Later.Add(-1), do: decide.Wait, why: event.WhyRetry, until: foldtest.Later},
	{name: "now", log: foldtest.Asked().Model(1, 1).Fails(1, 1, event.OutcomeFailed, foldtest.Later), now: foldtest.Later, do: decide.Model, why: event.WhyRetry},
	{name: "on another model at once", log: foldtest.Asked().Model(1, 1).Falls(1, 1, "other"), now: foldtest.Noon.Add(-time.Hour), do: decide.Model, why: event.WhyFallback},
	{name: "not at all, where the run is cancelled", log: foldtest.Asked().Model(1, 1).Falls(1, 1, "other"), cancelled: true, do: decide.Finish, why: event.WhyCancelled, stop: event.StopCancelled, kind: event.ErrCancelled},
	{name: "the provider paused", log: foldtest.Asked().Model(1, 1).Says(1, event.StopPause), do: decide.Model, why: event.WhyPaused},
	{
		name: "a message came during the run", log: foldtest.Asked().Model(1, 1).Says(1, event.StopEndTurn).Add(0, "", 0,
			&event.UserMessage{Content: []event.Block{&event.Text{Text: "and this"}}, Mail: "message-1"}),
		do: decide.Model, why: event.WhyMessage,
	},
	{name: "an answer that asked for nothing", log: foldtest.Asked().Model(1, 1).Says(1, event.StopToolUse), do: decide.Finish, why: event.WhyEndTurn, stop: event.StopToolUse},
	// The conversation is too long.
	{name: "refused as too long", log: foldtest.Asked().Refuses(1, 1), do: decide.Compact, why: event.WhyOverflow},
	{name: "and shown less", log: foldtest.Asked().Refuses(1, 1).Compacts(1), do: decide.Model, why: event.WhyCompacted},
	{name: "which is no cycle more", log: foldtest.Asked().Refuses(1, 1).Compacts(1), limits: decide.Limits{Cycles: 1}, do: decide.Model, why: event.WhyCompacted},
	{name: "refused again", log: foldtest.Asked().Refuses(1, 1).Compacts(1).Refuses(1, 2), do: decide.Compact, why: event.WhyOverflow},
	{
		name: "refused too often", log: foldtest.Asked().Refuses(1, 1).Compacts(1).Refuses(1, 2).Compacts(1).Refuses(1, 3).Compacts(1).Refuses(1, 4),
		do: decide.Finish, why: event.WhyFailed, stop: event.StopContextOverflow, kind: event.ErrContextOverflow,
	},
	{
		name: "which is counted for each call", log: foldtest.Asked().Refuses(1, 1).Compacts(1).Refuses(1, 2).Compacts(1).Refuses(1, 3).Compacts(1).Calls(1, "a").
			Ends(1, 0, false).Refuses(2, 1), do: decide.Compact, why: event.WhyOverflow,
	},
	{name: "a summary is asked for here", log: foldtest.Asked().Sums(1, 1, event.WhyLimit), here: []string{"c1"}, do: decide.Wait, why: event.WhyWaiting},
	{name: "it was, where a driver died", log: foldtest.Asked().Sums(1, 1, event.WhyLimit), do: decide.Compact, why: event.WhyLimit},
	{name: "and the same after a refusal", log: foldtest.Asked().Refuses(1, 1).Sums(1, 1, event.WhyOverflow), do: decide.Compact, why: event.WhyOverflow},
	{name: "lost", log: foldtest.Asked().Sums(1, 1, event.WhyLimit).Summed(1, 1, event.OutcomeLost, time.Time{}), do: decide.Compact, why: event.WhyLimit},
	{name: "to be asked for again, not yet", log: foldtest.Asked().Sums(1, 1, event.WhyLimit).Summed(1, 1, event.OutcomeFailed, foldtest.Later), do: decide.Wait, why: event.WhyRetry, until: foldtest.Later},
	{name: "to be asked for again", log: foldtest.Asked().Sums(1, 1, event.WhyLimit).Summed(1, 1, event.OutcomeFailed, foldtest.Noon), do: decide.Compact, why: event.WhyLimit},
	{name: "not to be had, and not needed", log: foldtest.Asked().Sums(1, 1, event.WhyLimit).Summed(1, 1, event.OutcomeFailed, time.Time{}), do: decide.Model, why: event.WhyInput},
	{
		name: "not to be had, though it is needed", log: foldtest.Asked().Refuses(1, 1).Sums(1, 1, event.WhyOverflow).Summed(1, 1, event.OutcomeFailed, time.Time{}),
		do: decide.Finish, why: event.WhyFailed, stop: event.StopContextOverflow, kind: event.ErrContextOverflow,
	},
	{
		name: "not to be had before, and needed now",
		log:  foldtest.Asked().Sums(1, 1, event.WhyLimit).Summed(1, 1, event.OutcomeFailed, time.Time{}).Refuses(1, 1), do: decide.Compact, why: event.WhyOverflow,
	},
	{name: "nothing can be left out of what was refused", log: foldtest.Asked().Refuses(1, 1), whole: true, do: decide.Finish, why: event.WhyFailed, stop: event.StopContextOverflow, kind: event.ErrContextOverflow},
	{name: "too long, before it is refused", log: foldtest.Asked(), threshold: 1, do: decide.Compact, why: event.WhyLimit},
	{name: "and nothing can be left out", log: foldtest.Asked(), threshold: 1, whole: true, do: decide.Model, why: event.WhyInput},
	{name: "not again before another attempt", log: foldtest.Asked().Model(1, 1), threshold: 1, do: decide.Model, why: event.WhyTakenOver},
	{name: "a summary to be asked for again, which a hook forbids", log: foldtest.Asked().Sums(1, 1, event.WhyLimit).Summed(1, 1, event.OutcomeFailed, foldtest.Noon), whole: true, do: decide.Model, why: event.WhyInput},
	{name: "cancelled while it is asked for", log: foldtest.Asked().Sums(1, 1, event.WhyLimit), here: []string{"c1"}, cancelled: true, do: decide.Finish, why: event.WhyCancelled, stop: event.StopCancelled, kind: event.ErrCancelled},
	{name: "new input during the turn", log: foldtest.Asked().Model(1, 1).Says(1, event.StopEndTurn).Add(0, "", 0, &event.UserMessage{Content: []event.Block{&event.Text{Text: "and?"}}}), do: decide.Model, why: event.WhyInput},
}

// ask folds the row's log, and makes the policy of its root scope.
func (c *nextCase) ask(t *testing.T) (*fold.Conversation, *decide.Policy, time.Time) {
	t.Helper()
	p := decidetest.Policy(c.limits)
	p.Sequential, p.Running, p.Cancelled, p.Expired = c.sequential, c.here, c.cancelled, c.expired
	if c.schema != "" {
		form, err := output.New([]byte(c.schema), "root")
		if err != nil {
			t.Fatal(err)
		}
		p.Output = form
	}
	if p.Compaction.Whole = c.whole; c.threshold > 0 {
		p.Compaction.Threshold = c.threshold
	}
	now := c.now
	if now.IsZero() {
		now = foldtest.Noon
	}
	return fold.New(c.log.Log), p, now
}

func TestNextDecidesInItsOrder(t *testing.T) {
	t.Parallel()
	for _, c := range nextCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v, p, now := c.ask(t)
			got := decide.Next(decide.LLM{}, v.Run.Scopes[0], p, now)
			var calls []string
			for _, call := range got.Calls {
				calls = append(calls, call.Step)
			}
			kind := event.ErrorKind("")
			if got.Err != nil {
				kind = got.Err.Kind
			}
			if got.Do != c.do || got.Why != c.why || got.Stop != c.stop || kind != c.kind ||
				strings.Join(calls, " ") != c.calls || !got.Until.Equal(c.until) {
				t.Errorf("got  do %d why %q stop %q kind %q calls %v until %v\nwant do %d why %q stop %q kind %q calls [%s] until %v",
					got.Do, got.Why, got.Stop, kind, calls, got.Until, c.do, c.why, c.stop, c.kind, c.calls, c.until)
			}
		})
	}
}

// Next is pure: it says the same however often it is asked, and changes neither the fold nor the policy.
func TestNextIsPure(t *testing.T) {
	t.Parallel()
	for _, c := range nextCases {
		v, p, now := c.ask(t)
		before, policy := foldtest.Deep(v), foldtest.Deep(p)
		root := v.Run.Scopes[0]
		first := foldtest.Deep(decide.Next(decide.LLM{}, root, p, now))
		for range 3 {
			if again := foldtest.Deep(decide.Next(decide.LLM{}, root, p, now)); again != first {
				t.Errorf("%s: it says %s and then %s", c.name, first, again)
			}
		}
		if after := foldtest.Deep(v); after != before || foldtest.Deep(p) != policy {
			t.Errorf("%s: asking changed\n%sto\n%s", c.name, before, after)
		}
		// Another driver that folds the log decides the same.
		other, theirs, _ := c.ask(t)
		if own := foldtest.Deep(decide.Next(decide.LLM{}, other.Run.Scopes[0], theirs, now)); own != first {
			t.Errorf("%s: it says %s, and to another driver %s", c.name, first, own)
		}
	}
}

// The list of reasons is closed: package event has no reason that no kind gives.
func TestEveryWhyIsGiven(t *testing.T) {
	t.Parallel()
	given := map[string]bool{}
	for _, c := range nextCases {
		v, p, now := c.ask(t)
		given[string(decide.Next(decide.LLM{}, v.Run.Scopes[0], p, now).Why)] = true
	}
	for _, c := range flowCases {
		given[string(c.why)] = true
	}
	file, err := parser.ParseFile(token.NewFileSet(), "../../event/message.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	known := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); !ok || kind.Name != "Why" {
			return true
		}
		for _, value := range spec.Values {
			word, err := strconv.Unquote(value.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			known++
			if !given[word] {
				t.Errorf("Next never goes on or ends because of %q", word)
			}
		}
		return true
	})
	if known < 15 {
		t.Errorf("only %d reasons were found", known)
	}
}
