package event_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/event/eventtest"
)

func TestInfo(t *testing.T) {
	t.Parallel()
	live := 0
	for i, info := range event.Bodies() {
		if got := info.Kind.Info(); got != info {
			t.Errorf("%s.Info() = %+v, want %+v", info.Kind, got, info)
		}
		if b := eventtest.Bodies()[i]; b.Kind() != info.Kind || event.IsLive(b) != info.Live {
			t.Errorf("%T: kind %s, live %v, want %+v", b, b.Kind(), event.IsLive(b), info)
		}
		if info.Live {
			live++
		} else if live > 0 {
			t.Errorf("the durable kind %s stands behind a live one", info.Kind)
		}
	}
	if live == 0 {
		t.Error("no kind is live")
	}
	if got := event.Kind("x_later").Info(); got != (event.BodyInfo{}) {
		t.Errorf("an unknown kind has the row %+v", got)
	}
	event.Bodies()[0].Live = true
	if event.Bodies()[0].Live {
		t.Error("a caller of Bodies has changed the table")
	}
}

// SizeOf counts each text, raw JSON and list of numbers of a body, and 64 bytes for each block.
func TestSizeOf(t *testing.T) {
	t.Parallel()
	if got := event.SizeOf(nil); got != 0 {
		t.Errorf("no body has size %d", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		b := eventtest.Body().Draw(t, "body")
		want := sizeOf(reflect.ValueOf(b).Elem())
		if got := event.SizeOf(b); got != want {
			t.Fatalf("%s has size %d, want %d", b.Kind(), got, want)
		}
	})
}

func sizeOf(v reflect.Value) (n int) {
	switch x := v.Interface().(type) {
	case string:
		return len(x)
	case json.RawMessage:
		return len(x)
	case []byte:
		return len(x)
	case []int64:
		return 8 * len(x)
	case []event.Block:
		for _, b := range x {
			n += 64 + sizeOf(reflect.ValueOf(b).Elem())
		}
		return n
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			n = sizeOf(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Tag.Get("json") != "-" {
				n += sizeOf(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			n += sizeOf(v.Index(i))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			n += sizeOf(k) + sizeOf(v.MapIndex(k))
		}
	}
	return n
}
