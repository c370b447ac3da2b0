package strictjson

import (
	"errors"
	"math"
	"testing"
)

// read resets a Reader and hands it to fn, then ends it.
func read(in string, fn func(*Reader)) error {
	var r Reader
	r.Reset([]byte(in), 8)
	fn(&r)
	return r.End()
}

func TestReaderInt64(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in     string
		want   int64
		reason Reason
	}{
		{in: "0"},
		{in: "-0"},
		{in: " 7 ", want: 7},
		{in: "-12", want: -12},
		{in: "999999999999999999", want: 999999999999999999},
		{in: "9223372036854775807", want: math.MaxInt64},
		{in: "-9223372036854775808", want: math.MinInt64},
		{in: "9223372036854775808", reason: WrongType},
		{in: "-9223372036854775809", reason: WrongType},
		{in: "123456789012345678901234567890", reason: WrongType},
		{in: "1.0", reason: WrongType},
		{in: "1e3", reason: WrongType},
		{in: "12345678901234567890.5", reason: WrongType},
		{in: `"1"`, reason: WrongType},
		{in: "null", reason: WrongType},
		{in: "true", reason: WrongType},
		{in: "[1,2]", reason: WrongType},
		{in: "x", reason: Syntax},
		{in: "nul", reason: Truncated},
		{in: "", reason: Truncated},
		{in: "-", reason: Truncated},
		{in: "1 2", reason: Trailing, want: 1},
	}
	for _, tt := range tests {
		var got int64
		err := read(tt.in, func(r *Reader) { got = r.Int64() })
		if got != tt.want || (tt.reason == "") != (err == nil) || err != nil && !errors.Is(err, tt.reason) {
			t.Errorf("Int64 of %q = %d, %v, want %d, %q", tt.in, got, err, tt.want, tt.reason)
		}
	}
}

func TestReaderScalars(t *testing.T) {
	t.Parallel()
	var s, raw, verbatim string
	var yes, no, null, notNull bool
	var data []byte
	err := read(` [ "a\"\\\/\b\f\n\r\t\u00e9\u65e5\ud83d\ude00z" , true , false , null , { "x" : [ 1 ] } , { "x" : [ 1 ] } , "aGk=" , 5 ] `, func(r *Reader) {
		a := r.Array()
		next := func() {
			if !a.Next() {
				t.Fatal("the array ends too early:", r.Err())
			}
		}
		next()
		s = r.String()
		next()
		yes = r.Bool()
		next()
		no = r.Bool()
		next()
		null = r.Null()
		next()
		raw = string(r.Raw(2))
		next()
		verbatim = string(r.Verbatim(2))
		next()
		data = r.Base64()
		next()
		notNull = r.Null()
		r.Skip()
		if a.Next() {
			t.Error("the array does not end")
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := "a\"\\/\b\f\n\r\té日😀z"; s != want {
		t.Errorf("string %q, want %q", s, want)
	}
	if !yes || no || !null || notNull {
		t.Errorf("words %v %v %v %v", yes, no, null, notNull)
	}
	if raw != `{"x":[1]}` || verbatim != `{ "x" : [ 1 ] }` {
		t.Errorf("raw %q, verbatim %q", raw, verbatim)
	}
	if string(data) != "hi" {
		t.Errorf("base64 %q", data)
	}
}

func TestReaderRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		fn       func(*Reader)
		want     string
	}{
		{"number for a string", `{"a":1}`, func(r *Reader) { inA(r, func() { r.Bytes() }) }, `a string is needed, not a number at byte 5`},
		{"object for a bool", `{"a":{"b":[]}}`, func(r *Reader) { inA(r, func() { r.Bool() }) }, `true or false is needed, not an object at byte 5`},
		{"null for an array", `null`, func(r *Reader) { r.Array() }, `an array is needed, not null at byte 0`},
		{"string for an object", `"x"`, func(r *Reader) { r.Object() }, `an object is needed, not a string at byte 0`},
		{"bad value for a string", `{"a":1x}`, func(r *Reader) { inA(r, func() { r.Bytes() }) }, `a string is needed, not a number at byte 5`},
		{"broken value for a string", `{"a":[1,}`, func(r *Reader) { inA(r, func() { r.Bytes() }) }, `'}' where a value should be at byte 8`},
		{"unknown key", `{"a":1,"b":2}`, func(r *Reader) { inA(r, r.Skip) }, `unknown key "b" at byte 7`},
		{"raw too deep", `{"a":[[[]]]}`, func(r *Reader) { inA(r, func() { r.Raw(2) }) }, `nested deeper than 2 levels at byte 7`},
		{"all too deep", `[[[[[[[[[1]]]]]]]]]`, func(r *Reader) { r.Raw(100) }, `nested deeper than 8 levels at byte 8`},
		{"base64 with a bad letter", `"a-=="`, func(r *Reader) { r.Base64() }, `the string is no base64 at byte 0`},
		{"base64 with a line end", `"aG\nk="`, func(r *Reader) { r.Base64() }, `line end in base64 at byte 0`},
		{"base64 with stray bits", `"aGl="`, func(r *Reader) { r.Base64() }, `the string is no base64 at byte 0`},
		{"own complaint", ` 12 `, func(r *Reader) { m := r.Mark(); r.Skip(); r.Fail(m, BadValue, "not this one") }, `not this one at byte 1`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if err := read(tt.in, tt.fn); err == nil || err.Error() != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

// inA reads an object that has only the key a.
func inA(r *Reader, value func()) {
	for o := r.Object(); o.Next(); {
		if string(o.Key) != "a" {
			o.Unknown()
			return
		}
		value()
	}
}

// The first error stays, and everything after it is empty.
func TestReaderErrorSticks(t *testing.T) {
	t.Parallel()
	var r Reader
	r.Reset([]byte(`[1,x,"later",true]`), 5)
	a := r.Array()
	a.Next()
	r.Skip()
	a.Next()
	r.Skip()
	first := r.Err()
	if first == nil {
		t.Fatal("no error")
	}
	if a.Next() || r.String() != "" || r.Int64() != 0 || r.Bool() || r.Null() || r.Raw(1) != nil || r.Base64() != nil {
		t.Error("a value after the error")
	}
	if o := r.Object(); o.Next() {
		t.Error("a member after the error")
	}
	r.Fail(r.Mark(), BadValue, "second")
	if err := r.End(); err.Error() != first.Error() {
		t.Errorf("End gives %v, want the first error %v", err, first)
	}
}

// A value can be read twice, and the keys of the first reading are forgotten.
func TestReaderReturn(t *testing.T) {
	t.Parallel()
	var first, kind string
	err := read(`[{"a":"x","kind":"k","n":1},{"a":"y"}]`, func(r *Reader) {
		for a := r.Array(); a.Next(); {
			m := r.Mark()
			o := r.Object()
			for o.Next() {
				if string(o.Key) == "kind" {
					kind = r.String()
					break // in the middle
				}
				r.Skip()
			}
			r.Return(m)
			for o := r.Object(); o.Next(); {
				if string(o.Key) == "a" {
					first += r.String()
				} else {
					r.Skip()
				}
			}
		}
	})
	if err != nil || first != "xy" || kind != "k" {
		t.Errorf("got %q %q %v", first, kind, err)
	}

	// Also where the same key comes again in the object around it.
	err = read(`{"in":{"kind":"k","n":1},"kind":"l","n":2}`, func(r *Reader) {
		for o := r.Object(); o.Next(); {
			m := r.Mark()
			if string(o.Key) == "in" {
				in := r.Object()
				in.Next()
				r.Return(m)
			}
			r.Skip()
		}
	})
	if err != nil {
		t.Errorf("keys of a value that was left stay behind: %v", err)
	}

	// After the whole text has been read, too.
	var r Reader
	r.Reset([]byte(`{"a":{"b":1},"c":2}`), 5)
	o := r.Object()
	o.Next()
	m := r.Mark()
	r.Skip()
	for o.Next() {
		r.Skip()
	}
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	r.Return(m)
	if got := string(r.Raw(1)); got != `{"b":1}` {
		t.Errorf("after the end: %q", got)
	}
}

// The bound of raw JSON counts from where it stands and ends with it.
func TestReaderRawBounds(t *testing.T) {
	t.Parallel()
	err := read(`[[[]],[[[[]]]]]`, func(r *Reader) {
		a := r.Array()
		a.Next()
		r.Raw(2)
		a.Next()
		r.Raw(4)
		a.Next()
	})
	if err != nil {
		t.Error(err)
	}
}

// What a Reader hands out for keeping is not part of its input.
func TestReaderCopies(t *testing.T) {
	t.Parallel()
	data := []byte(`["abc",{"x":1}]`)
	var r Reader
	r.Reset(data, 5)
	a := r.Array()
	a.Next()
	s := r.String()
	a.Next()
	raw := r.Raw(1)
	a.Next()
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	for i := range data {
		data[i] = '#'
	}
	if s != "abc" || string(raw) != `{"x":1}` {
		t.Errorf("changed with the input: %q %q", s, raw)
	}
}
