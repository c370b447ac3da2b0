package directory

import (
	"context"
	"time"

	"github.com/braidrun/braid/service/database"
)

// KeptAudit is the audit of an erased tenant. PostgreSQL keeps it out of reach of every server
// until the owner of the tables removes it.
type KeptAudit struct {
	// ID distinguishes the audits of tenants that reused one id.
	ID     int64     `json:"id"`
	Tenant string    `json:"tenant"`
	Erased time.Time `json:"erased_at"`
	// Entries is how many entries the audit had.
	Entries int64 `json:"entries"`
	// Kept is how many of them are kept.
	Kept int64 `json:"kept"`
}

// KeptAudits lists the audits of erased tenants, the last erased first.
func KeptAudits(ctx context.Context, o *database.Owner) (list []KeptAudit, err error) {
	err = o.List(ctx, "kept audits", `SELECT e.id, e.tenant, e.at, e.entries, (SELECT count(*) FROM audit_kept k WHERE k.erasure = e.id)
		FROM audit_erasure e ORDER BY e.id DESC`, nil, func(scan func(...any) error) error {
		var k KeptAudit
		var at int64
		err := scan(&k.ID, &k.Tenant, &at, &k.Entries, &k.Kept)
		k.Erased = database.Time(at)
		list = append(list, k)
		return err
	})
	return list, err
}

// KeptEntries calls each with the entries of a kept audit, the oldest first.
func KeptEntries(ctx context.Context, o *database.Owner, id int64, each func(Entry) error) error {
	return o.List(ctx, "kept audit", `SELECT `+entryColumns+` FROM audit_kept WHERE erasure = $1 ORDER BY seq`, []any{id},
		func(scan func(...any) error) error {
			e, err := scanEntry(scan)
			if err != nil {
				return err
			}
			return each(e)
		})
}

// RemoveKeptAudits removes the entries of audits that were erased before a time, and returns their
// number. The records of the erasures stay.
func RemoveKeptAudits(ctx context.Context, o *database.Owner, before time.Time) (int64, error) {
	return o.Exec(ctx, "remove kept audits", `DELETE FROM audit_kept k USING audit_erasure e WHERE e.id = k.erasure AND e.at < $1`,
		database.Micros(before))
}
