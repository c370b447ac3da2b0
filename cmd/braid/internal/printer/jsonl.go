package printer

import (
	"bytes"
	"encoding/json"

	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/trace"
)

// JSONLines prints one JSON object per line: every event in its JSON form, and after each turn a line of
// kind "result".
type JSONLines struct {
	Out *term.Output
	buf []byte
	// Trace adds the tree of the run to its last line.
	Trace bool
	tree  trace.Tree
}

// Event implements [Printer].
func (j *JSONLines) Event(e *event.Event) error {
	j.tree.Add(e)
	line, err := event.AppendJSON(j.buf[:0], e)
	if err != nil {
		return err
	}
	j.buf = line
	return j.write(line)
}

// End implements [Printer].
func (j *JSONLines) End(s *Summary) error {
	if j.Trace {
		s.Trace = j.tree.Root()
	}
	line, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return j.write(line)
}

func (j *JSONLines) write(line []byte) error {
	j.Out.Buf = append(term.CleanJSON(j.Out.Buf, line), '\n')
	return j.Out.Flush()
}

// indented returns JSON with line breaks.
func indented(raw json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return raw
	}
	return b.Bytes()
}
