package recordings

import (
	"encoding/binary"
	"io"
	"math/rand/v2"
	"strings"
	"testing/iotest"
)

// Ways returns readers of the same body that deliver it in different pieces. A test must get the
// same result from each.
func Ways(body string) map[string]io.Reader {
	return map[string]io.Reader{
		"at once":      strings.NewReader(body),
		"one byte":     iotest.OneByteReader(strings.NewReader(body)),
		"halves":       iotest.HalfReader(strings.NewReader(body)),
		"with its end": iotest.DataErrReader(strings.NewReader(body)),
	}
}

// Borders returns the ends of a stream's events except the last: of server-sent events with LF, or
// of AWS's binary event stream, whose messages begin with their length.
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

// Cuts returns places at which a stream may be cut: all of them for a short stream. For a longer
// one it returns the borders of its events, the places beside them, and a thousand random places.
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
