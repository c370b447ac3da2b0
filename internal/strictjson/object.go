package strictjson

import (
	"bytes"
	"hash/maphash"
)

// Object iterates over the members of an object.
type Object struct {
	// Key is the member's key with escapes resolved. It may point into the text; copy it to keep
	// it.
	Key []byte

	r     *Reader
	keyAt int
	base  int // index of this object's first key in the reader's keys
	open  bool
	first bool
	table *keyTable
}

// Object starts to read an object.
func (r *Reader) Object() Object {
	ok := r.enter('{', "an object")
	return Object{r: r, base: r.nkeys, open: ok, first: true}
}

// Next advances to the next member. It returns false after the last one.
func (o *Object) Next() bool {
	r := o.r
	if !o.open || r.err != nil {
		return false
	}
	c := r.space()
	if c == '}' {
		r.pos++
		r.depth--
		r.dropKeys(o.base)
		o.open = false
		return false
	}
	if o.first {
		o.first = false
	} else {
		if c != ',' {
			r.unexpected("a comma or a closing brace")
			return false
		}
		r.pos++
		c = r.space()
	}
	if c != '"' {
		r.unexpected("a key in quotes")
		return false
	}
	o.keyAt = r.pos
	key, escaped := r.scanString()
	if r.err != nil {
		return false
	}
	if escaped {
		key = unescape(key)
	}
	o.Key = key
	if o.seen(key) {
		r.fail(DuplicateKey, o.keyAt, string(key), "duplicate key "+quoteKey(string(key)))
		return false
	}
	r.pushKey(key)
	if r.space() != ':' {
		r.unexpected("a colon")
		return false
	}
	r.pos++
	return true
}

// Unknown refuses the member, because the target has no field for it.
func (o *Object) Unknown() {
	key := string(o.Key)
	o.r.fail(UnknownKey, o.keyAt, key, "unknown key "+quoteKey(key))
}

// seen reports whether the object already has key.
func (o *Object) seen(key []byte) bool {
	r := o.r
	n := r.nkeys - o.base
	if n < linearKeys {
		for i := o.base; i < r.nkeys; i++ {
			if bytes.Equal(r.key(i), key) {
				return true
			}
		}
		return false
	}
	if o.table == nil {
		o.table = &keyTable{seed: maphash.MakeSeed()}
	}
	return o.table.add(r, o.base, key)
}

// keyTable is a hash table of the positions of keys, with open addressing, for objects with many
// keys. Its seed is random, so that nobody can choose keys that collide.
type keyTable struct {
	seed  maphash.Seed
	slots []int32 // place from the object's base, plus one; 0 is free
	used  int
}

// add inserts key, which the caller pushes next. It reports whether the table already has it.
func (t *keyTable) add(r *Reader, base int, key []byte) bool {
	n := r.nkeys - base
	if 2*(n+1) > len(t.slots) {
		t.slots = make([]int32, max(128, 4*len(t.slots)))
		t.used = 0
	}
	for ; t.used < n; t.used++ { // inserts all keys at first and after growth
		t.slots[t.find(r, base, r.key(base+t.used))] = int32(t.used + 1)
	}
	i := t.find(r, base, key)
	if t.slots[i] != 0 {
		return true
	}
	t.slots[i] = int32(n + 1)
	t.used = n + 1
	return false
}

// find returns the slot of key, or the free slot where it belongs.
func (t *keyTable) find(r *Reader, base int, key []byte) int {
	mask := len(t.slots) - 1
	i := int(maphash.Bytes(t.seed, key)) & mask
	for t.slots[i] != 0 && !bytes.Equal(r.key(base+int(t.slots[i])-1), key) {
		i = (i + 1) & mask
	}
	return i
}

// Array iterates over the elements of an array.
type Array struct {
	r     *Reader
	open  bool
	first bool
}

// Array starts to read an array.
func (r *Reader) Array() Array {
	return Array{r: r, open: r.enter('[', "an array"), first: true}
}

// Next advances to the next element. It returns false after the last one.
func (a *Array) Next() bool {
	r := a.r
	if !a.open || r.err != nil {
		return false
	}
	c := r.space()
	if c == ']' {
		r.pos++
		r.depth--
		a.open = false
		return false
	}
	if a.first {
		a.first = false
		return true
	}
	if c != ',' {
		r.unexpected("a comma or a closing bracket")
		return false
	}
	r.pos++
	return true // if a bracket follows, reading the value reports the error
}
