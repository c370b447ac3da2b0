package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/braidrun/braid/internal/strictjson"
)

// node is a JSON value. The members of an object keep their order. A parsed node is never changed:
// forms are new nodes, which may share parts of it.
type node struct {
	// kind is the first character of the value: { [ " 0 t f n.
	kind byte
	// raw is the text of a value that is neither object nor array. text is the content of a string.
	raw  []byte
	text string
	keys []string
	vals []*node
	// up and step are the place of the value in the input.
	up   *node
	step string
}

// parse parses a value of at most maxNodes parts.
func parse(data []byte) (*node, error) {
	var r strictjson.Reader
	r.Reset(data, 128)
	left := maxNodes
	n := read(&r, nil, "", &left)
	if err := r.End(); err != nil {
		return nil, err
	}
	if left < 0 {
		return nil, errTooLarge
	}
	return n, nil
}

var errTooLarge = errors.New("too many parts")

func read(r *strictjson.Reader, up *node, step string, left *int) *node {
	n := &node{up: up, step: step}
	if *left--; *left < 0 {
		r.Skip()
		return n
	}
	switch c := r.Peek(); c {
	case '{':
		n.kind = c
		for o := r.Object(); o.Next(); {
			key := string(o.Key)
			n.keys = append(n.keys, key)
			n.vals = append(n.vals, read(r, n, key, left))
		}
	case '[':
		n.kind = c
		for a := r.Array(); a.Next(); {
			n.vals = append(n.vals, read(r, n, strconv.Itoa(len(n.vals)), left))
		}
	case '"':
		n.kind = c
		n.text = r.String()
	default:
		n.kind = c
		if c == '-' || c >= '0' && c <= '9' {
			n.kind = '0'
		}
		n.raw = r.Verbatim(1)
	}
	return n
}

func object() *node          { return &node{kind: '{'} }
func array(v ...*node) *node { return &node{kind: '[', vals: v} }
func word(s string) *node    { return &node{kind: '"', text: s} }
func truth(yes bool) *node {
	if yes {
		return &node{kind: 't', raw: []byte("true")}
	}
	return &node{kind: 'f', raw: []byte("false")}
}
func number(n int) *node { return &node{kind: '0', raw: strconv.AppendInt(nil, int64(n), 10)} }

func (n *node) isObject() bool { return n != nil && n.kind == '{' }
func (n *node) isArray() bool  { return n != nil && n.kind == '[' }
func (n *node) isText() bool   { return n != nil && n.kind == '"' }
func (n *node) isNumber() bool { return n != nil && n.kind == '0' }
func (n *node) isTrue() bool   { return n != nil && n.kind == 't' }
func (n *node) isFalse() bool  { return n != nil && n.kind == 'f' }
func (n *node) isNull() bool   { return n != nil && n.kind == 'n' }

// get returns a member; nil if there is none.
func (n *node) get(key string) *node {
	if n == nil {
		return nil
	}
	if i := slices.Index(n.keys, key); i >= 0 {
		return n.vals[i]
	}
	return nil
}

func (n *node) has(key string) bool { return n.get(key) != nil }

// copied returns a copy whose members can be changed.
func (n *node) copied() *node {
	c := *n
	c.keys, c.vals = slices.Clone(n.keys), slices.Clone(n.vals)
	return &c
}

// set sets a member in its place, or at the end.
func (n *node) set(key string, v *node) {
	if i := slices.Index(n.keys, key); i >= 0 {
		n.vals[i] = v
		return
	}
	n.keys, n.vals = append(n.keys, key), append(n.vals, v)
}

// first puts a member in front.
func (n *node) first(key string, v *node) {
	n.drop(key)
	n.keys, n.vals = slices.Insert(n.keys, 0, key), slices.Insert(n.vals, 0, v)
}

// rename renames a member unless the new name exists.
func (n *node) rename(from, to string) {
	if i := slices.Index(n.keys, from); i >= 0 && !n.has(to) {
		n.keys[i] = to
	}
}

func (n *node) drop(keys ...string) {
	for _, key := range keys {
		if i := slices.Index(n.keys, key); i >= 0 {
			n.keys, n.vals = slices.Delete(n.keys, i, i+1), slices.Delete(n.vals, i, i+1)
		}
	}
}

// append appends the value's JSON.
func (n *node) append(b []byte) []byte {
	switch n.kind {
	case '{':
		b = append(b, '{')
		for i, key := range n.keys {
			if i > 0 {
				b = append(b, ',')
			}
			b = n.vals[i].append(append(strictjson.AppendString(b, key), ':'))
		}
		return append(b, '}')
	case '[':
		b = append(b, '[')
		for i, v := range n.vals {
			if i > 0 {
				b = append(b, ',')
			}
			b = v.append(b)
		}
		return append(b, ']')
	case '"':
		return strictjson.AppendString(b, n.text)
	default:
		return append(b, n.raw...)
	}
}

func (n *node) bytes() json.RawMessage { return n.append(nil) }

// pointer returns the value's place in the input.
func (n *node) pointer() string {
	const most = 24
	var steps []string
	for ; n != nil && n.up != nil; n = n.up {
		steps = append(steps, n.step)
	}
	slices.Reverse(steps)
	var b strings.Builder
	for i, s := range steps {
		if i == most {
			b.WriteString("/…")
			break
		}
		s = firstOf(s, 64)
		b.WriteByte('/')
		b.WriteString(strictjson.EscapePointer(s))
	}
	return b.String()
}

// firstOf returns at most n characters of a text.
func firstOf(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i] + "…"
		}
	}
	return s
}

// same reports whether two values are equal. Numbers that cannot be compared count as equal.
func same(a, b *node) bool {
	if a.kind != b.kind || len(a.vals) != len(b.vals) {
		return false
	}
	switch a.kind {
	case '{':
		for i, key := range a.keys {
			v := b.get(key)
			if v == nil || !same(a.vals[i], v) {
				return false
			}
		}
		return true
	case '[':
		for i := range a.vals {
			if !same(a.vals[i], b.vals[i]) {
				return false
			}
		}
		return true
	case '"':
		return a.text == b.text
	case '0':
		return bytes.Equal(a.raw, b.raw) || float(a) == float(b)
	default:
		return true
	}
}

// float returns the approximate value of a number.
func float(n *node) float64 {
	f, _ := strconv.ParseFloat(string(n.raw), 64) // a number that is too large is infinite
	return f
}

// whole returns a number that is an integer in the range of int. ok is false for others.
func whole(n *node) (int, bool) {
	if n == nil || n.kind != '0' {
		return 0, false
	}
	f := float(n)
	if f != float64(int64(f)) || f > 1<<53 || f < -1<<53 {
		return 0, false
	}
	return int(f), true
}

// texts returns the strings of an array.
func (n *node) texts() []string {
	if n == nil {
		return nil
	}
	var s []string
	for _, v := range n.vals {
		if v.isText() {
			s = append(s, v.text)
		}
	}
	return s
}
