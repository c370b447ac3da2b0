package cassette

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/secret"
)

// minSecret is the shortest secret that is hidden: hiding every "a" would leave
// nothing of a recording.
const minSecret = 4

// tail is how much of a known secret must stand at the end of a text to be hidden:
// what was cut off inside a key still shows most of it.
const tail = 8

// hider takes out of what is written what nobody may read. It is the same for one
// text whether it comes whole or in pieces, and doing it twice changes nothing.
// It is not changed once it is in use, and safe for concurrent use then.
type hider struct {
	// needles are the known secrets in the forms in which a text may hold them. mask knows more forms of those that are
	// long enough.
	needles []string
	secrets []secret.Secret
	mask    *secret.Mask
	// funcs are the caller's own.
	funcs []func(string) string
}

// know hides a secret: as it is, and as it stands in JSON, in an address and in base64.
func (h *hider) know(s secret.Secret) {
	value := s.Reveal()
	if len(value) < minSecret {
		return
	}
	h.secrets = append(h.secrets, s)
	h.mask = secret.NewMask(h.secrets...)
	quoted := strictjson.AppendString(nil, value)
	html, err := json.Marshal(value)
	if err != nil { // a string always has a form
		html = quoted
	}
	for _, form := range []string{
		value, string(quoted[1 : len(quoted)-1]), string(html[1 : len(html)-1]), url.QueryEscape(value), url.PathEscape(value),
		base64.StdEncoding.EncodeToString([]byte(value)), base64.RawURLEncoding.EncodeToString([]byte(value)),
	} {
		if !slices.Contains(h.needles, form) {
			h.needles = append(h.needles, form)
		}
	}
}

// patch puts with in the place of what stands between from and to.
type patch struct {
	from, to int
	with     string
}

// places finds what is known and what has the form of a secret.
func (h *hider) places(text string) [][2]int {
	return secret.Merge(append(h.known(text), secret.Find(text)...))
}

// known finds the known secrets, also one of which the end is cut off.
func (h *hider) known(text string) [][2]int {
	found := h.mask.Find(text)
	for _, n := range h.needles {
		for at := 0; ; {
			i := strings.Index(text[at:], n)
			if i < 0 {
				break
			}
			found = append(found, [2]int{at + i, at + i + len(n)})
			at += i + 1
		}
		for k := min(len(n)-1, len(text)); k >= tail; k-- {
			if strings.HasSuffix(text, n[:k]) {
				found = append(found, [2]int{len(text) - k, len(text)})
				break
			}
		}
	}
	return found
}

func patches(places [][2]int) []patch {
	if len(places) == 0 {
		return nil
	}
	ps := make([]patch, len(places))
	for i, p := range places {
		ps[i] = patch{p[0], p[1], secret.Redacted}
	}
	return ps
}

// text hides in a whole text.
func (h *hider) text(s string) string {
	pieces := []string{s}
	h.pieces(pieces)
	return pieces[0]
}

// pieces hides in a text that comes in pieces, which it changes. What was hidden
// stands in the piece in which it began.
func (h *hider) pieces(pieces []string) {
	if whole := strings.Join(pieces, ""); whole != "" {
		mend(pieces, patches(h.places(whole)))
	}
	for _, f := range h.funcs {
		whole := strings.Join(pieces, "")
		mend(pieces, difference(whole, f(whole)))
	}
}

// jsonPieces is pieces for a text that is JSON, or was meant to be: the secrets are
// looked for in its strings as they read, and it stays JSON if it was.
func (h *hider) jsonPieces(pieces []string) {
	whole := strings.Join(pieces, "")
	if whole == "" {
		return
	}
	if strictjson.Check([]byte(whole), strictjson.DefaultDepth) != nil {
		// Nothing reads it as JSON, but a person may.
		mend(pieces, h.inStrings(whole, true))
		h.pieces(pieces)
		return
	}
	mend(pieces, h.inStrings(whole, true))
}

// json hides in JSON. Numbers are looked at where free is set: elsewhere they are
// Braid's own and the text would not be read again.
func (h *hider) json(raw []byte, free bool) []byte {
	ps := h.inStrings(string(raw), free)
	if len(ps) == 0 {
		return raw
	}
	pieces := []string{string(raw)}
	mend(pieces, ps)
	return []byte(pieces[0])
}

// inStrings gives the patches for the strings of a JSON text. It makes do with one
// that is cut or wrong.
func (h *hider) inStrings(whole string, free bool) []patch {
	var ps []patch
	name := ""
	for i := 0; i < len(whole); {
		switch c := whole[i]; {
		case c == '"':
			end, closed := stringEnd(whole, i+1)
			from := i + 1
			i = end
			if closed {
				i++
			}
			said, plain := unquote(whole[from:end])
			key := strings.HasPrefix(strings.TrimLeft(whole[i:], " \t\r\n"), ":")
			switch {
			case name == "data" && !key:
				if data, ok := h.data(said); ok {
					ps = append(ps, patch{from, end, data})
					break
				}
				fallthrough
			default:
				ps = append(ps, h.inString(said, plain, from, end)...)
			}
			if name = ""; key {
				name = said
			}
		case free && c >= '0' && c <= '9':
			end := i
			for end < len(whole) && whole[end] >= '0' && whole[end] <= '9' {
				end++
			}
			if slices.Contains(h.needles, whole[i:end]) && (i == 0 || !strings.ContainsAny(whole[i-1:i], "-.eE+")) &&
				(end == len(whole) || !strings.ContainsAny(whole[end:end+1], ".eE")) {
				ps = append(ps, patch{i, end, `"` + secret.Redacted + `"`})
			}
			i = end
		default:
			i++
		}
	}
	return ps
}

// inString gives the patches for one string, which reads said and stands between
// from and to. Where it is written as it reads, what is around a secret stays as
// it came; otherwise it is written anew.
func (h *hider) inString(said string, plain bool, from, to int) []patch {
	places := h.places(said)
	ps := patches(places)
	if len(h.funcs) > 0 || len(ps) > 0 && !plain {
		hidden := h.text(said)
		if hidden == said {
			return nil
		}
		quoted := strictjson.AppendString(nil, hidden)
		return []patch{{from, to, string(quoted[1 : len(quoted)-1])}}
	}
	for i := range ps {
		ps[i].from += from
		ps[i].to += from
	}
	return ps
}

// data hides in bytes that are written in base64: a file may hold a key, too.
func (h *hider) data(said string) (string, bool) {
	data, err := base64.StdEncoding.DecodeString(said)
	if err != nil || len(data) == 0 {
		return "", false
	}
	if utf8.Valid(data) {
		hidden := h.text(string(data))
		return base64.StdEncoding.EncodeToString([]byte(hidden)), hidden != string(data)
	}
	pieces := []string{string(data)}
	mend(pieces, patches(h.places(pieces[0])))
	return base64.StdEncoding.EncodeToString([]byte(pieces[0])), pieces[0] != string(data)
}

// stringEnd finds the quote that ends a string; without one it is the text's end.
func stringEnd(s string, i int) (end int, closed bool) {
	for ; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i, true
		}
	}
	return len(s), false
}

// unquote gives what a string reads, and whether it is written that way.
func unquote(inner string) (said string, plain bool) {
	if !strings.Contains(inner, `\`) {
		return inner, true
	}
	if json.Unmarshal([]byte(`"`+inner+`"`), &said) != nil {
		return inner, true
	}
	return said, false
}

// mend applies patches, which are in order and do not overlap, to a text in pieces.
func mend(pieces []string, ps []patch) {
	if len(ps) == 0 {
		return
	}
	at := 0 // where the piece begins in the whole
	next := 0
	for i, piece := range pieces {
		end := at + len(piece)
		var b strings.Builder
		from := at
		for next < len(ps) {
			p := &ps[next]
			if p.from >= end && (p.from > end || p.to > p.from || i+1 < len(pieces)) {
				break
			}
			if p.from >= at { // it begins here
				b.WriteString(piece[from-at : p.from-at])
				b.WriteString(p.with)
			}
			from = min(p.to, end)
			if p.to > end {
				break
			}
			next++
		}
		b.WriteString(piece[from-at:])
		pieces[i] = b.String()
		at = end
	}
}

// difference is the one patch that makes after of before; none where they are the same.
func difference(before, after string) []patch {
	if before == after {
		return nil
	}
	n := 0
	for n < len(before) && n < len(after) && before[n] == after[n] {
		n++
	}
	for n > 0 && n < len(before) && !utf8.RuneStart(before[n]) {
		n--
	}
	m := 0
	for m < len(before)-n && m < len(after)-n && before[len(before)-1-m] == after[len(after)-1-m] {
		m++
	}
	for m > 0 && !utf8.RuneStart(before[len(before)-m]) {
		m--
	}
	return []patch{{n, len(before) - m, after[n : len(after)-m]}}
}
