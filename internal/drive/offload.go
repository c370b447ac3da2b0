package drive

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/tool"
)

// Offloading is an [Offloading] with its defaults, and the tool that reads what was off-loaded.
type Offloading struct {
	Over    int
	Preview int
	Reader  tool.Tool
}

// offloadResult is the stage that shortens what the model is shown of a large result.
func (d *driver) offloadResult(w *Work) bool {
	if o := w.agent.Offload; o != nil {
		w.end.shown = o.shown(d.view.Last+1, w.call.tool, w.end.made)
	}
	return true
}

// shown is what the model sees of a result that the event seq has; nil for the result as it is.
func (o *Offloading) shown(seq int64, of tool.Tool, r *event.ToolResult) []event.Block {
	if of == o.Reader || !o.large(r) {
		return nil
	}
	text := wholeText(r)
	head, tail := fitFront(text, o.Preview*2/3), fitBack(text, o.Preview/3)
	if len(head)+len(tail) >= len(text) {
		head, tail = text, ""
	}
	note := fmt.Sprintf("[Result %d has %d bytes. Its beginning and end follow; call %s with {\"result\":%d,\"offset\":%d} for the rest.]\n",
		seq, len(text), "read_result", seq, len(head))
	shown := note + head
	if tail != "" {
		shown += "\n…\n" + tail
	}
	blocks := []event.Block{&event.Text{Text: shown}}
	for _, b := range r.Content {
		switch b := b.(type) {
		case *event.Text:
		case *event.Document:
			if b.Text == "" {
				blocks = append(blocks, b)
			}
		default:
			blocks = append(blocks, b)
		}
	}
	return blocks
}

// large reports whether the text of a result is over the size.
func (o *Offloading) large(r *event.ToolResult) bool {
	n := len(r.Structured)
	for _, b := range r.Content {
		switch b := b.(type) {
		case *event.Text:
			n += len(b.Text)
		case *event.Document:
			n += len(b.Text)
		}
	}
	return n > o.Over
}

// wholeText is the text of a result, as read_result reads it.
func wholeText(r *event.ToolResult) string {
	var parts []string
	for _, b := range r.Content {
		switch b := b.(type) {
		case *event.Text:
			parts = append(parts, b.Text)
		case *event.Document:
			if b.Text != "" {
				parts = append(parts, b.Text)
			}
		}
	}
	if s := string(r.Structured); s != "" && (len(parts) != 1 || parts[0] != s) {
		parts = append(parts, s)
	}
	return strings.Join(parts, "\n")
}

// jsonSize is how many bytes a letter takes in JSON at most.
func jsonSize(r rune) int {
	switch {
	case r == '"' || r == '\\' || r == '\n' || r == '\t' || r == '\r':
		return 2
	case r < 0x20 || r == '<' || r == '>' || r == '&' || r == 0x2028 || r == 0x2029:
		return 6
	default:
		return utf8.RuneLen(r)
	}
}

// fitFront is the longest beginning of a text that takes no more than size bytes in JSON,
// fitBack the longest end.
func fitFront(text string, size int) string {
	for i, r := range text {
		if size -= jsonSize(r); size < 0 {
			return text[:i]
		}
	}
	return text
}

func fitBack(text string, size int) string {
	at := len(text)
	for at > 0 {
		r, n := utf8.DecodeLastRuneInString(text[:at])
		if size -= jsonSize(r); size < 0 {
			break
		}
		at -= n
	}
	return text[at:]
}

// ReadArgs are the arguments of the tool that reads what was off-loaded.
type ReadArgs struct {
	Result int64  `json:"result"           jsonschema:"the number of the result, as it was shown"`
	Offset int    `json:"offset,omitempty" jsonschema:"the byte to begin at; 0 is the beginning"`
	Length int    `json:"length,omitempty" jsonschema:"how many bytes to read; 0 is as many as may be"`
	Find   string `json:"find,omitempty"   jsonschema:"a text to look for from offset on, instead of reading"`
}

// reading is what a call of the reader needs to know of its conversation.
type reading struct {
	store journal.Store
	// begin is where the session begins, and redacted are the events that nobody may see.
	begin    int64
	redacted map[int64][]event.Block
}

// lend gives a call of the reader what it needs.
func (d *driver) lend(c *runningCall, agent *Agent) {
	if agent.Offload != nil && c.tool == agent.Offload.Reader {
		c.reading = &reading{store: d.lease.conv.Store, begin: d.view.Begin, redacted: maps.Clone(d.view.Hidden.Redacted)}
	}
}

// ReadResult reads a result out of the log, at most so many bytes of it.
func ReadResult(ctx context.Context, in ReadArgs, most int) (string, error) {
	bad := func(message, hint string) (string, error) {
		return "", &event.Error{Op: "read_result", Kind: event.ErrInvalid, Message: message, Hint: hint}
	}
	c := runningCallOf(ctx)
	if c == nil || c.reading == nil {
		return bad("there is no conversation to read from", "call it inside a run")
	}
	text, ok, err := c.reading.text(ctx, c, in.Result)
	switch {
	case err != nil:
		return "", err
	case !ok:
		return bad("there is no result "+strconv.FormatInt(in.Result, 10), "use the number that was shown with the result")
	case in.Offset < 0 || in.Offset > len(text) || in.Length < 0:
		return bad(fmt.Sprintf("the result has %d bytes, and there is nothing at byte %d", len(text), in.Offset), "begin within it")
	}
	from := in.Offset
	for from > 0 && from < len(text) && !utf8.RuneStart(text[from]) {
		from--
	}
	if in.Find != "" {
		return findAll(text, from, in.Find, most), nil
	}
	if in.Length > 0 {
		most = min(most, max(in.Length, utf8.UTFMax))
	}
	to := min(from+most, len(text))
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to--
	}
	return fmt.Sprintf("[bytes %d to %d of %d]\n%s", from, to, len(text), text[from:to]), nil
}

// findAll lists where a text occurs from a place on, in about so many bytes.
func findAll(text string, from int, what string, most int) string {
	const around = 80
	var sb strings.Builder
	found, last, at := 0, from, from
	for {
		i := strings.Index(text[at:], what)
		if i < 0 {
			break
		}
		at += i
		if found > 0 && sb.Len()+2*around+len(what) > most {
			return fmt.Sprintf("[found %d times before byte %d; there is more: look on from there]\n%s", found, at, sb.String())
		}
		found++
		begin, end := max(at-around, last), min(at+len(what)+around, len(text))
		for !utf8.RuneStart(text[begin]) {
			begin++
		}
		for end < len(text) && !utf8.RuneStart(text[end]) {
			end--
		}
		fmt.Fprintf(&sb, "[byte %d] %s\n", at, fold.CutText(text[begin:end], most, most/2, most/4))
		at += len(what)
		last = at
	}
	if found == 0 {
		return fmt.Sprintf("[not found from byte %d on]", from)
	}
	return fmt.Sprintf("[found %d times from byte %d on]\n%s", found, from, sb.String())
}

// text finds a result of the call's own scope and session in the log. What is redacted is not there.
func (r *reading) text(ctx context.Context, c *runningCall, seq int64) (string, bool, error) {
	if seq <= r.begin || r.redacted[seq] != nil {
		return "", false, nil
	}
	events, err := r.store.Read(ctx, c.Conversation, seq-1, 1)
	if err != nil || len(events) == 0 {
		return "", false, err
	}
	e := events[0]
	ended, ok := e.Body.(*event.StepEnded)
	if !ok || ended.Result == nil || e.Seq != seq || e.Scope != c.Scope || c.Scope != "" && e.Run != c.Run {
		return "", false, nil
	}
	return wholeText(ended.Result), true, nil
}
