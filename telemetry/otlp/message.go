package otlp

import (
	"encoding/binary"
	"math"
	"strings"
)

// message is an encoded protobuf message (protobuf.dev/programming-guides/encoding). OTLP is
// encoded by hand because protoc's code and its dependencies would be a fifteenth of the command
// and of its start time.
//
// A field without a value is left out, except for those of [message.message] and those whose
// presence has a meaning.
type message []byte

// These are the wire types of fields.
const (
	typeVarint  = 0
	typeFixed64 = 1
	typeBytes   = 2
	typeFixed32 = 5
)

func (m *message) tag(field, kind int) {
	*m = binary.AppendUvarint(*m, uint64(field)<<3|uint64(kind))
}

func (m *message) varint(field int, v uint64) {
	if v != 0 {
		m.presentVarint(field, v)
	}
}

func (m *message) presentVarint(field int, v uint64) {
	m.tag(field, typeVarint)
	*m = binary.AppendUvarint(*m, v)
}

func (m *message) bool(field int, v bool) {
	if v {
		m.varint(field, 1)
	}
}

// zigzag appends a number that is often slightly negative.
func (m *message) zigzag(field int, v int32) {
	m.varint(field, uint64(uint32(v<<1)^uint32(v>>31)))
}

func (m *message) fixed32(field int, v uint32) {
	if v != 0 {
		m.tag(field, typeFixed32)
		*m = binary.LittleEndian.AppendUint32(*m, v)
	}
}

func (m *message) fixed64(field int, v uint64) {
	if v != 0 {
		m.presentFixed64(field, v)
	}
}

func (m *message) presentFixed64(field int, v uint64) {
	m.tag(field, typeFixed64)
	*m = binary.LittleEndian.AppendUint64(*m, v)
}

func (m *message) double(field int, v float64) { m.fixed64(field, math.Float64bits(v)) }

func (m *message) presentDouble(field int, v float64) { m.presentFixed64(field, math.Float64bits(v)) }

// maybe appends a number unless it is nil.
func (m *message) maybe(field int, v *float64) {
	if v != nil {
		m.presentDouble(field, *v)
	}
}

func (m *message) bytes(field int, b []byte) {
	if len(b) > 0 {
		m.message(field, b)
	}
}

// text appends a string as valid UTF-8, which protobuf requires.
func (m *message) text(field int, s string) {
	if s != "" {
		m.presentText(field, s)
	}
}

func (m *message) presentText(field int, s string) {
	m.message(field, message(strings.ToValidUTF8(s, "\uFFFD")))
}

// message appends a message or bytes, even if empty.
func (m *message) message(field int, in message) {
	m.tag(field, typeBytes)
	*m = append(binary.AppendUvarint(*m, uint64(len(in))), in...)
}

// next removes the first field and returns its number and its value, a number or bytes. ok is false
// at the end and for an invalid message.
func (m *message) next() (field int, v uint64, b []byte, ok bool) {
	tag, n := binary.Uvarint(*m)
	if n <= 0 || tag>>3 == 0 || tag>>3 > 1<<29-1 {
		return 0, 0, nil, false
	}
	rest := (*m)[n:]
	switch tag & 7 {
	case typeVarint:
		if v, n = binary.Uvarint(rest); n <= 0 {
			return 0, 0, nil, false
		}
	case typeFixed64:
		n = 8
	case typeFixed32:
		n = 4
	case typeBytes:
		size, head := binary.Uvarint(rest)
		if head <= 0 || size > uint64(len(rest)-head) {
			return 0, 0, nil, false
		}
		n = head + int(size)
		b = rest[head:n]
	default:
		return 0, 0, nil, false
	}
	if n > len(rest) {
		return 0, 0, nil, false
	}
	*m = rest[n:]
	return int(tag >> 3), v, b, true
}
