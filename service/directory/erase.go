package directory

import (
	"context"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/database"
)

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
			{`DELETE FROM mcp_grant WHERE tenant = ?`, &none},
			{`DELETE FROM mcp_document WHERE tenant = ?`, &none},
			{`DELETE FROM mcp_server_version WHERE tenant = ?`, &none},
			{`DELETE FROM mcp_server WHERE tenant = ?`, &e.MCPServers},
			{`DELETE FROM webhook_due WHERE tenant = ?`, &none},
			{`DELETE FROM webhook_notice WHERE tenant = ?`, &none},
			{`DELETE FROM webhook_delivery WHERE tenant = ?`, &none},
			{`DELETE FROM webhook WHERE tenant = ?`, &e.Webhooks},
			{`DELETE FROM skill_loose WHERE tenant = ?`, &none},
			{`DELETE FROM skill_version WHERE tenant = ?`, &none},
			{`DELETE FROM skill WHERE tenant = ?`, &e.Skills},
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
