package strictjson

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"math/bits"
	"strconv"
	"unicode/utf8"
)

// Reader reads one JSON text from front to back and checks syntax, duplicate keys, depth and
// UTF-8. Use a Reader like this:
//
//	var r strictjson.Reader
//	r.Reset(data, strictjson.DefaultDepth)
//	for o := r.Object(); o.Next(); {
//		switch string(o.Key) {
//		case "name":
//			name = r.String()
//		default:
//			o.Unknown()
//		}
//	}
//	err := r.End()
//
// After Next has returned true, the caller reads exactly one value. The first error sticks: from
// then on Next returns false, every value is zero, and End returns the error. The caller must
// then discard what it has read.
//
// The zero Reader is at the end of an empty text. Do not copy a Reader while an Object or Array
// of it is in use.
type Reader struct {
	data  []byte
	pos   int
	depth int // open arrays and objects
	max   int // maximum of depth
	below int // depth from which max counts
	err   *Error

	// spaced is set once white space between tokens was skipped.
	spaced bool

	// The keys of all open objects, outermost first. They stand in the
	// Reader itself as long as they are few, so that reading does not
	// allocate. Slices into the own array would move the Reader to the heap:
	// hence the index.
	nkeys int
	few   [inlineKeys][]byte
	more  [][]byte
}

const (
	inlineKeys = 32
	// linearKeys is how many keys of one object are compared one by one
	// before a hash table is worth making.
	linearKeys = 24
)

// Reset starts to read data. maxDepth is the maximum of open arrays and objects; 0 allows only a
// string, number or word. The maximum is 10,000. Byte strings that the Reader returns may point
// into data.
func (r *Reader) Reset(data []byte, maxDepth int) {
	*r = Reader{data: data, max: min(maxDepth, hardDepth)}
	// One check of the whole text is cheaper than one per string.
	if !utf8.Valid(data) {
		at := 0
		for at < len(data) {
			c, n := utf8.DecodeRune(data[at:])
			if c == utf8.RuneError && n == 1 {
				break
			}
			at += n
		}
		r.fail(InvalidUTF8, at, "", "invalid UTF-8")
	}
}

// Err returns the first error so far, or nil.
func (r *Reader) Err() error {
	if r.err == nil {
		return nil
	}
	return r.err
}

// End finishes reading. It returns the first error; text left after the value is one.
func (r *Reader) End() error {
	if r.err == nil {
		r.space()
		if r.pos < len(r.data) {
			r.fail(Trailing, r.pos, "", "trailing data")
		}
	}
	return r.Err()
}

// Fail records an error about the value at m. Decoders use it for values that they refuse
// themselves.
func (r *Reader) Fail(m Mark, reason Reason, text string) { r.fail(reason, m.pos, "", text) }

func (r *Reader) fail(reason Reason, at int, key, text string) {
	if r.err == nil {
		r.err = &Error{Reason: reason, Offset: at, Key: key, Text: text}
	}
}

// unexpected reports the byte at the current position.
func (r *Reader) unexpected(want string) {
	if r.pos >= len(r.data) {
		r.fail(Truncated, len(r.data), "", "the text ends before the value does")
		return
	}
	c, _ := utf8.DecodeRune(r.data[r.pos:])
	r.fail(Syntax, r.pos, "", strconv.QuoteRune(c)+" where "+want+" should be")
}

// space skips white space and returns the byte after it, 0 at the end.
func (r *Reader) space() byte {
	for r.pos < len(r.data) {
		c := r.data[r.pos]
		if c > ' ' {
			return c
		}
		switch c {
		case ' ', '\n', '\r', '\t':
			r.pos++
			r.spaced = true
		default:
			return c
		}
	}
	return 0
}

// Peek skips white space and returns the first byte of the next value, 0 at the end or after an
// error. The byte tells the kind of the value.
func (r *Reader) Peek() byte {
	if r.err != nil {
		return 0
	}
	return r.space()
}

// Mark is a position to return to.
type Mark struct{ pos, depth, nkeys int }

// Mark returns the position of the next value.
func (r *Reader) Mark() Mark {
	r.space()
	return Mark{r.pos, r.depth, r.nkeys}
}

// Return goes back to m, so that the value there can be read again. An Object or Array begun
// after m must not be used again.
func (r *Reader) Return(m Mark) {
	r.pos, r.depth = m.pos, m.depth
	r.dropKeys(min(m.nkeys, r.nkeys))
}

// Skip checks the next value and skips it.
func (r *Reader) Skip() {
	if r.err != nil {
		return
	}
	switch c := r.space(); c {
	case '"':
		r.scanString()
	case '{':
		for o := r.Object(); o.Next(); {
			r.Skip()
		}
	case '[':
		for a := r.Array(); a.Next(); {
			r.Skip()
		}
	case 't':
		r.word("true")
	case 'f':
		r.word("false")
	case 'n':
		r.word("null")
	default:
		if c == '-' || '0' <= c && c <= '9' {
			r.scanNumber()
			return
		}
		r.unexpected("a value")
	}
}

// Raw checks the next value, which may nest at most maxDepth levels, and returns a copy without
// white space between tokens.
func (r *Reader) Raw(maxDepth int) []byte {
	raw, spaced := r.extract(maxDepth)
	if spaced {
		return appendWithoutSpace(nil, raw)
	}
	return bytes.Clone(raw)
}

// Verbatim is Raw that keeps white space.
func (r *Reader) Verbatim(maxDepth int) []byte {
	raw, _ := r.extract(maxDepth)
	return bytes.Clone(raw)
}

// extract skips the next value and counts its levels from here.
func (r *Reader) extract(maxDepth int) (raw []byte, spaced bool) {
	m := r.Mark()
	outerMax, outerBelow := r.max, r.below
	if r.depth+maxDepth < r.max {
		r.max, r.below = r.depth+maxDepth, r.depth
	}
	r.spaced = false
	r.Skip()
	r.max, r.below = outerMax, outerBelow
	if r.err != nil {
		return nil, false
	}
	return r.data[m.pos:r.pos:r.pos], r.spaced
}

// Null reads a null and reports whether there was one. It leaves any other value.
func (r *Reader) Null() bool {
	if r.err != nil || r.space() != 'n' {
		return false
	}
	r.word("null")
	return r.err == nil
}

// Bool reads true or false.
func (r *Reader) Bool() bool {
	if r.err != nil {
		return false
	}
	switch r.space() {
	case 't':
		r.word("true")
		return r.err == nil
	case 'f':
		r.word("false")
	default:
		r.wrong("true or false")
	}
	return false
}

// Int64 reads an integer, which has neither a fraction nor an exponent.
func (r *Reader) Int64() int64 { return r.integer(64) }

// Int reads an integer that fits an int.
func (r *Reader) Int() int { return int(r.integer(strconv.IntSize)) }

func (r *Reader) integer(size int) int64 {
	if r.err != nil {
		return 0
	}
	c := r.space()
	if c != '-' && (c < '0' || c > '9') {
		r.wrong("an integer")
		return 0
	}
	start := r.pos
	r.scanNumber()
	if r.err != nil {
		return 0
	}
	s := r.data[start:r.pos]
	digits := s
	if c == '-' {
		digits = s[1:]
	}
	var n int64
	if len(digits) <= 18 && size == 64 { // cannot overflow
		for _, d := range digits {
			if d -= '0'; d > 9 {
				r.fail(WrongType, start, "", "an integer is needed, not a fraction or an exponent")
				return 0
			}
			n = n*10 + int64(d)
		}
		if c == '-' {
			return -n
		}
		return n
	}
	if bytes.ContainsAny(digits, ".eE") {
		r.fail(WrongType, start, "", "an integer is needed, not a fraction or an exponent")
		return 0
	}
	n, err := strconv.ParseInt(string(s), 10, size)
	if err != nil {
		r.fail(WrongType, start, "", "the integer is too large")
		return 0
	}
	return n
}

// Float64 reads a number.
func (r *Reader) Float64() float64 {
	if r.err != nil {
		return 0
	}
	c := r.space()
	if c != '-' && (c < '0' || c > '9') {
		r.wrong("a number")
		return 0
	}
	start := r.pos
	r.scanNumber()
	if r.err != nil {
		return 0
	}
	f, err := strconv.ParseFloat(string(r.data[start:r.pos]), 64)
	if err != nil {
		r.fail(WrongType, start, "", "the number is too large")
		return 0
	}
	return f
}

// String reads a string.
func (r *Reader) String() string { return string(r.Bytes()) }

// Bytes reads a string and returns its bytes with escapes resolved. They may point into the text;
// copy them to keep them.
func (r *Reader) Bytes() []byte {
	if r.err != nil {
		return nil
	}
	if r.space() != '"' {
		r.wrong("a string")
		return nil
	}
	s, escaped := r.scanString()
	if escaped && r.err == nil {
		return unescape(s)
	}
	return s
}

// Base64 reads a string of standard base64.
func (r *Reader) Base64() []byte {
	r.space()
	start := r.pos
	s := r.Bytes()
	if r.err != nil || len(s) == 0 {
		return nil
	}
	// StdEncoding skips line ends; a strict text has none.
	if bytes.ContainsAny(s, "\r\n") {
		r.fail(BadValue, start, "", "line end in base64")
		return nil
	}
	b, err := base64.StdEncoding.Strict().AppendDecode(nil, s)
	if err != nil {
		r.fail(BadValue, start, "", "the string is no base64")
		return nil
	}
	return b
}

// wrong reports a value of another type than expected.
func (r *Reader) wrong(want string) {
	if r.pos >= len(r.data) {
		r.unexpected("a value")
		return
	}
	at := r.pos
	found := typeName(r.data[at])
	if r.Skip(); r.err != nil { // a value that is not JSON is a syntax error
		return
	}
	r.fail(WrongType, at, "", want+" is needed, not "+found)
}

func typeName(first byte) string {
	switch first {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	default:
		return "a number"
	}
}

func (r *Reader) word(w string) {
	rest := r.data[r.pos:]
	if len(rest) >= len(w) && string(rest[:len(w)]) == w {
		r.pos += len(w)
		return
	}
	for i := range len(w) {
		if i == len(rest) || rest[i] != w[i] {
			r.pos += i
			r.unexpected("the word " + w)
			return
		}
	}
}

func (r *Reader) scanNumber() {
	d, i := r.data, r.pos
	digits := func() bool {
		from := i
		for i < len(d) && '0' <= d[i] && d[i] <= '9' {
			i++
		}
		return i > from
	}
	ok := true
	if d[i] == '-' {
		i++
	}
	if i < len(d) && d[i] == '0' {
		i++
	} else {
		ok = digits()
	}
	if ok && i < len(d) && d[i] == '.' {
		i++
		ok = digits()
	}
	if ok && i < len(d) && (d[i] == 'e' || d[i] == 'E') {
		i++
		if i < len(d) && (d[i] == '+' || d[i] == '-') {
			i++
		}
		ok = digits()
	}
	r.pos = i
	if !ok {
		r.unexpected("a digit")
	}
}

// Masks that test eight bytes of a string at once. The lowest byte that needsLook marks ends a
// plain stretch exactly; higher marks may be wrong.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

func needsLook(w uint64) uint64 {
	quote := w ^ ones*'"'
	back := w ^ ones*'\\'
	return ((w-ones*0x20)&^w | (quote-ones)&^quote | (back-ones)&^back) & highs
}

// scanString skips a string. It returns the raw text between the quotes and whether that contains
// escapes.
func (r *Reader) scanString() (s []byte, escaped bool) {
	d := r.data
	start := r.pos + 1
	i := start
	for {
		for i+8 <= len(d) {
			m := needsLook(binary.LittleEndian.Uint64(d[i:]))
			if m != 0 {
				i += bits.TrailingZeros64(m) >> 3
				break
			}
			i += 8
		}
		if i >= len(d) {
			r.pos = i
			r.unexpected("the end of the string")
			return nil, false
		}
		switch c := d[i]; {
		case c == '"':
			r.pos = i + 1
			return d[start:i:i], escaped
		case c == '\\':
			escaped = true
			n := r.scanEscape(i)
			if n == 0 {
				return nil, false
			}
			i += n
		case c < ' ':
			r.pos = i
			r.fail(Syntax, i, "", "control character in a string")
			return nil, false
		default:
			i++
		}
	}
}

// scanEscape returns the length of the escape at i, counting a surrogate pair as one; 0 after an
// error.
func (r *Reader) scanEscape(i int) int {
	d := r.data
	if i+1 >= len(d) {
		r.pos = len(d)
		r.unexpected("an escape")
		return 0
	}
	switch d[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
	default:
		r.pos = i + 1
		r.unexpected("an escape")
		return 0
	}
	c, n := hex4(d[i+2:])
	if n < 4 {
		r.pos = i + 2 + n
		r.unexpected("a hexadecimal digit")
		return 0
	}
	if c < 0xd800 || c > 0xdfff {
		return 6
	}
	if c < 0xdc00 && i+8 <= len(d) && d[i+6] == '\\' && d[i+7] == 'u' {
		low, n := hex4(d[i+8:])
		if n == 4 && 0xdc00 <= low && low <= 0xdfff {
			return 12
		}
	}
	r.pos = i
	r.fail(LoneSurrogate, i, "", "half of a surrogate pair")
	return 0
}

// hex4 reads up to four hexadecimal digits and returns their number.
func hex4(d []byte) (c rune, n int) {
	for n < 4 && n < len(d) {
		b := d[n]
		switch {
		case '0' <= b && b <= '9':
			b -= '0'
		case 'a' <= b && b <= 'f':
			b -= 'a' - 10
		case 'A' <= b && b <= 'F':
			b -= 'A' - 10
		default:
			return 0, n
		}
		c = c<<4 | rune(b)
		n++
	}
	return c, n
}

// unescape resolves the escapes of a scanned string.
func unescape(s []byte) []byte {
	out := make([]byte, 0, len(s))
	for {
		i := bytes.IndexByte(s, '\\')
		if i < 0 {
			return append(out, s...)
		}
		out = append(out, s[:i]...)
		c := s[i+1]
		s = s[i+2:]
		switch c {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			u, _ := hex4(s)
			s = s[4:]
			if u >= 0xd800 && u <= 0xdfff {
				low, _ := hex4(s[2:])
				u = (u-0xd800)<<10 + (low - 0xdc00) + 0x10000
				s = s[6:]
			}
			out = utf8.AppendRune(out, u)
		default: // quote, backslash, slash
			out = append(out, c)
		}
	}
}

func (r *Reader) key(i int) []byte {
	if i < inlineKeys {
		return r.few[i]
	}
	return r.more[i-inlineKeys]
}

func (r *Reader) pushKey(key []byte) {
	if r.nkeys < inlineKeys {
		r.few[r.nkeys] = key
	} else {
		r.more = append(r.more, key)
	}
	r.nkeys++
}

func (r *Reader) dropKeys(base int) {
	if r.nkeys > inlineKeys {
		r.more = r.more[:max(base-inlineKeys, 0)]
	}
	r.nkeys = base
}

// enter opens an array or object.
func (r *Reader) enter(what byte, want string) bool {
	if r.err != nil {
		return false
	}
	if r.space() != what {
		r.wrong(want)
		return false
	}
	if r.depth >= r.max {
		r.fail(TooDeep, r.pos, "", "nested deeper than "+strconv.Itoa(r.max-r.below)+" levels")
		return false
	}
	r.pos++
	r.depth++
	return true
}
