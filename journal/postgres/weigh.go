package postgres

import (
	"context"

	"github.com/braidrun/braid/journal"
)

// PostgreSQL finds the length of a large value without reading the value.
const selectWeight = `SELECT coalesce(sum(octet_length(events)), 0)::bigint FROM log WHERE conversation = $1 AND last >= $2`

// Weigh implements [journal.Catalog].
func (s *Store) Weigh(ctx context.Context, conversation string) (bytes int64, err error) {
	const op = "journal weigh"
	if err := alive(ctx, op); err != nil {
		return 0, err
	}
	if conversation == "" {
		return 0, noID(op, "a conversation needs an id")
	}
	if err := names(op, conversation); err != nil {
		return 0, err
	}
	err = s.transact(ctx, op, ofConversation(conversation), func(x *tx) error {
		bytes = 0
		t := journal.Tail{First: 1}
		var key int64
		var tenant string
		var there bool
		if err := x.begin(beginRead, ask(selectTalk, []any{conversation}, &there, &key, &tenant, &t.Last)); err != nil || !there {
			return err
		}
		if err := x.tailBegins(key, &t); err != nil {
			return err
		}
		return x.more(ask(selectWeight, []any{key, t.First}, &there, &bytes), do(`COMMIT`))
	})
	return bytes, err
}
