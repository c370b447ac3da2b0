package sse

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

// AppendEvent appends a complete event. An empty id leaves the reader's last id unchanged, and an
// empty name means "message". Line ends inside data become LF for the reader.
func AppendEvent(dst []byte, id, name string, data []byte) []byte {
	dst = AppendID(dst, id)
	dst = AppendName(dst, name)
	for {
		i := bytes.IndexAny(data, "\r\n")
		line := data
		if i >= 0 {
			line = data[:i]
		}
		dst = append(OpenData(dst), line...)
		if i < 0 {
			return Close(dst)
		}
		dst = append(dst, '\n')
		if data[i] == '\r' && i+1 < len(data) && data[i+1] == '\n' {
			i++
		}
		data = data[i+1:]
	}
}

// AppendID appends the id of the current event; nothing for "".
func AppendID(dst []byte, id string) []byte {
	if id == "" {
		return dst
	}
	return append(appendClean(append(dst, "id: "...), id, "\x00\r\n"), '\n')
}

// AppendName appends the name of the current event; nothing for "".
func AppendName(dst []byte, name string) []byte {
	if name == "" {
		return dst
	}
	return append(appendClean(append(dst, "event: "...), name, "\r\n"), '\n')
}

// OpenData begins a line of data. The caller appends the data itself, which must be one line,
// such as JSON without white space.
func OpenData(dst []byte) []byte { return append(dst, "data: "...) }

// Close ends the line and the event.
func Close(dst []byte) []byte { return append(dst, '\n', '\n') }

// AppendComment appends a comment, which readers ignore. It serves as a heartbeat.
func AppendComment(dst []byte, text string) []byte {
	dst = append(dst, ':')
	if text != "" {
		dst = appendClean(append(dst, ' '), text, "\r\n")
	}
	return Close(dst)
}

// AppendRetry appends how long readers wait before they reconnect, in whole milliseconds. A
// negative wait counts as 0.
func AppendRetry(dst []byte, wait time.Duration) []byte {
	dst = append(dst, "retry: "...)
	return Close(strconv.AppendInt(dst, max(wait.Milliseconds(), 0), 10))
}

// appendClean appends s without the bytes in bad.
func appendClean(dst []byte, s, bad string) []byte {
	for {
		i := strings.IndexAny(s, bad)
		if i < 0 {
			return append(dst, s...)
		}
		dst = append(dst, s[:i]...)
		s = s[i+1:]
	}
}
