package native

import (
	"math"
	"strconv"
	"strings"

	"github.com/braidrun/braid/event"
)

// Cursor is a position in a conversation's stream: after the durable event Seq and the live
// events up to N of a driver's epoch. Its text is "7", or "7:2.41" if live events came after
// event 7. The zero Cursor is "0", the start.
type Cursor struct {
	// Seq is the Seq of the last durable event.
	Seq int64
	// Epoch is the driver's epoch of the last live event after it; 0 for none.
	Epoch int64
	N     int64
}

// CursorOf returns the position after an event whose last durable predecessor is last.
func CursorOf(e *event.Event, last int64) Cursor {
	if e.Seq > 0 {
		return Cursor{Seq: e.Seq}
	}
	return Cursor{Seq: last, Epoch: e.Epoch, N: e.N}
}

// String returns the text of the cursor.
func (c Cursor) String() string { return string(c.Append(nil)) }

// Append appends the text of the cursor.
func (c Cursor) Append(dst []byte) []byte {
	dst = strconv.AppendInt(dst, c.Seq, 10)
	if c.Epoch > 0 && c.N > 0 {
		dst = strconv.AppendInt(append(dst, ':'), c.Epoch, 10)
		dst = strconv.AppendInt(append(dst, '.'), c.N, 10)
	}
	return dst
}

// ParseCursor parses a cursor. Each cursor has one form, without signs, spaces or leading zeros.
// The error is [event.ErrInvalid].
func ParseCursor(s string) (Cursor, error) {
	seq, rest, live := strings.Cut(s, ":")
	var c Cursor
	ok := number(seq, &c.Seq)
	if live {
		epoch, n, _ := strings.Cut(rest, ".")
		ok = ok && number(epoch, &c.Epoch) && number(n, &c.N) && c.Epoch > 0 && c.N > 0
	}
	if !ok {
		return Cursor{}, &event.Error{
			Op: "resume", Kind: event.ErrInvalid, Message: "the position is not the id of a frame of this stream",
			Hint: "send the id of the last frame unchanged, or none to start from the beginning",
		}
	}
	return c, nil
}

// number parses digits without a leading zero.
func number(s string, n *int64) bool {
	if s == "" || s[0] == '0' && len(s) > 1 {
		return false
	}
	for i := range len(s) {
		d := int64(s[i]) - '0'
		if d < 0 || d > 9 || *n > (math.MaxInt64-d)/10 {
			return false
		}
		*n = *n*10 + d
	}
	return true
}
