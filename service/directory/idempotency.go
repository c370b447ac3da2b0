package directory

import (
	"crypto/sha256"
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/database"
)

// Repeats is how long a key of idempotency is remembered, at least.
const Repeats = 24 * time.Hour

const longestIdem = 255

// repeated notes that a call under the caller's key makes the object. done is the one that an
// earlier call under it has made; another call under the same key is refused.
func (d *Directory) repeated(tx *database.Tx, op, tenant, idem, object string, asked any, more ...string) (done string, err error) {
	if idem == "" {
		return "", nil
	}
	if len(idem) > longestIdem || !utf8.ValidString(idem) {
		return "", invalid(op, "the key of idempotency is too long, or no text", "send at most 255 bytes of UTF-8")
	}
	what, err := json.Marshal([]any{op, asked})
	if err != nil {
		return "", err
	}
	h := sha256.New()
	h.Write(what)
	for _, m := range more {
		sum := sha256.Sum256([]byte(m))
		h.Write(sum[:])
	}
	digest := h.Sum(nil)
	now := time.Now()
	if _, err := tx.Exec(`DELETE FROM idempotency WHERE tenant = ? AND created < ?`, tenant, now.Add(-Repeats).UnixMicro()); err != nil {
		return "", err
	}
	n, err := tx.Exec(`INSERT INTO idempotency (tenant, key, digest, object, created) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		tenant, idem, digest, object, now.UnixMicro())
	if err != nil || n == 1 {
		return "", err
	}
	var before []byte
	if _, err := tx.Get(`SELECT digest, object FROM idempotency WHERE tenant = ? AND key = ?`, []any{tenant, idem}, &before, &done); err != nil {
		return "", err
	}
	if string(before) != string(digest) {
		return "", &event.Error{
			Op: op, Kind: event.ErrConflict, Code: "IDEMPOTENCY_MISMATCH", Message: "this key of idempotency belongs to another request",
			Hint: "use a new one for each thing that is to be made",
		}
	}
	return done, nil
}

// forgetRepeats forgets the keys under which an object was made that is removed: one that is made again
// under its id is none of theirs.
func forgetRepeats(tx *database.Tx, tenant, object string) error {
	_, err := tx.Exec(`DELETE FROM idempotency WHERE tenant = ? AND object = ?`, tenant, object)
	return err
}
