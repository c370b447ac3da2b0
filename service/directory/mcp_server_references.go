package directory

import "strconv"

func (r *References) mcpServer(s *MCPServer, document []byte) error {
	if r.MCPServer == nil {
		return nil
	}
	return r.MCPServer(s, document)
}

// mcpServer refuses a server that the tenant does not have. Inactive ones exist.
func (r *referrer) mcpServer(path, id string) error {
	there, err := r.tx.Get(`SELECT id FROM mcp_server WHERE tenant = ? AND id = ?`, []any{r.tenant.ID, id}, new(string))
	if err != nil || there {
		return err
	}
	known, err := r.list(`SELECT id FROM mcp_server WHERE tenant = ? ORDER BY id LIMIT ?`, r.tenant.ID)
	if err != nil {
		return err
	}
	return r.refuse(path, "the tenant has no MCP server "+strconv.Quote(id), knownNames("MCP servers", known))
}
