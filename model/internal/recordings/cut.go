package recordings

import (
	"encoding/binary"
	"io"
	"math/rand/v2"
	"strings"
	"testing/iotest"
)

// Ways are readers of the same body, each by what it does to it: whoever reads
// them must see no difference.
func Ways(body string) map[string]io.Reader {
	return map[string]io.Reader{
		"at once":      strings.NewReader(body),
		"one byte":     iotest.OneByteReader(strings.NewReader(body)),
		"halves":       iotest.HalfReader(strings.NewReader(body)),
		"with its end": iotest.DataErrReader(strings.NewReader(body)),
	}
}

// Borders are where the events of a stream end, the last one's end left out: of
// server-sent events with LF, or of AWS's binary event stream, whose messages
// begin with their length.
func Borders(body string) []int {
	var out []int
	if strings.HasPrefix(body, "\x00") {
		for at := 0; at+4 <= len(body); {
			n := int(binary.BigEndian.Uint32([]byte(body[at:])))
			if at += n; n < 16 || at >= len(body) {
				break
			}
			out = append(out, at)
		}
		return out
	}
	for at := 0; ; {
		i := strings.Index(body[at:], "\n\n")
		if i < 0 || at+i+2 >= len(body) {
			return out
		}
		at += i + 2
		out = append(out, at)
	}
}

// Cuts are places at which a stream may break off: all of them where it is short, and
// otherwise the borders of its events and what lies beside them, and a thousand places
// that are others each time.
func Cuts(body string) []int {
	const short, some = 4 << 10, 1000
	var out []int
	if len(body) <= short {
		for n := range len(body) {
			out = append(out, n)
		}
		return out
	}
	for _, n := range Borders(body) {
		out = append(out, n-1, n, n+1)
	}
	for range some {
		out = append(out, rand.IntN(len(body))) //nolint:gosec // any place will do
	}
	return out
}
