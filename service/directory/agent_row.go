package directory

import "github.com/braidrun/braid/service/database"

const (
	agentColumns = `a.tenant, a.id, a.life, a.status, a.version, a.revision, a.created, a.updated, v.version, v.doc`
	selectAgent  = `SELECT ` + agentColumns + ` FROM agent a JOIN agent_version v ON v.tenant = a.tenant AND v.agent = a.id`
)

func scanAgent(scan func(...any) error) (Agent, error) {
	var a Agent
	var created, updated int64
	var doc string
	if err := scan(&a.Tenant, &a.ID, &a.Life, &a.Status, &a.Newest, &a.Revision, &created, &updated, &a.Version, &doc); err != nil {
		return Agent{}, err
	}
	a.Created, a.Updated = database.Time(created), database.Time(updated)
	return a, decode(doc, &a.AgentSpec)
}

func addVersion(tx *database.Tx, a *Agent) error {
	doc, err := encode(a.AgentSpec)
	if err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO agent_version (tenant, agent, version, created, doc) VALUES (?, ?, ?, ?, ?)`,
		a.Tenant, a.ID, a.Version, database.Micros(a.Updated), doc)
	return err
}

func getAgent(tx *database.Tx, op, tenant, id string, version int) (Agent, error) {
	which, args := ` AND v.version = a.version`, []any{tenant, id}
	if version > 0 {
		which, args = ` AND v.version = ?`, append(args, version)
	}
	return one(tx, op, "agent", selectAgent+` WHERE a.tenant = ? AND a.id = ?`+which, args, scanAgent)
}

// lockAgents serializes the writes of the tenant's agents: which agents are below which depends on
// all of them.
func lockAgents(tx *database.Tx, tenant string) error {
	_, err := tx.Get(`SELECT id FROM tenant WHERE id = ?`+tx.ForUpdate(), []any{tenant}, new(string))
	return err
}
