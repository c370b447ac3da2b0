package event

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/braidrun/braid/internal/strictjson"
)

// AppendJSON appends the event's JSON to dst. It fails for an event without
// a body, raw JSON that is none, an unknown audience, an [Unknown] that bears the
// name of a known kind, and a time outside the years 0 to 9999; dst is
// then returned as it was. For a live event it does not allocate once dst is
// large enough.
func AppendJSON(dst []byte, e *Event) ([]byte, error) {
	w := encoder{buf: append(dst, '{')}
	h := &e.Header
	w.intOpt(`"seq":`, h.Seq)
	w.strOpt(`"conversation":`, h.Conversation)
	w.strOpt(`"run":`, h.Run)
	w.strOpt(`"scope":`, h.Scope)
	w.intOpt(`"cycle":`, int64(h.Cycle))
	w.strOpt(`"step":`, h.Step)
	w.intOpt(`"attempt":`, int64(h.Attempt))
	w.strOpt(`"author":`, h.Author)
	w.strOpt(`"branch":`, h.Branch)
	w.timeOpt(`"time":`, h.Time)
	switch h.Audience {
	case Everyone:
	case Operator:
		w.str(`"audience":`, Operator.String())
	default:
		w.fail("the event has an audience that this version does not know")
	}
	w.boolOpt(`"simulated":`, h.Simulated)
	w.intOpt(`"epoch":`, h.Epoch)
	w.intOpt(`"n":`, h.N)
	w.body(e.Body)
	w.close()
	return w.done("encode event", dst)
}

// AppendBlock appends a block's JSON to dst; it fails as [AppendJSON] does.
func AppendBlock(dst []byte, b Block) ([]byte, error) {
	w := encoder{buf: dst}
	w.block(b)
	w.trim()
	return w.done("encode block", dst)
}

// AppendBlocks appends the JSON array of the blocks to dst; no blocks are [].
func AppendBlocks(dst []byte, blocks []Block) ([]byte, error) {
	w := encoder{buf: dst}
	w.list(blocks)
	w.trim()
	return w.done("encode blocks", dst)
}

// AppendMessage appends a message's JSON to dst.
func AppendMessage(dst []byte, m Message) ([]byte, error) {
	w := encoder{buf: append(dst, '{')}
	w.str(`"role":`, string(m.Role))
	w.blocks(`"content":`, m.Content)
	w.close()
	return w.done("encode message", dst)
}

// encoder appends to buf. Every value is written with a comma after it; closing
// takes the last one away. The first error sticks.
type encoder struct {
	buf    []byte
	nested int // tool results that are open
	err    *Error
}

func (w *encoder) done(op string, dst []byte) ([]byte, error) {
	if w.err != nil {
		w.err.Op = op
		return dst, w.err
	}
	return w.buf, nil
}

func (w *encoder) fail(message string) {
	if w.err == nil {
		w.err = &Error{Kind: ErrInvalid, Message: message}
	}
}

// failRaw reports raw JSON that cannot be written; whose says in quotes where it is.
func (w *encoder) failRaw(whose string, err error) {
	if w.err == nil {
		w.err = &Error{Kind: ErrInvalid, Message: "the raw JSON of " + whose + " cannot be written: " + err.Error(), Err: err}
	}
}

// The errors of an event without a body and of a nil block.
const (
	noBody  = "the event has no body"
	noBlock = "there is a nil block"
)

// The pieces. Names that end in Opt leave a zero value out.

// trim takes the last comma away.
func (w *encoder) trim() {
	if n := len(w.buf); n > 0 && w.buf[n-1] == ',' {
		w.buf = w.buf[:n-1]
	}
}

// close ends an object, end ends one inside another.
func (w *encoder) close() { w.trim(); w.buf = append(w.buf, '}') }
func (w *encoder) end()   { w.trim(); w.buf = append(w.buf, '}', ',') }

// beginList writes the key of a list, and endList ends it.
func (w *encoder) beginList(key string) { w.key(key); w.buf = append(w.buf, '[') }
func (w *encoder) endList()             { w.trim(); w.buf = append(w.buf, ']', ',') }

func (w *encoder) null() { w.buf = append(w.buf, `null,`...) }

// key writes a key, which comes with its quotes and colon: it is one copy.
func (w *encoder) key(key string) { w.buf = append(w.buf, key...) }

func (w *encoder) quoted(s string) {
	w.buf = append(strictjson.AppendString(w.buf, s), ',')
}

func (w *encoder) str(key, s string) {
	w.key(key)
	w.quoted(s)
}

func (w *encoder) strOpt(key, s string) {
	if s != "" {
		w.str(key, s)
	}
}

func (w *encoder) int(key string, n int64) {
	w.key(key)
	w.buf = append(strconv.AppendInt(w.buf, n, 10), ',')
}

func (w *encoder) intOpt(key string, n int64) {
	if n != 0 {
		w.int(key, n)
	}
}

func (w *encoder) boolOpt(key string, b bool) {
	if b {
		w.key(key)
		w.buf = append(w.buf, `true,`...)
	}
}

func (w *encoder) timeOpt(key string, t time.Time) {
	if t.IsZero() {
		return
	}
	w.key(key)
	w.buf = append(w.buf, '"')
	b, err := t.UTC().AppendText(w.buf)
	if err != nil {
		w.fail("a time is outside the years 0 to 9999")
		return
	}
	w.buf = append(b, '"', ',')
}

func (w *encoder) bytesOpt(key string, b []byte) {
	if len(b) == 0 {
		return
	}
	w.key(key)
	w.buf = append(w.buf, '"')
	w.buf = base64.StdEncoding.AppendEncode(w.buf, b)
	w.buf = append(w.buf, '"', ',')
}

// raw writes raw JSON; none is null.
func (w *encoder) raw(key string, raw json.RawMessage) {
	w.key(key)
	if err := w.value(raw); err != nil {
		w.failRaw(strings.TrimSuffix(key, ":"), err)
	}
}

func (w *encoder) value(raw json.RawMessage) error {
	if len(raw) == 0 {
		w.null()
		return nil
	}
	b, err := strictjson.AppendCompact(w.buf, raw, maxRaw)
	w.buf = append(b, ',')
	return err
}

func (w *encoder) rawOpt(key string, raw json.RawMessage) {
	if len(raw) > 0 {
		w.raw(key, raw)
	}
}

func (w *encoder) list(blocks []Block) {
	w.buf = append(w.buf, '[')
	for _, b := range blocks {
		if w.err != nil {
			return
		}
		w.block(b)
	}
	w.endList()
}

func (w *encoder) blocks(key string, blocks []Block) {
	w.key(key)
	w.list(blocks)
}

func (w *encoder) blocksOpt(key string, blocks []Block) {
	if len(blocks) > 0 {
		w.blocks(key, blocks)
	}
}

func (w *encoder) strsOpt(key string, list []string) {
	if len(list) == 0 {
		return
	}
	w.beginList(key)
	for _, s := range list {
		w.quoted(s)
	}
	w.endList()
}

// strsZero writes a list without entries too, where there is a list.
func (w *encoder) strsZero(key string, list []string) {
	if list != nil && len(list) == 0 {
		w.key(key)
		w.buf = append(w.buf, "[],"...)
		return
	}
	w.strsOpt(key, list)
}

func (w *encoder) intsOpt(key string, list []int64) {
	if len(list) == 0 {
		return
	}
	w.beginList(key)
	for _, n := range list {
		w.buf = append(strconv.AppendInt(w.buf, n, 10), ',')
	}
	w.endList()
}

func (w *encoder) labelsOpt(key string, m map[string]string) {
	if len(m) == 0 {
		return
	}
	w.key(key)
	w.buf = append(w.buf, '{')
	m = unicodeKeys(w, m)
	for _, k := range slices.Sorted(maps.Keys(m)) {
		w.buf = append(strictjson.AppendString(w.buf, k), ':')
		w.quoted(m[k])
	}
	w.end()
}

func (w *encoder) valuesOpt(key string, m map[string]json.RawMessage) {
	if len(m) == 0 {
		return
	}
	w.key(key)
	w.buf = append(w.buf, '{')
	m = unicodeKeys(w, m)
	for _, k := range slices.Sorted(maps.Keys(m)) {
		w.buf = append(strictjson.AppendString(w.buf, k), ':')
		if err := w.value(m[k]); err != nil {
			w.failRaw(strconv.Quote(k), err)
		}
	}
	w.end()
}

// unicodeKeys is m with keys as they will be written. Two that differ only in
// bytes that are no UTF-8 would become one: that is an error.
func unicodeKeys[V any](w *encoder, m map[string]V) map[string]V {
	bad := 0
	for k := range m {
		if !utf8.ValidString(k) {
			bad++
		}
	}
	if bad == 0 {
		return m
	}
	clean := make(map[string]V, len(m))
	for k, v := range m {
		clean[string([]rune(k))] = v // U+FFFD for each bad byte
	}
	if len(clean) < len(m) {
		w.fail("two keys are the same once bytes that are no UTF-8 are replaced")
	}
	return clean
}

func (w *encoder) costOpt(key string, cost *int64) { //nolint:unparam // generated code gives each of these a key
	if cost != nil {
		w.int(key, *cost)
	}
}

// resultOpt writes a tool result that stands alone, with its kind.
func (w *encoder) resultOpt(key string, b *ToolResult) {
	if b != nil {
		w.key(key)
		w.toolResult(b)
	}
}
