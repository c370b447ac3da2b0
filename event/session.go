package event

import (
	"crypto/sha256"
	"encoding/base32"
	"strconv"
	"strings"
)

// SessionID names a session: the stretch of a conversation's log that the model sees,
// by its number, from 1 (RunStarted.Session). It says nothing to who reads it, is the same
// each time, and belongs to one conversation alone. It is empty where number is below 1.
func SessionID(conversation string, number int) string {
	if number < 1 {
		return ""
	}
	sum := sha256.Sum256([]byte(conversation + "\x00" + strconv.Itoa(number)))
	return "sess_" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:15]))
}
