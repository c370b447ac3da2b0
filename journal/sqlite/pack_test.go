package sqlite_test

import (
	"bytes"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal/sqlite"
)

// FuzzRow reads rows that the disk or a person made: an error, never a panic, and
// what can be read is what was there.
func FuzzRow(f *testing.F) {
	two := []*event.Event{kibibyte("talk", "run", 1), kibibyte("talk", "run", 2)}
	if data, err := sqlite.Pack(two); err == nil {
		f.Add(data)
	}
	f.Add([]byte("\x1e\n\x1e{}\n"))
	f.Add([]byte("\x1e"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var again []byte
		err := sqlite.Texts(data, func(text []byte) error {
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
			data, err := sqlite.Pack([]*event.Event{e, e})
			if err != nil {
				continue
			}
			n := 0
			err = sqlite.Texts(data, func([]byte) error { n++; return nil })
			if err != nil || n != 2 {
				t.Errorf("two events were read as %d: %v", n, err)
			}
		}
	})
}
