package fold

import "crypto/sha256"

// older are the first messages of a transcript that began with a stored fold. They stay in the store until a request needs
// them ([Conversation.Complete]).
type older struct {
	// messages is how many there are; 0 if all messages are in memory.
	messages int
	// uncounted estimates those that the gauge does not cover.
	uncounted int64
	// in says where they are; nil for nowhere.
	in *kept
}

// kept says what a stored fold has of a transcript, so that the next one adds only what is new. It does not change after it
// was made.
type kept struct {
	// seq is the position of the stored fold.
	seq int64
	// messages are the first messages of the transcript, which lie in so many parts. sum is the sum of the last part.
	messages, parts int
	sum             [sha256.Size]byte
	// bytes is the size of the parts.
	bytes int64
	// tokens estimates these messages, from the newest with a provider's own summary on.
	tokens int64
	// served are the calls in these messages of tools that a provider ran.
	served []string
}

// served returns the calls in these messages of tools that a provider ran.
func (o *older) served() []string {
	if o.in == nil {
		return nil
	}
	return o.in.served
}

// keeping is what a fold knows for the decision to store it.
type keeping struct {
	// from is the Seq after which an opening would fold the log without a stored fold.
	from int64
	// tried is the position at which the fold was stored last, or should have been.
	tried int64
	// weighed is the number of messages whose size is in bytes.
	weighed int
	bytes   int64
}
