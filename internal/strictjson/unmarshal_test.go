package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

type (
	point struct {
		X int `json:"x"`
		Y int `json:"y,omitempty"`
	}
	tree struct {
		Name     string           `json:"name"`
		Children []*tree          `json:"children"`
		ByName   map[string]*tree `json:"by_name"`
	}
	everything struct {
		point
		*Second
		Named   point `json:"named"`
		Plain   string
		Dash    string `json:"-"`
		Comma   string `json:"-,"`
		private string
		BadTag  string            `json:"a\\b"`
		Time    time.Time         `json:"time"`
		Any     any               `json:"any"`
		Raw     json.RawMessage   `json:"raw"`
		List    [2]point          `json:"list"`
		Map     map[string]point  `json:"map"`
		Ints    map[int]point     `json:"ints"`
		Quoted  int               `json:"quoted,string"`
		Bytes   []byte            `json:"bytes"`
		Labels  map[string]string `json:"labels"`
		Float   float64           `json:"float"`
		Small   int8              `json:"small"`
		Count   uint              `json:"count"`
		Flag    *bool             `json:"flag"`
	}
	Second struct {
		Z     int    `json:"z"`
		Named string `json:"named"` // hidden by the outer one
		X     string // not hidden: another name than x
		third
	}
	third struct {
		Deep  bool
		Third int `json:"third"`
	}
	left struct {
		Both int
		Left int
		Tag  int
	}
	right struct {
		Both  int
		Right int
		Other point `json:"Tag"`
	}
	torn struct {
		left
		right
	}
	upper string
	odd   struct {
		upper // not exported and no struct: no key
		fmt.Stringer
		time.Duration
		Own ownKeys `json:"own"`
	}
	ownKeys struct{ A int }
	loop    struct {
		*loop
		L int
	}
	listed []listed
)

func (o *ownKeys) UnmarshalJSON([]byte) error { o.A = 1; return nil }

func TestUnmarshal(t *testing.T) {
	t.Parallel()
	in := `{"x":1,"y":2,"z":3,"X":"ex","third":4,"Deep":true,"named":{"x":5},"Plain":"p","-":"dash","BadTag":"b","time":"2026-11-20T01:02:03Z",` +
		`"any":{"any":{"ANY":1}},"raw":{"q":[]},"list":[{"x":6},{"x":7}],"map":{"A":{"x":8},"a":{"x":9}},"ints":{"1":{"x":1}},"quoted":"11","bytes":"aGk=",` +
		`"labels":{"k":"v"},"float":0.5,"small":-128,"count":7,"flag":null}`
	var got, want everything
	if err := Unmarshal([]byte(in), &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(in), &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}

	var root tree
	if err := Unmarshal([]byte(`{"name":"r","children":[{"name":"c","by_name":{"D":{"name":"d","children":null}}}]}`), &root); err != nil {
		t.Fatal(err)
	}
	if root.Children[0].ByName["D"].Name != "d" {
		t.Errorf("got %+v", root)
	}
}

func TestUnmarshalRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		in     string
		into   any
		reason Reason
		text   string
	}{
		{"unknown key", `{"x":1,"z":2}`, new(point), UnknownKey, `unknown key "z" at byte 7`},
		{"other case", `{"X":1}`, new(point), KeyCase, `key "X" must be written "x" at byte 1`},
		{"other case of an escape", `{"\u0058":1}`, new(point), KeyCase, `key "X" must be written "x" at byte 1`},
		{"deep inside", `{"children":[{"by_name":{"n":{"Name":"x"}}}]}`, new(tree), KeyCase, `key "Name" must be written "name" at byte 30`},
		{"in a list", `[{"x":1},{"y":1,"Y":2}]`, new([]point), KeyCase, `key "Y" must be written "y" at byte 16`},
		{"in a map", `{"a":{"q":1}}`, new(map[string]point), UnknownKey, `unknown key "q" at byte 6`},
		{"the outer of two fields", `{"named":{"q":1}}`, new(everything), UnknownKey, `unknown key "q" at byte 10`},
		{"dash", `{"Dash":"x"}`, new(everything), UnknownKey, `unknown key "Dash" at byte 1`},
		{"unexported", `{"private":"x"}`, new(everything), UnknownKey, `unknown key "private" at byte 1`},
		{"duplicate", `{"x":1,"x":2}`, new(point), DuplicateKey, `duplicate key "x" at byte 7`},
		{"duplicate in an interface", `{"any":{"a":1,"a":2}}`, new(everything), DuplicateKey, `duplicate key "a" at byte 14`},
		{"duplicate in a raw message", `{"raw":{"a":1,"a":2}}`, new(everything), DuplicateKey, `duplicate key "a" at byte 14`},
		{"trailing", `{} {}`, new(point), Trailing, `trailing data at byte 3`},
		{"syntax", `{"x":}`, new(point), Syntax, `'}' where a value should be at byte 5`},
		{"invalid UTF-8", "{\"Plain\":\"\xff\"}", new(everything), InvalidUTF8, `invalid UTF-8 at byte 10`},
		{"too deep", strings.Repeat("[", 513) + strings.Repeat("]", 513), new(any), TooDeep, `nested deeper than 512 levels at byte 512`},
		{"too deep for a type", strings.Repeat("[", 513) + strings.Repeat("]", 513), new(listed), TooDeep, `nested deeper than 512 levels at byte 512`},
		{"string for a number", `{"x":"1"}`, new(point), WrongType, `"x": an integer that fits is needed, not a string at byte 8`},
		{"fraction", `{"x":1.5}`, new(point), WrongType, `"x": an integer that fits is needed, not number 1.5 at byte 8`},
		{"long number", `{"x":` + strings.Repeat("1", 500) + `}`, new(point), WrongType, `"x": an integer that fits is needed, not number ` + strings.Repeat("1", 33) + `… at byte 505`},
		{"negative", `{"count":-1}`, new(everything), WrongType, `"count": an integer that fits and is not negative is needed, not number -1 at byte 11`},
		{"bool for a string", `{"Plain":true}`, new(everything), WrongType, `"Plain": a string is needed, not true or false at byte 13`},
		{"number for a bool", `{"flag":1}`, new(everything), WrongType, `"flag": true or false is needed, not a number at byte 9`},
		{"number for a float", `{"float":"x"}`, new(everything), WrongType, `"float": a number that fits is needed, not a string at byte 12`},
		{"array for an object", `[]`, new(point), WrongType, `an object is needed, not an array at byte 1`},
		{"object for a list", `{"list":{}}`, new(everything), WrongType, `"list": an array is needed, not an object at byte 9`},
		{"path", `{"list":[{"x":1},{"x":{}}]}`, new(everything), WrongType, `"list.x": an integer that fits is needed, not an object at byte 23`},
		{"in an embedded struct", `{"z":"x"}`, new(everything), WrongType, `"z": an integer that fits is needed, not a string at byte 8`},
		{"two structs down", `{"third":"x"}`, new(everything), WrongType, `"third": an integer that fits is needed, not a string at byte 12`},
		{"in an embedded struct of a list", `{"list":[{"z":"x"}]}`, &struct {
			List []everything `json:"list"`
		}{}, WrongType, `"list.z": an integer that fits is needed, not a string at byte 17`},
		{"in an embedded struct of a map", `{"map":{"Second":{"z":"x"}}}`, &struct {
			Map map[string]*everything `json:"map"`
		}{}, WrongType, ``},
		{"bad date", `{"time":"yesterday"}`, new(everything), BadValue, ``},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := Unmarshal([]byte(tt.in), tt.into)
			if !errors.Is(err, tt.reason) {
				t.Fatalf("Unmarshal(%.60s) = %v, want %q", tt.in, err, tt.reason)
			}
			if tt.text != "" && err.Error() != tt.text {
				t.Errorf("text %s\nwant %s", err, tt.text)
			}
		})
	}
	var target *json.InvalidUnmarshalError
	if err := Unmarshal([]byte(`{}`), point{}); !errors.As(err, &target) {
		t.Errorf("into a value: %v", err)
	}
	if err := Unmarshal([]byte(`{}`), nil); !errors.As(err, &target) {
		t.Errorf("into nil: %v", err)
	}
	var perr *time.ParseError
	if err := Unmarshal([]byte(`"yesterday"`), new(time.Time)); !errors.As(err, &perr) || strings.Contains(err.Error(), "at byte") {
		t.Errorf("the cause of a bad value is lost or has a place: %v", err)
	}
}

// The keys of a type are those that encoding/json decodes into it.
func TestShapeAgreesWithEncodingJSON(t *testing.T) {
	t.Parallel()
	names := []string{
		"x", "y", "X", "Y", "z", "Z", "named", "Named", "Plain", "plain", "Dash", "-", "Comma", "private", "a\\b", "BadTag",
		"Deep", "third", "Third", "Second", "point", "Both", "Left", "Right", "Tag", "Other", "left", "right",
		"upper", "Stringer", "Duration", "own", "Own", "A", "L", "loop", "name", "children", "by_name",
	}
	for _, target := range []any{point{}, tree{}, everything{}, Second{}, torn{}, odd{}, loop{}, ownKeys{}, struct{}{}} {
		typ := reflect.TypeOf(target)
		for _, name := range names {
			in := fmt.Appendf(nil, "{%q:null}", name)
			dec := json.NewDecoder(bytes.NewReader(in))
			dec.DisallowUnknownFields()
			stdTakes := dec.Decode(reflect.New(typ).Interface()) == nil
			err := Unmarshal(in, reflect.New(typ).Interface())
			// encoding/json takes a key of another case too; ours says KeyCase.
			if ours := err == nil || errors.Is(err, KeyCase); ours != stdTakes {
				t.Errorf("%v key %q: ours %v, encoding/json takes it: %v", typ, name, err, stdTakes)
			}
			if err == nil && typ != reflect.TypeFor[ownKeys]() {
				if keys := shapeOf(typ).fields; keys != nil {
					if _, ok := keys[name]; !ok {
						t.Errorf("%v took %q, which is none of its keys", typ, name)
					}
				}
			}
		}
	}
}

// Of two fields of one name the one with a tag wins; a type that decodes
// itself decides about its keys.
func TestShapeDetails(t *testing.T) {
	t.Parallel()
	for range 20 { // the order of maps must not matter
		if got := keysOf(reflect.TypeFor[torn]())["Tag"]; got != reflect.TypeFor[point]() {
			t.Fatalf("Tag is the field of type %v", got)
		}
	}
	var o odd
	if err := Unmarshal([]byte(`{"own":{"whatever":{"it":"wants"}}}`), &o); err != nil || o.Own.A != 1 {
		t.Errorf("%v %+v", err, o)
	}
}

// FuzzUnmarshal: what is taken is taken by the standard decoder with the same result.
func FuzzUnmarshal(f *testing.F) {
	for _, s := range fuzzSeeds {
		f.Add([]byte(s))
	}
	f.Add([]byte(`{"name":"r","children":[{"name":"c","by_name":{"D":{"name":"d","children":null}}}]}`))
	f.Add([]byte(`{"x":1,"X":"a","named":{"x":1},"any":[1,{"a":null}],"map":{"a":{"y":1}},"Named":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, typ := range []reflect.Type{reflect.TypeFor[tree](), reflect.TypeFor[everything](), reflect.TypeFor[any]()} {
			ours, std := reflect.New(typ), reflect.New(typ)
			err := Unmarshal(data, ours.Interface())
			dec := json.NewDecoder(bytes.NewReader(data))
			dec.DisallowUnknownFields()
			stdErr := dec.Decode(std.Interface())
			if err == nil {
				if stdErr != nil {
					t.Fatalf("took what encoding/json refuses: %v", stdErr)
				}
				if !reflect.DeepEqual(ours.Interface(), std.Interface()) {
					t.Fatalf("decoded %+v, encoding/json %+v", ours, std)
				}
			} else if e := (*Error)(nil); !errors.As(err, &e) {
				t.Fatalf("not an *Error: %v", err)
			}
		}
	})
}

func BenchmarkUnmarshal(b *testing.B) {
	data := []byte(`{"x":3,"y":5}`)
	b.Run("strict", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var p point
			if err := Unmarshal(data, &p); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding_json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var p point
			if err := json.Unmarshal(data, &p); err != nil {
				b.Fatal(err)
			}
		}
	})
}
