package native_test

import (
	"errors"
	"math"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/wire/native"
)

func TestParseCursor(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]native.Cursor{
		"0": {}, "7": {Seq: 7}, "0:1.1": {Epoch: 1, N: 1}, "7:2.41": {Seq: 7, Epoch: 2, N: 41},
		"9223372036854775807": {Seq: math.MaxInt64},
	} {
		got, err := native.ParseCursor(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%q is read as %+v and written as %q (%v)", text, got, got, err)
		}
	}
	for _, text := range []string{
		"", " 7", "7 ", "+7", "-7", "07", "00", "7:", "7:2", "7:2.", "7:.4", "7:0.4", "7:2.0", "7:2.04", "7:02.4", "7:2.4.1", "7:2:4",
		"7.4", "0x7", "7\n", "٧", "1_0", "1e3", "9223372036854775808", "99999999999999999999", "7:2.99999999999999999999", "latest",
	} {
		if got, err := native.ParseCursor(text); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%q is read as %+v (%v)", text, got, err)
		}
	}
}

// A place has one name.
func FuzzParseCursor(f *testing.F) {
	for _, s := range []string{"0", "7", "7:2.41", "07", "9223372036854775807:1.1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := native.ParseCursor(text)
		if err != nil {
			if c != (native.Cursor{}) || !errors.Is(err, event.ErrInvalid) {
				t.Errorf("%q: %+v, %v", text, c, err)
			}
			return
		}
		if c.String() != text {
			t.Errorf("%q is read as %+v, which is %q", text, c, c)
		}
	})
}
