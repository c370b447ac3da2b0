package native_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/event/eventtest"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/wire/native"
)

// all is one empty frame of each name.
func all() []native.Frame {
	return []native.Frame{
		new(native.Init), new(native.TextDelta), new(native.Thinking), new(native.ToolUse), new(native.ToolProgress),
		new(native.SubagentStart), new(native.SubagentEnd), new(native.NodeStart), new(native.NodeEnd), new(native.Transfer), new(native.ToolResult), new(native.Question), new(native.Answered), new(native.Message), new(native.UserMessage),
		new(native.Snapshot), new(native.Retry), new(native.Redacted), new(native.Notice), new(native.Title), new(native.Result), new(native.Error),
	}
}

// What is written by hand is what the structs' tags say: it can be read back, and
// has the keys that the standard library writes, in its order.
func TestFramesAreWrittenAsTheirTagsSay(t *testing.T) {
	t.Parallel()
	for _, empty := range all() {
		t.Run(empty.FrameName(), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				f := reflect.New(reflect.TypeOf(empty).Elem())
				fill(t, f.Elem())
				frame, ok := reflect.TypeAssert[native.Frame](f)
				if !ok {
					t.Fatal("no frame")
				}
				got := native.AppendJSON([]byte("before"), frame)[len("before"):]
				if err := strictjson.Check(got, strictjson.DefaultDepth); err != nil {
					t.Fatalf("%s: %v", got, err)
				}
				back, err := native.Decode(frame.FrameName(), got)
				if err != nil || !reflect.DeepEqual(back, frame) {
					t.Fatalf("%+v\nis written as %s\nand read as %+v (%v)", frame, got, back, err)
				}
				want, err := json.Marshal(frame)
				if err != nil {
					t.Fatal(err)
				}
				if keys, wanted := shape(t, got), shape(t, want); !reflect.DeepEqual(keys, wanted) {
					t.Fatalf("the keys are %v, the tags say %v", keys, wanted)
				}
			})
		})
	}
}

// shape is the keys of an object in their order, with those of objects in it.
func shape(t *rapid.T, text []byte) []string {
	var r strictjson.Reader
	r.Reset(text, strictjson.DefaultDepth)
	var keys []string
	for o := r.Object(); o.Next(); {
		keys = append(keys, string(o.Key))
		if r.Peek() == '{' && string(o.Key) != "metadata" {
			m := r.Mark()
			sub := r.Verbatim(strictjson.DefaultDepth)
			r.Return(m)
			for _, k := range shape(t, sub) {
				keys = append(keys, string(o.Key)+"."+k)
			}
		}
		r.Skip()
	}
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	return keys
}

// fill sets v to anything; every second field that may be left out is.
func fill(t *rapid.T, v reflect.Value) {
	switch v.Interface().(type) {
	case time.Time:
		at := time.Unix(rapid.Int64Range(0, 253402300799).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds"))
		v.Set(reflect.ValueOf(at.UTC()))
		return
	case json.RawMessage:
		v.Set(reflect.ValueOf(eventtest.RawJSON().Draw(t, "raw")))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(rapid.String().Draw(t, "string"))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64().Draw(t, "int"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Float64:
		v.SetFloat(float64(rapid.Int64Range(0, 1e15).Draw(t, "nano dollars")) / 1e9)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			tag := f.Tag.Get("json")
			list := f.Type.Kind() == reflect.Slice && tag != ""
			switch must := list && !strings.Contains(tag, ","); {
			case must:
				fill(t, v.Field(i)) // what is never left out is never null
			case rapid.Bool().Draw(t, f.Name):
				fill(t, v.Field(i))
				if list && v.Field(i).Len() == 0 {
					v.Field(i).SetZero()
				}
			}
		}
	case reflect.Slice:
		n := rapid.IntRange(0, 3).Draw(t, "elements")
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(t, v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range rapid.IntRange(1, 3).Draw(t, "members") {
			e := reflect.New(v.Type().Elem()).Elem()
			fill(t, e)
			v.SetMapIndex(reflect.ValueOf(rapid.String().Draw(t, "key")), e)
		}
	default:
		t.Fatalf("a field of a type that nobody has thought of: %s", v.Type())
	}
}

// A frame that is not known is none, and so is a field.
func TestDecodeIsForgiving(t *testing.T) {
	t.Parallel()
	if f, err := native.Decode("from_the_future", []byte(`{"a":1}`)); f != nil || err != nil {
		t.Errorf("got %v, %v", f, err)
	}
	f, err := native.Decode("title", []byte(`{"title":"Sums","colour":"red"}`))
	if title, ok := f.(*native.Title); err != nil || !ok || title.Title != "Sums" {
		t.Errorf("got %v, %v", f, err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, frame := range all() {
		f.Add(frame.FrameName(), native.AppendJSON(nil, frame))
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		frame, err := native.Decode(name, data)
		if err != nil || frame == nil {
			return
		}
		// What was read can be written, and reads as the same.
		text := native.AppendJSON(nil, frame)
		back, err := native.Decode(name, text)
		if err != nil {
			t.Fatalf("%s %q is written as %q: %v", name, data, text, err)
		}
		if again := native.AppendJSON(nil, back); string(again) != string(text) {
			t.Fatalf("%s %q is written as %q, and then as %q", name, data, text, again)
		}
	})
}
