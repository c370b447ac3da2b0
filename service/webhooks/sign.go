package webhooks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/service/directory"
)

// sign sets the headers of a message that is sent at the time now. Each secret adds a signature of
// the scheme v1: HMAC-SHA256 over "id.timestamp.payload".
func sign(h http.Header, id string, now time.Time, body []byte, secrets directory.SigningSecrets) {
	at := strconv.FormatInt(now.Unix(), 10)
	signatures := make([]string, 0, len(secrets))
	for _, s := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(s.Reveal(), directory.WebhookSecretPrefix))
		if err != nil {
			continue // it was checked when it was written
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + at + "."))
		mac.Write(body)
		signatures = append(signatures, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	// The names are lower-case in the specification; HTTP does not distinguish.
	h.Set("Webhook-Id", id)
	h.Set("Webhook-Timestamp", at)
	h.Set("Webhook-Signature", strings.Join(signatures, " "))
}
