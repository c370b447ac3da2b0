package anthropic

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"

	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model/internal/awserr"
	"github.com/braidrun/braid/model/internal/awsframe"
)

// frames reads Bedrock's binary event stream: each chunk has an event of the API in
// base64, {"bytes":"…"}, and an exception ends it. Reading one allocates nothing.
type frames struct {
	*awsframe.Reader

	r   strictjson.Reader
	buf []byte
}

func newFrames(in io.Reader) *frames { return &frames{Reader: awsframe.NewReader(in)} }

func (f *frames) next() ([]byte, error) {
	for {
		m, err := f.Next()
		switch {
		case errors.Is(err, awsframe.ErrCut):
			return nil, errCut
		case errors.Is(err, awsframe.ErrTooLong):
			return nil, errTooLong
		case errors.Is(err, awsframe.ErrUnreadable), errors.Is(err, awsframe.ErrChecksum):
			return nil, fmt.Errorf("%w: %w", errUnreadable, err)
		case err != nil:
			return nil, err
		}
		switch string(m.Kind) {
		case "event":
			if string(m.Name) != "chunk" {
				continue // an event kind added later
			}
			return f.data(m.Payload)
		case "exception", "error":
			return nil, awserr.Exception(string(m.Name), string(m.Message), m.Payload)
		}
	}
}

// data returns the event in a chunk. It ignores the padding, which hides the length of the
// event from observers of the network.
func (f *frames) data(payload []byte) ([]byte, error) {
	const nested = 4
	r := &f.r
	r.Reset(payload, nested)
	f.buf = f.buf[:0]
	var bad error
	o := r.Object()
	for o.Next() {
		if string(o.Key) != "bytes" {
			r.Skip()
			continue
		}
		f.buf, bad = base64.StdEncoding.AppendDecode(f.buf, r.Bytes())
	}
	if err := r.End(); err != nil || bad != nil || len(f.buf) == 0 {
		return nil, fmt.Errorf("%w: a chunk without an event", errUnreadable)
	}
	return f.buf, nil
}
