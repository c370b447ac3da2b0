package sqlite

import (
	"context"
	"encoding/json"

	"github.com/braidrun/braid/event"
)

// removedAtOnce is the number of conversations per transaction, so that others can write in
// between.
const removedAtOnce = 100

// RemoveTenant implements [journal.Catalog].
func (s *Store) RemoveTenant(ctx context.Context, tenant string) error {
	const op = "journal remove tenant"
	for more := true; more; {
		if err := alive(ctx, op); err != nil {
			return err
		}
		err := s.write(ctx, op, false, func(x *tx) (err error) {
			more, err = removeSome(x, op, tenant)
			return err
		})
		if err != nil {
			return err
		}
	}
	if err := s.Blobs().RemoveTenant(ctx, tenant); err != nil {
		return err
	}
	return s.write(ctx, op, false, func(x *tx) error {
		_, err := x.exec(`DELETE FROM storage WHERE tenant = ?`, tenant)
		return err
	})
}

// removeSome removes some of a tenant's conversations. more reports whether there may be more.
func removeSome(x *tx, op, tenant string) (more bool, err error) {
	keys, err := someKeys(x, tenant)
	if err != nil {
		return false, err
	}
	clear(x.w.fences)
	if len(keys) == 0 {
		var open int64
		there, err := x.row(`SELECT key FROM conversation WHERE tenant = ? LIMIT 1`, []any{tenant}, &open)
		if err != nil {
			return false, err
		}
		if there {
			return false, &event.Error{
				Op: op, Kind: event.ErrLocked, Message: "a run of the tenant has not ended",
				Hint: "cancel it, or wait for it, and try again",
			}
		}
		for _, remove := range []string{
			`DELETE FROM usage_logs WHERE tenant = ?`, `DELETE FROM usage_days WHERE tenant = ?`, `DELETE FROM usage_people WHERE tenant = ?`,
			`DELETE FROM state WHERE tenant = ?`, `DELETE FROM buried WHERE tenant = ?`,
		} {
			if _, err := x.exec(remove, tenant); err != nil {
				return false, err
			}
		}
		return false, nil
	}
	list, err := json.Marshal(keys)
	if err != nil {
		return false, err
	}
	const these = `(SELECT value FROM json_each(?))`
	for _, remove := range []string{
		`DELETE FROM message_logs WHERE conversation IN ` + these,
		`DELETE FROM tool_execution_logs WHERE run IN (SELECT key FROM run WHERE conversation IN ` + these + `)`,
		`DELETE FROM mail WHERE run IN (SELECT key FROM run WHERE conversation IN ` + these + `)`,
		`DELETE FROM compaction WHERE conversation IN ` + these,
		`DELETE FROM log WHERE conversation IN ` + these,
		`UPDATE conversation SET holder = NULL WHERE key IN ` + these,
		`DELETE FROM run WHERE conversation IN ` + these,
		`DELETE FROM conversation WHERE key IN ` + these,
	} {
		if _, err := x.exec(remove, string(list)); err != nil {
			return false, err
		}
	}
	return true, nil
}

// someKeys returns conversations without an open run.
func someKeys(x *tx, tenant string) (keys []int64, err error) {
	rows, err := x.query(`SELECT key FROM conversation WHERE tenant = ? AND turns = ended LIMIT ?`, tenant, removedAtOnce)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var key int64
		if err := rows.Scan(&key); err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, rows.Err()
}
