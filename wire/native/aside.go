package native

import (
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/sse"
)

// AppendNotice appends a notice without an event.
func (enc *Encoder) AppendNotice(dst []byte, code, message string) []byte {
	return AppendFrame(dst, &Notice{Code: code, Message: message})
}

// Idle appends a comment, which readers pass over.
func (enc *Encoder) Idle(dst []byte) []byte { return sse.AppendComment(dst, "keep-alive") }

// Fail appends the frame that ends a stream before its run does. It is an error if the reader has nothing to come again
// for: its credential has ended, or the run was deleted. Otherwise it is a notice.
func (enc *Encoder) Fail(dst []byte, err error) []byte {
	says, status := ErrorOf(err)
	says.RequestID = enc.RequestID
	switch deleted := status == notFound; {
	case event.KindOf(err) == event.ErrUnauthenticated, deleted && enc.Run != "":
		return AppendFrame(dst, &says)
	case deleted:
		return enc.AppendNotice(dst, says.Code, says.Message+" any more")
	default:
		return enc.AppendNotice(dst, "STREAM_INTERRUPTED", says.Message+": connect again with the last id")
	}
}

// notFound is the HTTP status of what does not exist.
const notFound = 404
