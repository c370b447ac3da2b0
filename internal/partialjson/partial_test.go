package partialjson

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"
)

func TestWhatIsKnownOfABeginning(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{``, ``},
		{`  `, ``},
		{`{`, `{}`},
		{`{"a`, `{}`},
		{`{"a"`, `{}`},
		{`{"a":`, `{}`},
		{`{"a":1`, `{}`},
		{`{"a":1,`, `{"a":1}`},
		{`{"a":1,"b`, `{"a":1}`},
		{`{"a":"x`, `{"a":"x"}`},
		{`{"a":"`, `{"a":""}`},
		{`{"a":"x\`, `{"a":"x"}`},
		{`{"a":"x\n`, `{"a":"x\n"}`},
		{`{"a":"x\u00`, `{"a":"x"}`},
		{`{"a":"x\ud83d`, `{"a":"x"}`},
		{`{"a":"x\ud83d\u`, `{"a":"x"}`},
		{`{"a":"x\ud83d\ude00`, `{"a":"x\ud83d\ude00"}`},
		{"{\"a\":\"京\xe9\x83", `{"a":"京"}`},
		{`{"a":tru`, `{}`},
		{`{"a":true}`, `{"a":true}`},
		{`{"a":[1,2`, `{"a":[1]}`},
		{`{"a":[1,2]`, `{"a":[1,2]}`},
		{`{"a":[{"b":"c"},{"d`, `{"a":[{"b":"c"},{}]}`},
		{`{"a":{"b":[[`, `{"a":{"b":[[]]}}`},
		{`["a","b`, `["a","b"]`},
		{`"ab`, `"ab"`},
		{`12`, ``},
		{`12 `, `12`},
		{`{"a":1} and more`, `{"a":1}`},
	} {
		var text Text
		text.Write(c.text)
		got, ok := text.Append(nil)
		if string(got) != c.want || ok != (c.want != "") {
			t.Errorf("%s: got %s, %v, want %s", c.text, got, ok, c.want)
		}
		text.Reset()
		if _, ok := text.Append(nil); ok || text.Len() != 0 || text.Whole() {
			t.Errorf("%s: something is left after Reset", c.text)
		}
	}
	var whole Text
	whole.Write(`{"a":[]}`)
	if !whole.Whole() {
		t.Error("a whole value is not known to be one")
	}
}

// Of every beginning of a value, JSON comes out that nothing of the value contradicts, however it
// is cut into pieces.
func FuzzBeginnings(f *testing.F) {
	for _, s := range []string{
		`{"a":"x\ud83d\ude00\\\"é京","b":[1,-2.5e3,true,null,{"c":{}}],"":""}`, `[[],[[]]]`, `"\ud83d\ud83d\ude00\ude00"`, `12`, ` {"a" : 1 , "b":"2"} `,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !json.Valid([]byte(s)) || !utf8.ValidString(s) {
			var text Text
			text.Write(s)
			text.Append(nil)
			return
		}
		var text Text
		for i := range len(s) {
			text.Write(s[i : i+1])
			got, ok := text.Append(nil)
			if ok && !json.Valid(got) {
				t.Fatalf("of %q comes %q", s[:i+1], got)
			}
			if ok && !utf8.Valid(got) {
				t.Fatalf("of %q comes %q, which is no UTF-8", s[:i+1], got)
			}
			var again Text
			again.Write(s[:i+1])
			if other, _ := again.Append(nil); !bytes.Equal(got, other) {
				t.Fatalf("%q in pieces is %q, at once %q", s[:i+1], got, other)
			}
		}
		text.Write(" ")
		got, ok := text.Append(nil)
		var a, b bytes.Buffer
		if !ok || json.Compact(&a, got) != nil || json.Compact(&b, []byte(s)) != nil || !bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Fatalf("of all of %q comes %q", s, got)
		}
	})
}
