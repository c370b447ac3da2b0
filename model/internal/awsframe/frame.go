package awsframe

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
)

// What a stream may be refused for.
var (
	// ErrCut is a stream that ends inside of a message.
	ErrCut = errors.New("the stream ended inside of a message")
	// ErrTooLong is a message that is longer than the specification allows.
	ErrTooLong = errors.New("a message of the stream is too long")
	// ErrUnreadable is a message whose parts do not fit each other.
	ErrUnreadable = errors.New("a message of the stream cannot be read")
	// ErrChecksum is a message that was changed on its way.
	ErrChecksum = errors.New("a message of the stream was changed on its way")
)

const (
	preludeSize = 12
	crcSize     = 4
	// maxFrame is above what the specification allows: 16 MiB of payload and
	// 128 KiB of headers.
	maxFrame = 17 << 20
)

// Frame is one message. Its parts lie in the reader's buffer until the next one
// is read.
type Frame struct {
	// Kind is event, exception or error; Name says which.
	Kind, Name []byte
	// Message is what an error without payload says.
	Message []byte
	Payload []byte
}

// Reader reads messages from a stream. It is used by one goroutine at a time.
type Reader struct {
	in   io.Reader
	buf  []byte
	from int // the next message begins here
}

// NewReader reads messages from in.
func NewReader(in io.Reader) *Reader { return &Reader{in: in} }

// Next gives the next message. [io.EOF] is the end behind a whole one. Other errors
// are those of this package and those of the reader below; nothing comes after one.
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

// need reads until so many bytes of the message are there.
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

// The types of a header's value, and how long those are that have one length.
const (
	bytesValue  = 6
	stringValue = 7
)

var valueSizes = [...]int{0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}

// read takes what the headers say.
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

// Append appends a message with a payload of JSON: an event, an exception or an
// error, as kind says, of a name.
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
