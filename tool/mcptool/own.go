package mcptool

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// own is a tool that this package makes for a server, under the name that it has there.
type own string

// These are the tools of this package.
const (
	ownSignIn        own = "sign_in"
	ownListResources own = "list_resources"
	ownReadResource  own = "read_resource"
	ownListPrompts   own = "list_prompts"
	ownGetPrompt     own = "get_prompt"
)

// ownAbout describes a tool of this package.
type ownAbout struct {
	own                 own
	description, schema string
	offered             bool
}

// ownTools returns the tools for the resources and prompts of a server that has some. seen are the names of the server's own
// tools, which are preferred.
func (s *server) ownTools(c *mcp.ServerCapabilities, seen map[string]bool) (list []*Tool) {
	if c == nil || s.options.ToolsOnly {
		return nil
	}
	const cursor = `{"type":"object","properties":{"cursor":{"type":"string","description":"Where to go on, from an earlier list."}},` +
		`"additionalProperties":false}`
	for _, one := range []ownAbout{
		{ownListResources, "Lists the resources of the MCP server %q, such as files and records, with their addresses.", cursor, c.Resources != nil},
		{
			ownReadResource, "Reads a resource of the MCP server %q.",
			`{"type":"object","properties":{"uri":{"type":"string","description":"The address, as listed or made from a template."}},` +
				`"required":["uri"],"additionalProperties":false}`, c.Resources != nil,
		},
		{ownListPrompts, "Lists the prompts that the MCP server %q offers: templates of messages for typical tasks.", cursor, c.Prompts != nil},
		{
			ownGetPrompt, "Gets a prompt of the MCP server %q, filled with arguments.",
			`{"type":"object","properties":{"name":{"type":"string"},"arguments":{"type":"object","additionalProperties":{"type":"string"}}},` +
				`"required":["name"],"additionalProperties":false}`, c.Prompts != nil,
		},
	} {
		if !one.offered || seen[string(one.own)] || !s.wanted(string(one.own)) {
			continue
		}
		seen[string(one.own)] = true
		list = append(list, &Tool{
			from: s, server: s.config.Name, name: string(one.own), own: one.own, hints: Hints{ReadOnly: true, Idempotent: true, OpenWorld: true},
			spec: model.ToolSpec{
				Name: string(one.own), Schema: json.RawMessage(one.schema), Description: fmt.Sprintf(one.description, s.config.Name),
			},
			// The protocol says that these change nothing.
			traits: tool.Traits{Effect: event.EffectPure, Timeout: s.options.CallTimeout},
		})
	}
	return list
}

// ownArgs are the arguments of all tools of this package.
type ownArgs struct {
	Cursor    string            `json:"cursor"`
	URI       string            `json:"uri"`
	Name      string            `json:"name"`
	Arguments map[string]string `json:"arguments"`
}

// argsOf reads the arguments of a tool of this package.
func (t *Tool) argsOf(args json.RawMessage) (in ownArgs, err error) {
	if err := json.Unmarshal(args, &in); err != nil {
		return in, fault(t.server, event.ErrInvalid, "was not asked: the arguments cannot be read", "write them as the schema says", err)
	}
	return in, nil
}

// request sends the request that a call of the tool is.
func (t *Tool) request(ctx context.Context, cs *mcp.ClientSession, args json.RawMessage, r *round) (any, error) {
	if t.own == "" {
		return cs.CallTool(ctx, &mcp.CallToolParams{
			Name: t.name, Arguments: args, Meta: r.meta, InputResponses: r.responses, RequestState: r.state,
		})
	}
	in, err := t.argsOf(args)
	if err != nil {
		return nil, err
	}
	switch t.own {
	case ownReadResource:
		return cs.ReadResource(ctx, &mcp.ReadResourceParams{URI: in.URI, Meta: r.meta, InputResponses: r.responses, RequestState: r.state})
	case ownListPrompts:
		return cs.ListPrompts(ctx, &mcp.ListPromptsParams{Cursor: in.Cursor, Meta: r.meta})
	case ownGetPrompt:
		return cs.GetPrompt(ctx, &mcp.GetPromptParams{
			Name: in.Name, Arguments: in.Arguments, Meta: r.meta, InputResponses: r.responses, RequestState: r.state,
		})
	default:
		return t.listResources(ctx, cs, in.Cursor, r)
	}
}

// read turns a result into what the model reads.
func (t *Tool) read(raw json.RawMessage) (tool.Output, error) {
	limit := t.from.options.TextBytes
	switch t.own {
	case "":
		return output(raw, limit)
	case ownReadResource:
		return resourceOutput(raw, limit)
	case ownListPrompts:
		return promptList(raw, limit)
	case ownGetPrompt:
		return promptOutput(raw, limit)
	default:
		return resourceList(raw, limit)
	}
}
