package directory

// Sealer encrypts stored values. context says where a value belongs. It is not stored, and must be
// the same when the value is opened.
type Sealer interface {
	Seal(plain, context []byte) (sealed []byte, err error)
	Open(sealed, context []byte) (plain []byte, err error)
}

// A model's key is encrypted for one place: its tenant, its model, its column and the model's life.
// Copied to another row, or to a later model with the same id, it cannot be decrypted.

// place returns the context for which a model's key is encrypted.
func place(tenant, model, life string) []byte {
	return []byte(tenant + "|model|" + model + "|secret|" + life)
}

// lifelessPlace returns the context of keys that an older version encrypted. It is the same for
// every life of the model.
func lifelessPlace(tenant, model string) []byte {
	return []byte(tenant + "|model|" + model + "|secret")
}

// secretTables are the tables with secrets. Each has the columns tenant, id, life and secret.
var secretTables = []string{"model", "mcp_server", "mcp_grant", "webhook"}

// storedSecret is the stored key of a model, the stored headers of an MCP server, a grant for one, or the
// secrets of a webhook.
type storedSecret struct {
	// table is one of secretTables.
	table            string
	tenant, id, life string

	sealed []byte
}

// place returns the context for which a stored secret is encrypted.
func (s *storedSecret) place() []byte {
	switch s.table {
	case "mcp_server":
		return mcpPlace(s.tenant, s.id, s.life)
	case "mcp_grant":
		return grantPlace(s.tenant, s.id, s.life)
	case "webhook":
		return webhookPlace(s.tenant, s.id, s.life)
	}
	return place(s.tenant, s.id, s.life)
}

// name returns the name of a stored secret's object in a report.
func (s *storedSecret) name() string {
	switch s.table {
	case "mcp_server":
		return s.tenant + "/mcp-server/" + s.id
	case "mcp_grant":
		return s.tenant + "/mcp-grant/" + s.id
	case "webhook":
		return s.tenant + "/webhook/" + s.id
	}
	return s.tenant + "/" + s.id
}

// open decrypts a stored secret. lifeless reports that an older version encrypted it, so that it must
// be encrypted again.
func (s *storedSecret) open(keys Sealer) (plain []byte, lifeless bool, err error) {
	if plain, err = keys.Open(s.sealed, s.place()); err == nil || s.table != "model" {
		return plain, false, err
	}
	plain, old := keys.Open(s.sealed, lifelessPlace(s.tenant, s.id))
	if old != nil {
		return nil, false, err
	}
	return plain, true, nil
}

// mcpPlace returns the context for which the secret headers of a server are encrypted.
func mcpPlace(tenant, server, life string) []byte {
	return []byte(tenant + "|mcp_server|" + server + "|secret|" + life)
}

// webhookPlace returns the context for which the secrets of a webhook are encrypted.
func webhookPlace(tenant, webhook, life string) []byte {
	return []byte(tenant + "|webhook|" + webhook + "|secret|" + life)
}
