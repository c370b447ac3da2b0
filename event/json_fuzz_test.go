package event_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
)

// FuzzDecode: whatever comes in, either a clear error goes out, or an event
// that is written and read back to itself.
func FuzzDecode(f *testing.F) {
	log, err := os.ReadFile("testdata/json/log.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	for line := range bytes.SplitSeq(bytes.TrimSpace(log), []byte("\n")) {
		f.Add(line)
	}
	for _, s := range []string{
		`{"body":{"text":"x"},"kind":"text_delta"}`, `{"kind":"x","body": [ 1 ]}`, `{"kind":"x"}`, `{"kind":"escalated","body":{},"seq":-0}`,
		`{"kind":"user_message","body":{"content":[{"text":"x","kind":"text"},{"v":[{ }],"kind":"new"}]}}`,
		`{"time":"2026-11-20T10:02:03.123456789+09:00","kind":"notice","body":{"data": { "a" : [ 1 , "\u0061\ud83d\ude00" ] }}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := event.Decode(data)
		if err != nil {
			var bad *event.Error
			if !errors.As(err, &bad) || bad.Kind != event.ErrInvalid || bad.Message == "" || !utf8.ValidString(err.Error()) {
				t.Fatalf("not a good error: %v", err)
			}
			if !reflect.DeepEqual(e, event.Event{}) {
				t.Fatal("half an event beside an error")
			}
			return
		}
		if !json.Valid(data) || !utf8.Valid(data) {
			t.Fatal("took what is no JSON")
		}
		first, err := event.AppendJSON(nil, &e)
		if err != nil {
			t.Fatalf("was read but cannot be written: %v", err)
		}
		if !json.Valid(first) {
			t.Fatalf("wrote what is no JSON: %s", first)
		}
		back, err := event.Decode(first)
		if err != nil {
			t.Fatalf("was written but cannot be read: %v\n%s", err, first)
		}
		if !reflect.DeepEqual(e, back) {
			t.Fatalf("not the same:\n%s", cmp.Diff(e, back))
		}
		second, err := event.AppendJSON(nil, &back)
		if err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%v\nfirst  %s\nsecond %s", err, first, second)
		}
	})
}
