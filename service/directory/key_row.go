package directory

import "github.com/braidrun/braid/service/database"

const keyColumns = `tenant, id, person, expires, revoked, used, revision, created, updated, doc`

func scanKey(scan func(...any) error) (Key, error) {
	var k Key
	err := scanDoc(scan, &k, &k.Tenant, &k.ID, &k.User, &k.Expires, &k.Revoked, &k.LastUsed, &k.Revision, &k.Created, &k.Updated)
	return k, err
}

func getKey(tx *database.Tx, op, tenant, id, lock string) (Key, error) {
	return one(tx, op, "key", `SELECT `+keyColumns+` FROM api_key WHERE tenant = ? AND id = ?`+lock, []any{tenant, id}, scanKey)
}
