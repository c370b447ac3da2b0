package directory

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"strconv"
	"time"

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
