package adk

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/braidrun/braid/event"
)

// History is what a conversation begins with that was somewhere else before.
type History struct {
	// Messages are what was said, as a model sees it.
	Messages []event.Message
	// State has the values that the events leave, without temp: keys. A null is a value.
	State map[string]json.RawMessage
}

// Import reads the events of a session, in their order. Pieces of answers count for nothing, nor does what stands between a
// rewind and the run that it goes back to. Calls without an id get one, and so do their responses, by their names. ADK's own
// questions and their answers are left out: nobody waits for them any more.
func Import(events []Event) (h History, err error) {
	h.State = map[string]json.RawMessage{}
	p := pairing{open: map[string][]string{}}
	for _, e := range rewound(events) {
		if e.Partial == True {
			continue
		}
		if e.Actions != nil {
			for key, value := range e.Actions.StateDelta {
				if !Hidden(key) {
					h.State[key] = value
				}
			}
		}
		blocks, err := p.blocks(e)
		if err != nil {
			return History{}, err
		}
		h.add(e, blocks)
	}
	return h, nil
}

// rewound returns the events without those that a rewind took back.
func rewound(events []Event) (kept []*Event) {
	for i := range events {
		e := &events[i]
		if raw := e.rewinds(); raw != nil {
			var id string
			at := -1
			if json.Unmarshal(raw, &id) == nil {
				at = slices.IndexFunc(kept, func(k *Event) bool { return k.InvocationID == id })
			}
			if at >= 0 {
				kept = kept[:at]
			}
		}
		kept = append(kept, e)
	}
	return kept
}

func (e *Event) rewinds() json.RawMessage {
	if e.Actions == nil {
		return nil
	}
	return e.Actions.Other["rewindBeforeInvocationId"]
}

// add adds what an event says to the messages. Results stand in a message of the user, as models see them.
func (h *History) add(e *Event, blocks []event.Block) {
	role := event.RoleAssistant
	isResult := func(b event.Block) bool { _, ok := b.(*event.ToolResult); return ok }
	if e.Author == UserAuthor || slices.ContainsFunc(blocks, isResult) {
		role = event.RoleUser
	}
	if len(blocks) == 0 {
		return
	}
	if n := len(h.Messages); n > 0 && h.Messages[n-1].Role == role {
		h.Messages[n-1].Content = slices.Concat(h.Messages[n-1].Content, blocks)
		return
	}
	h.Messages = append(h.Messages, event.Message{Role: role, Content: blocks})
}

// AnswerOf returns the answer in a response to a question, as Braid takes it. A confirmation is {"confirmed": …}, also as JSON in
// a string under "response"; the answer to any other question is the response, or its only member "result".
func AnswerOf(r *Response) (json.RawMessage, error) {
	var all map[string]json.RawMessage
	if r.Response == nil {
		return json.RawMessage("null"), nil
	}
	if err := json.Unmarshal(r.Response, &all); err != nil {
		return nil, invalid(err)
	}
	if text, ok := all["response"]; ok && len(all) == 1 {
		var inner string
		isObject := json.Unmarshal(text, &inner) == nil && strings.HasPrefix(strings.TrimSpace(inner), "{") && json.Valid([]byte(inner))
		switch {
		case !isObject && r.Name != askConfirmation:
			return text, nil
		case isObject:
			return AnswerOf(&Response{Name: r.Name, Response: json.RawMessage(inner)})
		}
	}
	if r.Name == askConfirmation {
		var a event.Approval
		if json.Unmarshal(all["confirmed"], &a.Approved) != nil {
			return nil, &event.Error{
				Op: "adk answer", Kind: event.ErrInvalid, Message: "the answer to a confirmation does not say whether it is confirmed",
				Hint: `send {"confirmed": true} or {"confirmed": false}`,
			}
		}
		if payload := all["payload"]; string(payload) != "null" {
			a.Payload = payload
		}
		return a.MarshalJSON()
	}
	if result, ok := all["result"]; ok && len(all) == 1 {
		return result, nil
	}
	return r.Response, nil
}

// pairing gives ids to calls that have none.
type pairing struct {
	made int
	// open are the ids of calls without a response, by the name of the function.
	open map[string][]string
	// asked are the ids of ADK's own questions.
	asked []string
}

func (p *pairing) blocks(e *Event) (kept []event.Block, err error) {
	blocks, err := Blocks(e.Content)
	if err != nil {
		return nil, err
	}
	for _, b := range blocks {
		switch b := b.(type) {
		case *event.Text:
			if b.Text == "" {
				continue
			}
		case *event.ToolCall:
			if strings.HasPrefix(b.Name, "adk_request_") {
				p.asked = append(p.asked, b.ID)
				continue
			}
			if b.ID == "" {
				p.made++
				b.ID = "adk-" + strconv.Itoa(p.made)
			}
			p.open[b.Name] = append(p.open[b.Name], b.ID)
		case *event.ToolResult:
			if slices.Contains(p.asked, b.Call) && b.Call != "" || strings.HasPrefix(b.Name, "adk_request_") {
				continue
			}
			if ids := p.open[b.Name]; b.Call == "" && len(ids) > 0 {
				b.Call = ids[0]
			}
			p.open[b.Name] = slices.DeleteFunc(p.open[b.Name], func(id string) bool { return id == b.Call })
		}
		kept = append(kept, b)
	}
	return kept, nil
}
