package adk

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/wire/story"
)

// This file gathers what the calls of an answer give: one event has all their results, and the changes of their tools.

// ended takes in the result of a call. The event with the results follows what belongs to the last of them.
func (enc *Encoder) ended(th *thread, it *story.Item, b *event.StepEnded) {
	if b.Result == nil {
		return
	}
	th.results = append(th.results, b.Result)
	if b.EndTurn || b.ReturnDirect {
		th.actions.SkipSummarization = True
	}
	th.heads(it.Event)
	if it.Results != nil {
		th.order(it.Results)
		th.waits = true
	}
}

// order puts the results that wait into the order of the calls.
func (th *thread) order(all []*event.ToolResult) {
	at := func(r *event.ToolResult) int { return slices.Index(all, r) }
	slices.SortStableFunc(th.results, func(a, b *event.ToolResult) int { return at(a) - at(b) })
}

// heads keeps the header of the first thing that waits. The agent that asked is the author.
func (th *thread) heads(e *event.Event) {
	if th.head.Run == "" {
		th.head = e.Header
		th.head.Author = cmp.Or(th.agent, e.Author)
	}
}

// act takes in a change or a signal. What a tool caused belongs to the results of its answer; anything else is an event of its
// own.
func (enc *Encoder) act(th *thread, it *story.Item) {
	e := it.Event
	own := &thread{}
	to := own
	if e.Step != "" && (it.Step == nil || it.Step.Begun.Step == event.StepTool) {
		to = th
	}
	switch b := e.Body.(type) {
	case *event.StateChanged:
		to.changed(b)
	case *event.ArtifactSaved:
		to.saved(b)
	case *event.Transferred:
		to.actions.TransferToAgent = b.To
	case *event.Escalated:
		to.actions.Escalate = True
	}
	if to == th {
		th.heads(e)
		return
	}
	if own.actions.none() {
		return
	}
	enc.send(&Event{
		ID: e.ID(), InvocationID: e.Run, Author: cmp.Or(e.Author, th.agent, UserAuthor), Branch: e.Branch,
		Time: e.Time.Truncate(time.Microsecond), Actions: own.actions.whole(),
	})
}

// changed adds a change of the state. ADK has no removal: a removed key is null.
func (th *thread) changed(b *event.StateChanged) {
	put := func(key string, value json.RawMessage) {
		if Hidden(key) {
			return
		}
		if th.actions.StateDelta == nil {
			th.actions.StateDelta = map[string]json.RawMessage{}
		}
		th.actions.StateDelta[key] = value
	}
	for key, value := range b.Set {
		put(key, value)
	}
	for _, key := range b.Delete {
		put(key, json.RawMessage("null"))
	}
}

func (th *thread) saved(b *event.ArtifactSaved) {
	if th.actions.ArtifactDelta == nil {
		th.actions.ArtifactDelta = map[string]Artifact{}
	}
	th.actions.ArtifactDelta[b.Name] = Artifact{Version: int64(b.Version)}
}

func (a *Actions) none() bool {
	return len(a.StateDelta) == 0 && len(a.ArtifactDelta) == 0 && a.SkipSummarization == Absent && a.TransferToAgent == "" && a.Escalate == Absent
}

// whole returns the actions with all maps that adk-python writes.
func (a *Actions) whole() *Actions {
	all := noAction()
	if a.StateDelta != nil {
		all.StateDelta = a.StateDelta
	}
	if a.ArtifactDelta != nil {
		all.ArtifactDelta = a.ArtifactDelta
	}
	all.SkipSummarization, all.TransferToAgent, all.Escalate = a.SkipSummarization, a.TransferToAgent, a.Escalate
	return all
}

// flush sends the results that wait.
func (enc *Encoder) flush(th *thread) {
	th.waits = false
	if len(th.results) == 0 && th.actions.none() {
		th.head = event.Header{}
		return
	}
	out := Event{
		InvocationID: th.head.Run, Author: th.head.Author, Branch: th.head.Branch, Time: th.head.Time.Truncate(time.Microsecond),
		Actions: th.actions.whole(),
	}
	th.sent++
	out.ID = nth(cmp.Or(th.answer, th.head.Run)+"/results", th.sent)
	if th.results != nil {
		out.Content = &Content{Role: roleUser}
		for _, r := range th.results {
			out.Content.Parts = append(out.Content.Parts, Part{Response: responseOf(r)})
		}
	}
	th.head, th.results, th.actions = event.Header{}, nil, Actions{}
	if enc.told {
		return
	}
	enc.flushed = true
	enc.send(&out)
}

// flushAll sends what waits for all agents.
func (enc *Encoder) flushAll() {
	for _, th := range enc.threads {
		enc.flush(th)
	}
}

// The id of a frame is the Seq of the last event of the log that was told, so that a reader can go on behind it. A sign after
// it says that the results which that event left open were told too.
const openTold = "+"

func (enc *Encoder) cursor() string {
	if enc.last == 0 || enc.unnamed {
		return ""
	}
	id := strconv.FormatInt(enc.last, 10)
	if enc.flushed {
		id += openTold
	}
	return id
}

// Cursor is a place in a stream, as Last-Event-ID names it.
type Cursor struct {
	// Seq is the last event of the log that the reader has.
	Seq int64
	// Open says that the reader has the results which that event left open, too.
	Open bool
}

// ParseCursor reads a place. It reports whether it is one.
func ParseCursor(id string) (c Cursor, ok bool) {
	digits, open := strings.CutSuffix(id, openTold)
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 {
		return Cursor{}, false
	}
	return Cursor{Seq: n, Open: open}, true
}

// Resume says where the stream goes on, after the last Skip.
func (enc *Encoder) Resume(c Cursor) { enc.told = c.Open }

// Answered says, after the last Skip, that the stream before this one was ended because the run waited for a person: the reader
// has all results that there are.
func (enc *Encoder) Answered() {
	enc.flushAll()
	enc.dst = nil
}
