package main

import (
	"bytes"
	"encoding/json"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
)

// jsonLines writes one JSON text a line: every event as package event writes
// it, and after each turn a line of kind "result".
type jsonLines struct {
	out *output
	buf []byte
	// trace puts the tree of the run on its last line.
	trace bool
	tree  braid.Trace
}

// event implements [printer].
func (j *jsonLines) event(e *event.Event) error {
	j.tree.Add(e)
	line, err := event.AppendJSON(j.buf[:0], e)
	if err != nil {
		return err
	}
	j.buf = line
	return j.write(line)
}

// end implements [printer].
func (j *jsonLines) end(s *summary) error {
	if j.trace {
		s.Trace = j.tree.Root()
	}
	line, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return j.write(line)
}

func (j *jsonLines) write(line []byte) error {
	j.out.buf = append(cleanJSON(j.out.buf, line), '\n')
	return j.out.flush()
}

// indented is JSON for people.
func indented(raw json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return raw
	}
	return b.Bytes()
}
