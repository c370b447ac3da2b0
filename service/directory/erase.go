package directory

import (
	"context"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/database"
)

// Erased counts what an erased tenant had.
type Erased struct {
	Conversations int64 `json:"conversations"`
	Agents        int64 `json:"agents"`
	Models        int64 `json:"models"`
	MCPServers    int64 `json:"mcp_servers"`
	Keys          int64 `json:"keys"`
	AuditEntries  int64 `json:"audit_entries"`
	// AuditKept is how many audit entries are kept, out of reach of every server, until the owner of the tables
	// removes them ([RemoveKeptAudits]). Only PostgreSQL keeps them.
	AuditKept int64 `json:"audit_kept,omitempty"`
	// AuditHead is the hash of the last audit entry. It is empty if there was none.
	AuditHead []byte `json:"audit_head,omitempty"`
}

// EraseTenant removes all data of a tenant in the database: the rows of its conversations, its
// agents, models, keys and audit, and the tenant. What remains is an entry in the operator's own
// audit. Logs and files are stored elsewhere and must be removed first.
//
// Only the operator may call it. It returns [event.ErrConflict] if the tenant is active.
func (d *Directory) EraseTenant(ctx context.Context, by By, id string) (e Erased, err error) {
	const op = "erase tenant"
	if err := by.mustOperate(op); err != nil {
		return Erased{}, err
	}
	if !isSlug(id) {
		return Erased{}, notFound(op, "tenant")
	}
	err = d.write(ctx, op, id, func(tx *database.Tx) error {
		e = Erased{}
		t, err := one(tx, op, "tenant", `SELECT `+tenantColumns+` FROM tenant WHERE id = ?`+tx.ForUpdate(), []any{id}, scanTenant)
		if err != nil {
			return err
		}
		if t.Status == Active {
			return &event.Error{
				Op: op, Kind: event.ErrConflict, Code: "TENANT_ACTIVE", Message: "the tenant is active",
				Hint: "make it inactive first",
			}
		}
		var none int64
		for _, part := range []struct {
			statement string
			count     *int64
		}{
			{`DELETE FROM conversation WHERE tenant = ?`, &e.Conversations},
			{`DELETE FROM conversation_count WHERE tenant = ?`, &none},
			{`DELETE FROM expired WHERE tenant = ?`, &none},
			{`DELETE FROM agent_version WHERE tenant = ?`, &none},
			{`DELETE FROM agent WHERE tenant = ?`, &e.Agents},
			{`DELETE FROM model_name WHERE tenant = ?`, &none},
			{`DELETE FROM model WHERE tenant = ?`, &e.Models},
			{`DELETE FROM mcp_document WHERE tenant = ?`, &none},
			{`DELETE FROM mcp_server_version WHERE tenant = ?`, &none},
			{`DELETE FROM mcp_server WHERE tenant = ?`, &e.MCPServers},
			{`DELETE FROM api_key WHERE tenant = ?`, &e.Keys},
			{`DELETE FROM idempotency WHERE tenant = ?`, &none},
		} {
			if *part.count, err = tx.Exec(part.statement, id); err != nil {
				return err
			}
		}
		if err := tx.EraseSpend(id); err != nil {
			return err
		}
		if e.AuditEntries, e.AuditHead, err = tx.EraseAudit(id); err != nil {
			return err
		}
		if d.db.Shared() {
			e.AuditKept = e.AuditEntries
		}
		if err := tx.For(""); err != nil {
			return err
		}
		if err := forgetRepeats(tx, "", "tenant/"+id); err != nil {
			return err
		}
		return record(tx, "", by, erasing, "tenant/"+id, e)
	})
	if err != nil {
		return Erased{}, err
	}
	return e, nil
}

// Expiry is the time before which a tenant's conversations have expired, by their last change.
type Expiry struct {
	Tenant        string
	Conversations time.Time
}

// Expiries returns the expiries of every tenant with a retention, active or not, at the time now.
func (d *Directory) Expiries(ctx context.Context, now time.Time) ([]Expiry, error) {
	const op = "expiries"
	var list []Expiry
	after := ""
	for {
		n, had, from := 0, len(list), after
		err := d.db.ReadTenants(ctx, op, func(tx *database.Tx) error {
			n, list = 0, list[:had]
			return tx.List(`SELECT `+tenantColumns+` FROM tenant WHERE id > ? ORDER BY id LIMIT ?`, []any{from, manyTenants},
				func(scan func(...any) error) error {
					t, err := scanTenant(scan)
					if err != nil {
						return err
					}
					n, after = n+1, t.ID
					if t.Retention != (Retention{}) {
						list = append(list, t.Retention.expiry(t.ID, now))
					}
					return nil
				})
		})
		if err != nil || n < manyTenants {
			return list, err
		}
	}
}

// manyTenants is how many tenants are read at once.
const manyTenants = 1000

func (r Retention) expiry(tenant string, now time.Time) Expiry {
	return Expiry{Tenant: tenant, Conversations: now.AddDate(0, 0, -r.Conversations)}
}
