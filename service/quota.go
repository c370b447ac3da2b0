package service

import (
	"context"
	"log/slog"

	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/workspace"
)

// quotas holds tenants to what they may store and spend. It counts and refuses; it knows no
// conversation but its row, and no run but the one that is to be admitted.
type quotas struct {
	// directory has the tenants' quotas. nil means that there are none.
	directory *directory.Directory
	rows      Rows
	journal   journal.Journal
	log       *slog.Logger
	storage   storage
	spending  spendStore
	// workspaces count files that are not in the journal. nil means that there are none.
	workspaces workspace.Backend
}

func newQuotas(o *Options) *quotas {
	return &quotas{
		directory: o.Directory, rows: o.Rows, journal: o.Journal, log: o.Log, spending: newSpendStore(o.Directory, o.Journal),
		workspaces: o.WorkspaceBackend,
	}
}

// of returns the tenant's current quota and the tenant's life.
func (q *quotas) of(ctx context.Context, tenant string) (quota directory.Quota, life string, err error) {
	if q.directory == nil || tenant == "" {
		return directory.Quota{}, "", nil
	}
	return q.directory.Quota(ctx, tenant)
}
