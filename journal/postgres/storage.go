package postgres

import (
	"context"
)

const (
	selectStored = `SELECT greatest(coalesce(sum(bytes), 0), 0)::bigint FROM storage WHERE tenant = $1`

	// countBytes counts a change of a log that no trigger sees.
	countBytes = `UPDATE conversation SET bytes = bytes + $2 WHERE key = $1`

	// countMessages counts messages that replace a run's existing ones.
	countMessages = `UPDATE conversation c SET counted = c.counted, bytes = c.bytes + $2
			- (SELECT coalesce(sum(octet_length(m.content)), 0) FROM message_logs m WHERE m.conversation = r.conversation AND m.run = r.key)
		FROM run r WHERE r.id = $1 AND c.key = r.conversation`
)

// StoredBytes implements [journal.Catalog].
func (s *Store) StoredBytes(ctx context.Context, tenant string) (bytes int64, err error) {
	const op = "journal stored bytes"
	if err := alive(ctx, op); err != nil {
		return 0, err
	}
	if err := names(op, tenant); err != nil {
		return 0, err
	}
	var there bool
	err = s.look(ctx, op, ofTenant(tenant), ask(selectStored, []any{tenant}, &there, &bytes))
	return bytes, err
}
