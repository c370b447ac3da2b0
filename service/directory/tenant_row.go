package directory

import "github.com/braidrun/braid/service/database"

const tenantColumns = `id, life, status, revision, created, updated, doc`

func scanTenant(scan func(...any) error) (Tenant, error) {
	var t Tenant
	err := scanDoc(scan, &t, &t.ID, &t.Life, &t.Status, &t.Revision, &t.Created, &t.Updated)
	return t, err
}

func getTenant(tx *database.Tx, op, id string) (t Tenant, err error) {
	return one(tx, op, "tenant", `SELECT `+tenantColumns+` FROM tenant WHERE id = ?`, []any{id}, scanTenant)
}

// needTenant returns an error if the tenant does not exist.
func needTenant(tx *database.Tx, op, tenant string) error {
	var id string
	there, err := tx.Get(`SELECT id FROM tenant WHERE id = ?`, []any{tenant}, &id)
	if err == nil && !there {
		return notFound(op, "tenant")
	}
	return err
}
