package event

import "encoding/json"

// Unknown is a body of a kind that this version does not know. It is kept and
// written back as it came, so that an older binary loses nothing.
type Unknown struct {
	// Name is the kind; Raw its body, one JSON value.
	Name Kind
	Raw  json.RawMessage
}

// Kind implements [Body].
func (u *Unknown) Kind() Kind    { return u.Name }
func (*Unknown) info() *BodyInfo { return &unknownInfo }
func (u *Unknown) size() int     { return len(u.Raw) }

var unknownInfo BodyInfo

// UnknownBlock is a content block of a kind that this version does not know.
type UnknownBlock struct {
	Name BlockKind
	// Raw is the whole block, its kind included.
	Raw json.RawMessage
}

// BlockKind implements [Block].
func (u *UnknownBlock) BlockKind() BlockKind { return u.Name }
func (u *UnknownBlock) size() int            { return len(u.Raw) }
