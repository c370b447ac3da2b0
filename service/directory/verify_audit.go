package directory

import (
	"context"

	"github.com/braidrun/braid/service/database"
)

// Verified is the result of verifying an audit.
type Verified struct {
	// Entries is the number of correct entries from the first one on.
	Entries int64 `json:"entries"`
	// Broken is the Seq of the first entry that is changed or missing. 0 means that all are
	// correct.
	Broken int64 `json:"broken_at,omitempty"`
	// Head is the hash of the last entry. A copy of it elsewhere reveals an audit that was
	// rewritten as a whole.
	Head []byte `json:"head,omitempty"`
	// Erased lists audits that were erased without an entry in the operator's audit. For a tenant
	// it lists the erasures of its own audit, for the operator those of all tenants.
	Erased []Erasure `json:"erased,omitempty"`
}

// OK reports whether the audit is intact.
func (v *Verified) OK() bool { return v.Broken == 0 && len(v.Erased) == 0 }

// verifyAtOnce is how many entries are read in one transaction.
const verifyAtOnce = 1000

// VerifyAudit looks for changed, missing, added and moved entries in a tenant's audit, or in the
// operator's for "", and for audits that were erased without their tenant.
func (d *Directory) VerifyAudit(ctx context.Context, tenant string) (v Verified, err error) {
	const op = "verify audit"
	if tenant != "" && !isSlug(tenant) {
		return v, notFound(op, "tenant")
	}
	if v, err = d.verifyChain(ctx, op, tenant); err != nil {
		return v, err
	}
	v.Erased, err = d.unrecordedErasures(ctx, op, tenant)
	return v, err
}

func (d *Directory) verifyChain(ctx context.Context, op, tenant string) (v Verified, err error) {
	for {
		var last int64
		var head []byte
		n := 0
		got := v
		err := d.db.Read(ctx, op, tenant, func(tx *database.Tx) error {
			got, n, last, head = v, 0, 0, nil
			if _, err := tx.Get(`SELECT seq, hash FROM audit_head WHERE tenant = ?`, []any{tenant}, &last, &head); err != nil {
				return err
			}
			return tx.List(`SELECT `+entryColumns+` FROM audit WHERE tenant = ? AND seq > ? ORDER BY seq LIMIT ?`,
				[]any{tenant, v.Entries, verifyAtOnce}, func(scan func(...any) error) error {
					e, err := scanEntry(scan)
					if err != nil || got.Broken != 0 {
						return err
					}
					n++
					if e.Seq != got.Entries+1 || string(e.sum(got.Head)) != string(e.Hash) {
						got.Broken = got.Entries + 1
						return nil
					}
					got.Entries, got.Head = e.Seq, e.Hash
					return nil
				})
		})
		if err != nil {
			return v, err
		}
		v = got
		if v.Broken != 0 || n == verifyAtOnce {
			if v.Broken != 0 {
				return v, nil
			}
			continue
		}
		if v.Entries != last || string(v.Head) != string(head) {
			v.Entries = min(v.Entries, last)
			v.Broken = v.Entries + 1
		}
		return v, nil
	}
}
