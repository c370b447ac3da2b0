package gemini

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/model/internal/provider"
)

// unsound is how the API refuses thought signatures that it cannot read, such as those of
// another project or model ("Thought signature is not valid", "Corrupted thought
// signature"). It does not compare what stands before a signature (docs/thought-signatures).
var unsound = lazyre.New(`(?i)(invalid|corrupted) thought.?signature|thought.?signature.{0,20} not valid`)

// refusesSignature reports whether the API refused a request because of its signatures.
func refusesSignature(err error) bool {
	r, ok := errors.AsType[*provider.Refused](err)
	return ok && r.Status == http.StatusBadRequest && unsound.MatchString(refused(r).Message)
}

// unsigned removes thinking, and the signatures of other blocks. The encoder gives calls a
// placeholder.
func unsigned(b event.Block) event.Block {
	switch b := b.(type) {
	case *event.Thinking:
		if mine(b.Signature) != "" {
			return nil
		}
	case *event.Text:
		if mine(b.Signature) != "" {
			return &event.Text{Text: b.Text}
		}
	case *event.ToolCall:
		if mine(b.Signature) != "" {
			bare := *b
			bare.Signature = ""
			return &bare
		}
	case *event.Code:
		if mine(b.Signature) != "" {
			bare := *b
			bare.Signature = own
			return &bare
		}
	case *event.CodeResult:
		if mine(b.Signature) != "" {
			bare := *b
			bare.Signature = own
			return &bare
		}
	case *event.UnknownBlock:
		return unsignedPart(b)
	}
	return b
}

// unsignedPart removes the signature from a part of a vendor's kind.
func unsignedPart(b *event.UnknownBlock) event.Block {
	var members map[string]json.RawMessage
	if !strings.HasPrefix(string(b.Name), own) || json.Unmarshal(b.Raw, &members) != nil || members["thoughtSignature"] == nil {
		return b
	}
	delete(members, "thoughtSignature")
	raw, err := json.Marshal(members)
	if err != nil {
		return b
	}
	return &event.UnknownBlock{Name: b.Name, Raw: raw}
}

// own is the prefix of signatures from this vendor, and of block kinds that only this vendor
// has. Both are sent back unchanged. Signatures and blocks without it belong to other providers
// and are not sent.
const own = "gemini."

// mine returns a signature as the vendor sent it; "" for none or another provider's.
func mine(signature string) string {
	s, ok := strings.CutPrefix(signature, own)
	if !ok {
		return ""
	}
	return s
}
