package service

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/directory"
)

// This file enforces the tenants' storage quota. Beyond it new conversations, runs and messages are
// refused, and a run ends before its next model call. Committed data stays, and deleting always
// works.

// stored counts what the tenant stores: the rows of its conversations, their data in the journal,
// and their files elsewhere.
func (q *quotas) stored(ctx context.Context, tenant string) (int64, error) {
	bytes, err := q.rows.Bytes(ctx, tenant)
	if err != nil {
		return 0, err
	}
	logs, err := q.journal.StoredBytes(ctx, tenant)
	if err != nil || q.workspaces == nil {
		return bytes + logs, err
	}
	files, err := q.workspaces.Stored(ctx, tenant)
	return bytes + logs + files, err
}

// stores returns an error if the tenant may not store so many bytes more. It counts again before it
// refuses, so that deleting frees space at once.
func (q *quotas) stores(ctx context.Context, tenant string, more int64) error {
	return q.admit(ctx, tenant, more, false)
}

// admit is stores, also for the bytes of a running upload.
func (q *quotas) admit(ctx context.Context, tenant string, more int64, upload bool) error {
	quota, life, err := q.of(ctx, tenant)
	if err != nil {
		return err
	}
	most := directory.Bound(quota.Storage)
	if most == 0 {
		if upload {
			q.storage.hold(tenant, more)
		}
		return nil
	}
	if q.storage.admit(tenant, life, more, most, upload, time.Now()) == storageAdmitted {
		return nil
	}
	landed := q.storage.begin(tenant)
	defer q.storage.end(tenant, 0, 0)
	began := time.Now()
	bytes, err := q.stored(ctx, tenant)
	if err != nil {
		return err
	}
	q.storage.keep(tenant, life, bytes, landed, began)
	if q.storage.admit(tenant, life, more, most, upload, began) != storageAdmitted {
		return noRoom(most)
	}
	return nil
}

func noRoom(most int64) error {
	return directory.OverQuota("quota", "QUOTA_STORAGE",
		"the conversations of the tenant take as many bytes as they may, "+strconv.FormatInt(most, 10),
		"delete conversations that you do not need, or ask the operator of this service for more")
}

// holds refuses a run whose input the tenant may not store, unless the run was accepted before.
func (q *quotas) holds(ctx context.Context, in *admission) error {
	var more int64
	for i := range in.run.Input {
		more += sizeOfBlocks(in.run.Input[i].Content)
	}
	err := q.stores(ctx, in.row.Tenant, more)
	if err == nil {
		return nil
	}
	if again, look := in.repeats(ctx, q.journal); again || look != nil {
		return look
	}
	return err
}

// full returns an error if the tenant may not store the output of a model call. If that cannot be
// checked the call is made: the run could not commit either.
func (q *quotas) full(ctx context.Context, tenant string) error {
	if err := q.stores(ctx, tenant, 0); errors.Is(err, event.ErrQuota) {
		return err
	}
	return nil
}

// keep adds the row of a new conversation if the tenant's quota allows it.
func (q *quotas) keep(ctx context.Context, row Row) error {
	quota, _, err := q.of(ctx, row.Tenant)
	if err != nil {
		return err
	}
	if err := q.stores(ctx, row.Tenant, row.size()); err != nil {
		return err
	}
	return q.rows.Create(ctx, row, directory.Bound(quota.Conversations))
}
