package directory

import (
	"context"
	"time"

	"github.com/braidrun/braid/service/database"
)

// ListAgentVersions lists the versions of an agent, the newest first. It ignores q.Status and
// q.Sort.
func (d *Directory) ListAgentVersions(ctx context.Context, tenant, id string, q Query) (list []AgentVersion, next string, err error) {
	return versions(ctx, d.db, tenant, id, q, versionList[AgentVersion]{
		op: "list agent versions", none: func(op string) error { return notFound(op, "agent") },
		exists: func(tx *database.Tx, op string) error { _, err := getAgent(tx, op, tenant, id, 0); return err },
		table:  "agent_version", column: "agent",
		read: func(version int, created time.Time, doc string) (AgentVersion, error) {
			v := AgentVersion{Version: version, Created: created}
			return v, decode(doc, &v.AgentSpec)
		},
		number: func(v AgentVersion) int { return v.Version },
	})
}
