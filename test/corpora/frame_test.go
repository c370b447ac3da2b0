package corpora

import (
	"encoding/binary"
	"hash/crc32"
)

// appendFrame writes a message of AWS's binary event stream.
func appendFrame(b []byte, name string, payload []byte) []byte {
	var heads []byte
	for _, h := range [][2]string{{":event-type", name}, {":content-type", "application/json"}, {":message-type", "event"}} {
		heads = append(append(heads, byte(len(h[0]))), h[0]...)
		heads = binary.BigEndian.AppendUint16(append(heads, 7), uint16(len(h[1])))
		heads = append(heads, h[1]...)
	}
	from := len(b)
	b = binary.BigEndian.AppendUint32(b, uint32(12+len(heads)+len(payload)+4))
	b = binary.BigEndian.AppendUint32(b, uint32(len(heads)))
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[from:]))
	b = append(append(b, heads...), payload...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[from:]))
}
