package flow

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
)

// MaxItems bounds the items of a [Map].
const MaxItems = 10_000

// defaultMapParallel is how many items work at once if the options do not say.
const defaultMapParallel = 8

// MapOptions are the options of a [Map]. The zero value is usable.
type MapOptions struct {
	// Parallel bounds how many items are worked on at the same time; 0 means 8.
	Parallel int
	// Items returns the items. It is called once, and the log keeps the result: a resumed run does not call it again. nil means
	// that the input is a JSON array, whose elements are the items.
	Items func(ctx context.Context, input []event.Block) ([]any, error)
	// KeepErrors goes on if an item fails: its place in the answer has {"error": "..."}. Otherwise the first failure ends the
	// map, and stops the other items.
	KeepErrors bool
}

// Map returns an agent that lets another agent work on each item of a list, at most [MaxItems]. The items are made when the map
// begins. A text is given to the agent as it is, anything else as JSON. The answer is a JSON array of the answers in the order of
// the items; an answer that is JSON stays JSON, and any other text becomes a JSON string.
//
// Each item is a scope of its own with its index as the node. [braid.Limits].Scopes of the root agent must allow so many.
func Map(name string, agent *braid.Agent, o MapOptions) *braid.Agent {
	if o.Parallel < 0 {
		return broke(name, &event.Error{
			Op: "map " + name, Kind: event.ErrInvalid, Message: "Parallel is negative", Hint: "use 0 for the default",
		})
	}
	if o.Parallel == 0 {
		o.Parallel = defaultMapParallel
	}
	return braid.NewFlow(name, &mapKind{name: name, options: o}, agent)
}

// mapKind is the [Kind] of a [Map]. It never changes.
type mapKind struct {
	name    string
	options MapOptions
}

// mapState is what a map derives from the log of one scope. It advances event by event.
type mapState struct {
	// of is the map that it was made for.
	of    *mapKind
	items []json.RawMessage
	fault *event.Error
	// begun says which items have a child. next is the first one that may not.
	begun []bool
	next  int
	// opened and ended count the children that were applied, open those that work.
	opened, ended, open int
	stop                event.StopReason
}

// itemsName is the decision that holds the items.
const itemsName = "items"

// Decide implements [Decider].
func (k *mapKind) Decide(ctx context.Context, _ string, s Scope) (any, error) {
	list, err := k.options.Items(ctx, s.Input)
	if err == nil && list == nil {
		list = []any{}
	}
	return list, err
}

// Narrow implements [Narrower]: the items are made of the input.
func (k *mapKind) Narrow(_ string, s Scope) Scope { return Scope{Input: s.Input} }

// Next implements [Kind]. These rules apply in order:
//
//  1. Write the items to the log, if Go code makes them.
//  2. If an item failed, close the others and end with its error.
//  3. Open items up to the limit.
//  4. When all have ended, end with the answers.
func (k *mapKind) Next(s Scope) Command {
	if k.options.Items != nil && len(s.Decisions) == 0 {
		return Command{Decide: itemsName}
	}
	st := k.state(&s)
	if st.fault != nil {
		cmd := Command{Finish: true, Err: st.fault, Stop: st.stop}
		for i := range s.Children {
			if s.Children[i].Open {
				cmd.Close = append(cmd.Close, Closing{Child: i})
			}
		}
		return cmd
	}
	cmd := Command{}
	for st.next < len(st.items) && st.begun[st.next] {
		st.next++
	}
	for i := st.next; i < len(st.items) && len(cmd.Open) < k.options.Parallel-st.open; i++ {
		if !st.begun[i] {
			cmd.Open = append(cmd.Open, Opening{Node: strconv.Itoa(i), Agent: s.Agents[0], Input: itemInput(st.items[i])})
		}
	}
	if len(cmd.Open) == 0 && st.open == 0 {
		return k.finish(&s, st)
	}
	return cmd
}

// state returns what the log says, from the memory of the last decision where there is one.
func (k *mapKind) state(s *Scope) *mapState {
	st, _ := (*s.Memo).(*mapState)
	if st == nil || st.of != k || st.opened > len(s.Children) {
		st = &mapState{of: k}
		*s.Memo = st
		k.read(s, st)
	}
	for ; st.opened < len(s.Children); st.opened++ {
		st.open++
		if i, ok := st.item(&s.Children[st.opened]); ok {
			st.begun[i] = true
		}
	}
	for ; st.ended < len(s.Ended); st.ended++ {
		st.open--
		c := &s.Children[s.Ended[st.ended]]
		if c.Err != nil && st.fault == nil && (!k.options.KeepErrors || c.Err.Kind == event.ErrLimit) {
			err := *c.Err
			err.Op, err.Message = "map "+k.name, fmt.Sprintf("item %s: %s", c.Node, c.Err.Message)
			st.fault, st.stop = &err, c.Stop
		}
	}
	return st
}

// item returns the item of a child.
func (st *mapState) item(c *Child) (i int, ok bool) {
	i, err := strconv.Atoi(c.Node)
	return i, err == nil && i >= 0 && i < len(st.items)
}

// read reads the items.
func (k *mapKind) read(s *Scope, st *mapState) {
	raw := json.RawMessage(event.TextOf(s.Input))
	if k.options.Items != nil {
		d := s.Decision(itemsName)
		if d == nil || d.Err != nil {
			st.fault = k.wrong("its items could not be made", "correct the function Items")
			if d != nil {
				st.fault.Message += ": " + d.Err.Message
			}
			return
		}
		raw = d.Value
	}
	if err := json.Unmarshal(raw, &st.items); err != nil {
		st.fault = k.wrong("its input is not a JSON array", "let the node before it answer with a JSON array, or set Items")
	}
	if len(st.items) > MaxItems {
		st.fault = k.wrong(fmt.Sprintf("it has %d items; it may have %d", len(st.items), MaxItems), "split the list")
	}
	st.begun = make([]bool, len(st.items))
}

func (k *mapKind) wrong(message, hint string) *event.Error {
	return &event.Error{Op: "map " + k.name, Kind: event.ErrInvalid, Message: message, Hint: hint}
}

// itemInput returns what the agent is asked for an item.
func itemInput(item json.RawMessage) []event.Block {
	var text string
	if json.Unmarshal(item, &text) != nil {
		text = string(item)
	}
	return []event.Block{&event.Text{Text: text}}
}

// finish ends a map with the answers of its items.
func (k *mapKind) finish(s *Scope, st *mapState) Command {
	answers := make([]json.RawMessage, len(st.items))
	for i := range s.Children {
		if at, ok := st.item(&s.Children[i]); ok {
			answers[at] = itemAnswer(&s.Children[i])
		}
	}
	var list bytes.Buffer
	list.WriteByte('[')
	for i, one := range answers {
		if i > 0 {
			list.WriteByte(',')
		}
		if one == nil {
			one = json.RawMessage("null") // the log has no child of this item
		}
		list.Write(one)
	}
	list.WriteByte(']')
	return Command{Finish: true, Output: []event.Block{&event.Text{Text: list.String()}}}
}

// itemAnswer returns the answer of an item as JSON.
func itemAnswer(c *Child) json.RawMessage {
	text := event.TextOf(c.Output)
	switch {
	case c.Err != nil:
		return plainJSON(map[string]string{"error": c.Err.Message})
	case json.Valid([]byte(text)):
		return json.RawMessage(text)
	default:
		return plainJSON(text)
	}
}

// plainJSON writes texts as JSON that people can read.
func plainJSON(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return json.RawMessage("null") // texts can be written
	}
	return bytes.TrimSpace(b.Bytes())
}
