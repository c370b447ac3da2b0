package awsframe

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
)

// These are the errors of a stream.
var (
	// ErrCut means that the stream ended inside a message.
	ErrCut = errors.New("the stream ended inside of a message")
	// ErrTooLong means that a message is longer than the specification allows.
	ErrTooLong = errors.New("a message of the stream is too long")
	// ErrUnreadable means that the parts of a message are inconsistent.
	ErrUnreadable = errors.New("a message of the stream cannot be read")
	// ErrChecksum means that a message was changed in transit.
	ErrChecksum = errors.New("a message of the stream was changed on its way")
)

const (
	preludeSize = 12
	crcSize     = 4
	// maxFrame is more than the specification allows: 16 MiB of payload and 128 KiB of headers.
	maxFrame = 17 << 20
)

// Frame is one message. Its parts are in the reader's buffer until the next message is read.
type Frame struct {
	// Kind is event, exception or error.
	Kind []byte
	// Name is the name of the event, exception or error.
	Name []byte
	// Message is the message of an error without a payload.
	Message []byte
	Payload []byte
}

// Reader reads messages from a stream. It is not safe for concurrent use.
type Reader struct {
	in   io.Reader
	buf  []byte
	from int // the beginning of the next message
}

// NewReader returns a reader of the messages in in.
func NewReader(in io.Reader) *Reader { return &Reader{in: in} }

// Next returns the next message. It returns [io.EOF] at the end after a whole message. Other errors
// are those of this package and of the underlying reader. It must not be called after an error.
func (f *Reader) Next() (Frame, error) {
	if err := f.need(preludeSize); err != nil {
		return Frame{}, err
	}
	p := f.buf[f.from:]
	size, headers := binary.BigEndian.Uint32(p), binary.BigEndian.Uint32(p[4:])
	switch {
	case crc32.ChecksumIEEE(p[:8]) != binary.BigEndian.Uint32(p[8:]):
		return Frame{}, ErrChecksum
	case size > maxFrame:
		return Frame{}, ErrTooLong
	case size < preludeSize+crcSize || headers > size-preludeSize-crcSize:
		return Frame{}, ErrUnreadable
	}
	n := int(size)
	if err := f.need(n); err != nil {
		return Frame{}, err
	}
	p = f.buf[f.from : f.from+n]
	body, sum := p[:n-crcSize], p[n-crcSize:]
	if crc32.ChecksumIEEE(body) != binary.BigEndian.Uint32(sum) {
		return Frame{}, ErrChecksum
	}
	f.from += n
	body = body[preludeSize:]
	m := Frame{Payload: body[headers:]}
	if !m.read(body[:headers]) {
		return Frame{}, ErrUnreadable
	}
	return m, nil
}

// need reads until n bytes of the message are in the buffer.
func (f *Reader) need(n int) error {
	for len(f.buf)-f.from < n {
		if f.from > 0 {
			f.buf = f.buf[:copy(f.buf, f.buf[f.from:])]
			f.from = 0
		}
		if cap(f.buf) < n {
			grown := make([]byte, len(f.buf), max(n, 2*cap(f.buf), 16<<10))
			copy(grown, f.buf)
			f.buf = grown
		}
		k, err := f.in.Read(f.buf[len(f.buf):cap(f.buf)])
		f.buf = f.buf[:len(f.buf)+k]
		switch {
		case k > 0: // an error comes again
		case errors.Is(err, io.EOF) && len(f.buf) > 0:
			return ErrCut
		case err != nil:
			return err
		}
	}
	return nil
}

// These are the types of header values, and the sizes of those with a fixed size.
const (
	bytesValue  = 6
	stringValue = 7
)

var valueSizes = [...]int{0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}

// read parses the headers.
func (m *Frame) read(h []byte) bool {
	for len(h) > 0 {
		n := int(h[0])
		if len(h) < 1+n+1 {
			return false
		}
		name, kind := h[1:1+n], int(h[1+n])
		h = h[2+n:]
		var size int
		switch {
		case kind == bytesValue || kind == stringValue:
			if len(h) < 2 {
				return false
			}
			size = int(binary.BigEndian.Uint16(h))
			h = h[2:]
		case kind < len(valueSizes):
			size = valueSizes[kind]
		default:
			return false
		}
		if len(h) < size {
			return false
		}
		value := h[:size]
		h = h[size:]
		if kind != stringValue {
			continue
		}
		switch string(name) {
		case ":message-type":
			m.Kind = value
		case ":event-type", ":exception-type", ":error-code":
			m.Name = value
		case ":error-message":
			m.Message = value
		}
	}
	return true
}

// Append appends a message with a JSON payload. kind is event, exception or error.
func Append(dst []byte, kind, name string, payload []byte) []byte {
	header := map[string]string{"event": ":event-type", "exception": ":exception-type", "error": ":error-code"}[kind]
	var headers []byte
	put := func(name, value string) {
		headers = append(append(headers, byte(len(name))), name...)
		headers = append(binary.BigEndian.AppendUint16(append(headers, stringValue), uint16(len(value))), value...)
	}
	put(header, name)
	put(":content-type", "application/json")
	put(":message-type", kind)
	at := len(dst)
	dst = binary.BigEndian.AppendUint32(dst, uint32(preludeSize+len(headers)+len(payload)+crcSize))
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(headers)))
	dst = binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst[at:]))
	dst = append(append(dst, headers...), payload...)
	return binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst[at:]))
}
