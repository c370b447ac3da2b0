package schemacheck

import (
	"hash/maphash"
	"math"
	"slices"
	"strconv"

	"github.com/braidrun/braid/internal/strictjson"
)

// value is a JSON value. It does not change after it was read.
type value struct {
	// kind is the first byte of the value: { [ " 0 t f n.
	kind byte
	// at is the index among the members or items of up.
	at int
	up *value
	// text is the text of a string, or a number as it is spelled.
	text string
	// number is infinite if it exceeds a float64.
	number float64
	keys   []string
	vals   []*value
	// index finds members of large objects.
	index map[string]int
}

// indexFrom is the number of members from which an object has an index.
const indexFrom = 9

// parse reads a value with bounded levels and parts.
func parse(data []byte, depth, parts int) (v *value, tooMany bool, err error) {
	var r strictjson.Reader
	r.Reset(data, depth)
	left := parts
	v = read(&r, nil, 0, &left)
	if err := r.End(); err != nil {
		return nil, false, err
	}
	return v, left < 0, nil
}

// read recurses as deep as the reader allows.
func read(r *strictjson.Reader, up *value, at int, left *int) *value {
	if *left--; *left < 0 {
		r.Skip()
		return nil
	}
	v := &value{up: up, at: at}
	switch c := r.Peek(); c {
	case '{':
		v.kind = c
		for o := r.Object(); o.Next(); {
			v.keys = append(v.keys, string(o.Key))
			v.vals = append(v.vals, read(r, v, len(v.vals), left))
		}
		if len(v.keys) >= indexFrom {
			v.index = make(map[string]int, len(v.keys))
			for i, key := range v.keys {
				v.index[key] = i
			}
		}
	case '[':
		v.kind = c
		for a := r.Array(); a.Next(); {
			v.vals = append(v.vals, read(r, v, len(v.vals), left))
		}
	case '"':
		v.kind = c
		v.text = r.String()
	case 't', 'f', 'n':
		v.kind = c
		r.Skip()
	default:
		v.kind = '0'
		v.text = string(r.Verbatim(1))
		v.number, _ = strconv.ParseFloat(v.text, 64) // infinite if too large
	}
	return v
}

// get returns a member; nil if there is none.
func (v *value) get(key string) *value {
	if i := v.find(key); i >= 0 {
		return v.vals[i]
	}
	return nil
}

func (v *value) find(key string) int {
	if v.index == nil {
		return slices.Index(v.keys, key)
	}
	if i, ok := v.index[key]; ok {
		return i
	}
	return -1
}

// isType reports whether the value has a type of JSON Schema. An integer is also a number.
func (v *value) isType(t string) bool {
	switch v.kind {
	case '{':
		return t == "object"
	case '[':
		return t == "array"
	case '"':
		return t == "string"
	case '0':
		return t == "number" || t == "integer" && v.number == math.Trunc(v.number)
	case 'n':
		return t == "null"
	default:
		return t == "boolean"
	}
}

func (v *value) typeName() string {
	for _, t := range [...]string{"object", "array", "string", "integer", "number", "null"} {
		if v.isType(t) {
			return t
		}
	}
	return "boolean"
}

// shown returns the beginning of the value for a message.
func (v *value) shown() string {
	const most = 60
	switch v.kind {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"', '0':
		return clip(v.text, most)
	case 't':
		return "true"
	case 'f':
		return "false"
	default:
		return "null"
	}
}

// same reports whether two values are equal. spend counts each compared pair; if it returns
// false, the comparison stops.
func same(a, b *value, spend func(int) bool) bool {
	if !spend(1 + len(a.text)/64) {
		return false
	}
	if a.kind != b.kind || len(a.vals) != len(b.vals) {
		return false
	}
	switch a.kind {
	case '{':
		for i, key := range a.keys {
			if other := b.get(key); other == nil || !same(a.vals[i], other, spend) {
				return false
			}
		}
	case '[':
		for i := range a.vals {
			if !same(a.vals[i], b.vals[i], spend) {
				return false
			}
		}
	case '"':
		return a.text == b.text
	case '0':
		return a.number == b.number
	}
	return true
}

// hash returns equal hashes for equal values. The order of members does not matter.
func (v *value) hash(seed maphash.Seed, spend func(int) bool) uint64 {
	if !spend(1 + len(v.text)/64) {
		return 0
	}
	const mix = 0x9E3779B97F4A7C15
	sum := uint64(v.kind) * mix
	switch v.kind {
	case '{':
		for i, key := range v.keys {
			member := maphash.String(seed, key) ^ v.vals[i].hash(seed, spend)*mix
			sum += maphash.Comparable(seed, member)
		}
	case '[':
		for _, one := range v.vals {
			sum = maphash.Comparable(seed, sum^one.hash(seed, spend))
		}
	case '"':
		sum ^= maphash.String(seed, v.text)
	case '0':
		sum ^= maphash.Comparable(seed, v.number+0) // -0 is 0
	}
	return sum
}
