package cursor_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/internal/cursor"
)

func TestAPlaceIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.String().Draw(t, "list")
		place := rapid.SliceOfN(rapid.StringN(-1, -1, 60), 1, 4).Draw(t, "place")
		text := cursor.Encode(list, place...)
		got, ok := cursor.Decode(list, text, len(place))
		if !ok || !slices.Equal(got, place) {
			t.Fatalf("%q is read as %q, %v", place, got, ok)
		}
		if _, ok := cursor.Decode(list+"x", text, len(place)); ok {
			t.Fatal("another list takes it")
		}
		if _, ok := cursor.Decode(list, text, len(place)+1); ok {
			t.Fatal("it has more parts than were written")
		}
		at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
		other := "A"
		if text[at] == 'A' {
			other = "B"
		}
		if _, ok := cursor.Decode(list, text[:at]+other+text[at+1:], len(place)); ok {
			t.Fatalf("%s is taken with another letter at %d", text, at)
		}
		if _, ok := cursor.Decode(list, text[:at], len(place)); ok {
			t.Fatal("a part of it is taken")
		}
	})
	if _, ok := cursor.Decode("list", strings.Repeat("A", cursor.Longest+1), 1); ok {
		t.Error("one that is too long is taken")
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{"", "x", "AAAAAAAAAAA", cursor.Encode("list", "1", "agent"), cursor.Encode("list"), "\xff", "' OR 1=1 --"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		place, ok := cursor.Decode("list", text, 2)
		if ok && (len(place) != 2 || cursor.Encode("list", place...) != text) {
			t.Errorf("%q is taken for %q", text, place)
		}
	})
}
