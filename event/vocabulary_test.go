package event_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
)

// These tests prove the vocabulary before anything is built on it: every event
// that the seeds describe and every line that was recorded from the Claude
// program is turned into our events, and our events are turned back into the
// foreign form wherever a wire will have to write it. The mapping functions
// beside this file are written for the proof: they are as short as they can
// be, and no wire uses them.

// vocabularyRow is one example of a seed: foreign frames, and what they become.
type vocabularyRow struct {
	// seed and heading say where the example stands.
	seed, heading string
	// what is a short name of the foreign event for the document.
	what string
	// in are the foreign frames as they arrive, verbatim where the seed has
	// them; nil where the row is only about writing.
	in []string
	// want is what they become; none at all where they say nothing.
	want []event.Event
	// out are the frames that a wire writes for want; nil means in again, an
	// empty slice nothing.
	out []string
	// why explains an out that is not in.
	why string
	// final is what ADK's is_final_response says of it (seed 5 only).
	final bool
}

// foreignForm reads and writes one foreign form. Both directions may keep state
// between frames, so a new one is made for every use.
type foreignForm struct {
	read  func(frames []string) ([]event.Event, error)
	write func(events []event.Event) ([]string, error)
	// plain brings a frame to the form in which two that mean the same are equal.
	plain func(frame string) (any, error)
}

// proveRows runs every row in both directions.
func proveRows(t *testing.T, form foreignForm, rows []vocabularyRow) {
	t.Helper()
	for _, row := range rows {
		t.Run(row.heading+"/"+row.what, func(t *testing.T) {
			t.Parallel()
			if row.in != nil {
				got, err := form.read(row.in)
				if err != nil {
					t.Fatalf("read: %v", err)
				}
				sameEvents(t, "read", got, row.want)
			}
			isStored(t, row.want)

			out := row.out
			if out == nil {
				out = row.in
			} else if row.why == "" {
				t.Error("what is written differs from what was read, and the row gives no reason")
			}
			written, err := form.write(row.want)
			if err != nil {
				t.Fatalf("write: %v", err)
			}
			sameFrames(t, form, written, out)
			if len(out) == 0 {
				return
			}
			again, err := form.read(written)
			if err != nil {
				t.Fatalf("read what was written: %v", err)
			}
			rewritten, err := form.write(again)
			if err != nil {
				t.Fatalf("write again: %v", err)
			}
			sameFrames(t, form, rewritten, written)
		})
	}
}

// forClients leaves out what is for the operator: no client wire sends it.
func forClients(events []event.Event) []event.Event {
	var seen []event.Event
	for _, e := range events {
		if e.Audience == event.Everyone {
			seen = append(seen, e)
		}
	}
	return seen
}

// Every event can be kept from ADK's clients. The contract of wires holds the wires that exist to the same.
func TestVocabularyAudience(t *testing.T) {
	t.Parallel()
	for _, row := range adkRows() {
		hidden := slices.Clone(row.want)
		for i := range hidden {
			hidden[i].Audience = event.Operator
		}
		if frames, err := writeADK(hidden); err != nil || len(frames) != 0 {
			t.Errorf("%s %s: a client gets %v, %v", row.heading, row.what, frames, err)
		}
	}
}

// The names that the examples are told with.
const (
	seedRun   = "run"
	seedAgent = "agent"
)

// live numbers a live event.
func live(h event.Header, n int64) event.Header {
	h.N = n
	return h
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// sameEvents compares events field by field and shows both as JSON.
func sameEvents(t *testing.T, what string, got, want []event.Event) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("%s: event %d is missing: %s", what, i, showEvent(want[i]))
		case i >= len(want):
			t.Errorf("%s: event %d is one too many: %s", what, i, showEvent(got[i]))
		case !reflect.DeepEqual(got[i], want[i]):
			t.Errorf("%s: event %d\n got %s\nwant %s", what, i, showEvent(got[i]), showEvent(want[i]))
		}
	}
}

// isStored: every event of the proof goes through our own JSON and comes back
// as it was.
func isStored(t *testing.T, events []event.Event) {
	t.Helper()
	for i := range events {
		data, err := event.AppendJSON(nil, &events[i])
		if err != nil {
			t.Errorf("%s cannot be stored: %v", showEvent(events[i]), err)
			continue
		}
		back, err := event.Decode(data)
		if err != nil {
			t.Errorf("%s cannot be read back: %v", data, err)
			continue
		}
		if !reflect.DeepEqual(back, events[i]) {
			t.Errorf("stored as %s\n got %s\nwant %s", data, showEvent(back), showEvent(events[i]))
		}
	}
}

// showEvent prints an event for a person, whatever the codec makes of it.
func showEvent(e event.Event) string {
	if e.Body == nil {
		return "no body"
	}
	type header event.Header
	h, err := json.Marshal(header(e.Header))
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s %s %s", e.Body.Kind(), h, showValue(reflect.ValueOf(e.Body)))
}

// showValue prints what is set in v, through pointers and interfaces.
func showValue(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return "nil"
		}
		return showValue(v.Elem())
	case reflect.Struct:
		if s, ok := reflect.TypeAssert[fmt.Stringer](v); ok {
			return s.String()
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%s{", v.Type().Name())
		for i := range v.NumField() {
			if f := v.Field(i); v.Type().Field(i).IsExported() && !f.IsZero() {
				fmt.Fprintf(&b, "%s: %s, ", v.Type().Field(i).Name, showValue(f))
			}
		}
		return strings.TrimSuffix(b.String(), ", ") + "}"
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return string(v.Bytes())
		}
		parts := make([]string, v.Len())
		for i := range parts {
			parts[i] = showValue(v.Index(i))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	default:
		return fmt.Sprintf("%#v", v.Interface())
	}
}

// sameFrames compares foreign frames by what they mean.
func sameFrames(t *testing.T, form foreignForm, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("frame %d is missing: %s", i, want[i])
			continue
		case i >= len(want):
			t.Errorf("frame %d is one too many: %s", i, got[i])
			continue
		}
		g, err := form.plain(got[i])
		if err != nil {
			t.Fatalf("frame %d that was written, %s: %v", i, got[i], err)
		}
		w, err := form.plain(want[i])
		if err != nil {
			t.Fatalf("frame %d that was expected, %s: %v", i, want[i], err)
		}
		if !reflect.DeepEqual(g, w) {
			t.Errorf("frame %d\n got %s\nwant %s", i, showJSON(g), showJSON(w))
		}
	}
}

func showJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// plainJSON reads a JSON value; null fields count as absent.
func plainJSON(frame string) (any, error) {
	var v any
	if err := json.Unmarshal([]byte(frame), &v); err != nil {
		return nil, err
	}
	return withoutNull(v), nil
}

func withoutNull(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if e == nil {
				delete(v, k)
				continue
			}
			v[k] = withoutNull(e)
		}
	case []any:
		for i, e := range v {
			v[i] = withoutNull(e)
		}
	}
	return v
}

// compactJSON is raw without space; a value that is absent or null gives nil.
func compactJSON(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if len(raw) == 0 || json.Compact(&b, raw) != nil || b.String() == "null" {
		return nil
	}
	return b.Bytes()
}

// asJSON is v as JSON.
func asJSON(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // the tests only encode what JSON has
	}
	return bytes.TrimSpace(b.Bytes())
}

// asFrame is v as one foreign frame.
func asFrame(v any) string { return string(asJSON(v)) }

// says is one block of text.
func says(s string) []event.Block { return []event.Block{&event.Text{Text: s}} }
