package agentfile

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// searchBytes bounds the work of finding the place of an error: the sum of the texts that are parsed again.
const searchBytes = 4 << 20

// broken returns the error of a text that is not YAML, at the place from which on the text is broken.
func broken(data []byte, err error) error {
	end := readUntil(data)
	node := placeOf(data, lastGood(data, end))
	e := invalid(node, "the file is not YAML: "+problemOf(err), "correct the text at this place")
	e.Err = err
	return e
}

// problemOf returns the YAML library's message without its line, which is that of an enclosing block.
func problemOf(err error) string {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if _, rest, found := strings.Cut(text, ": "); found && strings.HasPrefix(text, "line ") {
		return rest
	}
	return text
}

// oneByte reads a text byte by byte, so that the parser reads no further than it has to.
type oneByte struct {
	data []byte
	next int
}

func (r *oneByte) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if r.next == len(r.data) {
		return 0, io.EOF
	}
	p[0] = r.data[r.next]
	r.next++
	return 1, nil
}

// readUntil returns how much of a broken text the parser reads until it reports the error.
func readUntil(data []byte) int {
	r := &oneByte{data: data}
	var doc yaml.Node
	_ = yaml.NewDecoder(r).Decode(&doc)
	return r.next
}

// good reports whether a text alone is YAML.
func good(text []byte) bool {
	var doc yaml.Node
	err := yaml.NewDecoder(bytes.NewReader(text)).Decode(&doc)
	return err == nil || errors.Is(err, io.EOF)
}

// lastGood returns the length of the longest beginning of data[:end] that is YAML: first in lines, then in characters. If the
// search becomes too long, it returns the begin of the line that the parser read last.
func lastGood(data []byte, end int) int {
	left := searchBytes
	ok := func(n int) bool { left -= n + 1; return good(data[:n]) }
	lineEnd := end
	lineStart := bytes.LastIndexByte(data[:end], '\n') + 1
	last := lineStart
	for !ok(lineStart) {
		if left < 0 {
			return last
		}
		lineEnd = lineStart
		lineStart = bytes.LastIndexByte(data[:lineStart-1], '\n') + 1
	}
	at := lineEnd
	for at > lineStart && !ok(at) {
		if left < 0 {
			return lineStart
		}
		_, size := utf8.DecodeLastRune(data[lineStart:at])
		at -= size
	}
	return at
}

// placeOf returns the place of the first character after at that is not a space.
func placeOf(data []byte, at int) *yaml.Node {
	for at < len(data) && (data[at] == ' ' || data[at] == '\n' || data[at] == '\r') {
		at++
	}
	before := data[:at]
	return &yaml.Node{
		Line:   1 + bytes.Count(before, []byte("\n")),
		Column: 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]),
	}
}
