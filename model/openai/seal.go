package openai

import (
	"strings"
)

// own is the prefix of signatures of thinking, and of block kinds that only this vendor has.
// Both are sent back unchanged.
const own = "openai."

// seal returns the signature of encrypted thinking: the id of its item and the encrypted
// content.
func seal(id, sealed string) string { return own + id + "." + sealed }

// readSeal decodes a signature. ok is false for signatures of other providers.
func readSeal(signature string) (id, sealed string, ok bool) {
	rest, mine := strings.CutPrefix(signature, own)
	id, sealed, ok = strings.Cut(rest, ".")
	return id, sealed, mine && ok && id != "" && sealed != ""
}

// phaseMark begins the signature of a text whose phase the vendor gave: commentary or final
// answer. The phase goes back to the model, because the SDK warns that models do worse without
// it.
const phaseMark = own + "phase."
