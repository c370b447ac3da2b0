package sqlite

import (
	"context"

	"github.com/braidrun/braid/journal"
)

// The length of a value is in the row's header, so the value is not read.
const selectWeight = `SELECT ifnull(sum(length(events)), 0) FROM log WHERE conversation = ? AND last >= ?`

// Weigh implements [journal.Catalog].
func (s *Store) Weigh(ctx context.Context, conversation string) (int64, error) {
	const op = "journal weigh"
	if conversation == "" {
		return 0, noID(op, "a conversation needs an id")
	}
	return s.reader.weigh(ctx, op, conversation)
}

func (r *reader) weigh(ctx context.Context, op, conversation string) (bytes int64, err error) {
	if err := alive(ctx, op); err != nil {
		return 0, err
	}
	err = r.do(op, func() (err error) {
		bytes, err = r.readWeight(ctx, conversation)
		return fault(op, err)
	})
	return bytes, err
}

func (r *reader) readWeight(ctx context.Context, conversation string) (bytes int64, err error) {
	t := journal.Tail{First: 1}
	var key int64
	var tenant string
	there, err := r.row(ctx, selectTalk, []any{conversation}, &key, &tenant, &t.Last)
	if err != nil || !there {
		return 0, err
	}
	if err := r.begin(ctx, key, &t); err != nil {
		return 0, err
	}
	_, err = r.row(ctx, selectWeight, []any{key, t.First}, &bytes)
	return bytes, err
}
