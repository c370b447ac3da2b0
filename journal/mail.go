package journal

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"time"

	"github.com/braidrun/braid/event"
)

// LetterID returns the ID of a [Mail] with a message that joined an open run under a key (Run.Key). The
// [event.UserMessage] has it as its Mail when the message is in the log.
func LetterID(key string) string { return "message-" + key }

// MailKind is the purpose of mail.
type MailKind string

// The kinds of mail.
const (
	// MailAnswer answers a question: Token and Value.
	MailAnswer MailKind = "answer"
	// MailCancel asks for the run to be cancelled; it also sets Run.Cancelled.
	MailCancel MailKind = "cancel"
	// MailMessage is a message during the run.
	MailMessage MailKind = "message"
	// MailChild is the end of a child conversation.
	MailChild MailKind = "child"
)

// Mail is what others leave for a run.
type Mail struct {
	// ID makes posting idempotent; the sender chooses it.
	ID   string
	Run  string
	Kind MailKind
	// Token and Value go with MailAnswer.
	Token string
	Value json.RawMessage
	// By is the sender.
	By string
	// Message goes with MailMessage.
	Message []event.Block

	// The store sets the fields below; Post ignores them in its argument.

	// Posted is the store's clock when it was posted.
	Posted time.Time
	// Early marks a letter to an earlier run that ended without reading it. It precedes this run's input.
	Early bool
}

// Posted reports what was left for a run.
type Posted struct {
	// Mark rises with every letter, so a caller that remembers it sees whether there is a new one. It is 0 without
	// unread mail.
	Mark int64
	// Cancelled is [Run.Cancelled].
	Cancelled bool
}

// Digest identifies mail by its content, so that two posts with one ID can be compared. It
// ignores the sender and the time.
func Digest(m Mail) [16]byte {
	h := sha256.New()
	field := func(b []byte) {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(b)))
		h.Write(n[:])
		h.Write(b)
	}
	field([]byte(m.Kind))
	field([]byte(m.Token))
	field(m.Value)
	// Blocks that cannot be encoded do not count: no store keeps them.
	message, _ := event.AppendBlocks(nil, m.Message)
	field(message)
	var d [16]byte
	copy(d[:], h.Sum(nil))
	return d
}
