package braid

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

type shortWay struct {
	Text  string      `json:"text"`
	N     int         `json:"n"`
	Small int8        `json:"small,omitempty"`
	F     float64     `json:"f,omitempty"`
	On    bool        `json:"on,omitempty"`
	List  []string    `json:"list,omitempty"`
	Deep  *shortWay2  `json:"deep,omitempty"`
	More  []shortWay2 `json:"more,omitempty"`
	Plain int
	skip  int
}

type shortWay2 struct {
	ID  int  `json:"id"`
	Opt *int `json:"opt,omitempty"`
}

var shortWays = []string{
	`{"text":"a","n":1,"Plain":2}`,
	`{"text":"\u00e4\n","n":-9223372036854775808,"Plain":0,"small":-128,"f":1e3,"on":true,"list":["x","y"],"deep":{"id":3,"opt":4},"more":[{"id":1},{"id":2}]}`,
	`{"text":"a","n":1,"Plain":2,"list":[],"more":[]}`,
	`{"text":"a","n":1,"Plain":2,"deep":null,"list":null}`,
	`{"text":"a","n":1.0,"Plain":2}`, `{"text":"a","n":1e2,"Plain":2}`, `{"text":"a","n":9223372036854775808,"Plain":2}`,
	`{"text":"a","n":1,"Plain":2,"small":128}`, `{"text":"a","n":1,"Plain":2,"f":1e999}`, `{"text":"a","n":1,"Plain":2,"f":"1"}`,
	`{"text":null,"n":1,"Plain":2}`, `{"text":"a","n":1}`, `{"text":"a","n":1,"Plain":2,"skip":3}`, `{"Text":"a","n":1,"Plain":2}`,
	`{"text":"a","n":1,"Plain":2,"deep":{}}`, `{"text":"a","n":1,"Plain":2,"on":1}`, `{"text":"a","n":1,"Plain":2} x`,
	`{"text":"a","text":"b","n":1,"Plain":2}`, `[]`, `null`, `{`, `"a"`, `{"text":"\ud800","n":1,"Plain":2}`,
}

// The short way and the long way give the same value or the same error.
func TestBothWaysOfDecodingAgree(t *testing.T) {
	t.Parallel()
	for _, args := range shortWays {
		bothWays(t, args)
	}
	p, err := planOf(reflect.TypeFor[shortWay]())
	if err != nil || p.target == nil {
		t.Fatalf("a plain struct has no short way: %v", err)
	}
	var v shortWay
	if !p.read(json.RawMessage(shortWays[1]), &v) || v.More[1].ID != 2 || *v.Deep.Opt != 4 || v.skip != 0 {
		t.Errorf("the short way gave %+v", v)
	}
	for _, odd := range []reflect.Type{
		reflect.TypeFor[struct{ T time.Time }](), reflect.TypeFor[struct{ B []byte }](), reflect.TypeFor[struct{ shortWay2 }](),
		reflect.TypeFor[map[string]int](), reflect.TypeFor[struct{ A any }](),
	} {
		if p, err := planOf(odd); err != nil || p.target != nil {
			t.Errorf("%s has a short way: %v", odd, err)
		}
	}
}

func FuzzBothWaysOfDecodingAgree(f *testing.F) {
	for _, args := range shortWays {
		f.Add(args)
	}
	f.Fuzz(func(t *testing.T, args string) { bothWays(t, args) })
}

func bothWays(t *testing.T, args string) {
	t.Helper()
	p, err := planOf(reflect.TypeFor[shortWay]())
	if err != nil {
		t.Fatal(err)
	}
	long := &plan{schema: p.schema, shape: p.shape}
	var a, b shortWay
	errA, errB := p.decode(json.RawMessage(args), &a), long.decode(json.RawMessage(args), &b)
	if (errA == nil) != (errB == nil) || errA != nil && errA.Error() != errB.Error() || errA == nil && !reflect.DeepEqual(a, b) {
		t.Errorf("%q: %+v, %v; the long way: %+v, %v", args, a, errA, b, errB)
	}
}
