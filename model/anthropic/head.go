package anthropic

import (
	"bytes"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/schema"
)

// of returns the encoded request up to the messages. After an error the cache is empty.
func (h *head) of(m *Model, req *model.Request) ([]byte, error) {
	instructions, tools := m.first(req)
	server, err := m.serverTools(req.Options.ServerTools)
	if err != nil {
		return nil, err
	}
	if h.full && h.instructions == instructions && slices.EqualFunc(h.tools, tools, sameTool) && slices.EqualFunc(h.server, server, bytes.Equal) {
		return h.made, nil
	}
	h.full = false
	made, err := m.appendHead(h.made[:0], instructions, tools, server)
	if err != nil {
		return nil, err
	}
	*h = head{made: made, full: true, instructions: instructions, tools: slices.Clone(tools), server: server}
	return made, nil
}

func (m *Model) appendHead(b []byte, system string, tools []model.ToolSpec, server [][]byte) ([]byte, error) {
	b = strictjson.AppendString(append(b, `{"model":`...), m.name)
	instructions := strings.TrimSpace(system) != ""
	if n := len(tools) + len(server); n > 0 {
		b = append(b, `,"tools":[`...)
		for i := range n {
			if i < len(tools) {
				var err error
				if b, err = m.appendTool(b, &tools[i]); err != nil {
					return nil, err
				}
			} else {
				b = append(b, server[i-len(tools)]...)
			}
			if i == n-1 && !instructions && m.cache != CacheOff {
				b = append(append(b, ','), m.cachePoint()...)
			}
			b = append(b, '}', ',')
		}
		b[len(b)-1] = ']'
	}
	if instructions {
		b = strictjson.AppendString(append(b, `,"system":[{"type":"text","text":`...), system)
		if m.cache != CacheOff {
			b = append(append(b, ','), m.cachePoint()...)
		}
		b = append(b, `}]`...)
	}
	return append(b, `,"messages":[`...), nil
}

// appendTool writes the definition of a tool without its closing brace.
func (m *Model) appendTool(b []byte, t *model.ToolSpec) ([]byte, error) {
	form, words, err := m.toolSchema(t)
	if err != nil {
		return nil, err
	}
	b = strictjson.AppendString(append(b, `{"name":`...), toolNames.Wire(t.Name))
	description := strings.TrimSpace(strings.TrimSpace(t.Description) + "\n\n" + words)
	if description != "" {
		b = strictjson.AppendString(append(b, `,"description":`...), description)
	}
	if t.Strict {
		b = append(b, `,"strict":true`...)
	}
	b = append(b, `,"input_schema":`...)
	return append(b, form...), nil
}

// toolSchema returns a tool's schema as the API accepts it, and a text with the constraints
// that the API does not accept. The tool validates its arguments in any case.
func (m *Model) toolSchema(t *model.ToolSpec) (form []byte, words string, err error) {
	if t.Strict {
		return m.strictSchema(t)
	}
	form, problems := m.forms.Form(t.Schema, schema.AnthropicTools)
	if p, fatal := schema.Worst(problems, schema.Fatal); fatal {
		return nil, "", notSent(event.ErrInvalid, "the parameters of the tool %q cannot be given to Claude: %s",
			"give the tool a schema with \"type\": \"object\"", t.Name, p.Text)
	}
	return form, schema.Words(problems), nil
}

// strictSchema returns the schema of a strict tool. Strict tools have the same subset of JSON
// Schema as structured outputs (agents-and-tools/tool-use/strict-tool-use).
func (m *Model) strictSchema(t *model.ToolSpec) (form []byte, words string, err error) {
	if g := generation(m.name); g > 0 && !schematic(m.name) {
		return nil, "", notSent(event.ErrUnsupported, "the model cannot hold the arguments of the tool %q to its schema",
			"take Claude 4.5 or a newer one, or leave Strict out", t.Name)
	}
	form, problems := m.forms.Form(t.Schema, schema.AnthropicStrictTools)
	if p, fatal := schema.Worst(problems, schema.Fatal); fatal {
		return nil, "", notSent(event.ErrUnsupported, "Claude cannot hold the arguments of the tool %q to its schema: %s",
			"change the schema, or leave Strict out", t.Name, p.Text)
	}
	return form, schema.Words(problems), nil
}

// mostStrict bounds the strict tools of a request
// (build-with-claude/structured-outputs#schema-complexity-limits).
const mostStrict = 20

// checkTools returns an error if the tools cannot be combined in one request.
func checkTools(tools []model.ToolSpec, server []model.ServerTool) error {
	strict := 0
	for i := range tools {
		t := &tools[i]
		if t.Strict {
			strict++
		}
		if slices.ContainsFunc(server, func(s model.ServerTool) bool { return serverName(s.Kind) == toolNames.Wire(t.Name) }) {
			return notSent(event.ErrInvalid, "the tool %q has the name of a server-side tool",
				"give it another name, or leave the server-side tool out", t.Name)
		}
	}
	if strict > mostStrict {
		return notSent(event.ErrUnsupported, "there are %d strict tools: Claude takes %d",
			"leave Strict out where it matters least", strict, mostStrict)
	}
	return nil
}
