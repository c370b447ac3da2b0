package event_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/event/eventtest"
)

// The kinds that tests go through are those that the source declares.
func TestEveryKindIsTested(t *testing.T) {
	t.Parallel()
	var kinds, want []string
	for _, b := range eventtest.Bodies() {
		kinds = append(kinds, string(b.Kind()))
	}
	for _, k := range constants(t, "Kind") {
		want = append(want, k)
	}
	slices.Sort(kinds)
	slices.Sort(want)
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("eventtest.Bodies (-declared +there):\n%s", diff)
	}
	kinds, want = nil, nil
	for _, b := range eventtest.KnownBlocks() {
		kinds = append(kinds, string(b.BlockKind()))
	}
	for _, k := range constants(t, "BlockKind") {
		want = append(want, k)
	}
	slices.Sort(kinds)
	slices.Sort(want)
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("eventtest.KnownBlocks (-declared +there):\n%s", diff)
	}
}

// The generated encoder says what encoding/json reads from the struct tags,
// so that the two never drift apart: for full and for empty structs here, for
// any in the property below.
func TestJSONFollowsTheStructTags(t *testing.T) {
	t.Parallel()
	for _, b := range eventtest.Bodies() {
		sameAsTags(t, b)
		fillAll(reflect.ValueOf(b).Elem())
		sameAsTags(t, b)
	}
	for _, b := range eventtest.KnownBlocks() {
		blockSameAsTags(t, b)
		fillAll(reflect.ValueOf(b).Elem())
		blockSameAsTags(t, b)
	}
}

func TestJSONFollowsTheStructTagsAlways(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		if b := eventtest.Body().Draw(t, "body"); reflect.TypeOf(b) != reflect.TypeFor[*event.Unknown]() {
			sameAsTags(t, b)
		}
		if b := eventtest.Block().Draw(t, "block"); reflect.TypeOf(b) != reflect.TypeFor[*event.UnknownBlock]() {
			blockSameAsTags(t, b)
		}
	})
}

type reporter interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
}

func sameAsTags(t reporter, b event.Body) {
	t.Helper()
	ours, err := event.AppendJSON(nil, &event.Event{Body: b})
	if err != nil {
		t.Fatal(b.Kind(), err)
	}
	got, ok := parse(t, ours).(map[string]any)
	if !ok || len(got) != 2 || got["kind"] != string(b.Kind()) {
		t.Errorf("%s: not kind and body alone: %s", b.Kind(), ours)
		return
	}
	std, err := json.Marshal(b)
	if err != nil {
		t.Fatal(b.Kind(), err)
	}
	want := listsNotNull(reflect.TypeOf(b).Elem(), parse(t, std))
	if diff := cmp.Diff(want, got["body"]); diff != "" {
		t.Errorf("%s (-tags +ours):\n%s", b.Kind(), diff)
	}
}

func blockSameAsTags(t reporter, b event.Block) {
	t.Helper()
	ours, err := event.AppendBlock(nil, b)
	if err != nil {
		t.Fatal(b.BlockKind(), err)
	}
	// The same struct without its methods, so that encoding/json sees the tags.
	v := reflect.ValueOf(b).Elem()
	fields := make([]reflect.StructField, v.NumField())
	for i := range fields {
		fields[i] = v.Type().Field(i)
	}
	std, err := json.Marshal(v.Convert(reflect.StructOf(fields)).Interface())
	if err != nil {
		t.Fatal(b.BlockKind(), err)
	}
	want, ok := parse(t, std).(map[string]any)
	if !ok {
		t.Fatal("no object")
	}
	want["kind"] = string(b.BlockKind())
	if diff := cmp.Diff(any(want), parse(t, ours)); diff != "" {
		t.Errorf("%s (-tags +ours):\n%s", b.BlockKind(), diff)
	}
}

func parse(t reporter, data []byte) any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err, string(data))
	}
	return v
}

// listsNotNull writes [] for a nil list that is always written: the one place
// where Braid's form is meant to differ, because null is no list.
func listsNotNull(typ reflect.Type, v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	for f := range typ.Fields() {
		if key := f.Tag.Get("json"); f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() != reflect.Uint8 {
			if value, there := m[key]; there && value == nil {
				m[key] = []any{}
			}
		}
	}
	return v
}

// fillAll gives every field a value that is not zero.
func fillAll(v reflect.Value) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Date(2026, 11, 20, 1, 2, 3, 456_000_000, time.UTC)))
		return
	case json.RawMessage:
		v.Set(reflect.ValueOf(json.RawMessage(`{"a":[1,2.5e3,"<&>"]}`)))
		return
	case []event.Block:
		v.Set(reflect.ValueOf([]event.Block{
			&event.Text{Text: "3と5を足した結果は8です。"},
			&event.ToolResult{Call: "c", Content: []event.Block{&event.Code{Code: "1"}}},
		}))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("<日本> & \"q\"")
	case reflect.Int, reflect.Int64:
		v.SetInt(1<<53 + 1)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillAll(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("json") != "-" {
				fillAll(v.Field(i))
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte{0, 1, 0xfe, 0xff})
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fillAll(v.Index(0))
		fillAll(v.Index(1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for _, key := range []string{"b", "a", "<"} {
			e := reflect.New(v.Type().Elem()).Elem()
			fillAll(e)
			v.SetMapIndex(reflect.ValueOf(key), e)
		}
	default:
		panic("a field of a type that nobody has thought of: " + v.Type().String())
	}
}
