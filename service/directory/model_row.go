package directory

import (
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/database"
)

const modelColumns = `tenant, id, life, status, revision, created, updated, doc`

func scanModel(scan func(...any) error) (Model, error) {
	var m Model
	err := scanDoc(scan, &m, &m.Tenant, &m.ID, &m.Life, &m.Status, &m.Revision, &m.Created, &m.Updated)
	return m, err
}

func nameModel(tx *database.Tx, op string, m *Model) error {
	if _, err := tx.Exec(`DELETE FROM model_name WHERE tenant = ? AND model = ?`, m.Tenant, m.ID); err != nil {
		return err
	}
	for _, name := range namesOf(m) {
		n, err := tx.Exec(`INSERT INTO model_name (tenant, name, model) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, m.Tenant, name, m.ID)
		if err != nil {
			return err
		}
		if n == 0 {
			return &event.Error{
				Op: op, Kind: event.ErrConflict, Code: "MODEL_NAME_TAKEN", Message: "another model is called " + name,
				Hint: "remove the name from it first (force=true if something refers to it), or use another name",
			}
		}
	}
	return nil
}

func getModel(tx *database.Tx, op, tenant, id, lock string) (Model, error) {
	return one(tx, op, "model", `SELECT `+modelColumns+` FROM model WHERE tenant = ? AND id = ?`+lock, []any{tenant, id}, scanModel)
}
