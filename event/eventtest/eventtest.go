// Package eventtest generates events for property tests with
// pgregory.net/rapid.
//
// What it generates is what decoding gives: times in UTC, strings that are
// UTF-8, raw JSON without white space, nil instead of empty lists, but where these say something
// else. So writing an event and reading it back must give an equal one, by reflect.DeepEqual.
//
// Values are filled in by reflection over the structs of package event, and
// not field by field, so that a field which is added there is generated here
// without anybody thinking of it. They are well formed, not sensible: no run
// ever wrote such a log.
package eventtest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/event"
)

// Bodies is one empty body of each known kind, durable ones first.
func Bodies() []event.Body {
	var list []event.Body
	for _, info := range event.Bodies() {
		e, err := event.Decode(fmt.Appendf(nil, `{"kind":%q,"body":{}}`, info.Kind))
		if err != nil {
			panic("eventtest: " + err.Error())
		}
		list = append(list, e.Body)
	}
	return list
}

// KnownBlocks is one empty block of each known kind.
func KnownBlocks() []event.Block {
	return []event.Block{
		new(event.Text), new(event.Thinking), new(event.RedactedThinking), new(event.Image),
		new(event.Document), new(event.Media), new(event.ToolCall), new(event.ToolResult),
		new(event.Citation), new(event.Code), new(event.CodeResult),
	}
}

// Event generates events of every kind, with any header.
func Event() *rapid.Generator[event.Event] {
	return rapid.Custom(func(t *rapid.T) event.Event {
		var e event.Event
		fill(t, reflect.ValueOf(&e.Header).Elem(), 0)
		e.Body = Body().Draw(t, "body")
		return e
	})
}

// Body generates bodies of every kind, unknown ones included.
func Body() *rapid.Generator[event.Body] {
	return rapid.Custom(func(t *rapid.T) event.Body {
		known := Bodies()
		i := rapid.IntRange(0, len(known)).Draw(t, "kind")
		if i == len(known) {
			u := &event.Unknown{Name: event.Kind(unknownName.Draw(t, "name"))}
			if rapid.Bool().Draw(t, "has a body") {
				u.Raw = rawJSON(2).Draw(t, "raw")
			}
			return u
		}
		fill(t, reflect.ValueOf(known[i]).Elem(), 0)
		return known[i]
	})
}

// Block generates blocks of every kind, unknown ones included.
func Block() *rapid.Generator[event.Block] { return block(0) }

// Blocks generates up to four blocks; none is nil.
func Blocks() *rapid.Generator[[]event.Block] { return blocks(0) }

// RawJSON generates JSON values without white space, up to two levels deep.
func RawJSON() *rapid.Generator[json.RawMessage] { return rawJSON(2) }

// unknownName gives names that this version has no kind for.
var unknownName = rapid.StringMatching(`x_[a-z"é]{1,8}`)

func block(depth int) *rapid.Generator[event.Block] {
	return rapid.Custom(func(t *rapid.T) event.Block {
		known := KnownBlocks()
		i := rapid.IntRange(0, len(known)).Draw(t, "kind")
		if i == len(known) {
			name := unknownName.Draw(t, "name")
			quoted, err := json.Marshal(name)
			if err != nil {
				t.Fatal(err)
			}
			// White space and the place of the kind are kept as they came.
			return &event.UnknownBlock{
				Name: event.BlockKind(name),
				Raw: fmt.Appendf(nil, rapid.SampledFrom([]string{
					`{"kind":%s,"value":%s}`, `{ "kind" : %s, "value" : %s }`, `{"a":[{"kind":"text"}],"kind":%s,"value":%s}`,
				}).Draw(t, "form"), quoted, rawJSON(1).Draw(t, "value")),
			}
		}
		fill(t, reflect.ValueOf(known[i]).Elem(), depth+1)
		return known[i]
	})
}

func blocks(depth int) *rapid.Generator[[]event.Block] {
	return rapid.Custom(func(t *rapid.T) []event.Block {
		most := 4
		if depth > 2 { // tool results hold blocks
			most = 0
		}
		var list []event.Block
		for range rapid.IntRange(0, most).Draw(t, "blocks") {
			list = append(list, block(depth).Draw(t, "block"))
		}
		return list
	})
}

func rawJSON(depth int) *rapid.Generator[json.RawMessage] {
	return rapid.Custom(func(t *rapid.T) json.RawMessage {
		if rapid.IntRange(0, 4).Draw(t, "literal") == 0 { // forms that encoding/json does not write
			return json.RawMessage(rapid.SampledFrom([]string{
				`1.50E+3`, `-0`, `"\u0041\/\ud83d\ude00"`, `123456789012345678901234567890`, `{"\u006b":"<&>"}`, "\"\u2028\"",
			}).Draw(t, "json"))
		}
		raw, err := json.Marshal(value(t, depth))
		if err != nil {
			t.Fatal(err)
		}
		return raw
	})
}

func value(t *rapid.T, depth int) any {
	kinds := 6
	if depth == 0 {
		kinds = 4
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "type") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return rapid.Int64().Draw(t, "number")
	case 3:
		return rapid.String().Draw(t, "string")
	case 4:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			list = append(list, value(t, depth-1))
		}
		return list
	default:
		object := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "members") {
			object[rapid.String().Draw(t, "key")] = value(t, depth-1)
		}
		return object
	}
}

var (
	timeType     = reflect.TypeFor[time.Time]()
	audienceType = reflect.TypeFor[event.Audience]()
	rawType      = reflect.TypeFor[json.RawMessage]()
	blocksType   = reflect.TypeFor[[]event.Block]()
	answeredType = reflect.TypeFor[event.Answered]()
)

// fill sets v, and what it holds, to anything; every second field of those
// that may be left out is left out.
func fill(t *rapid.T, v reflect.Value, depth int) {
	switch v.Type() {
	case timeType:
		const first, last = -62167219200, 253402300799 // the years 0 and 9999
		at := time.Unix(rapid.Int64Range(first, last).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds"))
		v.Set(reflect.ValueOf(at.UTC()))
		return
	case audienceType:
		v.SetUint(uint64(rapid.SampledFrom([]event.Audience{event.Everyone, event.Operator}).Draw(t, "audience")))
		return
	case rawType:
		v.Set(reflect.ValueOf(rawJSON(2).Draw(t, "raw")))
		return
	case blocksType:
		v.Set(reflect.ValueOf(blocks(depth).Draw(t, "blocks")))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(rapid.String().Draw(t, "string"))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64().Draw(t, "int"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), depth)
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			// An answer always has a value; a field without a key is not written.
			must := v.Type() == answeredType
			if f.Tag.Get("json") != "-" && (must || rapid.Bool().Draw(t, f.Name)) {
				fill(t, v.Field(i), depth)
				if f.Type.Kind() == reflect.Slice && v.Field(i).IsNil() && strings.HasSuffix(f.Tag.Get("json"), ",omitzero") {
					v.Field(i).Set(reflect.MakeSlice(f.Type, 0, 0)) // an empty list says something else than none
				}
			}
		}
	case reflect.Slice:
		n := rapid.IntRange(0, 3).Draw(t, "elements")
		if n == 0 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			if e := v.Index(i); e.Kind() == reflect.Uint8 {
				e.SetUint(uint64(rapid.Byte().Draw(t, "byte")))
			} else {
				fill(t, e, depth)
			}
		}
	case reflect.Map:
		for range rapid.IntRange(0, 3).Draw(t, "members") {
			if v.IsNil() {
				v.Set(reflect.MakeMap(v.Type()))
			}
			e := reflect.New(v.Type().Elem()).Elem()
			fill(t, e, depth)
			v.SetMapIndex(reflect.ValueOf(rapid.String().Draw(t, "key")), e)
		}
	default:
		panic("eventtest: a field of a type that nobody has thought of: " + v.Type().String())
	}
}
