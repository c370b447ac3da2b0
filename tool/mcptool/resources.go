package mcptool

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool"
)

// longestLine bounds what one entry of a list says.
const longestLine = 500

// wireList is a page of a list, as the servers write it.
//
//nolint:tagliatelle // the protocol's names
type wireList struct {
	Resources []wireContent     `json:"resources,omitempty"`
	Templates []wireTemplate    `json:"resourceTemplates,omitempty"`
	Prompts   []json.RawMessage `json:"prompts,omitempty"`
	Next      string            `json:"nextCursor,omitempty"`
}

//nolint:tagliatelle // the protocol's names
type wireTemplate struct {
	URI         string `json:"uriTemplate"`
	Name        string `json:"name"`
	Title       string `json:"title"`
	Description string `json:"description"`
	MIME        string `json:"mimeType"`
}

// listResources lists a page of the resources, and before the first page the templates of their addresses.
func (t *Tool) listResources(ctx context.Context, cs *mcp.ClientSession, cursor string, r *round) (any, error) {
	page, err := cs.ListResources(ctx, &mcp.ListResourcesParams{Cursor: cursor, Meta: r.meta})
	if err != nil || cursor != "" {
		return page, err
	}
	inner, f := withFlight(ctx)
	defer f.land()
	templates, err := cs.ListResourceTemplates(inner, &mcp.ListResourceTemplatesParams{Meta: r.meta})
	if err != nil && ctx.Err() != nil {
		return nil, err
	}
	all := struct {
		*mcp.ListResourcesResult

		Templates []*mcp.ResourceTemplate `json:"resourceTemplates,omitempty"` //nolint:tagliatelle // the protocol's name
	}{ListResourcesResult: page}
	if err == nil { // a server need not know templates
		all.Templates = templates.ResourceTemplates
	}
	raw, err := json.Marshal(all)
	return json.RawMessage(raw), err
}

// resourceList is a list of resources as text: one a line, as in the links of results.
func resourceList(raw json.RawMessage, limit int) (tool.Output, error) {
	var w wireList
	if err := json.Unmarshal(raw, &w); err != nil {
		return tool.Output{}, err
	}
	lines := make([]string, 0, len(w.Resources)+len(w.Templates))
	for i := range w.Templates {
		one := &w.Templates[i]
		lines = append(lines, line("template", one.URI, named(one.Title, one.Name), one.MIME, one.Description))
	}
	for i := range w.Resources {
		c := &w.Resources[i]
		lines = append(lines, line("resource", c.URI, named(c.Title, c.Name), c.MIME, c.Description))
	}
	return listed(lines, "resources", w.Next, limit), nil
}

func named(title, name string) string {
	if title != "" {
		return title
	}
	return name
}

// line is an entry of a list.
func line(kind string, parts ...string) string {
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	for i := range parts {
		parts[i] = strings.Join(strings.Fields(clean(strings.ToValidUTF8(parts[i], ""))), " ")
		if len(parts[i]) > longestLine && i > 0 { // an address is of use only whole
			parts[i] = strings.ToValidUTF8(parts[i][:longestLine], "") + "…"
		}
	}
	return "[" + kind + " " + strings.Join(parts, " · ") + "]"
}

// listed is a page of a list as text, and says how to go on.
func listed(lines []string, what, next string, limit int) tool.Output {
	if len(lines) == 0 && next == "" {
		return tool.Text("The server has no " + what + ".")
	}
	left := limit
	text := boundText(strings.Join(lines, "\n"), &left)
	if next != "" {
		cursor, err := json.Marshal(next)
		if err == nil && len(cursor) <= longestURL {
			text += "\n[there are more: call this again with the cursor " + string(cursor) + "]"
		}
	}
	return tool.Text(text)
}

// resourceOutput turns the contents of a resource into blocks, as those of an embedded resource.
func resourceOutput(raw json.RawMessage, limit int) (tool.Output, error) {
	var w struct {
		Contents []json.RawMessage `json:"contents"`
	}
	if err := json.Unmarshal(raw, &w); err != nil {
		return tool.Output{}, err
	}
	var out tool.Output
	left := limit
	rest := len(w.Contents) - maxBlocks
	if rest > 0 {
		w.Contents = w.Contents[:maxBlocks]
	}
	for _, one := range w.Contents {
		embedded, err := json.Marshal(map[string]any{"type": "resource", "resource": one})
		if err != nil {
			return tool.Output{}, err
		}
		out.Content = append(out.Content, block(embedded, &left))
	}
	switch {
	case rest > 0:
		out.Content = append(out.Content, &event.Text{Text: fmt.Sprintf("[cut: %d more parts are left out]", rest)})
	case len(out.Content) == 0:
		return tool.Text("The resource is empty."), nil
	}
	return out, nil
}
