package directory

import (
	"crypto/sha256"
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/database"
)

// Repeats is how long an idempotency key is remembered at least.
const Repeats = 24 * time.Hour

const longestIdem = 255

// repeated records that a call with the caller's key creates the object. done is the object that an
// earlier call with the key created. Another request with the same key is refused.
func repeated(tx *database.Tx, op, tenant, idem, object string, asked any, more ...string) (done string, err error) {
	if idem == "" {
		return "", nil
	}
	if len(idem) > longestIdem || !utf8.ValidString(idem) {
		return "", invalid(op, "the idempotency key is too long or not UTF-8", "send at most 255 bytes of UTF-8")
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
			Op: op, Kind: event.ErrConflict, Code: "IDEMPOTENCY_MISMATCH", Message: "the idempotency key was used with another request",
			Hint: "use a new key for each new object",
		}
	}
	return done, nil
}

// forgetRepeats forgets the keys with which a removed object was created. A later object with the
// same id is not theirs.
func forgetRepeats(tx *database.Tx, tenant, object string) error {
	_, err := tx.Exec(`DELETE FROM idempotency WHERE tenant = ? AND object = ?`, tenant, object)
	return err
}
