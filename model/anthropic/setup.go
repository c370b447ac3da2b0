package anthropic

import (
	"bytes"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model"
)

// When instructions or tools change during a conversation, the change is sent as a message of
// the role system, at the place of the change
// (build-with-claude/mid-conversation-system-messages). Everything before it stays the same. So
// the cache remains valid, and so does the thinking that is bound to it
// (build-with-claude/preserved-thinking/change-tools-or-instructions).

// setups reports whether the model takes setup changes between messages. Vertex AI and Bedrock
// do not take tool definitions there, so Braid uses this only with Anthropic's API.
func (m *Model) setups() bool { return m.platform() == onAPI && midway(m.name) }

// toolsChange reports whether the tools differ between setups.
func toolsChange(req *model.Request) bool {
	before := req.Tools
	for i := len(req.Setups) - 1; i >= 0; i-- {
		if !slices.EqualFunc(before, req.Setups[i].Tools, sameTool) {
			return true
		}
	}
	return false
}

func sameTool(a, b model.ToolSpec) bool {
	return a.Name == b.Name && a.Description == b.Description && a.Strict == b.Strict && bytes.Equal(a.Schema, b.Schema)
}

// first returns the setup before all messages.
func (m *Model) first(req *model.Request) (instructions string, tools []model.ToolSpec) {
	instructions, tools = req.Instructions, req.Tools
	if len(req.Setups) == 0 || !m.setups() {
		return instructions, tools
	}
	for i := range req.Setups {
		s := &req.Setups[i]
		if i > 0 && place(req.Messages, s.From) != 0 {
			break
		}
		instructions, tools = s.Instructions, s.Tools
	}
	return instructions, tools
}

// place returns the index at which to insert a setup message: after a user message and before
// its answer. It is -1 if the change must wait: while the vendor continues an answer, it takes
// no change of tools.
func place(messages []event.Message, from int) int {
	at := min(max(from, 0), len(messages))
	if at < len(messages) && messages[at].Role != event.RoleAssistant {
		at++
	}
	switch {
	case at == 0, len(messages) == 0:
		return 0
	case messages[at-1].Role == event.RoleAssistant:
		return -1
	default:
		return at
	}
}

// changed returns the messages of req with setup messages inserted. before are the setup
// messages of the last request; unchanged ones reuse their blocks.
func (m *Model) changed(req *model.Request, before []event.Message) (all, changes []event.Message, err error) {
	if len(req.Setups) == 0 || !m.setups() {
		return req.Messages, nil, nil
	}
	w := m.newSetupWriter(req)
	all = make([]event.Message, 0, len(req.Messages)+len(req.Setups))
	done := 0
	last := model.Setup{From: len(req.Messages), Instructions: req.Instructions, Tools: req.Tools}
	for i := 1; i <= len(req.Setups); i++ {
		s := &last
		if i < len(req.Setups) {
			s = &req.Setups[i]
		}
		at := place(req.Messages, s.From)
		if at <= 0 || at < done {
			continue // it comes before all messages, or must wait
		}
		if next := i + 1; next < len(req.Setups) && place(req.Messages, req.Setups[next].From) == at {
			continue // a later change at the same place replaces it
		} else if next == len(req.Setups) && place(req.Messages, last.From) == at {
			continue
		}
		content, err := w.change(s)
		if err != nil {
			return nil, nil, err
		}
		if len(content) == 0 {
			continue
		}
		if n := len(changes); n < len(before) && slices.EqualFunc(content, before[n].Content, sameBlock) {
			content = before[n].Content
		}
		all = append(all, req.Messages[done:at]...)
		done = at
		change := event.Message{Role: roleSystem, Content: content}
		all, changes = append(all, change), append(changes, change)
	}
	return append(all, req.Messages[done:]...), changes, nil
}

func sameBlock(a, b event.Block) bool {
	x, _ := a.(*event.UnknownBlock)
	y, _ := b.(*event.UnknownBlock)
	return x != nil && y != nil && bytes.Equal(x.Raw, y.Raw)
}

// setupWriter encodes the differences between one setup and the next.
type setupWriter struct {
	m            *Model
	instructions string
	// offered are the names of the tools that the model currently has. defined holds the latest
	// definition of each tool by name.
	offered []string
	defined map[string]string
}

func (m *Model) newSetupWriter(req *model.Request) *setupWriter {
	w := &setupWriter{m: m, defined: map[string]string{}}
	var tools []model.ToolSpec
	w.instructions, tools = m.first(req)
	for i := range tools {
		w.offered = append(w.offered, tools[i].Name)
		w.defined[tools[i].Name] = w.definition(&tools[i])
	}
	return w
}

// definition returns the definition of a tool; "" for a tool that the head has already refused.
func (w *setupWriter) definition(t *model.ToolSpec) string {
	b, err := w.m.appendTool(nil, t)
	if err != nil {
		return ""
	}
	return string(append(b, '}'))
}

// change returns the blocks that turn the previous setup into s.
func (w *setupWriter) change(s *model.Setup) (content []event.Block, err error) {
	add := func(raw []byte) { content = append(content, &event.UnknownBlock{Name: setupBlock, Raw: raw}) }
	var offered []string
	for i := range s.Tools {
		offered = append(offered, s.Tools[i].Name)
	}
	for _, name := range w.offered {
		if !slices.Contains(offered, name) {
			add(append(appendReference([]byte(`{"type":"tool_removal","tool":`), name), '}'))
		}
	}
	for i := range s.Tools {
		t := &s.Tools[i]
		if _, err := w.m.appendTool(nil, t); err != nil {
			return nil, err
		}
		definition := w.definition(t)
		switch {
		case w.defined[t.Name] != definition:
			add([]byte(`{"type":"tool_addition","tool":{"type":"tool_definition","definition":` + definition + `}}`))
			w.defined[t.Name] = definition
		case !slices.Contains(w.offered, t.Name):
			add(append(appendReference([]byte(`{"type":"tool_addition","tool":`), t.Name), '}'))
		}
	}
	if s.Instructions != w.instructions {
		text := "The earlier instructions do not hold any more."
		if strings.TrimSpace(s.Instructions) != "" {
			text = "From here on, these instructions replace the earlier ones:\n\n" + s.Instructions
		}
		add(append(strictjson.AppendString([]byte(`{"type":"text","text":`), text), '}'))
	}
	w.instructions, w.offered = s.Instructions, offered
	return content, nil
}

func appendReference(b []byte, name string) []byte {
	b = strictjson.AppendString(append(b, `{"type":"tool_reference","name":`...), toolNames.Wire(name))
	return append(b, '}')
}

// system writes a setup message.
func (e *encoder) system(content []event.Block) {
	e.dst = append(e.dst, `{"role":"system","content":[`...)
	for _, b := range content {
		if u, ok := b.(*event.UnknownBlock); ok && len(u.Raw) > 1 {
			e.begin(string(u.Raw[:len(u.Raw)-1]))
			e.end()
		}
	}
}
