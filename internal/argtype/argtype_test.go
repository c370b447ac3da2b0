package argtype_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/braidrun/braid/internal/argtype"
)

type order struct {
	Text  string   `json:"text"`
	N     int      `json:"n"`
	Small int8     `json:"small,omitempty"`
	F     float64  `json:"f,omitempty"`
	On    bool     `json:"on,omitempty"`
	List  []string `json:"list,omitempty"`
	Deep  *part    `json:"deep,omitempty"`
	More  []part   `json:"more,omitempty"`
	Plain int
	skip  int
}

type part struct {
	ID  int  `json:"id"`
	Opt *int `json:"opt,omitempty"`
}

var decodings = []struct{ args, want, fault string }{
	{args: `{"text":"a","n":1,"Plain":2}`, want: `{"text":"a","n":1,"Plain":2}`},
	{args: `{"text":"\u00e4\n","n":-9223372036854775808,"Plain":0,"small":-128,"f":1e3,"on":true,"list":["x","y"],"deep":{"id":3,"opt":4},"more":[{"id":1},{"id":2}]}`, want: `{"text":"ä\n","n":-9223372036854775808,"small":-128,"f":1000,"on":true,"list":["x","y"],"deep":{"id":3,"opt":4},"more":[{"id":1},{"id":2}],"Plain":0}`},
	{args: `{"text":"a","n":1,"Plain":2,"list":[],"more":[]}`, want: `{"text":"a","n":1,"Plain":2}`},
	{args: `{"text":"a","n":1,"Plain":2,"deep":null,"list":null}`, want: `{"text":"a","n":1,"Plain":2}`},
	{args: `{"text":"a","n":1.0,"Plain":2}`, fault: `n must be an integer of type int, not number 1.0`},
	{args: `{"text":"a","n":1e2,"Plain":2}`, fault: `n must be an integer of type int, not number 1e2`},
	{args: `{"text":"a","n":9223372036854775808,"Plain":2}`, fault: `n must be an integer of type int, not number 9223372036854775808`},
	{args: `{"text":"a","n":1,"Plain":2,"small":128}`, fault: `small must be an integer of type int8, not number 128`},
	{args: `{"text":"a","n":1,"Plain":2,"f":1e999}`, fault: `f must be a number, not number 1e999`},
	{args: `{"text":"a","n":1,"Plain":2,"f":"1"}`, fault: `f must be a number, not string`},
	{args: `{"text":null,"n":1,"Plain":2}`, fault: `text must not be null`},
	{args: `{"text":"a","n":1}`, fault: `Plain is missing`},
	{args: `{"text":"a","n":1,"Plain":2,"skip":3}`, fault: `the arguments object has no field "skip"; it has Plain, deep, f, list, more, n, on, small, text`},
	{args: `{"Text":"a","n":1,"Plain":2}`, fault: `the arguments object has no field "Text"; it has Plain, deep, f, list, more, n, on, small, text`},
	{args: `{"text":"a","n":1,"Plain":2,"deep":{}}`, fault: `deep.id is missing`},
	{args: `{"text":"a","n":1,"Plain":2,"on":1}`, fault: `on must be a boolean, not number`},
	{args: `{"text":"a","n":1,"Plain":2} x`, fault: `trailing data at byte 29`},
	{args: `{"text":"a","text":"b","n":1,"Plain":2}`, fault: `duplicate key "text" at byte 12`},
	{args: `[]`, fault: `the arguments object must be an object, not array`},
	{args: `null`, fault: `the arguments object must not be null`},
	{args: `{`, fault: `the text ends before the value does at byte 1`},
	{args: `"a"`, fault: `the arguments object must be an object, not string`},
	{args: `{"text":"\ud800","n":1,"Plain":2}`, fault: `half of a surrogate pair at byte 9`},
}

func decode(args string) (order, error) {
	p, err := argtype.Of(reflect.TypeFor[order]())
	if err != nil {
		return order{}, err
	}
	var v order
	err = p.Decode(json.RawMessage(args), &v)
	return v, err
}

// Decoding is the validation: each fault has words for the model, and what passes is the value that was sent.
func TestDecodingHoldsArgumentsToTheType(t *testing.T) {
	t.Parallel()
	for _, c := range decodings {
		v, err := decode(c.args)
		if c.fault != "" {
			if err == nil || err.Error() != c.fault {
				t.Errorf("%s: the error is %v, want %s", c.args, err, c.fault)
			}
			continue
		}
		got, _ := json.Marshal(v)
		if err != nil || string(got) != c.want || v.skip != 0 {
			t.Errorf("%s: %s, %v, want %s", c.args, got, err, c.want)
		}
	}
}

// Whatever decodes is a value that decodes to itself again, and encoding/json reads the same from the arguments.
func FuzzDecode(f *testing.F) {
	for _, c := range decodings {
		f.Add(c.args)
	}
	f.Fuzz(func(t *testing.T, args string) {
		v, err := decode(args)
		if err != nil {
			return
		}
		var plain order
		if err := json.Unmarshal([]byte(args), &plain); err != nil || !reflect.DeepEqual(v, plain) {
			t.Fatalf("%q: %+v; encoding/json: %+v, %v", args, v, plain, err)
		}
		again, _ := json.Marshal(v)
		if w, err := decode(string(again)); err != nil {
			t.Fatalf("%q: %+v does not decode again: %v", args, w, err)
		}
	})
}

// wide has a field of each kind that is decoded by the quicker library.
type wide struct {
	I    int                `json:"i,omitempty"`
	I8   int8               `json:"i8,omitempty"`
	I64  *int64             `json:"i64,omitempty"`
	U    uint               `json:"u,omitempty"`
	U16  uint16             `json:"u16,omitempty"`
	F32  float32            `json:"f32,omitempty"`
	F64  float64            `json:"f64,omitempty"`
	B    *bool              `json:"b,omitempty"`
	S    string             `json:"s,omitempty"`
	L    []string           `json:"l,omitempty"`
	N    [][]int32          `json:"n,omitempty"`
	M    map[string]float64 `json:"m,omitempty"`
	P    []*part            `json:"p,omitempty"`
	D    map[string]part    `json:"d,omitempty"`
	Name named              `json:"name,omitempty"`
}

type named string

// The quicker library and encoding/json accept the same and read the same.
func FuzzDecodeWide(f *testing.F) {
	for _, value := range []string{
		`0`, `-0`, `1`, `-1`, `127`, `128`, `-129`, `65536`, `9223372036854775807`, `9223372036854775808`, `18446744073709551616`,
		`1.0`, `1e2`, `1E-2`, `0.1`, `3.4e38`, `3.5e38`, `1e-400`, `1e309`, `true`, `false`, `null`, `""`, `"a\u00e4\ud83d\ude00\n\/"`,
		`"\u0000"`, `[]`, `[null]`, `["x"]`, `[[1],[],null,[2,3]]`, `{}`, `{"a":1.5}`, `{"a":null}`, `[{"id":1},null]`, `{"k":{"id":1,"opt":2}}`,
		`{"k":{"ID":1}}`, ` 1 `, `"1"`, `01`, `1.`, `+1`, `.5`,
	} {
		for _, key := range []string{"i", "i8", "i64", "u", "u16", "f32", "f64", "b", "s", "l", "n", "m", "p", "d", "name"} {
			f.Add(`{"` + key + `":` + value + `}`)
		}
	}
	p, err := argtype.Of(reflect.TypeFor[wide]())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, args string) {
		var got, want wide
		err, std := p.Decode(json.RawMessage(args), &got), json.Unmarshal([]byte(args), &want)
		if err == nil && (std != nil || !reflect.DeepEqual(got, want)) {
			t.Fatalf("%q: %+v; encoding/json: %+v, %v", args, got, want, std)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	type in struct {
		Path  string `json:"path"`
		Limit int    `json:"limit,omitempty"`
		Deep  bool   `json:"deep,omitempty"`
	}
	p, err := argtype.Of(reflect.TypeFor[in]())
	if err != nil {
		b.Fatal(err)
	}
	args := json.RawMessage(`{"path":"a/b/c.txt","limit":20,"deep":true}`)
	b.ReportAllocs()
	for b.Loop() {
		var v in
		if err := p.Decode(args, &v); err != nil {
			b.Fatal(err)
		}
	}
}
