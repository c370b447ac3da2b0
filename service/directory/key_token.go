package directory

import (
	"crypto/rand"
	"encoding/base32"
	"strings"
)

// A key's text is KeyPrefix, its id, "_", and 160 random bits.
const (
	// KeyPrefix is the beginning of every key.
	KeyPrefix = "brk_"

	keyIDLength     = 16
	keySecretLength = 32
)

var keyLetters = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

func newToken() (id, token string) {
	var raw [30]byte
	_, _ = rand.Read(raw[:]) // never fails
	text := keyLetters.EncodeToString(raw[:])
	id = text[:keyIDLength]
	return id, KeyPrefix + id + "_" + text[keyIDLength:]
}

// tokenID returns the id in a key's text. It returns false if the text cannot be a key.
func tokenID(token string) (id string, ok bool) {
	rest, ok := strings.CutPrefix(token, KeyPrefix)
	if !ok || len(rest) != keyIDLength+1+keySecretLength || rest[keyIDLength] != '_' {
		return "", false
	}
	for i := range len(rest) {
		c := rest[i]
		if i != keyIDLength && (c < 'a' || c > 'z') && (c < '2' || c > '7') {
			return "", false
		}
	}
	return rest[:keyIDLength], true
}
