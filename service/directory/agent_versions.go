package directory

import (
	"context"
	"math"
	"strconv"

	"github.com/braidrun/braid/internal/cursor"
	"github.com/braidrun/braid/service/database"
)

// ListAgentVersions lists the versions of an agent, the newest first. It ignores q.Status and
// q.Sort.
func (d *Directory) ListAgentVersions(ctx context.Context, tenant, id string, q Query) (list []AgentVersion, next string, err error) {
	const op = "list agent versions"
	if err := q.check(op); err != nil {
		return nil, "", err
	}
	if !isSlug(tenant) || !isSlug(id) {
		return nil, "", notFound(op, "agent")
	}
	name := op + "/" + tenant + "/" + id
	before := int64(math.MaxInt32)
	if q.Cursor != "" {
		place, ok := cursor.Decode(name, q.Cursor, 1)
		if ok {
			before, err = strconv.ParseInt(place[0], 10, 32)
		}
		if !ok || err != nil {
			return nil, "", badCursor(op)
		}
	}
	err = d.db.Read(ctx, op, tenant, func(tx *database.Tx) error {
		if _, err := getAgent(tx, op, tenant, id, 0); err != nil {
			return err
		}
		list = nil
		return tx.List(`SELECT version, created, doc FROM agent_version WHERE tenant = ? AND agent = ? AND version < ?
			ORDER BY version DESC LIMIT ?`, []any{tenant, id, before, q.Limit + 1}, func(scan func(...any) error) error {
			var v AgentVersion
			var created int64
			var doc string
			if err := scan(&v.Version, &created, &doc); err != nil {
				return err
			}
			v.Created = database.Time(created)
			err := decode(doc, &v.AgentSpec)
			list = append(list, v)
			return err
		})
	})
	if err != nil || len(list) <= q.Limit {
		return list, "", err
	}
	list = list[:q.Limit]
	return list, cursor.Encode(name, strconv.Itoa(list[len(list)-1].Version)), nil
}
