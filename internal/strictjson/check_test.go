package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	const ok = Reason("")
	tests := []struct {
		name   string
		in     string
		reason Reason
		offset int
		key    string
	}{
		{name: "word", in: `null`},
		{name: "space around", in: " \t\r\n true \n"},
		{name: "numbers", in: `[0,-0,1,-1,10,0.5,-0.25,1e9,1E+9,1e-09,123456789012345678901234567890]`},
		{name: "strings", in: `["","a","\"\\\/\b\f\n\r\t","\u0041\u00e9","\ud83d\ude00","日本","` + "\u2028\x7f" + `"]`},
		{name: "nested", in: `{"a":{"b":[{"c":[]},{}]}}`},
		{name: "keys of different objects", in: `{"a":{"a":[{"a":1},{"a":2}]},"b":{"a":1}}`},
		{name: "keys of different case", in: `{"a":1,"A":2}`},
		{name: "key after a nested object", in: `{"a":{"b":1},"b":2}`},
		{name: "empty key", in: `{"":1}`},

		{name: "empty", in: ``, reason: Truncated},
		{name: "only space", in: "  \n", reason: Truncated, offset: 3},
		{name: "half a word", in: `tru`, reason: Truncated, offset: 3},
		{name: "another word", in: `trie`, reason: Syntax, offset: 2},
		{name: "capital word", in: `True`, reason: Syntax},
		{name: "NaN", in: `NaN`, reason: Syntax},
		{name: "open string", in: `"abc`, reason: Truncated, offset: 4},
		{name: "open string of nine", in: `"123456789`, reason: Truncated, offset: 10},
		{name: "open object", in: `{"a":1`, reason: Truncated, offset: 6},
		{name: "open array", in: `[1,`, reason: Truncated, offset: 3},
		{name: "comma at the end of an array", in: `[1,]`, reason: Syntax, offset: 3},
		{name: "comma at the end of an object", in: `{"a":1,}`, reason: Syntax, offset: 7},
		{name: "comma first", in: `[,1]`, reason: Syntax, offset: 1},
		{name: "two commas", in: `[1,,2]`, reason: Syntax, offset: 3},
		{name: "no comma", in: `[1 2]`, reason: Syntax, offset: 3},
		{name: "no colon", in: `{"a" 1}`, reason: Syntax, offset: 5},
		{name: "no value", in: `{"a":}`, reason: Syntax, offset: 5},
		{name: "key without quotes", in: `{a:1}`, reason: Syntax, offset: 1},
		{name: "number as key", in: `{1:1}`, reason: Syntax, offset: 1},
		{name: "wrong close", in: `{"a":1]`, reason: Syntax, offset: 6},
		{name: "single quotes", in: `'a'`, reason: Syntax},
		{name: "comment", in: `1 // one`, reason: Trailing, offset: 2},
		{name: "two values", in: `{} {}`, reason: Trailing, offset: 3},
		{name: "byte order mark", in: "\ufeff1", reason: Syntax},
		{name: "leading zero", in: `01`, reason: Trailing, offset: 1},
		{name: "plus", in: `+1`, reason: Syntax},
		{name: "lone minus", in: `-`, reason: Truncated, offset: 1},
		{name: "no digit after the point", in: `1.x`, reason: Syntax, offset: 2},
		{name: "no digit after e", in: `1e`, reason: Truncated, offset: 2},
		{name: "hexadecimal", in: `0x10`, reason: Trailing, offset: 1},
		{name: "raw line end", in: "\"a\nb\"", reason: Syntax, offset: 2},
		{name: "raw NUL far in", in: "\"0123456789abcdef\x00\"", reason: Syntax, offset: 17},
		{name: "bad escape", in: `"\x"`, reason: Syntax, offset: 2},
		{name: "short unicode escape", in: `"\u12"`, reason: Syntax, offset: 5},
		{name: "cut unicode escape", in: `"\u12`, reason: Truncated, offset: 5},
		{name: "high surrogate alone", in: `"\ud83d"`, reason: LoneSurrogate, offset: 1},
		{name: "low surrogate alone", in: `"a\ude00"`, reason: LoneSurrogate, offset: 2},
		{name: "high before something else", in: `"\ud83d\u0041"`, reason: LoneSurrogate, offset: 1},
		{name: "two high", in: `"\ud83d\ud83d\ude00"`, reason: LoneSurrogate, offset: 1},
		{name: "lone surrogate in a key", in: `{"\udead":1}`, reason: LoneSurrogate, offset: 2},
		{name: "invalid UTF-8", in: "\"a\xffb\"", reason: InvalidUTF8, offset: 2},
		{name: "UTF-8 of a surrogate", in: "\"\xed\xa0\x80\"", reason: InvalidUTF8, offset: 1},
		{name: "overlong UTF-8", in: "\"\xc0\xaf\"", reason: InvalidUTF8, offset: 1},
		{name: "duplicate", in: `{"a":1,"b":2,"a":3}`, reason: DuplicateKey, offset: 13, key: "a"},
		{name: "duplicate deep inside", in: `[{"x":{"a":1,"a":1}}]`, reason: DuplicateKey, offset: 13, key: "a"},
		{name: "duplicate after a nested object", in: `{"a":{"b":1},"a":2}`, reason: DuplicateKey, offset: 13, key: "a"},
		{name: "duplicate by escape", in: `{"a":1,"\u0061":2}`, reason: DuplicateKey, offset: 7, key: "a"},
		{name: "duplicate empty key", in: `{"":1,"":2}`, reason: DuplicateKey, offset: 6},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := Check([]byte(tt.in), DefaultDepth)
			if tt.reason == ok {
				if err != nil {
					t.Fatalf("Check(%q) = %v, want none", tt.in, err)
				}
				return
			}
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("Check(%q) = %v, want an *Error", tt.in, err)
			}
			if e.Reason != tt.reason || e.Offset != tt.offset || e.Key != tt.key {
				t.Errorf("Check(%q) = %q at %d key %q, want %q at %d key %q",
					tt.in, e.Reason, e.Offset, e.Key, tt.reason, tt.offset, tt.key)
			}
			if !errors.Is(err, tt.reason) || errors.Is(err, Reason("another")) {
				t.Errorf("errors.Is does not tell the reason of %v", err)
			}
		})
	}
}

func TestCheckDepth(t *testing.T) {
	t.Parallel()
	nested := func(n int) []byte {
		return []byte(strings.Repeat(`[{"a":`, n/2) + "1" + strings.Repeat(`}]`, n/2))
	}
	tests := []struct {
		levels, most int
		ok           bool
	}{
		{0, 0, true},
		{2, 0, false},
		{2, -1, false},
		{2, 1, false},
		{2, 2, true},
		{DefaultDepth, DefaultDepth, true},
		{DefaultDepth + 2, DefaultDepth, false},
		{10_000, DefaultDepth, false},
		{10_000, 1 << 30, true},
		{10_002, 1 << 30, false},
	}
	for _, tt := range tests {
		err := Check(nested(tt.levels), tt.most)
		if tt.ok && err != nil || !tt.ok && !errors.Is(err, TooDeep) {
			t.Errorf("%d levels of %d: %v", tt.levels, tt.most, err)
		}
	}
	err := Check([]byte(strings.Repeat("[", 10_000_000)), DefaultDepth)
	if want := "nested deeper than 512 levels at byte 512"; err == nil || err.Error() != want {
		t.Errorf("ten million brackets: %v, want %s", err, want)
	}
}

// A duplicate is found whatever the number of keys and wherever it stands.
func TestCheckManyKeys(t *testing.T) {
	t.Parallel()
	object := func(n, again int) []byte {
		var b bytes.Buffer
		b.WriteString(`{"in":{"x":1,"y":2}`)
		for i := range n {
			fmt.Fprintf(&b, `,"k%d":{"x":1,"y":[{"x":2}]}`, i)
		}
		if again >= 0 {
			fmt.Fprintf(&b, `,"k%d":0`, again)
		}
		b.WriteString(`}`)
		return b.Bytes()
	}
	for _, n := range []int{1, 5, linearKeys - 2, linearKeys - 1, linearKeys, inlineKeys - 1, inlineKeys, inlineKeys + 1, 63, 64, 65, 300, 5000} {
		if err := Check(object(n, -1), 10); err != nil {
			t.Errorf("%d keys: %v", n, err)
		}
		for _, again := range []int{0, n / 2, n - 1} {
			if err := Check(object(n, again), 10); !errors.Is(err, DuplicateKey) {
				t.Errorf("%d keys and k%d again: %v", n, again, err)
			}
		}
	}
	// Keys of objects that are open at the same time do not mix, also beyond
	// the keys that stand in the Reader itself.
	deep := strings.Repeat(`{"a":1,"b":2,"c":`, 100) + `3` + strings.Repeat(`,"d":4}`, 100)
	if err := Check([]byte(deep), 100); err != nil {
		t.Errorf("the same keys at a hundred levels: %v", err)
	}
	deep = strings.Repeat(`{"a":1,"b":2,"c":`, 100) + `3` + strings.Repeat(`,"d":4}`, 99) + `,"b":5}`
	if err := Check([]byte(deep), 100); !errors.Is(err, DuplicateKey) {
		t.Errorf("a duplicate after a hundred levels: %v", err)
	}
}

// A text of common shape costs no allocation.
//
//nolint:paralleltest // AllocsPerRun counts for the whole process.
func TestCheckDoesNotAllocate(t *testing.T) {
	data := []byte(`{"seq":12,"kind":"assistant_message","body":{"content":[{"kind":"text","text":"日本語 \"quoted\" and more"},` +
		`{"kind":"tool_call","id":"c1","name":"add","args":{"a":3,"b":[5.5e3,true,null,{"x":{}}]}}],"stop":"tool_use"}}`)
	if n := testing.AllocsPerRun(100, func() {
		if err := Check(data, DefaultDepth); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func TestErrorText(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{
		{`{"a":1,"a":2}`, `duplicate key "a" at byte 7`},
		{`[1,]`, `']' where a value should be at byte 3`},
		{`[1`, `the text ends before the value does at byte 2`},
		{`{"` + strings.Repeat("鍵", 40) + `":1,"` + strings.Repeat("鍵", 40) + `":2}`, `duplicate key "` + strings.Repeat("鍵", 21) + `"… at byte 126`},
	}
	for _, tt := range tests {
		if err := Check([]byte(tt.in), 5); err == nil || err.Error() != tt.want {
			t.Errorf("Check(%s) = %v, want %s", tt.in, err, tt.want)
		}
	}
}

func TestAppendCompact(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{
		{`{"a":1}`, `{"a":1}`},
		{" { \"a b\" : [ 1 ,\n\t2 ] , \"c\\\" \" : \"\\\\\" } \r\n", `{"a b":[1,2],"c\" ":"\\"}`},
		{` "x" `, `"x"`},
		{"<&>\u2028", ""},
		{"[\"<&>\u2028\", 1.0e5]", "[\"<&>\u2028\",1.0e5]"},
	}
	for _, tt := range tests {
		got, err := AppendCompact([]byte("x"), []byte(tt.in), 5)
		if string(got) != "x"+tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("AppendCompact(%q) = %q, %v, want %q", tt.in, got, err, tt.want)
		}
	}
}

func TestAppendString(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{
		{"", `""`},
		{"hi", `"hi"`},
		{`"\/`, `"\"\\/"`},
		{"\b\f\n\r\t\x00\x1f\x7f", "\"\\b\\f\\n\\r\\t\\u0000\\u001f\x7f\""},
		{"<b>&\u2028日本😀", "\"<b>&\u2028日本😀\""},
		{"a\xff\xfe\"b", "\"a\ufffd\ufffd\\\"b\""},
		{"\xed\xa0\x80", "\"\ufffd\ufffd\ufffd\""},
		{"0123456\xff", "\"0123456\ufffd\""},
		{"\xff0123456789", "\"\ufffd0123456789\""},
		{"01234567\xff", "\"01234567\ufffd\""},
		{"0123\\567", `"0123\\567"`},
		{"01234567\"", `"01234567\""`},
	}
	for _, tt := range tests {
		got := string(AppendString(nil, tt.in))
		if got != tt.want {
			t.Errorf("AppendString(%q) = %s, want %s", tt.in, got, tt.want)
		}
		var back, std string
		if err := json.Unmarshal([]byte(got), &back); err != nil {
			t.Errorf("%s: %v", got, err)
		}
		b, err := json.Marshal(tt.in)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &std); err != nil {
			t.Fatal(err)
		}
		if back != std {
			t.Errorf("AppendString(%q) means %q, encoding/json's form %q", tt.in, back, std)
		}
	}
}

// plainSearch looks for duplicate keys and depth in the slowest and plainest
// way, as an oracle for texts that encoding/json takes.
func plainSearch(data []byte) (duplicate bool, depth int) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	type frame struct {
		keys  map[string]bool // nil for an array
		isKey bool
	}
	var open []*frame
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return duplicate, depth
		}
		if err != nil {
			panic(err)
		}
		var in *frame
		if len(open) > 0 {
			in = open[len(open)-1]
		}
		if in != nil && in.keys != nil && in.isKey {
			if key, ok := tok.(string); ok {
				duplicate = duplicate || in.keys[key]
				in.keys[key] = true
				in.isKey = false
				continue
			}
		}
		switch tok {
		case json.Delim('{'):
			open = append(open, &frame{keys: map[string]bool{}, isKey: true})
		case json.Delim('['):
			open = append(open, &frame{})
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
		depth = max(depth, len(open))
		if tok != json.Delim('{') && tok != json.Delim('[') && len(open) > 0 {
			open[len(open)-1].isKey = true
		}
	}
}

var fuzzSeeds = []string{
	`{"a":1,"b":[true,null,"x\u00e9\ud83d\ude00"],"c":{"d":-1.5e+3}}`,
	`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"a":{"a":{"a":[[[{}]]]}}}`, `[1,2,]`, ` 1 `, `01`, `"\ud800"`, "\"\xff\"", ``, `nul`,
	`{"1":1,"2":1,"3":1,"4":1,"5":1,"6":1,"7":1,"8":1,"9":1,"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"k":1,"l":1,"m":1,"n":1,"o":1,"p":1,"a":1}`,
}

// FuzzCheck holds the checker against encoding/json and a plain search.
func FuzzCheck(f *testing.F) {
	for _, s := range fuzzSeeds {
		f.Add([]byte(s), 5)
	}
	f.Fuzz(func(t *testing.T, data []byte, depth int) {
		depth = min(max(depth, 0), 600)
		err := Check(data, depth)
		valid := json.Valid(data)
		var e *Error
		if err != nil {
			if !errors.As(err, &e) || e.Offset < 0 || e.Offset > len(data) || e.Text == "" {
				t.Fatalf("not a good error: %#v", err)
			}
		} else {
			e = &Error{}
		}
		switch e.Reason {
		case "":
			if !valid {
				t.Fatal("took what encoding/json refuses")
			}
			if !utf8.Valid(data) {
				t.Fatal("took invalid UTF-8")
			}
			if dup, levels := plainSearch(data); dup || levels > depth {
				t.Fatalf("took a text with duplicate %v, depth %d of %d", dup, levels, depth)
			}
			compact, err := AppendCompact(nil, data, depth)
			if err != nil {
				t.Fatal(err)
			}
			var std bytes.Buffer
			if err := json.Compact(&std, data); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(compact, std.Bytes()) {
				t.Fatalf("compact form %q, encoding/json's %q", compact, std.Bytes())
			}
		case Syntax, Truncated, Trailing:
			if valid {
				t.Fatalf("refused what encoding/json takes: %v", err)
			}
		case InvalidUTF8:
			if utf8.Valid(data) {
				t.Fatal("refused valid UTF-8")
			}
		case DuplicateKey:
			if valid {
				if dup, _ := plainSearch(data); !dup {
					t.Fatalf("refused without a duplicate: %v", err)
				}
			}
		case TooDeep:
			if valid {
				if _, levels := plainSearch(data); levels <= depth {
					t.Fatalf("refused %d levels of %d", levels, depth)
				}
			}
		case LoneSurrogate:
			if !bytes.Contains(bytes.ToLower(data), []byte(`\ud`)) {
				t.Fatalf("no surrogate there: %v", err)
			}
		default:
			t.Fatalf("unexpected reason %q", e.Reason)
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	small := []byte(`{"a":3,"b":5}`)
	event := []byte(`{"seq":12,"conversation":"c-1","run":"r-1","cycle":1,"kind":"assistant_message","body":{"content":[{"kind":"text","text":"The sum of 3 and 5 is 8."},{"kind":"tool_call","id":"c1","name":"add","args":{"a":3,"b":5}}],"stop":"tool_use","usage":{"input":680,"output":79,"total":759}}}`)
	var wide bytes.Buffer
	wide.WriteByte('{')
	for i := range 10_000 {
		if i > 0 {
			wide.WriteByte(',')
		}
		fmt.Fprintf(&wide, `"key number %d":%d`, i, i)
	}
	wide.WriteByte('}')
	ascii := []byte(`"` + strings.Repeat("plain text of a document ", 4000) + `"`)
	japanese := []byte(`"` + strings.Repeat("日本語の文書", 4000) + `"`)
	for _, c := range []struct {
		name string
		data []byte
	}{{"args", small}, {"event", event}, {"10000keys", wide.Bytes()}, {"ascii", ascii}, {"japanese", japanese}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(c.data)))
			for b.Loop() {
				if err := Check(c.data, DefaultDepth); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(c.name+"/encoding_json_Valid", func(b *testing.B) {
			b.SetBytes(int64(len(c.data)))
			for b.Loop() {
				if !json.Valid(c.data) {
					b.Fatal("invalid")
				}
			}
		})
	}
}
