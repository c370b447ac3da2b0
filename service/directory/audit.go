package directory

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/braidrun/braid/internal/cursor"
	"github.com/braidrun/braid/service/database"
)

// Entry is one entry of a tenant's audit: who did what to which object, and when. The hash of the
// previous entry is part of its hash, so that no entry can be changed, removed or moved unnoticed.
type Entry struct {
	// Tenant is the tenant of the audit. "" means the operator's own.
	Tenant string `json:"tenant,omitempty"`
	// Seq counts a tenant's entries from 1, without gaps.
	Seq  int64     `json:"seq"`
	Time time.Time `json:"time"`
	By   By        `json:"by"`
	// Action is what was done, such as "agent.update".
	Action string `json:"action"`
	// Object is what it was done to, such as "agent/helper".
	Object string `json:"object"`
	// Detail describes it as JSON, for example the changed fields. It never contains a secret.
	Detail json.RawMessage `json:"detail,omitempty"`
	// Hash is the SHA-256 of all of this and the previous entry's hash.
	Hash []byte `json:"hash"`
}

// sum returns the entry's hash after an entry with the hash before.
func (e *Entry) sum(before []byte) []byte {
	h := sha256.New()
	operator := "0"
	if e.By.Operator {
		operator = "1"
	}
	for _, part := range []string{
		string(before), e.Tenant, strconv.FormatInt(e.Seq, 10), strconv.FormatInt(database.Micros(e.Time), 10),
		e.By.Tenant, e.By.Key, e.By.User, operator, e.Action, e.Object, string(e.Detail),
	} {
		h.Write(binary.AppendUvarint(nil, uint64(len(part))))
		h.Write([]byte(part))
	}
	return h.Sum(nil)
}

// record adds an entry to the audit of the transaction's tenant.
func record(tx *database.Tx, tenant string, by By, action, object string, detail any) error {
	e := Entry{Tenant: tenant, Time: database.Now(), By: by, Action: action, Object: object}
	if what, ok := detail.(changedFields); detail != nil && (!ok || len(what) > 0) {
		b, err := json.Marshal(detail)
		if err != nil {
			return err
		}
		e.Detail = b
	}
	// This row locks the end of the chain until the transaction ends.
	if _, err := tx.Exec(`INSERT INTO audit_head (tenant, seq, hash) VALUES (?, 0, ?) ON CONFLICT DO NOTHING`, tenant, []byte{}); err != nil {
		return err
	}
	var before []byte
	if _, err := tx.Get(`SELECT seq, hash FROM audit_head WHERE tenant = ?`+tx.ForUpdate(), []any{tenant}, &e.Seq, &before); err != nil {
		return err
	}
	e.Seq++
	e.Hash = e.sum(before)
	if _, err := tx.Exec(`INSERT INTO audit (tenant, seq, at, action, object, by_tenant, key, person, operator, detail, hash)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, tenant, e.Seq, database.Micros(e.Time), action, object,
		by.Tenant, by.Key, by.User, by.Operator, string(e.Detail), e.Hash); err != nil {
		return err
	}
	_, err := tx.Exec(`UPDATE audit_head SET seq = ?, hash = ? WHERE tenant = ?`, e.Seq, e.Hash, tenant)
	return err
}

// Record adds an entry to a tenant's audit, or to the operator's for "", about something outside
// the directory, such as the removal of a conversation. detail is encoded as JSON; nil means none.
func (d *Directory) Record(ctx context.Context, by By, tenant, action, object string, detail any) error {
	return d.db.Write(ctx, "audit", tenant, func(tx *database.Tx) error { return record(tx, tenant, by, action, object, detail) })
}

const entryColumns = `tenant, seq, at, action, object, by_tenant, key, person, operator, detail, hash`

func scanEntry(scan func(...any) error) (Entry, error) {
	var e Entry
	var at int64
	var detail string
	err := scan(&e.Tenant, &e.Seq, &at, &e.Action, &e.Object, &e.By.Tenant, &e.By.Key, &e.By.User, &e.By.Operator, &detail, &e.Hash)
	e.Time = database.Time(at)
	if detail != "" {
		e.Detail = json.RawMessage(detail)
	}
	return e, err
}

// AuditQuery selects entries of an audit.
type AuditQuery struct {
	// Action selects entries with that action. Empty selects all.
	Action string
	// Object selects entries about that object. Empty selects all.
	Object string
	// Cursor is the next cursor of the previous page; empty means the first page.
	Cursor string
	// Limit is at most [MostPage]. 0 means [DefaultPage].
	Limit int
}

// Audit returns a page of a tenant's audit, or of the operator's for "", the newest entry first.
func (d *Directory) Audit(ctx context.Context, tenant string, q AuditQuery) (list []Entry, next string, err error) {
	const op = "audit"
	page := Query{Cursor: q.Cursor, Limit: q.Limit}
	if err := page.check(op); err != nil {
		return nil, "", err
	}
	if tenant != "" && !isSlug(tenant) {
		return nil, "", notFound(op, "tenant")
	}
	name := op + "/" + tenant + "/" + q.Action + "/" + q.Object
	statement, args := `SELECT `+entryColumns+` FROM audit WHERE tenant = ?`, []any{tenant}
	if q.Action != "" {
		statement, args = statement+` AND action = ?`, append(args, q.Action)
	}
	if q.Object != "" {
		statement, args = statement+` AND object = ?`, append(args, q.Object)
	}
	if q.Cursor != "" {
		place, ok := cursor.Decode(name, q.Cursor, 1)
		if !ok {
			return nil, "", badCursor(op)
		}
		seq, err := strconv.ParseInt(place[0], 10, 64)
		if err != nil {
			return nil, "", badCursor(op)
		}
		statement, args = statement+` AND seq < ?`, append(args, seq)
	}
	err = d.db.Read(ctx, op, tenant, func(tx *database.Tx) error {
		list = nil
		return tx.List(statement+` ORDER BY seq DESC LIMIT ?`, append(slices.Clip(args), page.Limit+1), func(scan func(...any) error) error {
			e, err := scanEntry(scan)
			list = append(list, e)
			return err
		})
	})
	if err != nil || len(list) <= page.Limit {
		return list, "", err
	}
	list = list[:page.Limit]
	return list, cursor.Encode(name, strconv.FormatInt(list[len(list)-1].Seq, 10)), nil
}

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
