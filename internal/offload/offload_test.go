package offload

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/event"
)

func TestShorten(t *testing.T) {
	t.Parallel()
	s := Sizes{Over: 100, Preview: 30}
	long := strings.Repeat("0123456789", 20)
	picture := &event.Document{Name: "p"}
	for name, c := range map[string]struct {
		result event.ToolResult
		want   string
		blocks int
	}{
		"small":      {result: event.ToolResult{Content: []event.Block{&event.Text{Text: long[:100]}}}},
		"large":      {result: event.ToolResult{Content: []event.Block{&event.Text{Text: long}}}, want: long[:20] + "\n…\n" + long[190:], blocks: 1},
		"structured": {result: event.ToolResult{Structured: json.RawMessage(`"` + long + `"`)}, want: `"` + long[:18] + "\n…\n" + long[192:] + `"`, blocks: 1},
		"a document and a file": {
			result: event.ToolResult{Content: []event.Block{&event.Document{Text: long}, picture}},
			want:   long[:20] + "\n…\n" + long[190:], blocks: 2,
		},
	} {
		got := s.Shorten(7, &c.result)
		if len(got) != c.blocks {
			t.Errorf("%s: %d blocks", name, len(got))
			continue
		}
		if len(got) == 0 {
			continue
		}
		text := event.TextOf(got[:1])
		note, rest, _ := strings.Cut(text, "\n")
		if rest != c.want || !strings.Contains(note, "Result 7 has") || !strings.Contains(note, `{"result":7,"offset":`) {
			t.Errorf("%s: %q", name, text)
		}
		if c.blocks == 2 && got[1] != event.Block(picture) {
			t.Errorf("%s: the file is %v", name, got[1])
		}
	}
}

func TestTextHasNothingTwice(t *testing.T) {
	t.Parallel()
	r := &event.ToolResult{Content: []event.Block{&event.Text{Text: `{"a":1}`}}, Structured: json.RawMessage(`{"a":1}`)}
	if got := Text(r); got != `{"a":1}` {
		t.Errorf("the text is %q", got)
	}
	r.Structured = json.RawMessage(`{"a":2}`)
	if got := Text(r); got != "{\"a\":1}\n{\"a\":2}" {
		t.Errorf("the text is %q", got)
	}
}

// A preview takes no more room in JSON than it may, and is a whole beginning or end of the text.
func TestFit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		size := rapid.IntRange(0, 60).Draw(t, "size")
		for name, got := range map[string]string{"front": fitFront(text, size), "back": fitBack(text, size)} {
			quoted, _ := json.Marshal(got)
			if len(quoted)-2 > size || !utf8.ValidString(got) {
				t.Errorf("%s: %q takes %d bytes of %d", name, got, len(quoted)-2, size)
			}
			if name == "front" && !strings.HasPrefix(text, got) || name == "back" && !strings.HasSuffix(text, got) {
				t.Errorf("%s: %q is not of %q", name, got, text)
			}
		}
	})
}

// Reading on from where a part ended gives the whole text, however the parts are cut.
func TestReadInParts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		most := rapid.IntRange(utf8.UTFMax, 20).Draw(t, "most")
		var whole strings.Builder
		for at := 0; at < len(text); {
			part, err := (&Args{Offset: at}).Read(text, most)
			if err != nil {
				t.Fatal(err)
			}
			var from, to, all int
			if _, err := fmt.Sscanf(part, "[bytes %d to %d of %d]", &from, &to, &all); err != nil || from != at || to <= at || to-from > most || all != len(text) {
				t.Fatalf("at %d: %q", at, part)
			}
			_, words, _ := strings.Cut(part, "\n")
			whole.WriteString(words)
			at = to
		}
		if whole.String() != text {
			t.Errorf("%q is read as %q", text, whole.String())
		}
	})
}

func TestRead(t *testing.T) {
	t.Parallel()
	text := "aé" + strings.Repeat("-", 200) + "here" + strings.Repeat("+", 200) + "here"
	for _, c := range []struct {
		in   Args
		want string
	}{
		{Args{Offset: 2, Length: 3}, "[bytes 1 to 5 of 411]\né--"},
		{Args{Offset: 411}, "[bytes 411 to 411 of 411]\n"},
		{Args{Find: "nowhere"}, "[not found from byte 0 on]"},
		{Args{Find: "here", Offset: 300}, "[found 1 times from byte 300 on]\n[byte 407] " + strings.Repeat("+", 80) + "here\n"},
	} {
		if got, err := c.in.Read(text, 1000); err != nil || got != c.want {
			t.Errorf("%+v reads %q, %v; want %q", c.in, got, err, c.want)
		}
	}
	if got, err := (&Args{Find: "here"}).Read(text, 200); err != nil || !strings.HasPrefix(got, "[found 1 times before byte 407; there is more") {
		t.Errorf("a search in few bytes gives %q, %v", got, err)
	}
	for _, bad := range []Args{{Offset: -1}, {Offset: 412}, {Length: -1}} {
		if _, err := bad.Read(text, 1000); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%+v is read with %v", bad, err)
		}
	}
}
