package cassette

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model"
)

// recording is a file that was read. It is not changed any more.
type recording struct {
	models []modelLine
	setups []setupLine
	calls  []*call
	// byPlace finds calls.
	byPlace map[spot][]*call
	// runs is how many runs it has; cut says that its end is missing.
	runs int
	cut  bool
	// costs is what usages cost, by model.
	costs map[costed]int64
}

type costed struct {
	model int
	usage event.Usage
}

// call is one exchange.
type call struct {
	requestLine
	line int // where it begins in the file
	// earlier holds the first Keep messages.
	earlier *call
	chunks  []chunk
	end     *endLine
}

// chunk is a chunk with its time.
type chunk struct {
	model.Chunk
	at time.Duration
}

// count is how many messages the request has.
func (c *call) count() int { return c.Keep + len(c.Messages) }

// all gives the messages. They are shared.
func (c *call) all() []json.RawMessage {
	out := make([]json.RawMessage, c.count())
	for n := len(out); c != nil; c = c.earlier {
		copy(out[min(c.Keep, n):n], c.Messages)
		n = min(n, c.Keep)
	}
	return out
}

// spot is where a call stands.
type spot struct {
	model, run int
	scope      string
	cycle, try int
}

func (c *call) spot() spot { return spot{c.Model, c.Run, c.Scope, c.Cycle, c.Attempt} }

// anyRun is the run of a spot that is looked for in all.
const anyRun = -1

// inAny is the spot in any run.
func (s spot) inAny() spot {
	s.run = anyRun
	return s
}

// reader reads a file line by line.
type reader struct {
	recording
	line int
}

// read reads a whole recording.
func read(r io.Reader) (*recording, error) {
	d := &reader{recording: recording{costs: map[costed]int64{}, byPlace: map[spot][]*call{}}}
	in := bufio.NewReaderSize(r, 64<<10)
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > MaxLine {
			return nil, &event.Error{
				Op: op, Kind: event.ErrTooLarge, Message: fmt.Sprintf("line %d of the recording is longer than %d MiB", d.line+1, MaxLine>>20),
				Hint: "check that it is a recording",
			}
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, &event.Error{Op: op, Kind: event.ErrUnavailable, Message: "the recording cannot be read", Hint: "check the file", Err: err}
		}
		whole := err == nil
		if len(bytes.TrimSpace(line)) > 0 {
			d.line++
			switch bad := d.take(line); {
			case bad == nil:
			case !whole && d.line > 1 && cutOff(line):
				d.cut = true
			default:
				return nil, d.wrong(bad)
			}
		} else if whole {
			d.line++
		}
		if !whole {
			break
		}
		line = line[:0]
	}
	if d.models == nil {
		if d.line == 0 {
			return nil, &event.Error{Op: op, Kind: event.ErrInvalid, Message: "the recording is empty", Hint: "record it again"}
		}
		return nil, &event.Error{Op: op, Kind: event.ErrInvalid, Message: "the recording ends before it names a model", Hint: "record it again"}
	}
	for _, c := range d.calls {
		d.cut = d.cut || c.end == nil
	}
	return &d.recording, nil
}

// cutOff reports whether a text could be the beginning of JSON.
func cutOff(line []byte) bool {
	err := strictjson.Check(line, maxDepth)
	return errors.Is(err, strictjson.Truncated) || errors.Is(err, strictjson.InvalidUTF8)
}

// wrong says in which line something is wrong.
func (d *reader) wrong(err error) error {
	text := err.Error()
	if e, ok := errors.AsType[*event.Error](err); ok {
		if e.Kind != event.ErrInvalid {
			return e
		}
		text = e.Message
	}
	if bad, ok := errors.AsType[*strictjson.Error](err); ok {
		text = bad.Error()
	}
	hint := "record it anew, or mend that line"
	if d.line == 1 {
		hint = "give a file that was written by a recording"
	}
	return &event.Error{
		Op: op, Kind: event.ErrInvalid, Message: fmt.Sprintf("line %d of the recording is wrong: %s", d.line, text), Hint: hint, Err: err,
	}
}

// take reads one line.
func (d *reader) take(line []byte) error {
	kind, err := kindOf(line)
	if err != nil {
		return err
	}
	if d.line == 1 != (kind == lineHeader) {
		if d.line == 1 {
			return errors.New(`a recording begins with a line of kind "cassette"`)
		}
		return errors.New("there is a second header: two recordings were put together")
	}
	switch kind {
	case lineHeader:
		return d.header(line)
	case lineModel:
		var l modelLine
		if err := decode(line, &l); err != nil {
			return err
		}
		if l.Model != len(d.models)+1 {
			return fmt.Errorf("model %d is out of order", l.Model)
		}
		d.models = append(d.models, l)
	case lineSetup:
		var l setupLine
		if err := decode(line, &l); err != nil {
			return err
		}
		if l.Setup != len(d.setups)+1 {
			return fmt.Errorf("setup %d is out of order", l.Setup)
		}
		d.setups = append(d.setups, l)
	case lineRequest:
		return d.request(line)
	case lineChunk:
		return d.chunk(line)
	case lineEnd:
		return d.end(line)
	case lineCost:
		var l costLine
		if err := decode(line, &l); err != nil {
			return err
		}
		if l.Model < 1 || l.Model > len(d.models) {
			return fmt.Errorf("there is no model %d", l.Model)
		}
		d.costs[costOf(l.Model, l.Usage)] = l.Cost
	default:
		return fmt.Errorf("there is no line of kind %s", strconv.Quote(kind))
	}
	return nil
}

// kindOf checks a line and gives its kind.
func kindOf(line []byte) (string, error) {
	if err := strictjson.Check(line, maxDepth); err != nil {
		return "", err
	}
	var r strictjson.Reader
	r.Reset(line, maxDepth)
	kind := ""
	for o := r.Object(); o.Next(); {
		if string(o.Key) == "kind" {
			kind = r.String()
		} else {
			r.Skip()
		}
	}
	return kind, r.End()
}

// decode reads a line that has been checked; keys that v has no field for are refused.
func decode(line []byte, v any) error {
	if err := strictjson.Unmarshal(line, v); !errors.Is(err, strictjson.TooDeep) {
		return err
	}
	// The arguments of a call may nest as deep as a line of others.
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	return dec.Decode(v)
}

func (d *reader) header(line []byte) error {
	var v struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(line, &v); err != nil {
		return err
	}
	switch {
	case v.Version > Version:
		return &event.Error{
			Op: op, Kind: event.ErrNewer, Message: fmt.Sprintf("the recording is of version %d, this program reads up to %d", v.Version, Version),
			Hint: "use the version of Braid that wrote it, or record it again",
		}
	case v.Version < 1:
		return fmt.Errorf("there is no version %d", v.Version)
	}
	return decode(line, &headerLine{})
}

func (d *reader) request(line []byte) error {
	c := &call{line: d.line}
	if err := decode(line, &c.requestLine); err != nil {
		return err
	}
	switch {
	case c.N != len(d.calls)+1:
		return fmt.Errorf("request %d is out of order", c.N)
	case c.Model < 1 || c.Model > len(d.models):
		return fmt.Errorf("there is no model %d", c.Model)
	case c.Setup < 1 || c.Setup > len(d.setups):
		return fmt.Errorf("there is no setup %d", c.Setup)
	case c.Run < 0 || c.Run > d.runs+1:
		return fmt.Errorf("run %d is out of order", c.Run)
	case c.As < 0 || c.As >= c.N || (c.As == 0) != (c.Keep == 0):
		return fmt.Errorf("there is no earlier request %d", c.As)
	}
	if c.As > 0 {
		c.earlier = d.calls[c.As-1]
		if c.Keep < 0 || c.Keep > c.earlier.count() {
			return fmt.Errorf("request %d has no %d messages", c.As, c.Keep)
		}
	}
	d.runs = max(d.runs, c.Run)
	d.calls = append(d.calls, c)
	for _, s := range []spot{c.spot(), c.spot().inAny()} {
		d.byPlace[s] = append(d.byPlace[s], c)
	}
	return nil
}

// open gives a call that has not ended.
func (d *reader) open(n int) (*call, error) {
	if n < 1 || n > len(d.calls) {
		return nil, fmt.Errorf("there is no request %d", n)
	}
	if c := d.calls[n-1]; c.end == nil {
		return c, nil
	}
	return nil, fmt.Errorf("request %d has ended already", n)
}

func (d *reader) chunk(line []byte) error {
	var l chunkLine
	if err := decode(line, &l); err != nil {
		return err
	}
	c, err := d.open(l.N)
	if err != nil {
		return err
	}
	out := chunk{at: time.Duration(l.At), Chunk: model.Chunk{Index: l.Index, ID: l.ID, Text: l.Text, Usage: l.Usage, Stop: l.Stop}}
	for i, name := range chunkNames {
		if name == l.Chunk && name != "" {
			out.Kind = model.ChunkKind(i)
		}
	}
	if out.Kind == 0 {
		return fmt.Errorf("there is no chunk of kind %s", strconv.Quote(l.Chunk))
	}
	if l.Base64 != nil {
		if l.Text != "" {
			return errors.New("a chunk has either text or base64")
		}
		out.Text = string(l.Base64)
	}
	raw := l.Block
	if l.Verbatim != "" {
		raw = json.RawMessage(l.Verbatim)
	}
	if len(raw) > 0 {
		if out.Block, err = event.DecodeBlock(raw); err != nil {
			return err
		}
	}
	if l.Usage != nil && l.Cost != nil {
		d.costs[costOf(c.Model, *l.Usage)] = *l.Cost
	}
	c.chunks = append(c.chunks, out)
	return nil
}

// costOf is the key of a cost. A total is a sum, also where a provider gives none.
func costOf(model int, u event.Usage) costed {
	u.Total = 0
	return costed{model, u}
}

func (d *reader) end(line []byte) error {
	var l endLine
	if err := decode(line, &l); err != nil {
		return err
	}
	c, err := d.open(l.N)
	if err != nil {
		return err
	}
	switch l.Left {
	case "", leftCancelled, leftDeadline, leftStopped:
	default:
		return fmt.Errorf("nobody leaves a call as %s", strconv.Quote(l.Left))
	}
	if l.Error != nil && l.Plain != nil {
		return errors.New("a call has one error")
	}
	c.end = &l
	return nil
}
