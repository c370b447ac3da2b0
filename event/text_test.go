package event_test

import (
	"testing"

	"github.com/braidrun/braid/event"
)

// For readers, separate texts stand on lines of their own, and what a provider has cut into blocks is put together as it
// was. The raw text is the blocks' and nothing else.
func TestTextOfBlocks(t *testing.T) {
	t.Parallel()
	text := func(s string) event.Block { return &event.Text{Text: s} }
	call, cite := &event.ToolCall{ID: "c"}, &event.Citation{URL: "u"}
	for _, c := range []struct {
		blocks []event.Block
		want   string
	}{
		{nil, ""},
		{[]event.Block{text("one")}, "one"},
		{[]event.Block{text("I will work it out."), call, text("It is 42.")}, "I will work it out.\nIt is 42."},
		{[]event.Block{text("slow please"), text("hello")}, "slow please\nhello"},
		{[]event.Block{text("The page says "), text("grass is green"), cite, text(".")}, "The page says grass is green."},
		{[]event.Block{text("文書によると、"), text("草は緑です"), cite, text("。")}, "文書によると、草は緑です。"},
		{[]event.Block{text("so far"), text("\n\nError: cut")}, "so far\n\nError: cut"},
		{[]event.Block{&event.Text{Text: "Hel", Signature: "s"}, text("lo")}, "Hello"},
		{[]event.Block{text("a"), text(""), (*event.Text)(nil), text("b")}, "a\nb"},
	} {
		if got := event.TextOf(c.blocks); got != c.want {
			t.Errorf("%v is %q, want %q", c.blocks, got, c.want)
		}
		m, raw := event.Message{Content: c.blocks}, ""
		for _, b := range c.blocks {
			if b, ok := b.(*event.Text); ok && b != nil {
				raw += b.Text
			}
		}
		if got := m.Text(); got != c.want || event.RawText(c.blocks) != raw {
			t.Errorf("the message's text is %q, want %q; the raw text is %q, want %q", got, c.want, event.RawText(c.blocks), raw)
		}
	}
}
