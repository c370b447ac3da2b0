package secret

import (
	"encoding/binary"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// MaskFrom is the length in bytes of the shortest value that a [Mask] looks for. Shorter ones are
// parts of ordinary words.
const MaskFrom = 8

// Mask finds known secrets in text from others. It finds each value as it is, and in the forms in
// which values are usually repeated:
//
//   - escaped for JSON, also with \u escapes and more than once, and percent-encoded
//   - in hexadecimal
//   - in base64, standard or URL-safe, at any place in the encoded text
//   - backwards
//   - with white space in between
//   - each of these in letters of any case, as headers are echoed (ASCII only)
//
// The second word of a value such as "Bearer …" is also found by itself. At the end of a text the
// mask also finds the beginning of a value, from [MaskFrom] characters on, because the rest may
// have been cut off.
//
// A nil Mask finds nothing. A Mask is safe for concurrent use. Its cost does not depend on the
// number of secrets.
type Mask struct {
	forms []form
	// starts finds forms by their first eight bytes, and beginnings holds what is shorter.
	starts     map[uint64][]int32
	beginnings map[uint64]struct{}
	// may has a bit for each hash of a start, so that most places are never looked up.
	may [256]uint64
}

// NewMask returns a mask for these secrets. It returns nil if none of them is long enough.
func NewMask(secrets ...Secret) *Mask {
	m := &Mask{starts: map[uint64][]int32{}, beginnings: map[uint64]struct{}{}}
	var values []string
	for _, s := range secrets {
		values = append(values, s.Reveal())
		if words := strings.Fields(s.Reveal()); len(words) == 2 {
			values = append(values, words[1]) // as in "Bearer …"
		}
	}
	for _, value := range values {
		if len(value) < MaskFrom {
			continue
		}
		plain := folded(value)
		m.add(form{value: plain})
		if query := folded(url.QueryEscape(value)); query != plain { // white space is "+"
			m.add(form{value: query})
		}
		m.add(form{value: folded(backwards(value))})
		m.add(form{value: value, in: inHex})
		for offset := range 3 {
			m.add(form{value: value, in: inBase64, offset: offset})
			m.add(form{value: value, in: inURLBase64, offset: offset})
		}
	}
	if len(m.forms) == 0 {
		return nil
	}
	return m
}

func (m *Mask) add(f form) {
	if f.size() < MaskFrom {
		return
	}
	var start [MaskFrom]byte
	for i := range start {
		start[i] = f.at(i)
		if i > 0 {
			m.beginnings[beginning(start[:i])] = struct{}{}
		}
	}
	key := binary.LittleEndian.Uint64(start[:])
	for _, i := range m.starts[key] {
		if m.forms[i].same(&f) {
			return
		}
	}
	m.starts[key] = append(m.starts[key], int32(len(m.forms)))
	m.forms = append(m.forms, f)
	h := hash(key)
	m.may[h>>6] |= 1 << (h & 63)
}

// beginning is up to seven bytes with their number.
func beginning(b []byte) uint64 {
	key := uint64(len(b)) << 56
	for i, c := range b {
		key |= uint64(c) << (8 * i)
	}
	return key
}

func hash(key uint64) uint64 { return key * 0x9E3779B97F4A7C15 >> 50 }

// Hide replaces everything that the mask finds with [Redacted].
func (m *Mask) Hide(text string) string {
	if m == nil {
		return text
	}
	return replaced(text, m.Find(text))
}

// replaced replaces places, which are in order, with [Redacted].
func replaced(text string, places [][2]int) string {
	if len(places) == 0 {
		return text
	}
	var b strings.Builder
	at := 0
	for _, p := range places {
		b.WriteString(text[at:p[0]])
		b.WriteString(Redacted)
		at = p[1]
	}
	b.WriteString(text[at:])
	return b.String()
}

// Find returns the places of what the mask finds, as [Find] does.
func (m *Mask) Find(text string) [][2]int {
	if m == nil || len(text) < MaskFrom {
		return nil
	}
	f := fold(text, false)
	places, open := m.look(&f)
	if open >= 0 && len(f.bytes)-open >= MaskFrom {
		places = append(places, [2]int{int(f.from[open]), len(text)})
	} else if f.end < len(text) { // what begins an escape may be none
		f = fold(text, true)
		if places, open = m.look(&f); open >= 0 && len(f.bytes)-open >= MaskFrom {
			places = append(places, [2]int{int(f.from[open]), len(text)})
		}
	}
	return joined(places)
}

// joined joins overlapping places. They must be in order. Adjacent ones stay apart, as they do in
// streamed text.
func joined(places [][2]int) [][2]int {
	kept := places[:0]
	for _, p := range places {
		if n := len(kept); n > 0 && p[0] < kept[n-1][1] {
			kept[n-1][1] = max(kept[n-1][1], p[1])
			continue
		}
		kept = append(kept, p)
	}
	return kept
}

// look returns the places of whole forms, and the beginning of a form that the end of the text
// cuts: -1 if there is none.
func (m *Mask) look(f *foldedText) (places [][2]int, open int) {
	open = -1
	for i := 0; i+MaskFrom <= len(f.bytes); i++ {
		key := binary.LittleEndian.Uint64(f.bytes[i:])
		if h := hash(key); m.may[h>>6]&(1<<(h&63)) == 0 {
			continue
		}
		longest := 0
		for _, k := range m.starts[key] {
			whole, goesOn := m.forms[k].fits(f.bytes[i:])
			longest = max(longest, whole)
			if goesOn && open < 0 {
				open = i
			}
		}
		if longest > 0 {
			places = append(places, [2]int{int(f.from[i]), int(f.to[i+longest-1])})
		}
	}
	for i := max(0, len(f.bytes)-MaskFrom+1); i < len(f.bytes) && open < 0; i++ {
		if _, ok := m.beginnings[beginning(f.bytes[i:])]; ok {
			open = i
		}
	}
	return places, open
}

// form is one spelling of a secret. Encoded forms are computed during the comparison.
type form struct {
	value  string
	in     encoding
	offset int
}

type encoding uint8

const (
	asItIs encoding = iota
	inHex
	inBase64
	inURLBase64
)

const (
	hexSet = "0123456789abcdef"
	// base64Set is folded, too.
	base64Set = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz0123456789"
)

// size returns the length of the form. In base64 it excludes characters that depend on other bytes.
func (f *form) size() int {
	switch f.in {
	case inHex:
		return 2 * len(f.value)
	case inBase64, inURLBase64:
		return (f.offset+len(f.value))*8/6 - f.skipped()
	default:
		return len(f.value)
	}
}

func (f *form) skipped() int { return (f.offset*8 + 5) / 6 }

// at returns one character of the form.
func (f *form) at(i int) byte {
	switch f.in {
	case inHex:
		c := f.value[i/2]
		if i%2 == 0 {
			c >>= 4
		}
		return hexSet[c&15]
	case inBase64, inURLBase64:
		bit := (i+f.skipped())*6 - f.offset*8 // of the value
		two := uint(f.value[bit/8]) << 8
		if bit/8+1 < len(f.value) {
			two |= uint(f.value[bit/8+1])
		}
		n := two >> (10 - bit%8) & 63
		switch {
		case n < 62:
			return base64Set[n]
		case f.in == inBase64:
			return "+/"[n-62]
		default:
			return "-_"[n-62]
		}
	default:
		return f.value[i]
	}
}

// fits compares the form with the beginning of text. whole is its length if all of it is there.
// goesOn reports that the text ends within it.
func (f *form) fits(text []byte) (whole int, goesOn bool) {
	size := f.size()
	for i := range min(size, len(text)) {
		if f.at(i) != text[i] {
			return 0, false
		}
	}
	if size > len(text) {
		return 0, true
	}
	return size, false
}

func (f *form) same(other *form) bool {
	if f.size() != other.size() {
		return false
	}
	for i := range f.size() {
		if f.at(i) != other.at(i) {
			return false
		}
	}
	return true
}

func backwards(s string) string {
	r := []rune(s)
	slices.Reverse(r)
	return string(r)
}

// foldedText is a text in lower case, without white space and escapes. from and to are the place of
// each byte in the text.
type foldedText struct {
	bytes    []byte
	from, to []int32
	// end is the beginning of an unfinished escape, or else the text's end.
	end int
}

func folded(s string) string {
	f := fold(s, true)
	return string(f.bytes)
}

// fold normalizes a text: it removes white space and backslashes, lowers ASCII letters, and
// resolves the escapes of JSON and URLs. A value and its repetition have the same folded form.
// whole reports that the text does not go on.
func fold(text string, whole bool) foldedText {
	f := foldedText{bytes: make([]byte, 0, len(text)), from: make([]int32, 0, len(text)), to: make([]int32, 0, len(text)), end: len(text)}
	put := func(c byte, from, to int) {
		if c > ' ' && c != 0x7f {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			f.bytes = append(f.bytes, c)
			f.from, f.to = append(f.from, int32(from)), append(f.to, int32(to))
		}
	}
	for i := 0; i < len(text); {
		c := text[i]
		if c != '\\' && c != '%' {
			put(c, i, i+1)
			i++
			continue
		}
		e := escapeAt(text[i:])
		switch {
		case e.open && !whole:
			f.end = i
			return f
		case e.size == 0:
			put(c, i, i+1)
			i++
		default:
			for k := range e.count {
				put(e.means[k], i, i+e.size)
			}
			i += e.size
		}
	}
	return f
}

// escape is one escape: its size in the text, and the bytes that it means.
type escape struct {
	size  int
	means [utf8.UTFMax]byte
	count int
	// open reports that the text ends before the escape is complete.
	open bool
}

// escapeAt parses the escape at the beginning of text. A size of 0 means none.
func escapeAt(text string) (e escape) {
	if text[0] == '%' {
		n, digits := hexValue(text[1:], 2)
		e.open = digits < 2 && digits == len(text)-1
		if digits == 2 {
			e.size, e.count, e.means[0] = 3, 1, byte(n)
		}
		return e
	}
	e.size = 1 // a backslash alone means nothing
	if len(text) < 2 {
		e.open = true
		return e
	}
	switch text[1] {
	case 'n', 'r', 't', 'b', 'f':
		e.size = 2
	case 'x':
		n, digits := hexValue(text[2:], 2)
		e.open = digits < 2 && digits == len(text)-2
		if digits == 2 {
			e.size, e.count, e.means[0] = 4, 1, byte(n)
		}
	case 'u':
		n, digits := hexValue(text[2:], 4)
		e.open = digits < 4 && digits == len(text)-2
		if digits < 4 {
			return e
		}
		r, size := n, 6
		if utf16.IsSurrogate(n) && n < 0xDC00 {
			second, open := lowSurrogate(text[6:])
			e.open = open
			if full := utf16.DecodeRune(n, second); full != unicode.ReplacementChar {
				r, size = full, 12
			}
		}
		e.size, e.count = size, utf8.EncodeRune(e.means[:], r)
	}
	return e
}

// lowSurrogate parses the second half of a surrogate pair.
func lowSurrogate(text string) (r rune, open bool) {
	const lead = `\u`
	if len(text) < len(lead) {
		return 0, strings.HasPrefix(lead, text)
	}
	if text[:2] != lead {
		return 0, false
	}
	n, digits := hexValue(text[2:], 4)
	if digits < 4 {
		return 0, digits == len(text)-2
	}
	return n, false
}

// hexValue parses up to most hexadecimal digits.
func hexValue(text string, most int) (value rune, digits int) {
	for digits < most && digits < len(text) {
		c := text[digits]
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return value, digits
		}
		value = value<<4 | rune(c)
		digits++
	}
	return value, digits
}
