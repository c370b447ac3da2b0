package directory

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/braidrun/braid/service/database"
)

// Erasure records that an audit was erased. On PostgreSQL the servers' role can neither change nor
// remove it.
type Erasure struct {
	Tenant  string    `json:"tenant"`
	Time    time.Time `json:"time"`
	Entries int64     `json:"entries"`
	// Head is the hash of the last erased entry.
	Head []byte `json:"head"`
}

// erasing is the action of the operator's audit entry about an erased tenant.
const erasing = "tenant.erase"

// unrecordedErasures returns the erasures of a tenant's audit, or of all audits for "", without an
// entry in the operator's audit.
func (d *Directory) unrecordedErasures(ctx context.Context, op, tenant string) (list []Erasure, err error) {
	statement, args := `SELECT tenant, at, entries, head FROM audit_erasure`, []any{}
	if tenant != "" {
		statement, args = statement+` WHERE tenant = ?`, []any{tenant}
	}
	err = d.db.Read(ctx, op, tenant, func(tx *database.Tx) error {
		list = nil
		return tx.List(statement+` ORDER BY id`, args, func(scan func(...any) error) error {
			var e Erasure
			var at int64
			err := scan(&e.Tenant, &at, &e.Entries, &e.Head)
			e.Time = database.Time(at)
			list = append(list, e)
			return err
		})
	})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	recorded, err := d.recordedErasures(ctx, op)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list, func(e Erasure) bool { return recorded[erasedAudit{"tenant/" + e.Tenant, string(e.Head)}] }), nil
}

// erasedAudit identifies an audit by its tenant and its last hash.
type erasedAudit struct{ object, head string }

// recordedErasures returns the erasures with an entry in the operator's audit.
func (d *Directory) recordedErasures(ctx context.Context, op string) (recorded map[erasedAudit]bool, err error) {
	err = d.db.Read(ctx, op, "", func(tx *database.Tx) error {
		recorded = make(map[erasedAudit]bool)
		return tx.List(`SELECT object, detail FROM audit WHERE tenant = ? AND action = ?`, []any{"", erasing}, func(scan func(...any) error) error {
			var object, detail string
			if err := scan(&object, &detail); err != nil {
				return err
			}
			var e Erased
			if json.Unmarshal([]byte(detail), &e) == nil {
				recorded[erasedAudit{object, string(e.AuditHead)}] = true
			}
			return nil
		})
	})
	return recorded, err
}

// Erased counts what an erased tenant had.
type Erased struct {
	Conversations int64 `json:"conversations"`
	Agents        int64 `json:"agents"`
	Models        int64 `json:"models"`
	MCPServers    int64 `json:"mcp_servers"`
	Webhooks      int64 `json:"webhooks"`
	Skills        int64 `json:"skills"`
	Keys          int64 `json:"keys"`
	AuditEntries  int64 `json:"audit_entries"`
	// AuditKept is how many audit entries are kept, out of reach of every server, until the owner of the tables
	// removes them ([RemoveKeptAudits]). Only PostgreSQL keeps them.
	AuditKept int64 `json:"audit_kept,omitempty"`
	// AuditHead is the hash of the last audit entry. It is empty if there was none.
	AuditHead []byte `json:"audit_head,omitempty"`
}
