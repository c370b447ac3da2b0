package logrow

import (
	"bytes"
	"testing"

	"github.com/braidrun/braid/event"
)

// FuzzRow reads rows that the disk or a person made: an error, never a panic, and
// what can be read is what was there.
func FuzzRow(f *testing.F) {
	one := &event.Event{Header: event.Header{Seq: 1, Conversation: "talk", Run: "run"}, Body: &event.Notice{Code: "n"}}
	two := []*event.Event{one, one}
	if data, err := Pack(two); err == nil {
		f.Add(data)
	}
	f.Add([]byte("\x1e\n\x1e{}\n"))
	f.Add([]byte("\x1e"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var again []byte
		err := texts(data, func(text []byte) error {
			again = append(append(append(again, 0x1e), text...), '\n')
			return nil
		})
		if err == nil && !bytes.Equal(again, data) {
			t.Errorf("%q was read as %q", data, again)
		}
	})
}

// FuzzPack sees to it that no event that can be written has the separator in it.
func FuzzPack(f *testing.F) {
	f.Add("text", []byte(`{"a":1}`))
	f.Add("\x1e\n", []byte("\x1e"))
	f.Add("\x1e", []byte("\"\x1e\""))
	f.Add("", []byte("{\n\"a\":\t\"\\u001e\"\n}"))
	f.Fuzz(func(t *testing.T, text string, raw []byte) {
		for _, body := range []event.Body{
			&event.Notice{Code: text, Data: raw},
			&event.Unknown{Name: "hologram", Raw: raw},
			&event.UserMessage{Content: []event.Block{
				&event.Text{Text: text}, &event.UnknownBlock{Name: "map", Raw: raw},
			}},
		} {
			e := &event.Event{Header: event.Header{Seq: 1, Conversation: text}, Body: body}
			data, err := Pack([]*event.Event{e, e})
			if err != nil {
				continue
			}
			n := 0
			err = texts(data, func([]byte) error { n++; return nil })
			if err != nil || n != 2 {
				t.Errorf("two events were read as %d: %v", n, err)
			}
		}
	})
}

// Rows are read as the log that they are, or not at all.
func TestReader(t *testing.T) {
	t.Parallel()
	row := func(first, last int64) []byte {
		var list []*event.Event
		for seq := first; seq <= last; seq++ {
			list = append(list, &event.Event{Header: event.Header{Seq: seq, Conversation: "talk"}, Body: &event.Notice{Code: "n"}})
		}
		data, err := Pack(list)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	for name, tc := range map[string]struct {
		reader      Reader
		first, last int64
		data        []byte
		want        int
		bad         bool
	}{
		"all":                 {Reader{Conversation: "talk"}, 1, 3, row(1, 3), 3, false},
		"behind the first":    {Reader{Conversation: "talk", After: 1}, 1, 3, row(1, 3), 2, false},
		"no more than wanted": {Reader{Conversation: "talk", Max: 2}, 1, 3, row(1, 3), 2, false},
		"a hole":              {Reader{Conversation: "talk", Next: 3}, 4, 4, row(4, 4), 0, true},
		"too few":             {Reader{Conversation: "talk"}, 1, 3, row(1, 2), 0, true},
		"too many":            {Reader{Conversation: "talk"}, 1, 1, row(1, 2), 0, true},
		"of another talk":     {Reader{Conversation: "other"}, 1, 1, row(1, 1), 0, true},
		"others stand there":  {Reader{Conversation: "talk"}, 1, 1, row(2, 2), 0, true},
		"cut off":             {Reader{Conversation: "talk"}, 1, 1, row(1, 1)[:9], 0, true},
		"from end to begin":   {Reader{Conversation: "talk"}, 2, 1, nil, 0, true},
	} {
		r := tc.reader
		if err := r.Row(tc.first, tc.last, tc.data); (err != nil) != tc.bad || !tc.bad && len(r.Events) != tc.want {
			t.Errorf("%s: %d events, %v", name, len(r.Events), err)
		}
	}
}
