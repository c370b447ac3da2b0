package flow

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool"
)

// handoffName is the name of the hand-off tool, as in Strands for Python.
const handoffName = "handoff_to_agent"

// handoff is what a member hands on.
type handoff struct {
	Agent   string          `json:"agent_name"`
	Message string          `json:"message"`
	Context json.RawMessage `json:"context,omitempty"`
}

// handoffTool ends the turn of a member.
type handoffTool struct {
	spec tool.Spec
	// names are the members that it knows, the own one among them.
	names []string
}

// newHandoffTool returns the tool of a member.
func newHandoffTool(s *Swarm, own int) *handoffTool {
	t := &handoffTool{spec: tool.Spec{Name: handoffName}}
	var text strings.Builder
	text.WriteString("Hands the work to another agent, which goes on with your message. Call it alone; it ends your turn. " +
		"If you hand nothing off, your answer is the final one. Agents:")
	var others []string
	for i := range s.Members {
		name := s.Members[i].Agent.Name()
		t.names = append(t.names, name)
		if i == own {
			continue
		}
		others = append(others, name)
		text.WriteString("\n- " + name)
		if d := s.Members[i].Description; d != "" {
			text.WriteString(": " + d)
		}
	}
	t.spec.Description = text.String()
	enum, err := json.Marshal(others)
	if err != nil {
		enum = []byte("[]") // names are text, so this does not happen
	}
	t.spec.Schema = json.RawMessage(`{"type":"object","properties":{` +
		`"agent_name":{"type":"string","enum":` + string(enum) + `,"description":"The agent that goes on."},` +
		`"message":{"type":"string","description":"What it is to do, with all that it must know."},` +
		`"context":{"type":"object","description":"Data for this agent and those after it."}},` +
		`"required":["agent_name","message"],"additionalProperties":false}`)
	return t
}

// Spec implements [tool.Tool].
func (t *handoffTool) Spec() tool.Spec { return t.spec }

// Traits say that the call changes nothing outside.
func (t *handoffTool) Traits() tool.Traits { return tool.Traits{Effect: event.EffectPure} }

// Call implements [tool.Tool].
func (t *handoffTool) Call(ctx context.Context, args json.RawMessage) (tool.Output, error) {
	var h handoff
	if err := json.Unmarshal(args, &h); err != nil {
		return tool.Output{}, &event.Error{Op: "tool " + handoffName, Kind: event.ErrInvalid, Message: "the arguments cannot be read", Err: err}
	}
	own := ""
	if c := tool.CallOf(ctx); c != nil {
		own = c.Agent
	}
	switch {
	case h.Agent == own || !slices.Contains(t.names, h.Agent):
		return tool.Output{}, &event.Error{
			Op: "tool " + handoffName, Kind: event.ErrNotFound, Message: fmt.Sprintf("agent %q not found in the swarm", h.Agent),
			Hint: "name another agent of the list",
		}
	case strings.TrimSpace(h.Message) == "":
		return tool.Output{}, &event.Error{Op: "tool " + handoffName, Kind: event.ErrInvalid, Message: "the message is empty"}
	case len(h.Context) > 0 && h.Context[0] != '{':
		h.Context = nil // null
	}
	raw, err := json.Marshal(h)
	if err != nil {
		return tool.Output{}, err
	}
	tool.ReturnDirect(ctx)
	return tool.Output{Content: []event.Block{&event.Text{Text: "Handing off to " + h.Agent + ": " + h.Message}}, Structured: raw}, nil
}

// handoffOf returns what a turn has handed on; nil for nothing.
func handoffOf(c *Child) *handoff {
	if c.Returned == nil || c.Returned.Name != handoffName {
		return nil
	}
	var h handoff
	if json.Unmarshal(c.Returned.Structured, &h) != nil || h.Agent == "" {
		return nil
	}
	return &h
}

// handed returns the input of the member that goes on.
func (k *swarmKind) handed(s *Scope, h *handoff) []event.Block {
	list := []event.Block{&event.Text{Text: h.Message}}
	if k.Brief {
		var before []string
		for i := range s.Children {
			before = append(before, s.Children[i].Agent)
		}
		list = append(list, &event.Text{Text: "User request:"})
		list = append(list, s.Input...)
		list = append(list, &event.Text{Text: "Agents that worked on it before: " + strings.Join(before, " → ")})
	}
	if shared := sharedContext(s.Children); shared != nil {
		list = append(list, &event.Text{Text: "Context:\n" + string(shared)})
	}
	return list
}

// sharedContext merges the contexts of all hand-offs. A later value replaces an earlier one of the same key.
func sharedContext(children []Child) []byte {
	type entry struct {
		key   string
		value json.RawMessage
	}
	var all []entry
	for i := range children {
		h := handoffOf(&children[i])
		if h == nil || len(h.Context) == 0 {
			continue
		}
		d := json.NewDecoder(bytes.NewReader(h.Context))
		if _, err := d.Token(); err != nil {
			continue
		}
		for d.More() {
			key, err := d.Token()
			var value json.RawMessage
			if err != nil || d.Decode(&value) != nil {
				break
			}
			name, _ := key.(string)
			if at := slices.IndexFunc(all, func(e entry) bool { return e.key == name }); at >= 0 {
				all[at].value = value
			} else {
				all = append(all, entry{name, value})
			}
		}
	}
	if all == nil {
		return nil
	}
	var raw bytes.Buffer
	raw.WriteByte('{')
	for i, e := range all {
		if i > 0 {
			raw.WriteByte(',')
		}
		key, err := json.Marshal(e.key)
		if err != nil {
			return nil
		}
		raw.Write(append(append(key, ':'), e.value...))
	}
	raw.WriteByte('}')
	var shown bytes.Buffer
	if json.Indent(&shown, raw.Bytes(), "", "  ") != nil {
		return nil
	}
	return shown.Bytes()
}
