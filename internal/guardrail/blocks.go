package guardrail

import (
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
)

// dropped replaces a block that must be removed as a whole.
var dropped = &event.RedactedThinking{}

// Blocks filters content. It does not change the given slice; the result may be empty.
func (f *Filter) Blocks(in []event.Block) []event.Block {
	in = f.maskAcross(in)
	out := in
	for i, b := range in {
		passed := f.block(b)
		if passed == b {
			continue
		}
		if len(out) > 0 && &out[0] == &in[0] {
			out = slices.Clone(in)
		}
		out[i] = passed
	}
	return slices.DeleteFunc(out, func(b event.Block) bool { return b == event.Block(dropped) })
}

// Result filters a tool result. It returns r itself if nothing changes. Otherwise it returns a copy, whose content may
// be empty.
func (f *Filter) Result(r *event.ToolResult) *event.ToolResult {
	given, raw := r.Content, f.JSON(r.Structured)
	if string(raw) != string(r.Structured) {
		given = slices.Clone(given)
		for i, b := range given {
			// This text is the same JSON. Its escapes could hide from a rule what a model reads.
			if text, ok := b.(*event.Text); ok && text.Text == string(r.Structured) {
				given[i] = &event.Text{Text: string(raw), Signature: text.Signature}
			}
		}
	}
	content := f.Blocks(given)
	if len(content) == len(r.Content) && slices.Equal(content, r.Content) && string(raw) == string(r.Structured) {
		return r
	}
	c := *r
	c.Content, c.Structured = content, raw
	return &c
}

// block filters one block. It returns b itself if nothing changes.
func (f *Filter) block(b event.Block) event.Block {
	switch b := b.(type) {
	case *event.Text:
		if text := f.Text(b.Text); text != b.Text {
			if text == "" {
				text = Redacted
			}
			return &event.Text{Text: text, Signature: b.Signature}
		}
	case *event.Thinking:
		if f.Text(b.Text) != b.Text || f.Mask(b.Signature) != b.Signature {
			return dropped // a provider refuses thinking that it has not signed
		}
	case *event.ToolCall:
		return f.call(b)
	case *event.ToolResult:
		return f.Result(b)
	case *event.Image:
		data, url := f.Mask(string(b.Data)), f.address(b.URL)
		if data != string(b.Data) || url != b.URL {
			return &event.Image{MIME: b.MIME, Data: []byte(data), URL: url}
		}
	case *event.Media:
		if url := f.address(b.URL); url != b.URL {
			return &event.Media{Media: b.Media, MIME: b.MIME, URL: url}
		}
	case *event.Document:
		return f.document(b)
	case *event.Citation:
		title, url, quoted := f.Text(b.Title), f.Text(b.URL), f.Text(b.Quote)
		if title != b.Title || url != b.URL || quoted != b.Quote {
			c := *b
			c.Title, c.URL, c.Quote = title, url, quoted
			return &c
		}
	case *event.Code:
		if code := f.Text(b.Code); code != b.Code {
			return &event.Code{Language: b.Language, Code: code}
		}
	case *event.CodeResult:
		if out := f.Text(b.Output); out != b.Output {
			return &event.CodeResult{Outcome: b.Outcome, Output: out}
		}
	case *event.UnknownBlock:
		if raw := f.JSON(b.Raw); string(raw) != string(b.Raw) {
			c := *b
			c.Raw = raw
			return &c
		}
	}
	return b
}

// call filters a tool call. Only masks apply to its id, name and signature.
func (f *Filter) call(b *event.ToolCall) event.Block {
	b = f.maskCall(b)
	args, invalid := f.JSON(b.Args), f.Text(b.Invalid)
	if string(args) == string(b.Args) && invalid == b.Invalid {
		return b
	}
	c := *b
	c.Args, c.Invalid = args, invalid
	return &c
}

// document filters a document.
func (f *Filter) document(b *event.Document) event.Block {
	name, text := f.Text(b.Name), f.Text(b.Text)
	data, url := f.Mask(string(b.Data)), f.address(b.URL)
	if name == b.Name && text == b.Text && data == string(b.Data) && url == b.URL {
		return b
	}
	c := *b
	c.Name, c.Text, c.Data, c.URL = name, text, []byte(data), url
	return &c
}

// address filters a URL, which the model reads or its provider fetches. Only masks apply to a data URL, which is not
// text.
func (f *Filter) address(url string) string {
	if strings.HasPrefix(url, "data:") {
		return f.Mask(url)
	}
	return f.Text(url)
}
